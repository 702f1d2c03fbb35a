// k(x, v) = tanh(gamma x.v + coef0)
#pragma once

namespace {
struct Sigmoid {
  explicit Sigmoid(const multiplane::Kernel& k) : gamma(splat(k.gamma)), coef0(splat(k.coef0)) {}

  MP_INLINE_METHOD F16 operator()(F16 dot, F16, F16) const {
    const F16 a = fma(gamma, dot, coef0);
    const F16 e = expm1(add(a, a));  // tanh a = (exp 2a - 1) / (exp 2a + 1)
    return div(e, add(e, splat(2.0f)));
  }

  F16 gamma, coef0;
};
}  // namespace
