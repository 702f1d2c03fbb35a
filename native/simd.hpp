// Sixteen floats, whatever the machine calls its registers.
//
// Every loop of this library works on lanes of sixteen: one zmm on AVX-512, two ymm on AVX2, four
// q registers on NEON, a plain array elsewhere. fma() is fused wherever the machine can do it, so a
// score, which is one chain of fma() over the features in their order, has the same bits on AVX-512,
// AVX2 and NEON. The baseline rounds twice and may differ in the last bits.
//
// Only for translation units that are compiled once per instruction set (loops.cpp). They must not
// use inline functions of the standard library: the linker keeps one copy of those for all levels,
// and could keep the one compiled for a newer CPU than the one we run on.
#pragma once

#include <cstdint>

#if defined(__AVX512F__) || defined(__AVX2__)
#include <immintrin.h>
#elif defined(__ARM_NEON)
#include <arm_neon.h>
#endif

#define MP_INLINE static inline __attribute__((always_inline))
#define MP_INLINE_METHOD inline __attribute__((always_inline))
#define MP_INLINE_LAMBDA __attribute__((always_inline))

namespace {

constexpr int kLanes = 16;

#if defined(__AVX512F__)

constexpr int kRegistersPerTile = 1;
constexpr int kAccumulators = 24;  // of 32 registers; the rest hold tiles and a broadcast

struct F16 {
  __m512 v;
};
struct M16 {
  __mmask16 v;
};

MP_INLINE F16 load(const float* p) { return {_mm512_loadu_ps(p)}; }
// W numbers, and zeros; nothing else is touched.
template <int W>
MP_INLINE F16 load_narrow(const float* p) {
  if constexpr (W == 4) return {_mm512_zextps128_ps512(_mm_loadu_ps(p))};
  if constexpr (W == 8) return {_mm512_zextps256_ps512(_mm256_loadu_ps(p))};
  return load(p);
}
// The first n of sixteen, and zeros; nothing else is touched. n is from 1 to 15: a load of none would
// still wait for its line.
MP_INLINE F16 load_first(const float* p, int n) {
  return {_mm512_maskz_loadu_ps(static_cast<__mmask16>((1u << n) - 1), p)};
}
MP_INLINE void store(float* p, F16 a) { _mm512_storeu_ps(p, a.v); }
MP_INLINE F16 splat(float x) { return {_mm512_set1_ps(x)}; }
MP_INLINE F16 fma(F16 a, F16 b, F16 c) { return {_mm512_fmadd_ps(a.v, b.v, c.v)}; }
// For the first W, the others of b and c being zeros.
template <int W>
MP_INLINE F16 fma_narrow(F16 a, F16 b, F16 c) {
  return fma(a, b, c);
}
MP_INLINE F16 add(F16 a, F16 b) { return {_mm512_add_ps(a.v, b.v)}; }
MP_INLINE F16 sub(F16 a, F16 b) { return {_mm512_sub_ps(a.v, b.v)}; }
MP_INLINE F16 mul(F16 a, F16 b) { return {_mm512_mul_ps(a.v, b.v)}; }
MP_INLINE F16 div(F16 a, F16 b) { return {_mm512_div_ps(a.v, b.v)}; }
MP_INLINE F16 min(F16 a, F16 b) { return {_mm512_min_ps(a.v, b.v)}; }
MP_INLINE M16 less(F16 a, F16 b) { return {_mm512_cmp_ps_mask(a.v, b.v, _CMP_LT_OQ)}; }
// The low bits of a float's pattern moved to where its exponent is, plus the pattern of 1.
MP_INLINE F16 as_exponent(F16 a) {
  const __m512i one = _mm512_castps_si512(_mm512_set1_ps(1.0f));
  const __m512i bits = _mm512_slli_epi32(_mm512_castps_si512(a.v), 23);
  return {_mm512_castsi512_ps(_mm512_add_epi32(bits, one))};
}
MP_INLINE F16 max(F16 a, F16 b) { return {_mm512_max_ps(a.v, b.v)}; }
// The greater of `most` and |x|, NaN being greater than all numbers. `most` is never negative: patterns
// of such floats are ordered as whole numbers.
MP_INLINE F16 max_size(F16 most, F16 x) {
  const __m512i size =
      _mm512_and_si512(_mm512_castps_si512(x.v), _mm512_set1_epi32(0x7fffffff));
  return {_mm512_castsi512_ps(_mm512_max_epu32(_mm512_castps_si512(most.v), size))};
}
MP_INLINE M16 equal(F16 a, F16 b) { return {_mm512_cmp_ps_mask(a.v, b.v, _CMP_EQ_OQ)}; }
MP_INLINE M16 not_zero(F16 a) {
  return {_mm512_cmp_ps_mask(a.v, _mm512_setzero_ps(), _CMP_NEQ_UQ)};
}
MP_INLINE M16 equal(const std::int32_t* p, std::int32_t x) {
  return {_mm512_cmpeq_epi32_mask(_mm512_loadu_si512(p), _mm512_set1_epi32(x))};
}
MP_INLINE M16 not_negative(const std::int32_t* p) {
  return {_mm512_cmpge_epi32_mask(_mm512_loadu_si512(p), _mm512_setzero_si512())};
}
MP_INLINE M16 and_not(M16 a, M16 b) { return {static_cast<__mmask16>(a.v & ~b.v)}; }
MP_INLINE M16 both(M16 a, M16 b) { return {static_cast<__mmask16>(a.v & b.v)}; }
MP_INLINE F16 select(M16 m, F16 a, F16 b) { return {_mm512_mask_blend_ps(m.v, b.v, a.v)}; }
MP_INLINE std::uint32_t bits(M16 m) { return m.v; }
MP_INLINE float max_lane(F16 a) { return _mm512_reduce_max_ps(a.v); }
// Both write the lanes of the mask close together, and rubbish up to sixteen: their values, or their
// numbers from `first` on. Returns how many.
MP_INLINE void compress(F16 a, M16 m, float* values) {
  _mm512_storeu_ps(values, _mm512_maskz_compress_ps(m.v, a.v));
}
MP_INLINE int compress_lanes(M16 m, std::int32_t first, std::int32_t* numbers) {
  const __m512i lanes = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  _mm512_storeu_si512(
      numbers, _mm512_maskz_compress_epi32(m.v, _mm512_add_epi32(_mm512_set1_epi32(first), lanes)));
  return __builtin_popcount(m.v);
}

#elif defined(__AVX2__)

constexpr int kRegistersPerTile = 2;
constexpr int kAccumulators = 12;
// Before loops over accumulators: GCC 12 keeps those of narrow tiles in memory if it unrolls too late.
#define MP_UNROLL _Pragma("GCC unroll 16")

struct F16 {
  __m256 lo, hi;
};
struct M16 {
  __m256 lo, hi;
};

MP_INLINE F16 load(const float* p) { return {_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8)}; }
// W numbers, and zeros; nothing else is touched.
template <int W>
MP_INLINE F16 load_narrow(const float* p) {
  if constexpr (W == 4) return {_mm256_zextps128_ps256(_mm_loadu_ps(p)), _mm256_setzero_ps()};
  if constexpr (W == 8) return {_mm256_loadu_ps(p), _mm256_setzero_ps()};
  return load(p);
}
// The first n of sixteen, and zeros; nothing else is touched. n is from 1 to 15.
MP_INLINE F16 load_first(const float* p, int n) {
  const __m256i lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  const __m256i low = _mm256_cmpgt_epi32(_mm256_set1_epi32(n), lanes);
  const __m256i high = _mm256_cmpgt_epi32(_mm256_set1_epi32(n - 8), lanes);
  return {_mm256_maskload_ps(p, low), _mm256_maskload_ps(p + 8, high)};
}
MP_INLINE void store(float* p, F16 a) {
  _mm256_storeu_ps(p, a.lo);
  _mm256_storeu_ps(p + 8, a.hi);
}
MP_INLINE F16 splat(float x) {
  const __m256 v = _mm256_set1_ps(x);
  return {v, v};
}
MP_INLINE F16 fma(F16 a, F16 b, F16 c) {
  return {_mm256_fmadd_ps(a.lo, b.lo, c.lo), _mm256_fmadd_ps(a.hi, b.hi, c.hi)};
}
// For the first W, the others of b and c being zeros: not taken from c, which would hold a register.
template <int W>
MP_INLINE F16 fma_narrow(F16 a, F16 b, F16 c) {
  if constexpr (W < kLanes) return {_mm256_fmadd_ps(a.lo, b.lo, c.lo), _mm256_setzero_ps()};
  return fma(a, b, c);
}
MP_INLINE F16 add(F16 a, F16 b) { return {_mm256_add_ps(a.lo, b.lo), _mm256_add_ps(a.hi, b.hi)}; }
MP_INLINE F16 sub(F16 a, F16 b) { return {_mm256_sub_ps(a.lo, b.lo), _mm256_sub_ps(a.hi, b.hi)}; }
MP_INLINE F16 mul(F16 a, F16 b) { return {_mm256_mul_ps(a.lo, b.lo), _mm256_mul_ps(a.hi, b.hi)}; }
MP_INLINE F16 div(F16 a, F16 b) { return {_mm256_div_ps(a.lo, b.lo), _mm256_div_ps(a.hi, b.hi)}; }
MP_INLINE F16 min(F16 a, F16 b) { return {_mm256_min_ps(a.lo, b.lo), _mm256_min_ps(a.hi, b.hi)}; }
MP_INLINE M16 less(F16 a, F16 b) {
  return {_mm256_cmp_ps(a.lo, b.lo, _CMP_LT_OQ), _mm256_cmp_ps(a.hi, b.hi, _CMP_LT_OQ)};
}
// The low bits of a float's pattern moved to where its exponent is, plus the pattern of 1.
MP_INLINE F16 as_exponent(F16 a) {
  const __m256i one = _mm256_castps_si256(_mm256_set1_ps(1.0f));
  const auto move = [&](__m256 v) {
    const __m256i bits = _mm256_slli_epi32(_mm256_castps_si256(v), 23);
    return _mm256_castsi256_ps(_mm256_add_epi32(bits, one));
  };
  return {move(a.lo), move(a.hi)};
}
MP_INLINE F16 max(F16 a, F16 b) { return {_mm256_max_ps(a.lo, b.lo), _mm256_max_ps(a.hi, b.hi)}; }
// The greater of `most` and |x|, NaN being greater than all numbers. `most` is never negative: patterns
// of such floats are ordered as whole numbers.
MP_INLINE F16 max_size(F16 most, F16 x) {
  const auto greater = [](__m256 m, __m256 v) {
    const __m256i size = _mm256_and_si256(_mm256_castps_si256(v), _mm256_set1_epi32(0x7fffffff));
    return _mm256_castsi256_ps(_mm256_max_epu32(_mm256_castps_si256(m), size));
  };
  return {greater(most.lo, x.lo), greater(most.hi, x.hi)};
}
MP_INLINE M16 equal(F16 a, F16 b) {
  return {_mm256_cmp_ps(a.lo, b.lo, _CMP_EQ_OQ), _mm256_cmp_ps(a.hi, b.hi, _CMP_EQ_OQ)};
}
MP_INLINE M16 not_zero(F16 a) {
  const __m256 zero = _mm256_setzero_ps();
  return {_mm256_cmp_ps(a.lo, zero, _CMP_NEQ_UQ), _mm256_cmp_ps(a.hi, zero, _CMP_NEQ_UQ)};
}
MP_INLINE __m256i load_i8(const std::int32_t* p) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
}
MP_INLINE M16 equal(const std::int32_t* p, std::int32_t x) {
  const __m256i v = _mm256_set1_epi32(x);
  return {_mm256_castsi256_ps(_mm256_cmpeq_epi32(load_i8(p), v)),
          _mm256_castsi256_ps(_mm256_cmpeq_epi32(load_i8(p + 8), v))};
}
MP_INLINE M16 not_negative(const std::int32_t* p) {
  const __m256i v = _mm256_set1_epi32(-1);
  return {_mm256_castsi256_ps(_mm256_cmpgt_epi32(load_i8(p), v)),
          _mm256_castsi256_ps(_mm256_cmpgt_epi32(load_i8(p + 8), v))};
}
MP_INLINE M16 and_not(M16 a, M16 b) {
  return {_mm256_andnot_ps(b.lo, a.lo), _mm256_andnot_ps(b.hi, a.hi)};
}
MP_INLINE M16 both(M16 a, M16 b) { return {_mm256_and_ps(a.lo, b.lo), _mm256_and_ps(a.hi, b.hi)}; }
MP_INLINE F16 select(M16 m, F16 a, F16 b) {
  return {_mm256_blendv_ps(b.lo, a.lo, m.lo), _mm256_blendv_ps(b.hi, a.hi, m.hi)};
}
MP_INLINE std::uint32_t bits(M16 m) {
  return static_cast<std::uint32_t>(_mm256_movemask_ps(m.lo)) |
         static_cast<std::uint32_t>(_mm256_movemask_ps(m.hi)) << 8;
}
MP_INLINE float max_lane(F16 a) {
  const __m256 m = _mm256_max_ps(a.lo, a.hi);
  __m128 v = _mm_max_ps(_mm256_castps256_ps128(m), _mm256_extractf128_ps(m, 1));
  v = _mm_max_ps(v, _mm_movehl_ps(v, v));
  return _mm_cvtss_f32(_mm_max_ss(v, _mm_movehdup_ps(v)));
}

