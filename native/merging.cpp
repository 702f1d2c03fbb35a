#include "merging.hpp"

#include <algorithm>
#include <cmath>

namespace multiplane {
namespace {

// exp(x) - 1, by our own series: the standard library's last bits differ from machine to machine.
double expm1_(double x) {
  x = std::clamp(x, -700.0, 700.0);
  const double n = std::floor(x * 1.4426950408889634 + 0.5);
  const double r = (x - n * 0.693147180369123816490) - n * 1.90821492927058770002e-10;
  constexpr double kInverse[] = {1.0 / 2,  1.0 / 3,  1.0 / 4,  1.0 / 5,  1.0 / 6,  1.0 / 7, 1.0 / 8,
                                 1.0 / 9, 1.0 / 10, 1.0 / 11, 1.0 / 12, 1.0 / 13, 1.0 / 14};
  double sum = 1;
  for (int i = 12; i >= 0; --i) sum = 1 + r * kInverse[i] * sum;
  const double power = std::ldexp(1.0, static_cast<int>(n));
  return power * (r * sum) + (power - 1);
}
double exp_(double x) { return x < -700 ? 0 : 1 + expm1_(x); }

double cost(double a, double b, double c, double s, double h) {
  return -a * expm1_(-2 * s * (1 - h) * (1 - h)) - c * expm1_(-2 * s * h * h) -
         2 * b * exp_(-s) * expm1_(2 * s * h * (1 - h));
}

}  // namespace

Merge best_merge(double a, double b, double c, double s) {
  double h = 0;
  for (int step = 0; step < 100; ++step) {
    const double q = exp_(-s * (1 - 2 * h));
    const double n = std::max(a * q * q + 2 * b * q + c, 1e-300);
    const double rho = (a * q * q + b * q) / n;
    const double slope = 1 - 2 * s * q * (a * b * q * q + 2 * a * c * q + b * c) / (n * n);
    const double move = slope > 0.2 ? (rho - h) / slope : rho - h;
    const double next = std::clamp(h + move, -1.0, 0.5);
    const bool done = std::fabs(next - h) <= 1e-9;  // Newton: the next would be below 1e-17
    h = next;
    if (done) break;
  }
  const double found = cost(a, b, c, s, h), projected = -a * expm1_(-2 * s);
  if (found > projected) return {0, std::max(projected, 0.0), exp_(-s), 1};
  return {h, std::max(found, 0.0), exp_(-s * (1 - h) * (1 - h)), exp_(-s * h * h)};
}

}  // namespace multiplane
