// The inverse of a kernel matrix, kept while vectors come and go.
//
// Of K + ridge diag(K), so that equal vectors do no harm. Each change is a rank-one update of O(n^2);
// only the lower triangle is stored, row after row.
//
// K comes in float32, and rounding may leave it with eigenvalues below zero: -1e-6 for a hundred points
// in the plane under a wide RBF. The ridge must be larger. Whoever sees that it has been used up by more
// than a half calls factor() with a larger one.
#pragma once

#include <cstdint>
#include <vector>

#include "loops.hpp"

namespace multiplane {

class Inverse {
 public:
  static constexpr double kRidge = 1e-6;  // to begin with

  int size() const { return size_; }
  double ridge() const { return ridge_; }
  double at(int i, int j) const { return i >= j ? row(i)[j] : row(j)[i]; }

  // out = K^-1 k
  void solve(const double* k, double* out) const;

  // What is left of a vector's squared length after projection onto the others, with the ridge:
  // k(x, x) (1 + ridge) - k.g, where g = K^-1 k. At least half the ridge, else !enough(rest, self).
  double rest(const double* k, const double* g, double self) const;
  bool enough(double rest, double self) const { return rest > 0.5 * ridge_ * self; }

  // One more vector, given g = K^-1 k and its rest.
  void append(const double* g, double rest);

  // Column p of the inverse with one more vector (as for append), which is not kept: n + 1 entries.
  void column_with(const double* g, double rest, int p, double* out) const;
  // Put that vector in the place of p, given the column from column_with.
  void replace(const double* g, double rest, int p, const double* column);

  // From scratch: K with n rows, given its lower triangle. False if the ridge is not enough for it.
  bool factor(std::vector<double> lower, int n, double ridge);

  const std::vector<double>& lower() const { return lower_; }
  void assign(std::vector<double> lower, int n, double ridge = kRidge) {
    lower_ = std::move(lower);
    size_ = n;
    ridge_ = ridge;
  }

 private:
  static std::size_t begin(int i) {
    return static_cast<std::size_t>(i) * (static_cast<std::size_t>(i) + 1) / 2;
  }
  const double* row(int i) const { return lower_.data() + begin(i); }
  double* row(int i) { return lower_.data() + begin(i); }

  int size_ = 0;
  double ridge_ = kRidge;
  std::vector<double> lower_;
};

}  // namespace multiplane
