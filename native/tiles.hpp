// Vectors in tiles of sixteen, and scoring rows against them.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <vector>

#include "rows.hpp"

namespace multiplane {

// (n_features + 1) x `lanes` floats, zero, aligned to a cache line. calloc leaves untouched pages
// uncommitted, so a tile of millions of features costs what its hyperplanes touch.
class Tile {
 public:
  static constexpr std::int64_t kMostFeatures = std::int64_t{1} << 40;  // sizes cannot overflow

  explicit Tile(std::int64_t n_features, int lanes = kTile)
      : memory_(std::calloc(static_cast<std::size_t>((n_features + 1) * lanes) + kTile,
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

// Which tiles have changed since rows were scored.
class ChangedTiles {
 public:
  // None so far, with room for all: add() cannot fail then.
  void begin(int n_tiles) {
    clear();
    const auto n = static_cast<std::size_t>(n_tiles);
    if (marks_.size() < n) marks_.resize(n, 0);
    list_.reserve(n);
  }
  void clear() {
    for (int tile : list_) marks_[static_cast<std::size_t>(tile)] = 0;
    list_.clear();
  }
  void add(int tile) {
    char& mark = marks_[static_cast<std::size_t>(tile)];
    if (!mark) list_.push_back(tile);
    mark = 1;
  }
  const std::vector<int>& list() const { return list_; }

 private:
  std::vector<char> marks_;
  std::vector<int> list_;
};

// Scores blocks of rows, and finds out whether dense rows are better gone through by their non-zeros.
// Either road gives the same bits, so that this is a matter of speed alone and may be a guess.
class Scorer {
 public:
  // Values are checked where a `largest` is above zero.
  Scorer(std::int64_t n_features, float largest) : n_features_(n_features), largest_(largest) {}

  // Where a dense row is not zero, if it pays to know; valid until the next call. True if so: then its
  // values have been checked, and the row that begins at `ahead` (as long, or null) is asked for, line by
  // line: one half on the way, the other when this one is scored.
  bool pick(Row& x, const float* ahead = nullptr);
  // The values of a row that has no such list.
  bool fine(const Row& x) const {
    return !(largest_ > 0) || loops().all_within(x.values, x.n_values, largest_);
  }

  // Rows of one kind: at most kSparseBlock sparse ones or kPredictBlock dense ones, or one with a list.
  void score(const Tiles& tiles, const Row* rows, int n_rows, float* scores);
  // The same again for these tiles, the other scores being right; at most kMaxBlock rows.
  void rescore(const Tiles& tiles, const ChangedTiles& changed, const Row* rows, int n_rows,
               float* scores);

 private:
  // A search for non-zeros costs about a tenth of scoring a full row by three tiles: after a search
  // in vain the next rows are believed to be full too. Short rows are not worth a search.
  static constexpr int kBelieve = 31;
  static constexpr std::int64_t kWorthLooking = 32;

  std::int64_t n_features_;
  float largest_;
  std::vector<std::int32_t> room_;
  Ahead ahead_{};
  int believed_full_ = 0;
};

}  // namespace multiplane