// For each set of 8 lanes, their numbers close together: no branch depends on the data.
struct CompressTable {
  alignas(64) std::uint8_t lanes[256][8];
};
constexpr CompressTable make_compress_table() {
  CompressTable table{};
  for (int set = 0; set < 256; ++set)
    for (int lane = 0, k = 0; lane < 8; ++lane)
      if (set >> lane & 1) table.lanes[set][k++] = static_cast<std::uint8_t>(lane);
  return table;
}
constexpr CompressTable kCompress = make_compress_table();

MP_INLINE __m256i compressed(__m256 m) {
  const auto* lanes = kCompress.lanes[_mm256_movemask_ps(m)];
  return _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(lanes)));
}
MP_INLINE int count(__m256 m) {
  return __builtin_popcount(static_cast<unsigned>(_mm256_movemask_ps(m)));
}
// Both write the lanes of the mask close together, and rubbish up to sixteen: their values, or their
// numbers from `first` on. Returns how many.
MP_INLINE void compress(F16 a, M16 m, float* values) {
  _mm256_storeu_ps(values, _mm256_permutevar8x32_ps(a.lo, compressed(m.lo)));
  _mm256_storeu_ps(values + count(m.lo), _mm256_permutevar8x32_ps(a.hi, compressed(m.hi)));
}
MP_INLINE int compress_lanes(M16 m, std::int32_t first, std::int32_t* numbers) {
  const int k = count(m.lo);
  const auto put = [](std::int32_t* p, __m256i lanes, std::int32_t from) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p),
                        _mm256_add_epi32(lanes, _mm256_set1_epi32(from)));
  };
  put(numbers, compressed(m.lo), first);
  put(numbers + k, compressed(m.hi), first + 8);
  return k + count(m.hi);
}

