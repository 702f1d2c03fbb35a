// Compiled once per instruction set, with MP_LEVEL naming the table it makes. See simd.hpp for why
// nothing of the standard library is used here.
#include "loops.hpp"

#include "simd.hpp"
// after simd.hpp, in whose terms they are written
#include "kernels/linear.hpp"
#include "kernels/polynomial.hpp"
#include "kernels/rbf.hpp"
#include "kernels/sigmoid.hpp"

#define MP_CONCAT_(a, b) a##b
#define MP_CONCAT(a, b) MP_CONCAT_(a, b)
#define MP_STRING_(a) #a
#define MP_STRING(a) MP_STRING_(a)

namespace {

using multiplane::Tiles;
static_assert(kLanes == multiplane::kTile);

constexpr float kMinusInfinity = -__builtin_huge_valf();

// Features of one tile that stay in the first-level cache while several rows pass: 16 KiB.
constexpr std::int64_t kFeatureChunk = 256;

constexpr int rows_at_once() {
  const int rows = kAccumulators / kRegistersPerTile;
  return rows < multiplane::kMaxBlock ? rows : multiplane::kMaxBlock;
}
// More would be more streams from memory than the machine follows.
constexpr int kMostTiles = 6;
constexpr int tiles_at_once(int rows) {
  const int tiles = kAccumulators / (kRegistersPerTile * rows);
  return tiles < 1 ? 1 : tiles < kMostTiles ? tiles : kMostTiles;
}

// How many tiles are not narrow; the others are one at most, and the last.
MP_INLINE int whole(const Tiles& tiles) { return tiles.last < kLanes ? tiles.n - 1 : tiles.n; }

// Feature f of T tiles, of which the last has W lanes: zeros beyond these.
template <int T, int W>
MP_INLINE void load_lanes(const float* const* tiles, std::int64_t f, F16 (&u)[T]) {
  for (int q = 0; q + 1 < T; ++q) u[q] = load(tiles[q] + f * kLanes);
  u[T - 1] = load_narrow<W>(tiles[T - 1] + f * W);
}
MP_INLINE F16 load_lanes(const Tiles& tiles, int q, std::int64_t f) {
  if (q < whole(tiles)) return load(tiles.data[q] + f * kLanes);
  const float* tile = tiles.data[q];
  return tiles.last == 8 ? load_narrow<8>(tile + f * 8) : load_narrow<4>(tile + f * 4);
}

// Some features of dense rows: those of the first chunk begin with the constant feature.
struct Chunk {
  std::int64_t begin, end, n_features;
  float bias;
};

// R rows x T tiles over a chunk, the last tile having W lanes: R*T independent chains hide the latency
// of fma.
template <int R, int T, int W>
MP_INLINE void score_chunk(const float* const* rows, const Chunk& chunk, const float* const* tiles,
                           int stride, float* scores) {
  const auto [begin, end, n_features, bias] = chunk;
  F16 acc[R][T], u[T];
  load_lanes<T, W>(tiles, n_features, u);
  MP_UNROLL
  for (int r = 0; r < R; ++r) {
    MP_UNROLL
    for (int q = 0; q < T; ++q)
      acc[r][q] = begin == 0 ? fma(splat(bias), u[q], splat(0.0f))
                             : load(scores + r * stride + q * kLanes);
  }
  for (std::int64_t f = begin; f < end; ++f) {
    load_lanes<T, W>(tiles, f, u);
    MP_UNROLL
    for (int r = 0; r < R; ++r) {
      const F16 x = splat(rows[r][f]);
      MP_UNROLL
      for (int q = 0; q + 1 < T; ++q) acc[r][q] = fma(x, u[q], acc[r][q]);
      acc[r][T - 1] = fma_narrow<W>(x, u[T - 1], acc[r][T - 1]);
    }
  }
  MP_UNROLL
  for (int r = 0; r < R; ++r) {
    MP_UNROLL
    for (int q = 0; q < T; ++q) store(scores + r * stride + q * kLanes, acc[r][q]);
  }
}

template <int R, int T>
MP_INLINE int score_tiles(const float* const* rows, const Chunk& chunk, const Tiles& tiles, int q,
                          float* scores) {
  for (; q + T <= whole(tiles); q += T)
    score_chunk<R, T, kLanes>(rows, chunk, tiles.data + q, tiles.n * kLanes, scores + q * kLanes);
  return q;
}

template <int R>
void score_rows(const float* const* rows, const Chunk& chunk, const Tiles& tiles, float* scores) {
  constexpr int T = tiles_at_once(R);
  int q = score_tiles<R, T>(rows, chunk, tiles, 0, scores);
  if constexpr (T > 4) q = score_tiles<R, 4>(rows, chunk, tiles, q, scores);
  if constexpr (T > 2) q = score_tiles<R, 2>(rows, chunk, tiles, q, scores);
  if constexpr (T > 1) q = score_tiles<R, 1>(rows, chunk, tiles, q, scores);
  if (q == tiles.n) return;
  const int stride = tiles.n * kLanes;
  if (tiles.last == 8)
    score_chunk<R, 1, 8>(rows, chunk, tiles.data + q, stride, scores + q * kLanes);
  else
    score_chunk<R, 1, 4>(rows, chunk, tiles.data + q, stride, scores + q * kLanes);
}

void score_dense(const float* const* rows, int n_rows, std::int64_t n_features, const Tiles& tiles,
                 float* scores) {
  const int stride = tiles.n * kLanes;
  std::int64_t begin = 0;
  do {  // once without features, too: there is the constant one
    const std::int64_t rest_features = n_features - begin;
    const std::int64_t end = begin + (rest_features < kFeatureChunk ? rest_features : kFeatureChunk);
    const Chunk chunk{begin, end, n_features, tiles.bias};
    constexpr int R = rows_at_once();
    int r = 0;
    for (; r + R <= n_rows; r += R) score_rows<R>(rows + r, chunk, tiles, scores + r * stride);
    const float* const* rest = rows + r;
    float* out = scores + r * stride;
    switch (n_rows - r) {
      case 7: score_rows<7>(rest, chunk, tiles, out); break;
      case 6: score_rows<6>(rest, chunk, tiles, out); break;
      case 5: score_rows<5>(rest, chunk, tiles, out); break;
      case 4: score_rows<4>(rest, chunk, tiles, out); break;
      case 3: score_rows<3>(rest, chunk, tiles, out); break;
      case 2: score_rows<2>(rest, chunk, tiles, out); break;
      case 1: score_rows<1>(rest, chunk, tiles, out); break;
      default: break;
    }
    begin = end;
  } while (begin < n_features);
}

// A line into the second-level cache.
MP_INLINE void ask(multiplane::Ahead& ahead) {
  if (ahead.from >= ahead.to) return;
  __builtin_prefetch(ahead.from, 0, 2);
  ahead.from += kLanes;
  static_assert(kLanes * sizeof(float) == 64);
}

// The k-th non-zeros of R rows at a time, for k in [begin, end): independent chains again. Rows near
// each other use the same features, so a line of a tile fetched for one is often there for the next.
template <int R, int T, int W, class NonZeros>
MP_INLINE void score_step(const NonZeros* rows, std::int64_t begin, std::int64_t end,
                          const float* const* tiles, float* const* scores, int first,
                          multiplane::Ahead ahead = {}) {
  F16 acc[R][T];
  for (int r = 0; r < R; ++r)
    for (int q = 0; q < T; ++q) acc[r][q] = load(scores[r] + first + q * kLanes);
  const auto add = [&](std::int64_t k) MP_INLINE_LAMBDA {
    for (int r = 0; r < R; ++r) {
      const std::int64_t f = rows[r].indices[k];
      const F16 x = splat(rows[r].value(k));
      for (int q = 0; q + 1 < T; ++q) acc[r][q] = fma(x, load(tiles[q] + f * kLanes), acc[r][q]);
      acc[r][T - 1] = fma_narrow<W>(x, load_narrow<W>(tiles[T - 1] + f * W), acc[r][T - 1]);
    }
  };
  std::int64_t k = begin;
  // Seldom enough: these wait in the same places as the lines of tiles, which must not wait for them.
  constexpr int kBetween = 12;
  for (; ahead.from < ahead.to && k + kBetween <= end; k += kBetween) {
    ask(ahead);
    MP_UNROLL
    for (int j = 0; j < kBetween; ++j) add(k + j);
  }
  while (ahead.from < ahead.to) ask(ahead);
  for (; k < end; ++k) add(k);
  for (int r = 0; r < R; ++r)
    for (int q = 0; q < T; ++q) store(scores[r] + first + q * kLanes, acc[r][q]);
}

// Rows by their non-zeros, with where their scores go; those with fewer come first.
template <class NonZeros>
struct SparseBlock {
  NonZeros rows[multiplane::kSparseBlock];
  float* scores[multiplane::kSparseBlock];
  int n;
  multiplane::Ahead ahead;  // of a single row
};

// T tiles from the q-th on. All rows go until the shortest ends, then the others.
template <int T, int W, class NonZeros>
MP_INLINE void score_group(const SparseBlock<NonZeros>& block, const Tiles& tiles, int q) {
  static_assert(multiplane::kSparseBlock == 4);
  const NonZeros* rows = block.rows;
  float* const* scores = block.scores;
  const float* const* data = tiles.data + q;
  const int first = q * kLanes;
  std::int64_t k = 0;
  switch (block.n) {
    case 4:
      score_step<4, T, W>(rows, k, rows[0].n, data, scores, first);
      k = rows[0].n;
      ++rows, ++scores;
      [[fallthrough]];
    case 3:
      score_step<3, T, W>(rows, k, rows[0].n, data, scores, first);
      k = rows[0].n;
      ++rows, ++scores;
      [[fallthrough]];
    case 2:
      score_step<2, T, W>(rows, k, rows[0].n, data, scores, first);
      k = rows[0].n;
      ++rows, ++scores;
      [[fallthrough]];
    default:
      score_step<1, T, W>(rows, k, rows[0].n, data, scores, first,
                          q == 0 ? block.ahead : multiplane::Ahead{});
  }
}

// The same for the last T tiles.
template <int T, class NonZeros>
void score_last(const SparseBlock<NonZeros>& block, const Tiles& tiles) {
  const int q = tiles.n - T;
  switch (tiles.last) {
    case 4: score_group<T, 4>(block, tiles, q); break;
    case 8: score_group<T, 8>(block, tiles, q); break;
    default: score_group<T, kLanes>(block, tiles, q);
  }
}

void start_with_intercept(std::int64_t n_features, const Tiles& tiles, float* scores) {
  const F16 b = splat(tiles.bias), zero = splat(0.0f);
  for (int q = 0; q < tiles.n; ++q)
    store(scores + q * kLanes, fma(b, load_lanes(tiles, q, n_features), zero));
}

template <class NonZeros>
MP_INLINE void score_block(const NonZeros* rows, int n_rows, std::int64_t n_features,
                           const Tiles& tiles, multiplane::Ahead ahead, float* scores) {
  SparseBlock<NonZeros> block;
  block.n = n_rows;
  block.ahead = ahead;
  for (int r = 0; r < n_rows; ++r) {
    float* mine = scores + r * tiles.n * kLanes;
    start_with_intercept(n_features, tiles, mine);
    int at = r;
    for (; at > 0 && block.rows[at - 1].n > rows[r].n; --at) {
      block.rows[at] = block.rows[at - 1];
      block.scores[at] = block.scores[at - 1];
    }
    block.rows[at] = rows[r];
    block.scores[at] = mine;
  }
  int q = 0;
  if (n_rows == 1) {
    // A single row has only its tiles to hide latency with: as many as there are registers.
    constexpr int T = tiles_at_once(1);
    static_assert(T <= 6);
    for (; q + T <= whole(tiles); q += T) score_group<T, kLanes>(block, tiles, q);
    switch (tiles.n - q) {
      case 6: score_last<6>(block, tiles); break;
      case 5: score_last<5>(block, tiles); break;
      case 4: score_last<4>(block, tiles); break;
      case 3: score_last<3>(block, tiles); break;
      case 2: score_last<2>(block, tiles); break;
      case 1: score_last<1>(block, tiles); break;
      default: break;
    }
    return;
  }
  constexpr int T = kRegistersPerTile == 1 ? 2 : 1;
  for (; q + T < tiles.n; q += T) score_group<T, kLanes>(block, tiles, q);
  if (tiles.n - q == 1)
    score_last<1>(block, tiles);
  else if constexpr (T == 2)
    if (tiles.n - q == 2) score_last<2>(block, tiles);
}

template <class NonZeros>
void score_sparse(const NonZeros* rows, int n_rows, std::int64_t n_features, const Tiles& tiles,
                  float* scores) {
  score_block(rows, n_rows, n_features, tiles, {}, scores);
}

void score_picked(const multiplane::Picked& row, std::int64_t n_features, const Tiles& tiles,
                  multiplane::Ahead ahead, float* scores) {
  score_block(&row, 1, n_features, tiles, ahead, scores);
}

// Of a positive number, which may be the largest: the pattern of what follows is one more.
MP_INLINE float next_above(float x) {
  std::uint32_t bits;
  __builtin_memcpy(&bits, &x, 4);
  ++bits;
  __builtin_memcpy(&x, &bits, 4);
  return x;
}

// Of the greatest sizes that max_size has found.
MP_INLINE bool within(F16 most, float largest) {
  return bits(less(most, splat(next_above(largest)))) == 0xffff;
}

bool all_within(const float* values, std::int64_t n, float largest) {
  F16 most = splat(0.0f);
  std::int64_t k = 0;
  for (; k + kLanes <= n; k += kLanes) most = max_size(most, load(values + k));
  if (k < n) most = max_size(most, load_first(values + k, static_cast<int>(n - k)));
  return within(most, largest);
}

std::int64_t non_zeros(const float* row, std::int64_t n, float largest, multiplane::Ahead ahead,
                       std::int32_t* indices) {
  F16 most = splat(0.0f);
  std::int64_t k = 0, f = 0;
  for (; f + kLanes <= n; f += kLanes) {
    ask(ahead);
    const F16 x = load(row + f);
    most = max_size(most, x);
    k += compress_lanes(not_zero(x), static_cast<std::int32_t>(f), indices + k);
  }
  if (f < n) most = max_size(most, load_first(row + f, static_cast<int>(n - f)));
  for (; f < n; ++f)
    if (row[f] != 0.0f) indices[k++] = static_cast<std::int32_t>(f);
  return largest > 0 && !within(most, largest) ? -1 : k;
}

multiplane::Best best(const float* scores, const std::int32_t* owner, int n_tiles,
                      std::int32_t y) {
  const F16 low = splat(kMinusInfinity);
  F16 right = low, rival = low;
  for (int q = 0; q < n_tiles; ++q) {
    const F16 s = load(scores + q * kLanes);
    const std::int32_t* o = owner + q * kLanes;
    const M16 mine = equal(o, y);
    right = max(right, select(mine, s, low));
    rival = max(rival, select(and_not(not_negative(o), mine), s, low));
  }
  return {max_lane(right), max_lane(rival)};
}

int winner(const float* scores, const std::int32_t* owner, int n_tiles) {
  const F16 low = splat(kMinusInfinity);
  F16 highest = low;
  for (int q = 0; q < n_tiles; ++q)
    highest = max(highest, select(not_negative(owner + q * kLanes), load(scores + q * kLanes), low));
  const F16 wanted = splat(max_lane(highest));
  int lane = -1;
  for (int q = 0; q < n_tiles; ++q) {
    const std::int32_t* o = owner + q * kLanes;
    std::uint32_t hits = bits(both(not_negative(o), equal(load(scores + q * kLanes), wanted)));
    for (; hits; hits &= hits - 1) {
      const int candidate = q * kLanes + __builtin_ctz(hits);
      if (lane < 0 || owner[candidate] < owner[lane]) lane = candidate;
    }
  }
  return lane;
}

int find(const float* scores, const std::int32_t* owner, int n_tiles, std::int32_t y, bool right,
         float score) {
  const F16 wanted = splat(score);
  for (int q = 0; q < n_tiles; ++q) {
    const std::int32_t* o = owner + q * kLanes;
    const M16 mine = equal(o, y);
    const M16 allowed = right ? mine : and_not(not_negative(o), mine);
    const std::uint32_t hits = bits(both(allowed, equal(load(scores + q * kLanes), wanted)));
    if (hits) return q * kLanes + __builtin_ctz(hits);
  }
  return -1;
}

int near(const float* scores, const std::int32_t* owner, int n_tiles, std::int32_t y, bool right,
         float least, std::int32_t* lanes) {
  const F16 bound = splat(least);
  int n = 0;
  for (int q = 0; q < n_tiles; ++q) {
    const std::int32_t* o = owner + q * kLanes;
    const M16 mine = equal(o, y);
    const M16 allowed = right ? mine : and_not(not_negative(o), mine);
    const M16 high = and_not(allowed, less(load(scores + q * kLanes), bound));
    if (bits(high)) n += compress_lanes(high, q * kLanes, lanes + n);
  }
  return n;
}

template <int Stride>
void add_dense_by(float* lane, const float* x, std::int64_t n, float c) {
  for (std::int64_t f = 0; f < n; ++f) lane[f * Stride] = fma1(c, x[f], lane[f * Stride]);
}

void add_close(float* sum, const float* x, std::int64_t n, float c) {
  const F16 factor = splat(c);
  std::int64_t f = 0;
  for (; f + kLanes <= n; f += kLanes) store(sum + f, fma(factor, load(x + f), load(sum + f)));
  for (; f < n; ++f) sum[f] = fma1(c, x[f], sum[f]);
}

void add_dense(float* lane, int stride, const float* x, std::int64_t n, float c) {
  switch (stride) {
    case 1: add_close(lane, x, n, c); break;
    case 4: add_dense_by<4>(lane, x, n, c); break;
    case 8: add_dense_by<8>(lane, x, n, c); break;
    default: add_dense_by<kLanes>(lane, x, n, c);
  }
}

void add_dense_tile(float* tile, const float* x, std::int64_t n, const float* c) {
  const F16 factors = load(c);
  for (std::int64_t f = 0; f < n; ++f, tile += kLanes)
    store(tile, fma(factors, splat(x[f]), load(tile)));
}

template <int Stride, class NonZeros>
void add_sparse_by(float* lane, const NonZeros& x, float c) {
  for (std::int64_t k = 0; k < x.n; ++k) {
    float* u = lane + static_cast<std::int64_t>(x.indices[k]) * Stride;
    *u = fma1(c, x.value(k), *u);
  }
}

template <class NonZeros>
void add_sparse(float* lane, int stride, const NonZeros& x, float c) {
  switch (stride) {
    case 1: add_sparse_by<1>(lane, x, c); break;
    case 4: add_sparse_by<4>(lane, x, c); break;
    case 8: add_sparse_by<8>(lane, x, c); break;
    default: add_sparse_by<kLanes>(lane, x, c);
  }
}

// Feature f goes to the sum f mod 16: dense and sparse rows add up in the same order.
float squared_norm(const float* x, std::int64_t n) {
  F16 acc = splat(0.0f);
  std::int64_t f = 0;
  for (; f + kLanes <= n; f += kLanes) {
    const F16 v = load(x + f);
    acc = fma(v, v, acc);
  }
  if (f < n) {
    const F16 v = load_first(x + f, static_cast<int>(n - f));
    acc = fma(v, v, acc);
  }
  return sum_lanes(acc);
}

template <class Index>
float squared_norm_sparse(const float* values, const Index* indices, std::int64_t n_values) {
  float sums[kLanes] = {};
  for (std::int64_t k = 0; k < n_values; ++k) {
    float& sum = sums[indices[k] % kLanes];
    sum = fma1(values[k], values[k], sum);
  }
  return sum_lanes(load(sums));
}

template <class Function>
MP_INLINE void each_tile(const float* dots, float x2, const float* v2, int n_tiles, float* out,
                         Function function) {
  const F16 x = splat(x2);
  for (int i = 0; i < n_tiles * kLanes; i += kLanes)
    store(out + i, function(load(dots + i), x, load(v2 + i)));
}

void kernel(const multiplane::Kernel& kernel, const float* dots, float x2, const float* v2,
            int n_tiles, float* out) {
  switch (kernel.kind) {
#define MP_CASE(name, Type, definite)      \
  case multiplane::Kernel::Kind::Type:     \
    return each_tile(dots, x2, v2, n_tiles, out, Type(kernel));
    MP_KERNELS(MP_CASE)
#undef MP_CASE
  }
}

void exponents(const multiplane::Kernel& kernel, const float* dots, float x2, const float* v2,
               int n_tiles, float* out) {
  const Rbf rbf(kernel);
  // Infinity times h = 0 would not be a number; exp(-1e30) is 0 all the same.
  const F16 most = splat(1e30f);
  each_tile(dots, x2, v2, n_tiles, out,
            [&](F16 dot, F16 x, F16 v) { return min(rbf.exponent(dot, x, v), most); });
}

template <int C>
MP_INLINE void weigh_classes(const float* const* coef, const float* k, int n_tiles, float* out) {
  F16 acc[C];
  for (int c = 0; c < C; ++c) acc[c] = splat(0.0f);
  for (int i = 0; i < n_tiles * kLanes; i += kLanes) {
    const F16 x = load(k + i);
    for (int c = 0; c < C; ++c) acc[c] = fma(x, load(coef[c] + i), acc[c]);
  }
  for (int c = 0; c < C; ++c) out[c] = sum_lanes(acc[c]);
}

void weigh(const float* const* coef, int n_classes, const float* k, int n_tiles, float* out) {
  int c = 0;
  for (; c + 8 <= n_classes; c += 8) weigh_classes<8>(coef + c, k, n_tiles, out + c);
  switch (n_classes - c) {
    case 7: weigh_classes<7>(coef + c, k, n_tiles, out + c); break;
    case 6: weigh_classes<6>(coef + c, k, n_tiles, out + c); break;
    case 5: weigh_classes<5>(coef + c, k, n_tiles, out + c); break;
    case 4: weigh_classes<4>(coef + c, k, n_tiles, out + c); break;
    case 3: weigh_classes<3>(coef + c, k, n_tiles, out + c); break;
    case 2: weigh_classes<2>(coef + c, k, n_tiles, out + c); break;
    case 1: weigh_classes<1>(coef + c, k, n_tiles, out + c); break;
    default: break;
  }
}

template <int C, class Function>
MP_INLINE void evaluate_classes(const float* dots, float x2, const float* v2,
                                const float* const* coef, int n_tiles, float* out,
                                Function function) {
  const F16 x = splat(x2);
  F16 acc[C];
  for (int c = 0; c < C; ++c) acc[c] = splat(0.0f);
  for (int i = 0; i < n_tiles * kLanes; i += kLanes) {
    const F16 k = function(load(dots + i), x, load(v2 + i));
    for (int c = 0; c < C; ++c) acc[c] = fma(k, load(coef[c] + i), acc[c]);
  }
  for (int c = 0; c < C; ++c) out[c] = sum_lanes(acc[c]);
}

void evaluate(const multiplane::Kernel& by, const float* dots, float x2, const float* v2,
              const float* const* coef, int n_classes, int n_tiles, float* room, float* out) {
  // The usual kernel: what is stored and read again would cost as much as a class.
  if (by.kind == multiplane::Kernel::Kind::Rbf) {
    const Rbf rbf(by);
    switch (n_classes) {
      case 2: return evaluate_classes<2>(dots, x2, v2, coef, n_tiles, out, rbf);
      case 3: return evaluate_classes<3>(dots, x2, v2, coef, n_tiles, out, rbf);
      case 4: return evaluate_classes<4>(dots, x2, v2, coef, n_tiles, out, rbf);
      case 5: return evaluate_classes<5>(dots, x2, v2, coef, n_tiles, out, rbf);
      case 6: return evaluate_classes<6>(dots, x2, v2, coef, n_tiles, out, rbf);
      case 7: return evaluate_classes<7>(dots, x2, v2, coef, n_tiles, out, rbf);
      case 8: return evaluate_classes<8>(dots, x2, v2, coef, n_tiles, out, rbf);
      default: break;
    }
  }
  kernel(by, dots, x2, v2, n_tiles, room);
  weigh(coef, n_classes, room, n_tiles, out);
}

void mix(const float* const* coef, int n_classes, const float* factor, int n_tiles, float* out) {
  for (int i = 0; i < n_tiles * kLanes; i += kLanes) {
    F16 acc = splat(0.0f);
    for (int c = 0; c < n_classes; ++c) acc = fma(splat(factor[c]), load(coef[c] + i), acc);
    store(out + i, acc);
  }
}

// The smallest of all; of equals the one that was born first. Empty lanes hold infinity.
int smallest(const float* sizes, const std::int64_t* born, int n_tiles) {
  F16 least = load(sizes);
  for (int q = 1; q < n_tiles; ++q) least = min(least, load(sizes + q * kLanes));
  const F16 wanted = splat(-max_lane(sub(splat(0.0f), least)));
  int lane = -1;
  for (int q = 0; q < n_tiles; ++q) {
    std::uint32_t hits = bits(equal(load(sizes + q * kLanes), wanted));
    for (; hits; hits &= hits - 1) {
      const int candidate = q * kLanes + __builtin_ctz(hits);
      if (lane < 0 || born[candidate] < born[lane]) lane = candidate;
    }
  }
  return lane;
}

// What merging costs at least and exactly; see merging.hpp. All is divided by a, which is the smaller
// one, so b stands for b / a and c for c / a; what is added up are terms of the size of a at most, so
// that nothing cancels even where c is huge.
MP_INLINE F16 merge_bound(F16 s, F16 b, F16 c) {
  const F16 zero = splat(0.0f), one = splat(1.0f), minus = sub(zero, s);
  const F16 positive = max(b, zero);
  const F16 share = div(mul(b, b), c);  // of alpha_m that is parallel to alpha_n
  const F16 sum = add(one, b);
  const F16 rest = sub(one, div(max(sum, zero), add(add(sum, positive), c)));
  const F16 across = expm1(mul(add(minus, minus), mul(rest, rest)));
  const F16 along = expm1(div(mul(mul(splat(1.41421356f), minus), c), add(c, positive)));
  // rounded down a little: a bound must not exceed what it bounds
  return mul(splat(0.999f), fma(sub(share, one), across, mul(share, mul(along, along))));
}

// So many of sixteen at once. With two registers for sixteen there are none left for more.
constexpr int kCostGroups = kRegistersPerTile == 1 ? 2 : 1;
static_assert(kCostGroups * kLanes <= multiplane::PartnerRoom::kSpare);

// Sixteen candidates, or several times as many: one waits for its divisions while another goes on. With
// fewer steps h is worse, and the cost too high.
template <int G, int Steps>
MP_INLINE void merge_costs(const F16 (&s)[G], const F16 (&b)[G], const F16 (&c)[G], F16 (&cost)[G]) {
  const F16 zero = splat(0.0f), one = splat(1.0f), two = splat(2.0f), half = splat(0.5f);
  F16 k[G], s2[G], h[G], q[G];
  for (int g = 0; g < G; ++g) {
    k[g] = q[g] = exp(sub(zero, s[g]));
    s2[g] = add(s[g], s[g]);
    h[g] = zero;
  }
  for (int step = 0; step < Steps; ++step) {
    for (int g = 0; g < G; ++g) {
      if (step) q[g] = exp(fma(s2[g], h[g], sub(zero, s[g])));
      const F16 by_n = div(one, max(fma(q[g], fma(two, b[g], q[g]), c[g]), splat(1e-30f)));
      const F16 rho = mul(mul(q[g], add(q[g], b[g])), by_n);
      // 1 - d rho / d h; a Newton step where that is safe, the fixed-point step where it is not
      const F16 top = fma(q[g], fma(b[g], q[g], add(c[g], c[g])), mul(b[g], c[g]));
      const F16 slope = sub(one, mul(mul(mul(s2[g], q[g]), top), mul(by_n, by_n)));
      const F16 move = sub(rho, h[g]);
      const F16 newton = div(move, max(slope, splat(0.2f)));
      h[g] = add(h[g], select(less(splat(0.2f), slope), newton, move));
      h[g] = max(min(h[g], half), splat(-1.0f));
    }
  }
  for (int g = 0; g < G; ++g) {
    const F16 rest = sub(one, h[g]);
    F16 gain = expm1(mul(sub(zero, s2[g]), mul(rest, rest)));
    gain = fma(c[g], expm1(mul(sub(zero, s2[g]), mul(h[g], h[g]))), gain);
    gain = fma(mul(mul(two, b[g]), k[g]), expm1(mul(s2[g], mul(h[g], rest))), gain);
    // h = 0, projection onto the other one, is always possible
    const F16 projected = expm1(sub(zero, s2[g]));
    cost[g] = max(min(sub(zero, gain), sub(zero, projected)), zero);
  }
}

// The lane with the least cost among sixteen; of equals the one with the lowest number.
MP_INLINE void keep_best(F16 cost, const std::int32_t* lanes, multiplane::Partner& best) {
  const float least = -max_lane(sub(splat(0.0f), cost));
  if (!(least <= best.cost)) return;
  for (std::uint32_t hits = bits(equal(cost, splat(least))); hits; hits &= hits - 1) {
    const std::int32_t lane = lanes[__builtin_ctz(hits)];
    if (least < best.cost || (least == best.cost && lane < best.lane)) best = {lane, least};
  }
}

// The distance s beyond which no merge costs as little as this: the bound in its two terms, which lies
// between them, with the greatest h and b that can be, 1/2 and c.
MP_INLINE float reach(float cost) {
  cost *= 1.001f;
  if (!(cost < 1)) return -kMinusInfinity;
  const auto log = [](float x) { return x / __builtin_sqrtf(1 - x); };  // a little above -log(1 - x)
  const float across = 2.0f * log(cost);
  const float along = 1.41421356f * log(__builtin_sqrtf(cost));
  return 1.001f * (across < along ? along : across);
}

// Of the first n in the room, those whose bound is below a cost; in place, for what is written over has
// been read. Returns how many.
MP_INLINE int keep_hopeful(int n, float cost, multiplane::PartnerRoom& room) {
  const F16 infinite = splat(-kMinusInfinity);
  int left = 0;
  for (int i = 0; i < n; i += kLanes) {
    const F16 s = load(room.s + i), b = load(room.b + i), c = load(room.c + i);
    const M16 hopeful = and_not(less(s, infinite), less(splat(cost), merge_bound(s, b, c)));
    compress(s, hopeful, room.s + left);
    compress(b, hopeful, room.b + left);
    compress(c, hopeful, room.c + left);
    for (std::uint32_t hits = bits(hopeful); hits; hits &= hits - 1)
      room.lanes[left++] = room.lanes[i + __builtin_ctz(hits)];
  }
  for (int i = 0; i < kCostGroups; ++i) store(room.s + left + i * kLanes, infinite);
  return left;
}

multiplane::Partner partner(const float* exponents, float a, const float* b, const float* c,
                            int self, int n_tiles, multiplane::PartnerRoom& room) {
  const F16 infinite = splat(-kMinusInfinity);
  const float by_a = 1.0f / a;
  const F16 inverse = splat(by_a), smallest = splat(a);
  const auto scaled = [&](const float* p, int q) { return mul(load(p + q * kLanes), inverse); };
  // Lanes that are smaller than a, among them the empty ones, are not candidates.
  float* distances = room.distances;
  for (int q = 0; q < n_tiles; ++q)
    store(distances + q * kLanes, select(less(load(c + q * kLanes), smallest), infinite,
                                         load(exponents + q * kLanes)));
  distances[self] = -kMinusInfinity;
  F16 least = infinite;
  for (int q = 0; q < n_tiles; ++q) least = min(least, load(distances + q * kLanes));
  const float nearest = -max_lane(sub(splat(0.0f), least));
  if (!(nearest < -kMinusInfinity)) return {-1, 0.0f};

  // The tile of the nearest one tells roughly how little a merge can cost. Only lanes that could be
  // better are looked at, gathered close together: those near enough and, if they are many, those whose
  // bound is low enough.
  int first = 0;
  while (!bits(equal(load(distances + first * kLanes), splat(nearest)))) ++first;
  const F16 near_first = load(distances + first * kLanes);
  F16 rough[1];
  merge_costs<1, 1>({load(exponents + first * kLanes)}, {scaled(b, first)}, {scaled(c, first)}, rough);
  // A cost is a sum of terms of the size of s, which may cancel: what they lose is added.
  const F16 cost = fma(near_first, splat(2e-6f), rough[0]);
  const F16 known = select(less(near_first, infinite), cost, infinite);
  const float enough = -max_lane(sub(splat(0.0f), known)), reached = reach(enough);
  const F16 farthest = splat(reached < nearest ? nearest : reached);
  int n = 0;
  for (int q = 0; q < n_tiles; ++q) {
    const F16 s = load(distances + q * kLanes);
    const M16 near = and_not(less(s, infinite), less(farthest, s));
    n += compress_lanes(near, q * kLanes, room.lanes + n);
  }
  for (int i = 0; i < n; ++i) {
    const std::int32_t lane = room.lanes[i];
    room.s[i] = distances[lane];
    room.b[i] = b[lane] * by_a;
    room.c[i] = c[lane] * by_a;
  }
  // What lies beyond the last one is nobody.
  for (int i = 0; i < kCostGroups; ++i) store(room.s + n + i * kLanes, infinite);
  // The same number at all levels: rounding could make a difference of it.
  if (n > 2 * kLanes) n = keep_hopeful(n, enough, room);
  multiplane::Partner best{-1, -kMinusInfinity};
  for (int i = 0; i < n; i += kCostGroups * kLanes) {
    F16 near_s[kCostGroups], near_b[kCostGroups], near_c[kCostGroups], costs[kCostGroups];
    for (int g = 0; g < kCostGroups; ++g) {
      near_s[g] = load(room.s + i + g * kLanes);
      near_b[g] = load(room.b + i + g * kLanes);
      near_c[g] = load(room.c + i + g * kLanes);
    }
    merge_costs<kCostGroups, 4>(near_s, near_b, near_c, costs);
    for (int g = 0; g < kCostGroups; ++g)
      keep_best(select(less(near_s[g], infinite), costs[g], infinite), room.lanes + i + g * kLanes,
                best);
  }
  best.cost *= a;
  return best;
}

// Eight sums, whatever the machine's registers hold.
double dot(const double* a, const double* b, std::int64_t n) {
  double sums[8] = {};
  std::int64_t i = 0;
  for (; i + 8 <= n; i += 8)
    for (int k = 0; k < 8; ++k) sums[k] += a[i + k] * b[i + k];
  for (int k = 0; i < n; ++i, ++k) sums[k] += a[i] * b[i];
  return ((sums[0] + sums[4]) + (sums[2] + sums[6])) + ((sums[1] + sums[5]) + (sums[3] + sums[7]));
}

void add_scaled(double* out, const double* a, double x, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) out[i] += x * a[i];
}

