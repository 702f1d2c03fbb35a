// Hyperplanes in tiles of sixteen, and who owns them.
#pragma once

#include <cstdint>
#include <vector>

#include "tiles.hpp"

namespace multiplane {

// Lanes 0 ... size-1 are in use, in the order of their birth; owner is -1 beyond.
class Hyperplanes {
 public:
  Hyperplanes(std::int64_t n_features, float bias) : n_features_(n_features), bias_(bias) {}
  Hyperplanes(Hyperplanes&&) = default;
  Hyperplanes& operator=(Hyperplanes&&) = default;

  std::int64_t n_features() const { return n_features_; }
  float bias() const { return bias_; }
  int size() const { return size_; }
  int n_tiles() const { return static_cast<int>(tiles_.size()); }
  Tiles tiles() const { return {pointers_.data(), n_tiles(), bias_}; }
  const std::int32_t* owner() const { return owner_.data(); }
  std::int32_t owner(int lane) const { return owner_[static_cast<std::size_t>(lane)]; }
  void set_owner(int lane, std::int32_t y) { owner_[static_cast<std::size_t>(lane)] = y; }

  // First element of a lane; the next feature is kTile floats further.
  float* lane(int i) { return pointers_[static_cast<std::size_t>(i / kTile)] + i % kTile; }
  const float* lane(int i) const {
    return pointers_[static_cast<std::size_t>(i / kTile)] + i % kTile;
  }

  // Memory for one more tile, so that the next kTile calls of add() cannot fail.
  void prepare() {
    if (spare_.empty()) spare_.emplace_back(n_features_);
    owner_.reserve(owner_.size() + kTile);
    pointers_.reserve(tiles_.size() + 1);
    tiles_.reserve(tiles_.size() + 1);
  }

  // A new hyperplane, all zero.
  int add(std::int32_t owner) {
    if (size_ == n_tiles() * kTile) {
      prepare();
      owner_.resize(owner_.size() + kTile, -1);
      tiles_.push_back(std::move(spare_.back()));
      spare_.pop_back();
      pointers_.push_back(tiles_.back().data());
    }
    set_owner(size_, owner);
    return size_++;
  }

  void copy_lane(int from, int to) {
    const float* a = lane(from);
    float* b = lane(to);
    // Zeros are not written over zeros: untouched pages of wide tiles stay uncommitted.
    for (std::int64_t f = 0; f <= n_features_ * kTile; f += kTile)
      if (b[f] != a[f]) b[f] = a[f];
  }

  // Keep these lanes (ascending), in their order; the others are gone.
  void keep(const std::vector<int>& lanes);

  // More features, zero in all lanes; or fewer, if those that go are zero everywhere: else false,
  // and nothing has changed.
  bool resize(std::int64_t n_features);

  // lane += c * (x, bias)
  void add_row(int i, const Row& x, float c) {
    float* u = lane(i);
    const Loops& run = loops();
    switch (x.kind) {
      case Row::Kind::dense: run.add_dense(u, x.values, x.n_values, c); break;
      case Row::Kind::sparse32:
        run.add_sparse32(u, x.values, static_cast<const std::int32_t*>(x.indices), x.n_values, c);
        break;
      case Row::Kind::sparse64:
        run.add_sparse64(u, x.values, static_cast<const std::int64_t*>(x.indices), x.n_values, c);
        break;
    }
    u[n_features_ * kTile] += c * bias_;
  }

  // Of all lanes; a tile is read once.
  std::vector<double> squared_norms() const;
  double squared_norm(int i) const {
    const float* u = lane(i);
    double sum = 0;
    for (std::int64_t f = 0; f <= n_features_; ++f) {
      const double v = u[f * kTile];
      sum += v * v;
    }
    return sum;
  }

 private:
  std::int64_t n_features_;
  float bias_;
  int size_ = 0;
  std::vector<Tile> tiles_, spare_;
  std::vector<float*> pointers_;
  std::vector<std::int32_t> owner_;
};

}  // namespace multiplane
