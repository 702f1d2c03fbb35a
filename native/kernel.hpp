// Which kernel, with its parameters. What a kernel computes is in kernels/, a small file each.
#pragma once

#include <cstdint>

namespace multiplane {

// name in Python, type in kernels/, positive definite (so that projection makes sense)
#define MP_KERNELS(X)              \
  X("linear", Linear, true)        \
  X("poly", Polynomial, true)      \
  X("rbf", Rbf, true)              \
  X("sigmoid", Sigmoid, false)

struct Kernel {
  enum class Kind {
#define MP_KIND(name, Type, definite) Type,
    MP_KERNELS(MP_KIND)
#undef MP_KIND
  } kind;
  float gamma, coef0;
  std::int32_t degree;
};

}  // namespace multiplane
