#include "hyperplanes.hpp"

namespace multiplane {

void Hyperplanes::keep(const std::vector<int>& lanes) {
  const int kept = static_cast<int>(lanes.size());
  for (int to = 0; to < kept; ++to) {
    const int from = lanes[static_cast<std::size_t>(to)];
    if (from == to) continue;
    copy_lane(from, to);
    set_owner(to, owner(from));
  }
  const std::size_t n_tiles = static_cast<std::size_t>((kept + kTile - 1) / kTile);
  tiles_.erase(tiles_.begin() + static_cast<std::ptrdiff_t>(n_tiles), tiles_.end());
  pointers_.resize(n_tiles);
  owner_.resize(n_tiles * kTile);
  size_ = kept;
  for (int i = kept; i < static_cast<int>(n_tiles) * kTile; ++i) {
    set_owner(i, -1);
    float* u = lane(i);
    for (std::int64_t f = 0; f <= n_features_ * kTile; f += kTile)
      if (u[f] != 0.0f) u[f] = 0.0f;
  }
}

std::vector<double> Hyperplanes::squared_norms() const {
  std::vector<double> norms;
  for (const float* tile : pointers_) {
    double sums[kTile] = {};
    for (std::int64_t f = 0; f <= n_features_; ++f)
      for (int k = 0; k < kTile; ++k) {
        const double v = tile[f * kTile + k];
        sums[k] += v * v;
      }
    norms.insert(norms.end(), sums, sums + kTile);
  }
  norms.resize(static_cast<std::size_t>(size_));
  return norms;
}

Row Scorer::shortened(const Row& x) {
  if (x.kind != Row::Kind::dense || n_features_ < kWorthLooking) return x;
  if (believed_full_ > 0) {
    --believed_full_;
    return x;
  }
  if (values_.empty()) {
    // non_zeros writes whole registers: room for one more beyond the last.
    values_.resize(static_cast<std::size_t>(n_features_ + kTile));
    indices_.resize(static_cast<std::size_t>(n_features_ + kTile));
  }
  const std::int64_t n =
      loops().non_zeros(x.values, n_features_, values_.data(), indices_.data());
  if (2 * n > n_features_) {
    believed_full_ = kBelieve;
    return x;
  }
  return {Row::Kind::sparse32, values_.data(), indices_.data(), n};
}

void Scorer::score(const Hyperplanes& h, const Row* rows, int n_rows, float* scores) const {
  const auto sparse = [&]<class Index>(auto score_sparse, Index) {
    NonZeros<Index> block[kSparseBlock];
    for (int r = 0; r < n_rows; ++r) block[r] = rows[r].non_zeros<Index>();
    score_sparse(block, n_rows, n_features_, h.bias(), h.tiles(), h.n_tiles(), scores);
  };
  if (rows[0].kind == Row::Kind::sparse32) {
    sparse(loops().score_sparse32, std::int32_t{});
  } else if (rows[0].kind == Row::Kind::sparse64) {
    sparse(loops().score_sparse64, std::int64_t{});
  } else {
    const float* block[kPredictBlock];
    for (int r = 0; r < n_rows; ++r) block[r] = rows[r].values;
    loops().score_dense(block, n_rows, n_features_, h.bias(), h.tiles(), h.n_tiles(), scores);
  }
}

}  // namespace multiplane
