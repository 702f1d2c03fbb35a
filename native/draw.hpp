#pragma once

#include <cstdint>

namespace multiplane {

// 64 bits that depend on seed and t alone (splitmix64), so that what is drawn does not depend on how
// a stream is cut.
inline std::uint64_t bits(std::uint64_t seed, std::int64_t t) {
  std::uint64_t x = seed + static_cast<std::uint64_t>(t) * 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

// A number in [0, 1).
inline double uniform(std::uint64_t seed, std::int64_t t) {
  return static_cast<double>(bits(seed, t) >> 11) * 0x1.0p-53;
}

}  // namespace multiplane
