// Vectors in tiles of sixteen, and scoring rows against them.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <vector>

#include "rows.hpp"

namespace multiplane {

// (n_features + 1) x 16 floats, zero, aligned to a cache line. calloc leaves untouched pages
// uncommitted, so a tile of millions of features costs what its hyperplanes touch.
class Tile {
 public:
  static constexpr std::int64_t kMostFeatures = std::int64_t{1} << 40;  // sizes cannot overflow

  explicit Tile(std::int64_t n_features)
      : memory_(std::calloc(static_cast<std::size_t>(n_features + 1) * kTile + kTile,
                            sizeof(float)),
                &std::free) {
    if (!memory_) throw std::bad_alloc();
    const auto address = reinterpret_cast<std::uintptr_t>(memory_.get());
    data_ = reinterpret_cast<float*>((address + 63) & ~std::uintptr_t{63});
  }
  float* data() const { return data_; }

 private:
  std::unique_ptr<void, decltype(&std::free)> memory_;
  float* data_;
};

// A view of some tiles; `bias` is the constant feature that goes with the row after the last one.
struct Tiles {
  const float* const* data;
  int n;
  float bias;
};

// Scores blocks of rows, and finds out whether dense rows are better gone through by their non-zeros.
// Either road gives the same bits, so that this is a matter of speed alone and may be a guess.
class Scorer {
 public:
  // Values are checked where a `largest` is above zero.
  Scorer(std::int64_t n_features, float largest) : n_features_(n_features), largest_(largest) {}

  // A dense row by its non-zeros, where that pays; valid until the next call. True if so: then its values
  // have been checked, and the row that begins at `ahead` (as long, or null) has been asked for.
  bool shorten(Row& x, const float* ahead = nullptr);
  // The values of a row that was not shortened.
  bool fine(const Row& x) const {
    return !(largest_ > 0) || loops().all_within(x.values, x.n_values, largest_);
  }

  // Rows of one kind: at most kSparseBlock sparse ones or kPredictBlock dense ones.
  void score(const Tiles& tiles, const Row* rows, int n_rows, float* scores) const;

 private:
  // A search for non-zeros costs about a tenth of scoring a full row by three tiles: after a search
  // in vain the next rows are believed to be full too. Short rows are not worth a search.
  static constexpr int kBelieve = 31;
  static constexpr std::int64_t kWorthLooking = 32;

  std::int64_t n_features_;
  float largest_;
  std::vector<std::int32_t> indices_;
  std::vector<float> values_;
  int believed_full_ = 0;
};

}  // namespace multiplane
