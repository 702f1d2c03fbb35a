// The support set of a kernel learner: a machine, and what learning has to know of its vectors.
#pragma once

#include <cstdint>
#include <vector>

#include "kernel_machine.hpp"

namespace multiplane {

// The sum of weights[lane] * values[lane] over the lanes of the first tiles.
float weighed(const float* weights, const float* values, int n_tiles);

// out[lane] = alpha_i . alpha_lane, for the lanes of the first tiles.
class CoefProducts {
 public:
  void operator()(const KernelMachine& machine, int i, int n_tiles, float* out);

 private:
  std::vector<const float*> rows_;
  std::vector<float> alpha_;
};

class Support {
 public:
  Support(std::int64_t n_features, int n_classes, const Kernel& kernel, bool average)
      : machine_(n_features, n_classes, kernel),
        average_(average),
        sums_(average ? static_cast<std::size_t>(n_classes) : 0) {}

  KernelMachine& machine() { return machine_; }
  const KernelMachine& machine() const { return machine_; }
  int size() const { return machine_.size(); }
  int n_lanes() const { return machine_.n_tiles() * kTile; }
  bool averages() const { return average_; }

  void reserve(int n);
  int add(const Row& x, float x2, std::int64_t born);
  void remove(int i);
  void relabel(const std::vector<std::int32_t>& code, std::int32_t n_classes);

  // The sum that averaging keeps beside a coefficient. Maintenance changes both alike, by add_scaled
  // and set_mixture.
  float sum(int c, int i) const {
    return sums_[static_cast<std::size_t>(c)][static_cast<std::size_t>(i)];
  }
  void set_sum(int c, int i, float value) {
    sums_[static_cast<std::size_t>(c)][static_cast<std::size_t>(i)] = value;
  }
  // alpha_to += factor * alpha_from, in the sums too
  void add_scaled(int to, int from, double factor);
  // alpha_to = x alpha_a + y alpha_b, in the sums too
  void set_mixture(int to, int a, double x, int b, double y);
  // Those that are there now shall be neither the smallest nor a partner of anyone: to maintenance
  // they look like empty lanes.
  void freeze() {
    frozen_ = size();
    weigh_all();
  }
  int frozen() const { return frozen_; }
  // After coefficients of i have changed: |alpha_i|^2 anew.
  void weigh(int i);
  void weigh_all();

  // |alpha_i|^2
  const float* weights() const { return weight_.data(); }
  float weight(int i) const { return weight_[static_cast<std::size_t>(i)]; }
  // k(v_i, v_i)
  float self(int i) const { return self_[static_cast<std::size_t>(i)]; }
  std::int64_t born(int i) const { return born_[static_cast<std::size_t>(i)]; }
  void set_born(int i, std::int64_t t) { born_[static_cast<std::size_t>(i)] = t; }

  // The one whose removal changes the model least, |alpha|^2 k(v, v); of equals the oldest.
  bool smaller(int i, int j) const {
    const auto a = static_cast<std::size_t>(i), b = static_cast<std::size_t>(j);
    return size_[a] < size_[b] || (size_[a] == size_[b] && born_[a] < born_[b]);
  }
  int smallest() const { return loops().smallest(size_.data(), born_.data(), machine_.n_tiles()); }

  // Products of x with all lanes, for x given close together, and kernel values by them.
  void products(const float* x, float* dots) const;
  void kernels(const float* dots, float x2, float* values) const {
    loops().kernel(machine_.kernel(), dots, x2, machine_.squared_norms(), machine_.n_tiles(), values);
  }
  void row(const float* x, float x2, float* dots, float* values) const {
    products(x, dots);
    kernels(dots, x2, values);
  }
  // f(x), given the kernel values of x
  void evaluate(const float* kernels, float* f) const {
    loops().weigh(machine_.coef(), machine_.n_classes(), kernels, machine_.n_tiles(), f);
  }
  // alpha_i . f
  double inner(int i, const float* f) const {
    double sum = 0;
    for (int c = 0; c < machine_.n_classes(); ++c)
      sum += static_cast<double>(machine_.coef(c, i)) * f[c];
    return sum;
  }
  // alpha_i . alpha_j
  double inner(int i, int j) const {
    double sum = 0;
    for (int c = 0; c < machine_.n_classes(); ++c)
      sum += static_cast<double>(machine_.coef(c, i)) * machine_.coef(c, j);
    return sum;
  }
  // |f|^2, from scratch
  double squared_norm() const;

 private:
  KernelMachine machine_;
  bool average_;
  int frozen_ = 0;
  std::vector<std::vector<float>> sums_;
  std::vector<float> weight_, self_;
  std::vector<float> size_;  // |alpha|^2 |k(v, v)|, infinity for empty lanes
  std::vector<std::int64_t> born_;
};

}  // namespace multiplane
