#include "deform.hpp"

#include <algorithm>
#include <array>

#include "draw.hpp"

namespace multiplane {
namespace {

constexpr int kMiddle = kDigitSide - 1;  // in half pixels
constexpr int kPadded = 32;              // words in a row of `Framed`
constexpr std::int32_t kEnd = (kDigitSide + 1) << 8;  // of places in the frame

// One row's own sequence of draws.
class Draws {
 public:
  Draws(std::uint64_t seed, std::int64_t row) : key_(bits(bits(seed, 1), row)) {}

  std::int64_t below(std::int64_t n) {  // 0 ... n - 1, n < 2^32
    const std::uint64_t upper = bits(key_, ++t_) >> 32;
    return static_cast<std::int64_t>(upper * static_cast<std::uint64_t>(n) >> 32);
  }
  std::int32_t within(std::int32_t most) {  // -most ... most
    return static_cast<std::int32_t>(below(2 * std::int64_t{most} + 1)) - most;
  }

 private:
  std::uint64_t key_;
  std::int64_t t_ = 0;
};

// An image in a black frame of one pixel at the top and on the left, two at the other sides: a
// place that is kept within the frame can always be interpolated. A word holds a pixel and, in its
// upper half, the next one to the right, so that both take part in one multiplication.
using Framed = std::array<std::uint32_t, kPadded * (kDigitSide + 3)>;

void frame(const std::uint8_t* pixels, Framed& framed) {
  std::uint32_t* word = framed.data() + kPadded;
  for (int row = 0; row < kDigitSide; ++row, word += kPadded, pixels += kDigitSide) {
    word[0] = std::uint32_t{pixels[0]} << 16;
    for (int c = 1; c < kDigitSide; ++c)
      word[c] = pixels[c - 1] | std::uint32_t{pixels[c]} << 16;
    word[kDigitSide] = pixels[kDigitSide - 1];
  }
}

// x and y in 1/256 of a pixel, from the frame's corner.
std::uint32_t interpolated(const Framed& framed, std::int32_t x, std::int32_t y) {
  const std::uint32_t* word = framed.data() + (y >> 8) * kPadded + (x >> 8);
  const std::uint32_t fx = x & 255, fy = y & 255;
  const std::uint32_t both = (256 - fy) * word[0] + fy * word[kPadded];  // at most 255 * 256 a half
  return ((256 - fx) * (both & 0xffff) + fx * (both >> 16) + (1u << 15)) >> 16;
}

}  // namespace

void deform(const DigitImages& images, const Strength& strength, std::uint64_t seed,
            std::int64_t first, std::int64_t n, float* X, std::int64_t* image) {
  const auto window = [&](Draws& draw) {
    const std::int64_t top = draw.below(kTextureSide);
    return images.texture + top * kTextureStride + draw.below(kTextureSide);
  };
  Framed framed{};
  for (std::int64_t i = 0; i < n; ++i) {
    Draws draw(seed, first + i);
    image[i] = draw.below(images.n);
    const std::int16_t* Fx = window(draw);
    const std::int16_t* Fy = window(draw);
    const std::int32_t e = draw.within(strength.elastic);
    const std::int32_t p = draw.within(strength.scale), q = draw.within(strength.scale);
    const std::int32_t r = draw.within(strength.rotation), k = draw.within(strength.shear);
    const std::int32_t sx = draw.within(strength.shift), sy = draw.within(strength.shift);
    frame(images.pixels + image[i] * kDigitPixels, framed);
    for (std::int32_t row = 0; row < kDigitSide; ++row, X += kDigitSide) {
      const std::int32_t v = 2 * row - kMiddle;  // half pixels below the middle
      const std::int32_t x0 = (k - r) * v - kMiddle * p, y0 = q * v - kMiddle * r;
      std::int32_t x[kDigitSide], y[kDigitSide], value[kDigitSide];
      // Three loops, the outer two of which compilers turn into SIMD.
      for (int c = 0; c < kDigitSide; ++c) {
        const std::int32_t dx = ((x0 + 2 * c * p) >> 9) + ((e * Fx[c]) >> 8) + sx;
        const std::int32_t dy = ((y0 + 2 * c * r) >> 9) + ((e * Fy[c]) >> 8) + sy;
        x[c] = std::clamp(256 * (c + 1) + dx, 0, kEnd);
        y[c] = std::clamp(256 * (row + 1) + dy, 0, kEnd);
      }
      for (int c = 0; c < kDigitSide; ++c)
        value[c] = static_cast<std::int32_t>(interpolated(framed, x[c], y[c]));
      for (int c = 0; c < kDigitSide; ++c) X[c] = static_cast<float>(value[c]) / 255.0f;
      Fx += kTextureStride;
      Fy += kTextureStride;
    }
  }
}

}  // namespace multiplane
