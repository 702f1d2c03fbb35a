#include "hyperplanes.hpp"

#include <algorithm>
#include <utility>

namespace multiplane {
namespace {

constexpr int kFewest = 4;  // lanes of a tile that has just begun

// One lane into another. Zeros are not written over zeros: untouched pages of wide tiles stay
// uncommitted.
void copy(const float* a, int stride_a, float* b, int stride_b, std::int64_t n) {
  for (; n > 0; --n, a += stride_a, b += stride_b)
    if (*b != *a) *b = *a;
}

}  // namespace

void Hyperplanes::prepare() {
  if (n_lanes() >= size_ + 2 || !spare_.empty()) return;
  owner_.reserve(owner_.size() + kTile);
  pointers_.reserve(tiles_.size() + 1);
  tiles_.reserve(tiles_.size() + 1);
  spare_.emplace_back(n_features_, last_is_whole() ? kFewest : 2 * last_);
}

// After all lanes have been taken.
void Hyperplanes::grow() {
  prepare();
  Tile next = std::move(spare_.back());
  spare_.pop_back();
  if (last_is_whole()) {
    owner_.resize(owner_.size() + kTile, -1);
    pointers_.push_back(next.data());
    tiles_.push_back(std::move(next));
    last_ = kFewest;
    return;
  }
  for (int i = 0; i < last_; ++i)
    copy(pointers_.back() + i, last_, next.data() + i, 2 * last_, n_features_ + 1);
  pointers_.back() = next.data();
  tiles_.back() = std::move(next);
  last_ *= 2;
}

void Hyperplanes::copy_lane(int from, int to) {
  copy(lane(from), stride(from), lane(to), stride(to), n_features_ + 1);
}

void Hyperplanes::keep(const std::vector<int>& lanes) {
  const int kept = static_cast<int>(lanes.size());
  for (int to = 0; to < kept; ++to) {
    const int from = lanes[static_cast<std::size_t>(to)];
    if (from == to) continue;
    copy_lane(from, to);
    set_owner(to, owner(from));
  }
  const std::size_t n_tiles = static_cast<std::size_t>((kept + kTile - 1) / kTile);
  if (n_tiles < tiles_.size()) {
    last_ = kTile;
    spare_.clear();
  }
  tiles_.erase(tiles_.begin() + static_cast<std::ptrdiff_t>(n_tiles), tiles_.end());
  pointers_.resize(n_tiles);
  owner_.resize(n_tiles * kTile);
  size_ = kept;
  std::fill(owner_.begin() + kept, owner_.end(), -1);
  for (int i = kept; i < n_lanes(); ++i) {
    float* u = lane(i);
    for (std::int64_t f = 0; f <= n_features_; ++f, u += stride(i))
      if (*u != 0.0f) *u = 0.0f;
  }
}

bool Hyperplanes::resize(std::int64_t n_features) {
  const std::int64_t common = std::min(n_features, n_features_);
  const auto width = [&](std::size_t q) { return q + 1 == tiles_.size() ? last_ : kTile; };
  for (std::size_t q = 0; q < tiles_.size(); ++q)
    for (std::int64_t k = common * width(q); k < n_features_ * width(q); ++k)
      if (pointers_[q][k] != 0.0f) return false;
  std::vector<Tile> tiles;
  for (std::size_t q = 0; q < tiles_.size(); ++q) {
    const int by = width(q);
    tiles.emplace_back(n_features, by);
    float* to = tiles.back().data();
    std::copy_n(pointers_[q], common * by, to);
    std::copy_n(pointers_[q] + n_features_ * by, by, to + n_features * by);
  }
  tiles_ = std::move(tiles);
  for (std::size_t q = 0; q < tiles_.size(); ++q) pointers_[q] = tiles_[q].data();
  spare_.clear();
  n_features_ = n_features;
  return true;
}

void Hyperplanes::add_row_to_tile(int tile, const Row& x, const float* c) {
  const int first = tile * kTile;
  const bool full = x.kind == Row::Kind::dense && !x.is_picked();
  const auto n = std::count_if(c, c + kTile, [](float part) { return part != 0.0f; });
  if (full && n > 1 && stride(first) == kTile) {
    loops().add_dense_tile(lane(first), x.values, x.n_values, c);
    float* constant = lane(first) + n_features_ * kTile;
    for (int i = 0; i < kTile; ++i) constant[i] += c[i] * bias_;
    return;
  }
  for (int i = 0; i < kTile; ++i)
    if (c[i] != 0.0f) add_row(first + i, x, c[i]);
}

std::vector<double> Hyperplanes::squared_norms() const {
  std::vector<double> norms;
  for (int first = 0; first < size_; first += kTile) {
    const float* tile = lane(first);
    const int by = stride(first);
    double sums[kTile] = {};
    for (std::int64_t f = 0; f <= n_features_; ++f, tile += by)
      for (int k = 0; k < by; ++k) sums[k] += static_cast<double>(tile[k]) * tile[k];
    norms.insert(norms.end(), sums, sums + std::min(kTile, size_ - first));
  }
  return norms;
}

double Hyperplanes::squared_norm(int i) const {
  const float* u = lane(i);
  double sum = 0;
  for (std::int64_t f = 0; f <= n_features_; ++f, u += stride(i))
    sum += static_cast<double>(*u) * *u;
  return sum;
}

}  // namespace multiplane
