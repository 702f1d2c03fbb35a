// Any bytes to the reader of LIBSVM text: it must neither crash nor break its promises.
//
// The first byte chooses the rules, the rest is the text, in memory that ends with it. Built with
// clang this is a libFuzzer target; elsewhere a small driver below mutates lines of its own.
#include "libsvm.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>

using multiplane::LibsvmRows;
using multiplane::LibsvmRules;

namespace {

void need(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "broken promise: %s\n", what);
  std::abort();
}

std::size_t lines_in(const char* text, std::size_t size) {
  std::size_t n = size && text[size - 1] != '\n';
  for (std::size_t i = 0; i < size; ++i) n += text[i] == '\n';
  return n;
}

void check(const LibsvmRows& rows, const LibsvmRules& rules, const char* text, std::size_t size) {
  const std::size_t n = rows.row_begin.size() - 1, n_values = rows.values.size();
  need(rows.indices.size() == n_values && 4 * n_values <= size + 1, "an entry takes four bytes");
  need(rows.label_begin.size() == n + 1, "labels for each row");
  need(rules.multilabel || rows.labels.size() == n, "one label a row");
  need(static_cast<std::size_t>(rows.row_begin.back()) == n_values, "the last row ends at the end");
  need(static_cast<std::size_t>(rows.label_begin.back()) == rows.labels.size(), "so do its labels");
  for (std::size_t i = 0; i < n; ++i) {
    need(rows.row_begin[i] <= rows.row_begin[i + 1], "rows begin one after the other");
    need(rows.label_begin[i] <= rows.label_begin[i + 1], "and so do labels");
    std::int64_t last = -1;
    for (std::int64_t k = rows.row_begin[i]; k < rows.row_begin[i + 1]; ++k) {
      const auto at = static_cast<std::size_t>(k);
      need(rows.indices[at] > last && rows.indices[at] < rows.n_features, "indices rise");
      need(std::isfinite(rows.values[at]), "values are finite");
      last = rows.indices[at];
    }
  }
  need(!rules.n_features || rows.n_features <= rules.n_features, "no feature beyond the limit");
  for (const std::int64_t label : rows.labels)
    need(!rules.multilabel || (label >= 0 && label <= multiplane::kMostLibsvmLabel), "labels");
  const std::size_t n_lines = lines_in(text, size);
  const auto n_read = static_cast<std::size_t>(rows.n_lines);
  const auto n_faults = static_cast<std::size_t>(rows.n_faults);
  need(n + n_faults <= n_lines, "a line is a row or a fault or nothing");
  need(rules.skip_faults ? n_read == n_lines : n_faults <= 1, "all lines, or up to a fault");
  need(rows.faults.size() == std::min(n_faults, LibsvmRows::kMostFaults), "faults are told");
  for (const auto& fault : rows.faults) {
    const auto line = static_cast<std::size_t>(fault.line);
    const auto column = static_cast<std::size_t>(fault.column);  // negative ones become large
    need(line < n_lines && column <= size && !fault.what.empty(), "places");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (!size) return 0;
  LibsvmRules rules;
  rules.zero_based = data[0] & 1;
  rules.multilabel = data[0] & 2;
  rules.drop_beyond = data[0] & 4;
  rules.skip_faults = data[0] & 8;
  rules.n_features = data[0] & 16 ? 100 : 0;
  // A copy of the right size: the sanitizer sees a read beyond it.
  const std::unique_ptr<char[]> text(new char[size - 1]);
  for (std::size_t i = 1; i < size; ++i) text[i - 1] = static_cast<char>(data[i]);
  check(multiplane::read_libsvm(text.get(), size - 1, rules), rules, text.get(), size - 1);
  return 0;
}

#ifndef MULTIPLANE_LIBFUZZER
#include <chrono>
#include <iterator>
#include <random>
#include <string>

// fuzz_libsvm [-max_total_time=SECONDS], as libFuzzer has it.
int main(int argc, char** argv) {
  const std::string option = argc > 1 ? argv[1] : "=10";
  const double seconds = std::atof(option.c_str() + option.find('=') + 1);
  std::mt19937_64 random(0);
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  const std::string bits[] = {
      "1", "-1", "+1", "0", "1.0", "1e0", "3,5", ",", ":", " ", "\t", "\n", "\r\n", "#", "qid:",
      "qid:7", "1:0.5", "2:-3e-5", "7:1e39", "9:1e-60", "0:1", "99:1", "101:1", "+", "-", ".", "e",
      "nan", "inf", "1:nan", "0x10", "00001:1", "2147483647:1", "2147483648:1",
      "99999999999999999999:1", "9223372036854775807", "-9223372036854775808",
      "1:0.1000000000000000055511151231257827", "1:1e999999999999999999", std::string(1, '\0'),
      "\xff", "\xef\xbb\xbf", "16777215", "16777216"};
  const auto start = std::chrono::steady_clock::now();
  std::uint64_t runs = 0;
  const auto passed = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  while (passed() < seconds) {
    std::string text(1, static_cast<char>(random()));
    for (std::size_t n = below(60); n; --n) {
      text += bits[below(std::size(bits))];
      if (below(3)) text += ' ';
    }
    for (std::size_t n = below(3) ? 0 : below(4); n; --n)
      text[below(text.size())] = static_cast<char>(random());
    LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
    ++runs;
  }
  std::printf("%llu executions, no finding\n", static_cast<unsigned long long>(runs));
}
#endif
