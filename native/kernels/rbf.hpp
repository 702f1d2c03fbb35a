// k(x, v) = exp(-gamma |x - v|^2)
#pragma once

namespace {
struct Rbf {
  explicit Rbf(const multiplane::Kernel& k) : gamma(splat(k.gamma)), minus(splat(-k.gamma)) {}

  // |x - v|^2, from x.v and the squared norms.
  MP_INLINE_METHOD F16 distance(F16 dot, F16 x2, F16 v2) const {
    return max(fma(splat(-2.0f), dot, add(x2, v2)), splat(0.0f));
  }
  MP_INLINE_METHOD F16 exponent(F16 dot, F16 x2, F16 v2) const {
    return mul(gamma, distance(dot, x2, v2));
  }
  MP_INLINE_METHOD F16 operator()(F16 dot, F16 x2, F16 v2) const {
    return exp_negative(mul(minus, distance(dot, x2, v2)));
  }

  F16 gamma, minus;
};
}  // namespace
