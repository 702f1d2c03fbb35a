// A kernel machine: f_c(x) = sum over the support vectors v of coef_c(v) k(v, x).
//
// Support vectors lie in tiles like hyperplanes, so that rows are multiplied with them by the same
// loops. Lanes beyond the last one are zero vectors with zero coefficients: they need no mask.
#pragma once

#include <cstdint>
#include <vector>

#include "kernel.hpp"
#include "tiles.hpp"

namespace multiplane {

inline float squared_norm(const Row& x) {
  switch (x.kind) {
    case Row::Kind::sparse32:
      return loops().squared_norm32(x.values, static_cast<const std::int32_t*>(x.indices),
                                    x.n_values);
    case Row::Kind::sparse64:
      return loops().squared_norm64(x.values, static_cast<const std::int64_t*>(x.indices),
                                    x.n_values);
    default: return loops().squared_norm(x.values, x.n_values);
  }
}

// k(x, x)
inline float self_kernel(const Kernel& kernel, float x2) {
  float dots[kTile] = {x2}, squared[kTile] = {x2}, out[kTile];
  loops().kernel(kernel, dots, x2, squared, 1, out);
  return out[0];
}

// A row a class: those of classes that are called code[c] now, and zeros for new ones.
std::vector<std::vector<float>> relabelled(std::vector<std::vector<float>> rows,
                                           const std::vector<std::int32_t>& code,
                                           std::int32_t n_classes, std::size_t n_lanes);

class KernelMachine {
 public:
  KernelMachine(std::int64_t n_features, int n_classes, const Kernel& kernel)
      : n_features_(n_features), kernel_(kernel), coef_(static_cast<std::size_t>(n_classes)) {
    point();
  }
  KernelMachine(KernelMachine&&) = default;
  KernelMachine& operator=(KernelMachine&&) = default;

  std::int64_t n_features() const { return n_features_; }
  int n_classes() const { return static_cast<int>(coef_.size()); }
  int size() const { return size_; }
  int n_tiles() const { return static_cast<int>(tiles_.size()); }
  const Kernel& kernel() const { return kernel_; }
  Tiles tiles() const { return {pointers_.data(), n_tiles(), kTile, 0.0f}; }
  const float* squared_norms() const { return squared_.data(); }
  float squared_norm_of(int i) const { return squared_[static_cast<std::size_t>(i)]; }
  // A row a class; valid until the next reserve() or relabel().
  const float* const* coef() const { return rows_.data(); }
  const float* coef(int c) const { return coef_[static_cast<std::size_t>(c)].data(); }
  float coef(int c, int i) const {
    return coef_[static_cast<std::size_t>(c)][static_cast<std::size_t>(i)];
  }
  void set_coef(int c, int i, float value) {
    coef_[static_cast<std::size_t>(c)][static_cast<std::size_t>(i)] = value;
  }
  const float* lane(int i) const { return pointers_[static_cast<std::size_t>(i / kTile)] + i % kTile; }
  float* lane(int i) { return pointers_[static_cast<std::size_t>(i / kTile)] + i % kTile; }

  // Tiles for this many support vectors: adding them then moves nothing and cannot fail.
  void reserve(int n);
  // A new support vector, with coefficients of zero.
  int add(const Row& x, float x2);
  // The last one takes the place of i.
  void remove(int i);
  // v_i = x, n_features floats close together
  void replace(int i, const float* x);
  // v_i, close together
  void copy_vector(int i, float* x) const;
  void relabel(const std::vector<std::int32_t>& code, std::int32_t n_classes);
  // A copy with other coefficients: get(class, support vector)
  template <class Get>
  KernelMachine with(Get get) const {
    KernelMachine out(n_features_, n_classes(), kernel_);
    out.reserve(size_);
    std::vector<float> x(static_cast<std::size_t>(n_features_));
    for (int i = 0; i < size_; ++i) {
      copy_vector(i, x.data());
      out.add({Row::Kind::dense, x.data(), nullptr, n_features_}, squared_norm_of(i));
      for (int c = 0; c < n_classes(); ++c) out.set_coef(c, i, get(c, i));
    }
    return out;
  }

 private:
  void point() {
    rows_.clear();
    for (const std::vector<float>& row : coef_) rows_.push_back(row.data());
  }

  std::int64_t n_features_;
  Kernel kernel_;
  int size_ = 0;
  std::vector<Tile> tiles_;
  std::vector<float*> pointers_;
  std::vector<float> squared_;            // |v|^2
  std::vector<std::vector<float>> coef_;  // a row a class
  std::vector<const float*> rows_;        // where they begin
};

}  // namespace multiplane
