// Hyperplanes in tiles of sixteen, and who owns them.
#pragma once

#include <cstdint>
#include <vector>

#include "tiles.hpp"

namespace multiplane {

// Lanes 0 ... size-1 are in use, in the order of their birth; owner is -1 beyond. The last tile begins
// with four lanes and is made twice as wide when they are full: many models have few hyperplanes.
class Hyperplanes {
 public:
  Hyperplanes(std::int64_t n_features, float bias) : n_features_(n_features), bias_(bias) {}
  Hyperplanes(Hyperplanes&&) = default;
  Hyperplanes& operator=(Hyperplanes&&) = default;

  std::int64_t n_features() const { return n_features_; }
  float bias() const { return bias_; }
  int size() const { return size_; }
  int n_tiles() const { return static_cast<int>(tiles_.size()); }
  Tiles tiles() const { return {pointers_.data(), n_tiles(), last_, bias_}; }
  const std::int32_t* owner() const { return owner_.data(); }
  std::int32_t owner(int lane) const { return owner_[static_cast<std::size_t>(lane)]; }
  void set_owner(int lane, std::int32_t y) { owner_[static_cast<std::size_t>(lane)] = y; }

  // First element of a lane; the next feature is stride(i) floats further.
  float* lane(int i) { return pointers_[static_cast<std::size_t>(i / kTile)] + i % kTile; }
  const float* lane(int i) const {
    return pointers_[static_cast<std::size_t>(i / kTile)] + i % kTile;
  }
  int stride(int i) const { return i / kTile + 1 == n_tiles() ? last_ : kTile; }

  // Memory for what follows, so that the next two calls of add() cannot fail.
  void prepare();
  // A new hyperplane, all zero.
  int add(std::int32_t owner) {
    if (size_ == n_lanes()) grow();
    set_owner(size_, owner);
    return size_++;
  }

  void copy_lane(int from, int to);
  // Keep these lanes (ascending), in their order; the others are gone.
  void keep(const std::vector<int>& lanes);

  // More features, zero in all lanes; or fewer, if those that go are zero everywhere: else false,
  // and nothing has changed.
  bool resize(std::int64_t n_features);

  // lane += c * (x, bias)
  void add_row(int i, const Row& x, float c) {
    add_to_lane(lane(i), stride(i), x, c);
    lane(i)[n_features_ * stride(i)] += c * bias_;
  }

  // lane i += c[i] * (x, bias), for the lanes of a tile: of a full row, several go through memory as
  // fast as one.
  void add_row_to_tile(int tile, const Row& x, const float* c);

  // Of all lanes; a tile is read once.
  std::vector<double> squared_norms() const;
  double squared_norm(int i) const;

 private:
  int n_lanes() const { return n_tiles() ? (n_tiles() - 1) * kTile + last_ : 0; }
  bool last_is_whole() const { return last_ == kTile; }
  void grow();

  std::int64_t n_features_;
  float bias_;
  int size_ = 0;
  int last_ = kTile;          // lanes of the last tile
  std::vector<Tile> tiles_;
  std::vector<Tile> spare_;   // one or none: what the last tile becomes, or what comes after it
  std::vector<float*> pointers_;
  std::vector<std::int32_t> owner_;
};

}  // namespace multiplane
