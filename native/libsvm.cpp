#include "libsvm.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

namespace multiplane {
namespace {

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

// A line that is not as it should be, and where.
struct Trouble {
  const char* at;
  std::string what;
};

// What stands at p, up to a blank, for a person.
std::string shown(const char* p, const char* end) {
  constexpr std::ptrdiff_t kMost = 30;
  const char* stop = p;
  while (stop < end && !is_blank(*stop) && stop - p < kMost) ++stop;
  std::string out;
  for (; p < stop; ++p) out += *p >= ' ' && *p <= '~' ? *p : '?';
  return out.empty() ? "the end of the line" : "'" + out + "'";
}

// Whether a decimal number that no float can hold is one near zero: the place of its first digit
// other than 0, counted from the point, and its exponent.
bool is_tiny(const char* p, const char* end) {
  std::int64_t place = 0;
  bool behind_point = false, found = false;
  for (; p < end && *p != 'e' && *p != 'E'; ++p) {
    if (*p == '.') behind_point = true;
    if (!is_digit(*p)) continue;
    found = found || *p != '0';
    if (found && !behind_point) ++place;
    if (!found && behind_point) --place;
  }
  if (p >= end) return place <= 0;
  ++p;
  const bool negative = p < end && *p == '-';
  if (p < end && (*p == '-' || *p == '+')) ++p;
  std::int64_t exponent = 0;
  for (; p < end && is_digit(*p); ++p) exponent = std::min<std::int64_t>(10 * exponent + (*p - '0'), 1'000'000'000'000);
  return place + (negative ? -exponent : exponent) <= 0;
}

// The float nearest to a decimal number, to zero below all of them. Returns its end.
const char* read_float(const char* p, const char* end, float& value) {
  const char* digits = p < end && *p == '+' ? p + 1 : p;
  const auto [stop, error] = std::from_chars(digits, end, value);
  if (error == std::errc::invalid_argument || (digits != p && *digits == '-'))
    throw Trouble{p, "expected a number, got " + shown(p, end)};
  if (error == std::errc::result_out_of_range) {
    if (!is_tiny(digits, stop)) throw Trouble{p, "too large for float32: " + shown(p, end)};
    value = *digits == '-' ? -0.0f : 0.0f;
  }
  if (!std::isfinite(value)) throw Trouble{p, "not a finite number: " + shown(p, end)};
  return stop;
}

// A class: a whole number, which some programs write as 1.0 or 1e0.
const char* read_label(const char* p, const char* end, std::int64_t& label) {
  const char* digits = p < end && *p == '+' ? p + 1 : p;
  auto [stop, error] = std::from_chars(digits, end, label);
  const bool whole = error == std::errc{} && (stop == end || (*stop != '.' && *stop != 'e' && *stop != 'E'));
  if (whole && (digits == p || *digits != '-')) return stop;
  double value = 0;
  const auto [stop2, error2] = std::from_chars(digits, end, value);
  if (error2 == std::errc::invalid_argument || (digits != p && *digits == '-'))
    throw Trouble{p, "expected a label, got " + shown(p, end)};
  const bool beyond = error2 == std::errc::result_out_of_range && !is_tiny(digits, stop2);
  if (beyond || (std::isfinite(value) && std::abs(value) >= 9e15))
    throw Trouble{p, "the label is too large: " + shown(p, end)};
  if (error2 != std::errc{} || !std::isfinite(value) || value != std::floor(value))
    throw Trouble{p, "a label must be a whole number, got " + shown(p, end)};
  label = static_cast<std::int64_t>(value);
  return stop2;
}

class Reader {
 public:
  explicit Reader(const LibsvmRules& rules) : rules_(rules), lowest_(rules.zero_based ? 0 : 1) {}

  LibsvmRows read(const char* text, std::size_t size) {
    const char* end = text + size;
    // About what usual files need; a vector that grows copies.
    out_.values.reserve(size / 12);
    out_.indices.reserve(size / 12);
    while (text < end) {
      const void* found = std::memchr(text, '\n', static_cast<std::size_t>(end - text));
      const char* stop = found ? static_cast<const char*>(found) : end;
      try {
        line(text, stop);
      } catch (const Trouble& trouble) {
        back();
        ++out_.n_faults;
        if (out_.faults.size() < LibsvmRows::kMostFaults)
          out_.faults.push_back({out_.n_lines, trouble.at - text, trouble.what});
        if (!rules_.skip_faults) break;
      }
      ++out_.n_lines;
      text = stop + 1;
    }
    return std::move(out_);
  }

