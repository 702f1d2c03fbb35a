// k(x, v) = (gamma x.v + coef0)^degree
#pragma once

namespace {
struct Polynomial {
  explicit Polynomial(const multiplane::Kernel& k)
      : gamma(splat(k.gamma)), coef0(splat(k.coef0)), degree(k.degree) {}

  MP_INLINE_METHOD F16 operator()(F16 dot, F16, F16) const {
    F16 base = fma(gamma, dot, coef0), power = splat(1.0f);
    for (std::int32_t left = degree; left; left >>= 1) {
      if (left & 1) power = mul(power, base);
      base = mul(base, base);
    }
    return power;
  }

  F16 gamma, coef0;
  std::int32_t degree;
};
}  // namespace
