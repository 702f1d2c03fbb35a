#include "check.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace multiplane {
namespace {

Fault::Kind fault_of(float value) {
  if (std::isnan(value)) return Fault::Kind::not_a_number;
  if (std::isinf(value)) return Fault::Kind::infinite;
  return std::fabs(value) <= kLargest ? Fault::Kind::none : Fault::Kind::too_large;
}

// Indices of all rows, read once and without a branch, of which the compiler makes vectors: whether
// all lie within 0 ... bound-1, and how often one does not rise above the one before it.
struct Survey {
  bool within = true;
  std::int64_t n_not_rising = 0;
};
template <class Index>
Survey survey(const Index* indices, std::int64_t n, std::int64_t bound) {
  constexpr std::int64_t kPart = 1 << 16;  // a part's sum fits an Index
  constexpr auto kMost = static_cast<std::int64_t>(std::numeric_limits<Index>::max());
  const auto largest = static_cast<Index>(std::min(bound - 1, kMost));
  Survey seen;
  Index before = -1;
  for (std::int64_t begin = 0; begin < n; begin += kPart) {
    const std::int64_t end = std::min(n, begin + kPart);
    Index outside = (indices[begin] < 0) | (indices[begin] > largest);
    Index falls = indices[begin] <= before;
    for (std::int64_t k = begin + 1; k < end; ++k) {
      outside |= (indices[k] < 0) | (indices[k] > largest);
      falls += indices[k] <= indices[k - 1];
    }
    before = indices[end - 1];
    seen.within &= !outside;
    seen.n_not_rising += falls;
  }
  return seen;
}

template <class Index>
Fault structure(const Rows& rows, std::int64_t n_values, bool& canonical) {
  const Index* indptr = static_cast<const Index*>(rows.indptr);
  const Index* indices = static_cast<const Index*>(rows.indices);
  if (indptr[0] != 0) return {Fault::Kind::pointers, 0, 0};
  for (std::int64_t i = 0; i < rows.n_rows; ++i)
    if (indptr[i + 1] < indptr[i] || indptr[i + 1] > n_values)
      return {Fault::Kind::pointers, i, 0};
  const std::int64_t n_used = indptr[rows.n_rows];
  const Survey seen = survey(indices, n_used, rows.n_features);
  if (!seen.within)
    for (std::int64_t i = 0; i < rows.n_rows; ++i)
      for (std::int64_t k = indptr[i]; k < indptr[i + 1]; ++k)
        if (indices[k] < 0 || indices[k] >= rows.n_features)
          return {Fault::Kind::index, i, indices[k]};
  // From one row to the next they may fall; nowhere else.
  std::int64_t n_allowed = 0;
  for (std::int64_t i = 1; i < rows.n_rows; ++i) {
    const std::int64_t begin = indptr[i];
    if (begin > 0 && begin < indptr[i + 1]) n_allowed += indices[begin] <= indices[begin - 1];
  }
  canonical = seen.n_not_rising == n_allowed;
  return {Fault::Kind::none, 0, 0};
}

std::int64_t column_of(const Rows& rows, std::int64_t begin, std::int64_t k) {
  if (rows.kind == Rows::Kind::dense) return k - begin;
  if (rows.kind == Rows::Kind::csr32) return static_cast<const std::int32_t*>(rows.indices)[k];
  return static_cast<const std::int64_t*>(rows.indices)[k];
}

}  // namespace

Fault check_structure(const Rows& rows, std::int64_t n_values, bool& canonical) {
  switch (rows.kind) {
    case Rows::Kind::csr32: return structure<std::int32_t>(rows, n_values, canonical);
    case Rows::Kind::csr64: return structure<std::int64_t>(rows, n_values, canonical);
    default: return {Fault::Kind::none, 0, 0};
  }
}

Fault check_values(const Rows& rows) {
  const bool dense = rows.kind == Rows::Kind::dense;
  for (std::int64_t i = 0; i < rows.n_rows; ++i) {
    const std::int64_t begin = dense ? i * rows.n_features : rows.row_begin(i);
    const std::int64_t end = dense ? begin + rows.n_features : rows.row_begin(i + 1);
    if (loops().all_within(rows.values + begin, end - begin, kLargest)) continue;
    for (std::int64_t k = begin; k < end; ++k) {
      const Fault::Kind kind = fault_of(rows.values[k]);
      if (kind != Fault::Kind::none) return {kind, i, column_of(rows, begin, k)};
    }
  }
  return {Fault::Kind::none, 0, 0};
}

}  // namespace multiplane
