#include "check.hpp"

#include <cmath>

namespace multiplane {
namespace {

Fault::Kind fault_of(float value) {
  if (std::isnan(value)) return Fault::Kind::not_a_number;
  if (std::isinf(value)) return Fault::Kind::infinite;
  return std::fabs(value) <= kLargest ? Fault::Kind::none : Fault::Kind::too_large;
}

template <class Index>
Fault structure(const Rows& rows, std::int64_t n_values, bool& canonical) {
  const Index* indptr = static_cast<const Index*>(rows.indptr);
  const Index* indices = static_cast<const Index*>(rows.indices);
  if (indptr[0] != 0) return {Fault::Kind::pointers, 0, 0};
  for (std::int64_t i = 0; i < rows.n_rows; ++i)
    if (indptr[i + 1] < indptr[i] || indptr[i + 1] > n_values)
      return {Fault::Kind::pointers, i, 0};
  bool rising = true;
  for (std::int64_t i = 0; i < rows.n_rows; ++i) {
    std::int64_t before = -1;
    for (std::int64_t k = indptr[i]; k < indptr[i + 1]; ++k) {
      const std::int64_t f = indices[k];
      if (f < 0 || f >= rows.n_features) return {Fault::Kind::index, i, f};
      rising &= f > before;
      before = f;
    }
  }
  canonical = rising;
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