#else

struct F16 {
  float v[kLanes];
};
struct M16 {
  std::int32_t v[kLanes];  // 0 or -1
};

#define MP_EACH(i) for (int i = 0; i < kLanes; ++i)

#if defined(__ARM_NEON)
constexpr int kRegistersPerTile = 4;
constexpr int kAccumulators = 24;
// For the first W, the others of b and c being zeros.
template <int W>
MP_INLINE F16 fma_narrow(F16 a, F16 b, F16 c) {
  for (int i = 0; i < W; i += 4) {
    vst1q_f32(c.v + i, vfmaq_f32(vld1q_f32(c.v + i), vld1q_f32(a.v + i), vld1q_f32(b.v + i)));
  }
  return c;
}
#else
constexpr int kRegistersPerTile = 4;
constexpr int kAccumulators = 12;
template <int W>
MP_INLINE F16 fma_narrow(F16 a, F16 b, F16 c) {
  for (int i = 0; i < W; ++i) c.v[i] += a.v[i] * b.v[i];
  return c;
}
#endif
MP_INLINE F16 fma(F16 a, F16 b, F16 c) { return fma_narrow<kLanes>(a, b, c); }

MP_INLINE F16 load(const float* p) {
  F16 a;
  MP_EACH(i) a.v[i] = p[i];
  return a;
}
// W numbers, and zeros; nothing else is touched.
template <int W>
MP_INLINE F16 load_narrow(const float* p) {
  F16 a;
  MP_EACH(i) a.v[i] = i < W ? p[i] : 0.0f;
  return a;
}
// The first n of sixteen, and zeros; nothing else is touched. n is from 1 to 15.
MP_INLINE F16 load_first(const float* p, int n) {
  F16 a;
  MP_EACH(i) a.v[i] = i < n ? p[i] : 0.0f;
  return a;
}
MP_INLINE void store(float* p, F16 a) { MP_EACH(i) p[i] = a.v[i]; }
MP_INLINE F16 splat(float x) {
  F16 a;
  MP_EACH(i) a.v[i] = x;
  return a;
}
MP_INLINE F16 add(F16 a, F16 b) {
  MP_EACH(i) a.v[i] += b.v[i];
  return a;
}
MP_INLINE F16 sub(F16 a, F16 b) {
  MP_EACH(i) a.v[i] -= b.v[i];
  return a;
}
MP_INLINE F16 mul(F16 a, F16 b) {
  MP_EACH(i) a.v[i] *= b.v[i];
  return a;
}
MP_INLINE F16 div(F16 a, F16 b) {
  MP_EACH(i) a.v[i] /= b.v[i];
  return a;
}
MP_INLINE F16 min(F16 a, F16 b) {
  MP_EACH(i) a.v[i] = a.v[i] < b.v[i] ? a.v[i] : b.v[i];
  return a;
}
MP_INLINE M16 less(F16 a, F16 b) {
  M16 m;
  MP_EACH(i) m.v[i] = -(a.v[i] < b.v[i]);
  return m;
}
// The low bits of a float's pattern moved to where its exponent is, plus the pattern of 1.
MP_INLINE F16 as_exponent(F16 a) {
  MP_EACH(i) {
    std::uint32_t bits;
    __builtin_memcpy(&bits, a.v + i, 4);
    bits = (bits << 23) + 0x3f800000u;
    __builtin_memcpy(a.v + i, &bits, 4);
  }
  return a;
}
MP_INLINE F16 max(F16 a, F16 b) {
  MP_EACH(i) a.v[i] = a.v[i] > b.v[i] ? a.v[i] : b.v[i];
  return a;
}
// The greater of `most` and |x|, NaN being greater than all numbers. `most` is never negative: patterns
// of such floats are ordered as whole numbers.
MP_INLINE F16 max_size(F16 most, F16 x) {
  MP_EACH(i) {
    std::uint32_t m, size;
    __builtin_memcpy(&m, most.v + i, 4);
    __builtin_memcpy(&size, x.v + i, 4);
    size &= 0x7fffffffu;
    m = m > size ? m : size;
    __builtin_memcpy(most.v + i, &m, 4);
  }
  return most;
}
MP_INLINE M16 equal(F16 a, F16 b) {
  M16 m;
  MP_EACH(i) m.v[i] = -(a.v[i] == b.v[i]);
  return m;
}
MP_INLINE M16 not_zero(F16 a) {
  M16 m;
  MP_EACH(i) m.v[i] = -(a.v[i] != 0.0f);
  return m;
}
MP_INLINE M16 equal(const std::int32_t* p, std::int32_t x) {
  M16 m;
  MP_EACH(i) m.v[i] = -(p[i] == x);
  return m;
}
MP_INLINE M16 not_negative(const std::int32_t* p) {
  M16 m;
  MP_EACH(i) m.v[i] = -(p[i] >= 0);
  return m;
}
MP_INLINE M16 and_not(M16 a, M16 b) {
  MP_EACH(i) a.v[i] &= ~b.v[i];
  return a;
}
MP_INLINE M16 both(M16 a, M16 b) {
  MP_EACH(i) a.v[i] &= b.v[i];
  return a;
}
MP_INLINE F16 select(M16 m, F16 a, F16 b) {
  MP_EACH(i) a.v[i] = m.v[i] ? a.v[i] : b.v[i];
  return a;
}
MP_INLINE std::uint32_t bits(M16 m) {
  std::uint32_t b = 0;
  MP_EACH(i) b |= static_cast<std::uint32_t>(m.v[i] & 1) << i;
  return b;
}
MP_INLINE float max_lane(F16 a) {
  for (int half = kLanes / 2; half > 0; half /= 2)
    for (int i = 0; i < half; ++i) a.v[i] = a.v[i] > a.v[i + half] ? a.v[i] : a.v[i + half];
  return a.v[0];
}
MP_INLINE void compress(F16 a, M16 m, float* values) {
  int k = 0;
  MP_EACH(i) {
    values[k] = a.v[i];
    k += m.v[i] & 1;
  }
}
MP_INLINE int compress_lanes(M16 m, std::int32_t first, std::int32_t* numbers) {
  int k = 0;
  MP_EACH(i) {
    numbers[k] = first + i;
    k += m.v[i] & 1;
  }
  return k;
}
#undef MP_EACH

