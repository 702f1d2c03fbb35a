#include "merging.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

namespace multiplane {
namespace {

// exp(x) - 1, by our own series: the standard library's last bits differ from machine to machine. Odd
// and even powers are summed apart, so that neither sum waits for the other.
double expm1_(double x) {
  x = std::clamp(x, -700.0, 700.0);
  const double n = std::floor(x * 1.4426950408889634 + 0.5);
  const double r = (x - n * 0.693147180369123816490) - n * 1.90821492927058770002e-10;
  // 1 / 13!, 1 / 11!, ..., and 1 / 14!, 1 / 12!, ...
  constexpr double kOdd[] = {1.0 / 6227020800, 1.0 / 39916800, 1.0 / 362880, 1.0 / 5040,
                             1.0 / 120,        1.0 / 6,        1.0};
  constexpr double kEven[] = {1.0 / 87178291200, 1.0 / 479001600, 1.0 / 3628800, 1.0 / 40320,
                              1.0 / 720,         1.0 / 24,        1.0 / 2};
  const double r2 = r * r;
  double odd = 0, even = 0;
  for (int i = 0; i < 7; ++i) {
    odd = odd * r2 + kOdd[i];
    even = even * r2 + kEven[i];
  }
  const auto power = std::bit_cast<double>(static_cast<std::int64_t>(n + 1023) << 52);  // 2^n
  return power * (r * odd + r2 * even) + (power - 1);
}
double exp_(double x) { return x < -700 ? 0 : 1 + expm1_(x); }

// exp(2x) - 1, from exp(x) - 1
double twice(double expm1) { return expm1 * (expm1 + 2); }

}  // namespace

Merge best_merge(double a, double b, double c, double s) {
  const double by_s = expm1_(-s), k = exp_(-s);
  double h = 0, q = k;
  for (int step = 0; step < 100; ++step) {
    const double n = std::max(a * q * q + 2 * b * q + c, 1e-300);
    const double rho = (a * q * q + b * q) / n;
    const double slope = 1 - 2 * s * q * (a * b * q * q + 2 * a * c * q + b * c) / (n * n);
    const double move = slope > 0.2 ? (rho - h) / slope : rho - h;
    const double next = std::clamp(h + move, -1.0, 0.5);
    const bool done = std::fabs(next - h) <= 1e-9;  // Newton: the next would be below 1e-17
    h = next;
    if (done) break;
    q = exp_(-s * (1 - 2 * h));
  }
  const double to_m = expm1_(-s * (1 - h) * (1 - h)), to_n = expm1_(-s * h * h);
  const double found =
      -a * twice(to_m) - c * twice(to_n) - 2 * b * k * expm1_(2 * s * h * (1 - h));
  const double projected = -a * twice(by_s);
  if (found > projected) return {0, std::max(projected, 0.0), k, 1};
  return {h, std::max(found, 0.0), 1 + to_m, 1 + to_n};
}

}  // namespace multiplane