 private:
  void line(const char* p, const char* end) {
    if (const void* comment = std::memchr(p, '#', static_cast<std::size_t>(end - p)))
      end = static_cast<const char*>(comment);
    while (p < end && is_blank(*p)) ++p;
    if (p == end) return;  // nothing, or a comment alone
    const char* start = p;
    p = labels(p, end);
    std::int64_t last = -1;
    bool rising = true;
    while (true) {
      while (p < end && is_blank(*p)) ++p;
      if (p == end) break;
      if (last < 0 && end - p > 4 && std::memcmp(p, "qid:", 4) == 0) {
        std::int64_t ignored;
        const auto [stop, error] = std::from_chars(p + 4, end, ignored);
        if (error != std::errc{}) throw Trouble{p, "expected qid:number, got " + shown(p, end)};
        p = after(stop, end);
        ++out_.n_qids;
        continue;
      }
      const char* begin = p;
      std::int64_t index;
      p = read_index(p, end, index);
      float value;
      p = after(read_float(p, end, value), end);
      if (rules_.n_features && index >= rules_.n_features) {
        if (rules_.drop_beyond) {
          ++out_.n_dropped;
          continue;
        }
        throw Trouble{begin, "feature " + shown(begin, end) + " is beyond the " +
                                 std::to_string(rules_.n_features) + " that there can be"};
      }
      rising = rising && index > last;
      last = std::max(last, index);
      out_.indices.push_back(static_cast<std::int32_t>(index));
      out_.values.push_back(value);
    }
    if (!rising) sort(start);
    out_.n_features = std::max(out_.n_features, last + 1);
    out_.row_begin.push_back(static_cast<std::int64_t>(out_.values.size()));
    out_.label_begin.push_back(static_cast<std::int64_t>(out_.labels.size()));
  }

  const char* labels(const char* p, const char* end) {
    if (rules_.multilabel) {  // a row without labels begins with its features
      const char* colon = p;
      while (colon < end && !is_blank(*colon) && *colon != ':') ++colon;
      if (colon < end && *colon == ':') return p;
    }
    while (true) {
      std::int64_t label;
      const char* begin = p;
      p = read_label(p, end, label);
      if (rules_.multilabel && (label < 0 || label > kMostLibsvmLabel))
        throw Trouble{begin, "labels of a list are from 0 to " + std::to_string(kMostLibsvmLabel) +
                                 ", got " + shown(begin, end)};
      out_.labels.push_back(label);
      if (p == end || *p != ',') return after(p, end);
      if (!rules_.multilabel)
        throw Trouble{p, "several labels in one line; if that is meant, say multilabel=True "
                         "(--multilabel)"};
      ++p;
    }
  }

  const char* read_index(const char* p, const char* end, std::int64_t& index) const {
    const char* begin = p;
    std::int64_t number = 0;
    while (p < end && is_digit(*p) && number <= kMostLibsvmIndex) number = 10 * number + (*p++ - '0');
    if (p == begin || p == end || *p != ':') {
      if (p < end && is_digit(*p))
        throw Trouble{begin, "the index is too large: " + shown(begin, end)};
      throw Trouble{begin, "expected index:value, got " + shown(begin, end)};
    }
    if (number < lowest_)
      throw Trouble{begin, "indices count from 1, got 0; if they count from 0, say zero_based=True "
                           "(--zero-based)"};
    index = number - lowest_;
    if (index > kMostLibsvmIndex)
      throw Trouble{begin, "the index is too large: " + shown(begin, end)};
    return p + 1;
  }

  // A number ends where the line does, or at a blank.
  static const char* after(const char* p, const char* end) {
    if (p < end && !is_blank(*p)) throw Trouble{p, "expected a blank, got " + shown(p, end)};
    return p;
  }

  void sort(const char* line) {
    const auto begin = static_cast<std::size_t>(out_.row_begin.back());
    std::vector<std::pair<std::int32_t, float>> row;
    for (std::size_t i = begin; i < out_.values.size(); ++i)
      row.emplace_back(out_.indices[i], out_.values[i]);
    std::stable_sort(row.begin(), row.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (i && row[i].first == row[i - 1].first)
        throw Trouble{line, "index " + std::to_string(row[i].first + lowest_) + " comes twice"};
      out_.indices[begin + i] = row[i].first;
      out_.values[begin + i] = row[i].second;
    }
  }

  // Forget what has been read of the present line.
  void back() {
    const auto n = static_cast<std::size_t>(out_.row_begin.back());
    out_.indices.resize(n);
    out_.values.resize(n);
    out_.labels.resize(static_cast<std::size_t>(out_.label_begin.back()));
  }

  const LibsvmRules rules_;
  const std::int64_t lowest_;
  LibsvmRows out_;
};

}  // namespace

LibsvmRows read_libsvm(const char* text, std::size_t size, const LibsvmRules& rules) {
  return Reader(rules).read(text, size);
}

}  // namespace multiplane