#endif

#if !defined(MP_UNROLL)
#define MP_UNROLL
#endif

// One rounding where the machine fuses, as in the vectors above.
MP_INLINE float fma1(float a, float b, float c) {
#if defined(__FMA__) || defined(__ARM_NEON)
  return __builtin_fmaf(a, b, c);
#else
  return a * b + c;
#endif
}

// exp(x) = 2^n (1 + q): both parts, for expm1 has use for them too. |x| at most 87.
struct ExpParts {
  F16 power, q;
};
MP_INLINE ExpParts exp_parts(F16 x) {
  // Adding 1.5 * 2^23 rounds to a whole number, which then stands in the low bits.
  const F16 magic = splat(12582912.0f);
  const F16 rounded = fma(x, splat(1.44269504f), magic);
  const F16 n = sub(rounded, magic);
  // x - n ln 2, ln 2 being 355/512 less a little, so that n * 355/512 is exact with or without fma.
  const F16 r = fma(n, splat(2.12194440e-4f), fma(n, splat(-0.693359375f), x));
  F16 p = splat(1.0f / 5040);
  p = fma(p, r, splat(1.0f / 720));
  p = fma(p, r, splat(1.0f / 120));
  p = fma(p, r, splat(1.0f / 24));
  p = fma(p, r, splat(1.0f / 6));
  p = fma(p, r, splat(0.5f));
  return {as_exponent(rounded), fma(p, mul(r, r), r)};
}
MP_INLINE F16 clamped(F16 x) { return max(min(x, splat(87.0f)), splat(-87.0f)); }

