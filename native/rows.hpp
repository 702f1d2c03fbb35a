// Rows of examples, dense or CSR, behind one face: "give me row i".
#pragma once

#include <algorithm>
#include <cstdint>

#include "loops.hpp"

namespace multiplane {

// One row, whole or by its non-zeros. A whole one may come with a list of where it is not zero.
struct Row {
  enum class Kind { dense, sparse32, sparse64 } kind;
  const float* values;
  const void* indices;
  std::int64_t n_values;
  std::int64_t n_picked = -1;  // how long that list is, in `indices`; -1: there is none

  bool is_picked() const { return n_picked >= 0; }
  bool is_zero() const {
    for (std::int64_t k = 0; k < n_values; ++k)
      if (values[k] != 0.0f) return false;
    return true;
  }
  template <class Index>
  NonZeros<Index> non_zeros() const {
    return {values, static_cast<const Index*>(indices), n_values};
  }
  Picked picked() const { return {values, static_cast<const std::int32_t*>(indices), n_picked}; }
};

// lane += c * x, for the features that x has.
inline void add_to_lane(float* lane, int stride, const Row& x, float c) {
  const Loops& run = loops();
  // Where they lie close together, sixteen are added as fast as one.
  const bool by_list = x.is_picked() && (stride > 1 || kTile * x.n_picked < x.n_values);
  if (by_list)
    run.add_picked(lane, stride, x.picked(), c);
  else if (x.kind == Row::Kind::sparse32)
    run.add_sparse32(lane, stride, x.non_zeros<std::int32_t>(), c);
  else if (x.kind == Row::Kind::sparse64)
    run.add_sparse64(lane, stride, x.non_zeros<std::int64_t>(), c);
  else
    run.add_dense(lane, stride, x.values, x.n_values, c);
}

// How many rows before its turn a shuffled row is asked for.
constexpr std::int64_t kFarAhead = 24;

// A view; whoever makes it keeps the arrays alive and has checked them (see check.hpp).
struct Rows {
  enum class Kind { dense, csr32, csr64 } kind;
  std::int64_t n_rows, n_features;
  const float* values;
  const void* indices;  // int32 or int64, by kind
  const void* indptr;

  // Where row i begins in values; row_begin(n_rows) is the end of the last.
  std::int64_t row_begin(std::int64_t i) const {
    if (kind == Kind::dense) return i * n_features;
    return kind == Kind::csr32 ? static_cast<const std::int32_t*>(indptr)[i]
                               : static_cast<const std::int64_t*>(indptr)[i];
  }

  Row row(std::int64_t i) const {
    const std::int64_t begin = row_begin(i), n = row_begin(i + 1) - begin;
    switch (kind) {
      case Kind::csr32:
        return {Row::Kind::sparse32, values + begin,
                static_cast<const std::int32_t*>(indices) + begin, n};
      case Kind::csr64:
        return {Row::Kind::sparse64, values + begin,
                static_cast<const std::int64_t*>(indices) + begin, n};
      default: return {Row::Kind::dense, values + begin, nullptr, n};
    }
  }

  // Shuffled rows are far apart, and memory is slow to answer. So a row is asked for some steps before
  // its turn; all but short ones into the second-level cache: the first has neither room for so many
  // nor enough lines that it can wait for at once.

  // Where the dense row begins that is to be asked for in step k, null if there is none. (Line by line
  // while the k-th is searched for non-zeros, it costs less than all at once. Of long rows fewer.)
  const float* ahead(const std::int64_t* order, std::int64_t k, std::int64_t n) const {
    constexpr std::int64_t kFloats = 1 << 16;  // a quarter of a second-level cache of 1 MiB
    if (!order || kind != Kind::dense || n_features == 0) return nullptr;
    const std::int64_t far = std::clamp<std::int64_t>(kFloats / n_features, 1, kFarAhead);
    return k + far < n ? values + order[k + far] * n_features : nullptr;
  }

  // All else that step k asks for: the later row, unless it has been; its label; where a still later
  // one begins. Of very long rows the machine fetches the rest by itself once reading has begun.
  void look_ahead(const std::int64_t* order, std::int64_t k, std::int64_t n, const std::int32_t* y,
                  bool asked) const {
    constexpr std::int64_t kLine = 64, kMost = 4096, kShort = 256;
    asm volatile("");  // or GCC takes a function that only prefetches for one without effect
    if (kind != Kind::dense && k + 2 * kFarAhead < n) {
      const std::int64_t size = kind == Kind::csr32 ? 4 : 8;
      __builtin_prefetch(static_cast<const char*>(indptr) + order[k + 2 * kFarAhead] * size);
    }
    if (k + kFarAhead >= n) return;
    const std::int64_t i = order[k + kFarAhead];
    __builtin_prefetch(y + i);
    if (asked) return;
    const Row r = row(i);
    const auto touch = [&](const void* p, std::int64_t size) {
      const char* c = static_cast<const char*>(p);
      const std::int64_t bytes = r.n_values * size < kMost ? r.n_values * size : kMost;
      if (bytes > kShort)
        for (std::int64_t b = 0; b < bytes; b += kLine) __builtin_prefetch(c + b, 0, 2);
      else
        for (std::int64_t b = 0; b < bytes; b += kLine) __builtin_prefetch(c + b);
    };
    touch(r.values, 4);
    if (kind == Kind::csr32) touch(r.indices, 4);
    if (kind == Kind::csr64) touch(r.indices, 8);
  }
};

}  // namespace multiplane
