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

}  // namespace multiplane
