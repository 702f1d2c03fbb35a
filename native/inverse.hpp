// The inverse of a kernel matrix, kept while vectors come and go.
//
// Of K + ridge diag(K), so that equal vectors do no harm. Each change is a rank-one update of O(n^2);
// only the lower triangle is stored, row after row.
#pragma once

#include <cstdint>
#include <vector>

#include "loops.hpp"

namespace multiplane {

class Inverse {
 public:
  static constexpr double kRidge = 1e-6;

  int size() const { return size_; }
  double at(int i, int j) const { return i >= j ? row(i)[j] : row(j)[i]; }

  // out = K^-1 k
  void solve(const double* k, double* out) const;

  // What is left of a vector's squared length after projection onto the others, with the ridge:
  // k(x, x) (1 + ridge) - k.g, where g = K^-1 k. Never zero.
  static double rest(const double* k, const double* g, double self, int n);

  // One more vector, given g = K^-1 k and its rest.
  void append(const double* g, double rest);

  // Column p of the inverse with one more vector (as for append), which is not kept: n + 1 entries.
  void column_with(const double* g, double rest, int p, double* out) const;
  // Put that vector in the place of p, given the column from column_with.
  void replace(const double* g, double rest, int p, const double* column);

  // From scratch: K with n rows, given its lower triangle.
  void factor(std::vector<double> lower, int n);

  std::vector<double>& lower() { return lower_; }
  const std::vector<double>& lower() const { return lower_; }
  void assign(std::vector<double> lower, int n) {
    lower_ = std::move(lower);
    size_ = n;
  }

 private:
  static std::size_t begin(int i) {
    return static_cast<std::size_t>(i) * (static_cast<std::size_t>(i) + 1) / 2;
  }
  const double* row(int i) const { return lower_.data() + begin(i); }
  double* row(int i) { return lower_.data() + begin(i); }

  int size_ = 0;
  std::vector<double> lower_;
};

}  // namespace multiplane