// Within 2 units in the last place; 0 below -87 (no denormal numbers, which are slow), e^87 above.
MP_INLINE F16 exp(F16 x) {
  const ExpParts e = exp_parts(clamped(x));
  return select(less(x, splat(-87.0f)), splat(0.0f), fma(e.power, e.q, e.power));
}
// The same for x that is never positive: one operation less.
MP_INLINE F16 exp_negative(F16 x) {
  const F16 lowest = splat(-87.0f);
  const ExpParts e = exp_parts(max(x, lowest));
  return select(less(x, lowest), splat(0.0f), fma(e.power, e.q, e.power));
}
// exp(x) - 1 without loss near 0.
MP_INLINE F16 expm1(F16 x) {
  const ExpParts e = exp_parts(clamped(x));
  return fma(e.power, e.q, sub(e.power, splat(1.0f)));
}

// The sum of the lanes, always in this order: halves are added until one is left.
#if defined(__AVX2__)
MP_INLINE float sum_of_8(__m256 a) {
  __m128 v = _mm_add_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
  v = _mm_add_ps(v, _mm_movehl_ps(v, v));
  return _mm_cvtss_f32(_mm_add_ss(v, _mm_movehdup_ps(v)));
}
#if defined(__AVX512F__)
MP_INLINE float sum_lanes(F16 a) {
  const __m512d halves = _mm512_castps_pd(a.v);
  const __m256 low = _mm256_castpd_ps(_mm512_castpd512_pd256(halves));
  return sum_of_8(_mm256_add_ps(low, _mm256_castpd_ps(_mm512_extractf64x4_pd(halves, 1))));
}
#else
MP_INLINE float sum_lanes(F16 a) { return sum_of_8(_mm256_add_ps(a.lo, a.hi)); }
#endif
#else
MP_INLINE float sum_lanes(F16 a) {
  for (int half = kLanes / 2; half > 0; half /= 2)
    for (int i = 0; i < half; ++i) a.v[i] += a.v[i + half];
  return a.v[0];
}
#endif

}  // namespace