void add_scaled2(double* out, const double* a, double x, const double* b, double y,
                 std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) out[i] += x * a[i] + y * b[i];
}

#if defined(__FMA__) || defined(__ARM_NEON)
constexpr bool kFused = true;
#else
constexpr bool kFused = false;
#endif

}  // namespace

namespace multiplane {

extern const Loops MP_CONCAT(loops_, MP_LEVEL);
const Loops MP_CONCAT(loops_, MP_LEVEL) = {
    MP_STRING(MP_LEVEL),
    kFused,
    rows_at_once(),
    score_dense,
    score_sparse<multiplane::NonZeros<std::int32_t>>,
    score_sparse<multiplane::NonZeros<std::int64_t>>,
    score_picked,
    all_within,
    non_zeros,
    best,
    winner,
    find,
    near,
    add_dense,
    add_dense_tile,
    add_sparse<multiplane::NonZeros<std::int32_t>>,
    add_sparse<multiplane::NonZeros<std::int64_t>>,
    add_sparse<multiplane::Picked>,
    squared_norm,
    squared_norm_sparse<std::int32_t>,
    squared_norm_sparse<std::int64_t>,
    kernel,
    exponents,
    weigh,
    evaluate,
    mix,
    smallest,
    partner,
    dot,
    add_scaled,
    add_scaled2};

}  // namespace multiplane
