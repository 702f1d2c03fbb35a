// Deformed images of digits: small affine maps and elastic deformations.
//
// A new image has at z = (x, y), counted from its middle, what an old one has at
//
//   z + A z + s + e F(z),    A = [p  k-r]    p, q: scaling, r: rotation, k: shear, all small,
//                                [r    q]    s: shift, F: a smooth field, e: its factor.
//
// Both parts of F are windows of one random texture. All is done in integers, places in 1/256 of a
// pixel: the same bytes on every machine. Row i of a seed depends on these two alone.
#pragma once

#include <cstdint>

namespace multiplane {

constexpr int kDigitSide = 28;
constexpr int kDigitPixels = kDigitSide * kDigitSide;
constexpr int kTextureSide = 256;  // of a torus
constexpr int kTextureStride = kTextureSide + kDigitSide;  // as stored, for windows at its edges

// The most of each: a row draws from minus to plus so much, all values being equally likely.
struct Strength {
  std::int32_t rotation, scale, shear;  // in 1/65536 (of a radian, of the size)
  std::int32_t shift;                   // in 1/256 of a pixel
  std::int32_t elastic;                 // in 1/256

  static constexpr std::int32_t kMost = 1 << 15;  // places then stay far within 32 bits
};

struct DigitImages {
  const std::uint8_t* pixels;   // (n, kDigitPixels)
  std::int64_t n;               // at least 1, less than 2^32
  const std::int16_t* texture;  // (kTextureStride, kTextureStride), in 1/256 of a pixel
};

// Rows first ... first + n - 1: grey values in [0, 1], (n, kDigitPixels), and whose image each is.
void deform(const DigitImages& images, const Strength& strength, std::uint64_t seed,
            std::int64_t first, std::int64_t n, float* X, std::int64_t* image);

}  // namespace multiplane
