#include "support.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace multiplane {

void Support::reserve(int n) {
  machine_.reserve(n);
  const std::size_t lanes = static_cast<std::size_t>(n_lanes());
  weight_.resize(lanes, 0.0f);
  size_.resize(lanes, std::numeric_limits<float>::infinity());
  self_.resize(lanes, 0.0f);
  born_.resize(lanes, 0);
  for (std::vector<float>& row : sums_) row.resize(lanes, 0.0f);
}

int Support::add(const Row& x, float x2, std::int64_t born) {
  reserve(size() + 1);
  const int i = machine_.add(x, x2);
  self_[static_cast<std::size_t>(i)] = self_kernel(machine_.kernel(), x2);
  set_born(i, born);
  return i;
}

void Support::remove(int i) {
  machine_.remove(i);
  const int last = size();
  const auto take = [&](auto& row) {
    row[static_cast<std::size_t>(i)] = row[static_cast<std::size_t>(last)];
    row[static_cast<std::size_t>(last)] = 0;
  };
  take(weight_);
  take(size_);
  size_[static_cast<std::size_t>(last)] = std::numeric_limits<float>::infinity();
  take(self_);
  take(born_);
  for (std::vector<float>& row : sums_) take(row);
}

void Support::relabel(const std::vector<std::int32_t>& code, std::int32_t n_classes) {
  machine_.relabel(code, n_classes);
  if (averages())
    sums_ = relabelled(std::move(sums_), code, n_classes, static_cast<std::size_t>(n_lanes()));
}

void Support::add_scaled(int to, int from, double factor) {
  for (int c = 0; c < machine_.n_classes(); ++c) {
    machine_.set_coef(
        c, to, static_cast<float>(machine_.coef(c, to) + factor * machine_.coef(c, from)));
    if (averages())
      set_sum(c, to, static_cast<float>(sum(c, to) + factor * sum(c, from)));
  }
}

void Support::set_mixture(int to, int a, double x, int b, double y) {
  for (int c = 0; c < machine_.n_classes(); ++c) {
    machine_.set_coef(c, to,
                      static_cast<float>(x * machine_.coef(c, a) + y * machine_.coef(c, b)));
    if (averages()) set_sum(c, to, static_cast<float>(x * sum(c, a) + y * sum(c, b)));
  }
}

void Support::weigh(int i) {
  if (i < frozen_) {
    weight_[static_cast<std::size_t>(i)] = 0;
    size_[static_cast<std::size_t>(i)] = std::numeric_limits<float>::infinity();
    return;
  }
  double sum = 0;
  for (int c = 0; c < machine_.n_classes(); ++c) {
    const double a = machine_.coef(c, i);
    sum += a * a;
  }
  weight_[static_cast<std::size_t>(i)] = static_cast<float>(sum);
  // never infinite: that is for empty lanes; nor NaN, as infinity times zero would be
  size_[static_cast<std::size_t>(i)] =
      std::min(std::numeric_limits<float>::max(), static_cast<float>(sum) * std::fabs(self(i)));
}

void Support::weigh_all() {
  for (int i = 0; i < size(); ++i) weigh(i);
}

void Support::products(const float* x, float* dots) const {
  loops().score_dense(&x, 1, machine_.n_features(), machine_.tiles(), dots);
}

float weighed(const float* weights, const float* values, int n_tiles) {
  float sum;
  loops().weigh(&weights, 1, values, n_tiles, &sum);
  return sum;
}

void CoefProducts::operator()(const KernelMachine& machine, int i, int n_tiles, float* out) {
  rows_.clear();
  alpha_.clear();
  for (int c = 0; c < machine.n_classes(); ++c)  // those in which i has a say: often only two
    if (const float a = machine.coef(c, i); a != 0) {
      rows_.push_back(machine.coef(c));
      alpha_.push_back(a);
    }
  loops().mix(rows_.data(), static_cast<int>(rows_.size()), alpha_.data(), n_tiles, out);
}

// Row by row of the kernel matrix, up to the diagonal: sum of alpha_i . alpha_j k(v_i, v_j).
double Support::squared_norm() const {
  const std::size_t d = static_cast<std::size_t>(machine_.n_features());
  const std::size_t most = static_cast<std::size_t>(n_lanes());
  std::vector<float> x(d * kMaxBlock), dots(most * kMaxBlock), kernels(most), alphas(most);
  CoefProducts coef_products;
  const float* vectors[kMaxBlock];
  for (int r = 0; r < kMaxBlock; ++r) vectors[r] = x.data() + static_cast<std::size_t>(r) * d;
  double sum = 0;
  const int block = loops().block;
  for (int first = 0; first < size(); first += block) {
    const int n = std::min(block, size() - first);
    const int n_tiles = (first + n + kTile - 1) / kTile;
    for (int r = 0; r < n; ++r)
      machine_.copy_vector(first + r, x.data() + static_cast<std::size_t>(r) * d);
    const Tiles some{machine_.tiles().data, n_tiles, kTile, 0.0f};
    loops().score_dense(vectors, n, machine_.n_features(), some, dots.data());
    for (int r = 0; r < n; ++r) {
      const int i = first + r;
      loops().kernel(machine_.kernel(), dots.data() + r * n_tiles * kTile,
                     machine_.squared_norm_of(i), machine_.squared_norms(), n_tiles, kernels.data());
      kernels[static_cast<std::size_t>(i)] = 0.5f * self(i);
      std::fill(kernels.begin() + i + 1, kernels.begin() + n_tiles * kTile, 0.0f);
      coef_products(machine_, i, n_tiles, alphas.data());
      sum += 2 * weighed(alphas.data(), kernels.data(), n_tiles);
    }
  }
  return sum;
}

}  // namespace multiplane
