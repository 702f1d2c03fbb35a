#include "tiles.hpp"

#include <algorithm>

namespace multiplane {

namespace {

// A list that begins where a page does. Whole registers are written into it at any place, and one that
// lies across two pages takes some twenty cycles.
std::int32_t* paged(std::vector<std::int32_t>& room, std::int64_t n) {
  constexpr std::uintptr_t kPage = 4096;
  if (room.empty()) room.resize(static_cast<std::size_t>(n) + kPage / sizeof(std::int32_t));
  const auto address = reinterpret_cast<std::uintptr_t>(room.data());
  return reinterpret_cast<std::int32_t*>((address + kPage - 1) & ~(kPage - 1));
}

const float* line_of(const float* p) {
  constexpr std::uintptr_t kLine = 64;
  return reinterpret_cast<const float*>(reinterpret_cast<std::uintptr_t>(p) & ~(kLine - 1));
}

}  // namespace

bool Scorer::pick(Row& x, const float* ahead) {
  if (x.kind != Row::Kind::dense || n_features_ < kWorthLooking) return false;
  if (believed_full_ > 0) {
    --believed_full_;
    return false;
  }
  // non_zeros writes whole registers: room for one more beyond the last.
  std::int32_t* list = paged(room_, n_features_ + kTile);
  Ahead first{};
  ahead_ = {};
  if (ahead) {
    // Memory's answers take longer than the search, and shorter than search and scores together.
    first = {line_of(ahead), ahead + n_features_ / 2};
    ahead_ = {line_of(first.to), ahead + n_features_};
  }
  const std::int64_t n = loops().non_zeros(x.values, n_features_, largest_, first, list);
  if (2 * n > n_features_) believed_full_ = kBelieve;
  if (n < 0 || 2 * n > n_features_) return false;
  x.indices = list;
  x.n_picked = n;
  return true;
}

void Scorer::score(const Tiles& tiles, const Row* rows, int n_rows, float* scores) {
  const auto sparse = [&]<class Index>(auto score_sparse, Index) {
    NonZeros<Index> block[kSparseBlock];
    for (int r = 0; r < n_rows; ++r) block[r] = rows[r].non_zeros<Index>();
    score_sparse(block, n_rows, n_features_, tiles, scores);
  };
  if (rows[0].kind == Row::Kind::sparse32) {
    sparse(loops().score_sparse32, std::int32_t{});
  } else if (rows[0].kind == Row::Kind::sparse64) {
    sparse(loops().score_sparse64, std::int64_t{});
  } else if (rows[0].is_picked()) {
    loops().score_picked(rows[0].picked(), n_features_, tiles, ahead_, scores);
    ahead_ = {};
  } else {
    const float* block[kPredictBlock];
    for (int r = 0; r < n_rows; ++r) block[r] = rows[r].values;
    loops().score_dense(block, n_rows, n_features_, tiles, scores);
  }
}

void Scorer::rescore(const Tiles& tiles, const ChangedTiles& changed, const Row* rows, int n_rows,
                     float* scores) {
  constexpr int kMost = 16;
  const float* some[kMost];
  int number[kMost];
  float fresh[kMaxBlock * kMost * kTile];
  int n = 0;
  const auto take = [&](int q) {
    some[n] = tiles.data[q];
    number[n++] = q;
  };
  const auto flush = [&](int last) {
    score({some, n, last, tiles.bias}, rows, n_rows, fresh);
    for (int r = 0; r < n_rows; ++r)
      for (int k = 0; k < n; ++k)
        std::copy_n(fresh + (r * n + k) * kTile, kTile, scores + (r * tiles.n + number[k]) * kTile);
    n = 0;
  };
  bool narrow = false;
  for (int q : changed.list()) {
    if (q == tiles.n - 1 && tiles.last < kTile) {
      narrow = true;
      continue;
    }
    if (n == kMost) flush(kTile);
    take(q);
  }
  if (narrow) {  // it must come last
    if (n == kMost) flush(kTile);
    take(tiles.n - 1);
  }
  if (n) flush(narrow ? tiles.last : kTile);
}

}  // namespace multiplane
