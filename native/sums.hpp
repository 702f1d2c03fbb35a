// Sums of rows, one for each hyperplane, the constant feature last. Nobody scores them, so each is in
// one piece and not in a tile: a row then touches a sixteenth of the cache lines.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <optional>
#include <utility>
#include <vector>

#include "rows.hpp"

namespace multiplane {

class Sums {
 public:
  Sums(std::int64_t n_features, float bias) : n_features_(n_features), bias_(bias) {}

  std::int64_t n_features() const { return n_features_; }
  int size() const { return static_cast<int>(sums_.size()); }
  float* operator[](int i) { return sums_[static_cast<std::size_t>(i)].get(); }
  const float* operator[](int i) const { return sums_[static_cast<std::size_t>(i)].get(); }

  // Memory for two more, so that the next two calls of add() cannot fail.
  void prepare() {
    if (sums_.capacity() < sums_.size() + 2) sums_.reserve(2 * sums_.size() + 2);
    while (spare_.size() < 2) spare_.push_back(zeros(n_features_));
  }
  // One more, zero.
  void add() {
    if (spare_.empty()) prepare();
    sums_.push_back(std::move(spare_.back()));
    spare_.pop_back();
  }

  void copy(int from, int to) { copy_not_zeros((*this)[from], (*this)[to], n_features_ + 1); }

  // Keep these (ascending), in their order; the others are gone.
  void keep(const std::vector<int>& kept) {
    for (std::size_t to = 0; to < kept.size(); ++to)
      std::swap(sums_[to], sums_[static_cast<std::size_t>(kept[to])]);
    sums_.resize(kept.size());
  }

  // The same with more features, zero everywhere; or with fewer, if those that go are zero everywhere.
  std::optional<Sums> resized(std::int64_t n_features) const {
    const std::int64_t common = std::min(n_features, n_features_);
    Sums out(n_features, bias_);
    for (const Sum& sum : sums_) {
      for (std::int64_t f = common; f < n_features_; ++f)
        if (sum[f] != 0.0f) return std::nullopt;
      out.add();
      copy_not_zeros(sum.get(), out.sums_.back().get(), common);
      out.sums_.back()[n_features] = sum[n_features_];
    }
    return out;
  }

  // sum += c * (x, bias)
  void add_row(int i, const Row& x, float c) {
    add_to_lane((*this)[i], 1, x, c);
    (*this)[i][n_features_] += c * bias_;
  }

 private:
  struct Free {
    void operator()(float* p) const { std::free(p); }
  };
  using Sum = std::unique_ptr<float[], Free>;

  // calloc leaves pages uncommitted that nobody writes to, and copying must not write zeros to them.
  static Sum zeros(std::int64_t n_features) {
    Sum sum(static_cast<float*>(
        std::calloc(static_cast<std::size_t>(n_features) + 1, sizeof(float))));
    if (!sum) throw std::bad_alloc();
    return sum;
  }
  static void copy_not_zeros(const float* from, float* to, std::int64_t n) {
    for (std::int64_t f = 0; f < n; ++f)
      if (to[f] != from[f]) to[f] = from[f];
  }

  std::int64_t n_features_;
  float bias_;
  std::vector<Sum> sums_, spare_;
};

}  // namespace multiplane
