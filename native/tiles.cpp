#include "tiles.hpp"

namespace multiplane {

bool Scorer::shorten(Row& x, const float* ahead) {
  if (x.kind != Row::Kind::dense || n_features_ < kWorthLooking) return false;
  if (believed_full_ > 0) {
    --believed_full_;
    return false;
  }
  if (values_.empty()) {
    // non_zeros writes whole registers: room for one more beyond the last.
    values_.resize(static_cast<std::size_t>(n_features_ + kTile));
    indices_.resize(static_cast<std::size_t>(n_features_ + kTile));
  }
  const std::int64_t n = loops().non_zeros(x.values, n_features_, largest_, ahead ? ahead : x.values,
                                           values_.data(), indices_.data());
  if (2 * n > n_features_) believed_full_ = kBelieve;
  if (n < 0 || 2 * n > n_features_) return false;
  x = {Row::Kind::sparse32, values_.data(), indices_.data(), n};
  return true;
}

void Scorer::score(const Tiles& tiles, const Row* rows, int n_rows, float* scores) const {
  const auto sparse = [&]<class Index>(auto score_sparse, Index) {
    NonZeros<Index> block[kSparseBlock];
    for (int r = 0; r < n_rows; ++r) block[r] = rows[r].non_zeros<Index>();
    score_sparse(block, n_rows, n_features_, tiles.bias, tiles.data, tiles.n, scores);
  };
  if (rows[0].kind == Row::Kind::sparse32) {
    sparse(loops().score_sparse32, std::int32_t{});
  } else if (rows[0].kind == Row::Kind::sparse64) {
    sparse(loops().score_sparse64, std::int64_t{});
  } else {
    const float* block[kPredictBlock];
    for (int r = 0; r < n_rows; ++r) block[r] = rows[r].values;
    loops().score_dense(block, n_rows, n_features_, tiles.bias, tiles.data, tiles.n, scores);
  }
}

}  // namespace multiplane
