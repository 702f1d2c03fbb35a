#include "hyperplanes.hpp"

#include <algorithm>
#include <utility>

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

bool Hyperplanes::resize(std::int64_t n_features) {
  const std::int64_t common = std::min(n_features, n_features_);
  for (const float* tile : pointers_)
    for (std::int64_t f = common * kTile; f < n_features_ * kTile; ++f)
      if (tile[f] != 0.0f) return false;
  std::vector<Tile> tiles;
  for (const float* tile : pointers_) {
    tiles.emplace_back(n_features);
    float* to = tiles.back().data();
    std::copy_n(tile, common * kTile, to);
    std::copy_n(tile + n_features_ * kTile, kTile, to + n_features * kTile);
  }
  tiles_ = std::move(tiles);
  for (std::size_t i = 0; i < tiles_.size(); ++i) pointers_[i] = tiles_[i].data();
  spare_.clear();
  n_features_ = n_features;
  return true;
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

}  // namespace multiplane
