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
    for (std::int64_t f = 0; f <= n_features_; ++f) u[f * kTile] = 0.0f;
  }
}

void Scorer::dense(const Hyperplanes& h, const Row* rows, int n_rows, float* scores) {
  const float* block[kPredictBlock];
  for (int r = 0; r < n_rows; ++r) block[r] = rows[r].values;
  const std::int32_t* features = nullptr;
  std::int64_t n = 0;
  if (n_features_ >= kWorthLooking && believed_full_-- <= 0) {
    // used_features writes whole registers: room for one more beyond the last.
    if (features_.empty()) features_.resize(static_cast<std::size_t>(n_features_ + kTile));
    n = loops().used_features(block, n_rows, n_features_, features_.data());
    if (4 * n > 3 * n_features_)
      believed_full_ = kBelieve;
    else
      features = features_.data();
  }
  loops().score_dense(block, n_rows, features, n, n_features_, h.bias(), h.tiles(), h.n_tiles(),
                      scores);
}

Row Scorer::shortened(const Row& x) {
  if (x.kind != Row::Kind::dense || n_features_ < kWorthLooking || believed_full_ > 0) return x;
  values_.resize(static_cast<std::size_t>(n_features_ + kTile));
  features_.resize(static_cast<std::size_t>(n_features_ + kTile));
  const std::int64_t n =
      loops().non_zeros(x.values, n_features_, values_.data(), features_.data());
  return {Row::Kind::sparse32, values_.data(), features_.data(), n};
}

}  // namespace multiplane
