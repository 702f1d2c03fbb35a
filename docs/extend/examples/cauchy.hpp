// k(x, v) = 1 / (1 + gamma |x - v|^2)
#pragma once

namespace {
struct Cauchy {
  explicit Cauchy(const multiplane::Kernel& k) : gamma(splat(k.gamma)) {}

  MP_INLINE_METHOD F16 operator()(F16 dot, F16 x2, F16 v2) const {
    const F16 distance = max(fma(splat(-2.0f), dot, add(x2, v2)), splat(0.0f));
    return div(splat(1.0f), fma(gamma, distance, splat(1.0f)));
  }

  F16 gamma;
};
}  // namespace
