#pragma once

#include <cstdint>

namespace multiplane {

// A number in [0, 1) that depends on seed and t alone (splitmix64), so that duplications do not
// depend on how a stream is cut.
inline double uniform(std::uint64_t seed, std::int64_t t) {
  std::uint64_t x = seed + static_cast<std::uint64_t>(t) * 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  x ^= x >> 31;
  return static_cast<double>(x >> 11) * 0x1.0p-53;
}

}  // namespace multiplane
