#include "inverse.hpp"

#include <algorithm>
#include <cmath>

namespace multiplane {

void Inverse::solve(const double* k, double* out) const {
  for (int i = 0; i < size_; ++i) {
    const double* a = row(i);
    out[i] = loops().dot(a, k, i + 1);
    loops().add_scaled(out, a, k[i], i);
  }
}

double Inverse::rest(const double* k, const double* g, double self) const {
  return std::max(self * (1 + ridge_) - loops().dot(k, g, size_), 0.5 * ridge_ * self);
}

void Inverse::append(const double* g, double rest) {
  const double x = 1 / rest;
  for (int i = 0; i < size_; ++i) loops().add_scaled(row(i), g, x * g[i], i + 1);
  for (int j = 0; j < size_; ++j) lower_.push_back(-x * g[j]);
  lower_.push_back(x);
  ++size_;
}

void Inverse::column_with(const double* g, double rest, int p, double* out) const {
  const double x = 1 / rest;
  if (p == size_) {
    for (int j = 0; j < size_; ++j) out[j] = -x * g[j];
    out[size_] = x;
    return;
  }
  for (int j = 0; j < size_; ++j) out[j] = at(j, p) + x * g[p] * g[j];
  out[size_] = -x * g[p];
}

void Inverse::replace(const double* g, double rest, int p, const double* column) {
  const double x = 1 / rest, y = -1 / column[p], last = column[size_];
  for (int i = 0; i < size_; ++i)
    loops().add_scaled2(row(i), g, x * g[i], column, y * column[i], i + 1);
  // The newcomer's own row, which moves to p.
  for (int j = 0; j < size_; ++j) {
    const double entry = j == p ? x + y * last * last : -x * g[j] + y * last * column[j];
    (j <= p ? row(p)[j] : row(j)[p]) = entry;
  }
}

bool Inverse::factor(std::vector<double> lower, int n, double ridge) {
  assign(std::move(lower), n, ridge);
  bool all = true;
  // Cholesky: K = L L'
  for (int i = 0; i < n; ++i) {
    double* a = row(i);
    for (int j = 0; j < i; ++j) a[j] = (a[j] - loops().dot(a, row(j), j)) / row(j)[j];
    const double self = a[i], rest = self * (1 + ridge) - loops().dot(a, a, i);
    all = all && enough(rest, self);
    a[i] = std::sqrt(std::max(rest, 0.5 * ridge * self));
  }
  // L^-1 in the place of L
  std::vector<double> sums(static_cast<std::size_t>(n));
  for (int i = 0; i < n; ++i) {
    double* a = row(i);
    std::fill_n(sums.begin(), i, 0.0);
    for (int k = 0; k < i; ++k) loops().add_scaled(sums.data(), row(k), a[k], k + 1);
    for (int j = 0; j < i; ++j) a[j] = -sums[static_cast<std::size_t>(j)] / a[i];
    a[i] = 1 / a[i];
  }
  // K^-1 = L'^-1 L^-1: row i of the result needs the rows from i on, which are still those of L^-1.
  for (int i = 0; i < n; ++i) {
    std::fill_n(sums.begin(), i + 1, 0.0);
    for (int k = i; k < n; ++k) loops().add_scaled(sums.data(), row(k), row(k)[i], i + 1);
    std::copy_n(sums.begin(), i + 1, row(i));
  }
  return all;
}

}  // namespace multiplane
