// The inner loops, as a table of functions: one table per instruction set, one is in use.
//
// Hyperplanes live in tiles: tile[feature][16 lanes], one lane a hyperplane, the row after the last
// feature holding the intercepts. Scoring a non-zero touches one cache line a tile. The last tile has
// only 4 or 8 lanes where they are enough: then several features share a line.
#pragma once

#include <cstdint>
#include <vector>

#include "kernel.hpp"

namespace multiplane {

constexpr int kTile = 16;        // hyperplanes in a tile
constexpr int kMaxBlock = 8;     // rows that the learner scores at most at once
constexpr int kSparseBlock = 4;  // rows that one call of score_sparse takes at most
constexpr int kPredictBlock = 24;  // dense rows that one call of score_dense takes at most

// A view of some tiles.
struct Tiles {
  const float* const* data;
  int n;
  int last;    // lanes of the last one: 4, 8 or kTile
  float bias;  // the constant feature that goes with the row after the last one
};

// A row by its non-zeros, which lie close together; or a whole row, with a list of where it is not zero.
template <class I, bool Whole = false>
struct NonZeros {
  using Index = I;
  const float* values;
  const Index* indices;
  std::int64_t n;

  float value(std::int64_t k) const { return values[Whole ? static_cast<std::int64_t>(indices[k]) : k]; }
};
using Picked = NonZeros<std::int32_t, true>;

// Where lines of memory lie that are to be asked for on the way: those from one place on, up to another.
struct Ahead {
  const float* from;
  const float* to;
};

struct Best {
  float right;  // greatest score among lanes of class y, -inf if there is none
  float rival;  // greatest score among lanes of other classes, -inf if there is none
};

struct Partner {
  int lane;  // -1: none
  float cost;
};

// To work in: a number for each lane, and some to spare.
struct PartnerRoom {
  static constexpr int kSpare = 2 * kTile;
  float *distances, *s, *b, *c;
  std::int32_t* lanes;
};

struct Loops {
  const char* name;
  bool fused;     // has fused multiply-add, so shares its bits with the other fused levels
  int block;      // dense rows for which score_dense is fastest, at most kMaxBlock

  // scores[r * tiles.n * 16 + lane] = bias * tile[n_features][lane] + sum_f rows[r][f] * tile[f][lane];
  // zero for lanes that a narrow tile does not have
  void (*score_dense)(const float* const* rows, int n_rows, std::int64_t n_features,
                      const Tiles& tiles, float* scores);
  // The same bits for rows given by their non-zeros, in the order in which they are stored.
  void (*score_sparse32)(const NonZeros<std::int32_t>* rows, int n_rows, std::int64_t n_features,
                         const Tiles& tiles, float* scores);
  void (*score_sparse64)(const NonZeros<std::int64_t>* rows, int n_rows, std::int64_t n_features,
                         const Tiles& tiles, float* scores);
  void (*score_picked)(const Picked& row, std::int64_t n_features, const Tiles& tiles, Ahead ahead,
                       float* scores);
  // No NaN and nothing beyond `largest` in size.
  bool (*all_within)(const float* values, std::int64_t n, float largest);
  // Where a dense row is not zero; returns in how many places, or -1 if its values are not all within a
  // `largest` above zero. Up to kTile entries beyond the last are overwritten.
  std::int64_t (*non_zeros)(const float* row, std::int64_t n, float largest, Ahead ahead,
                            std::int32_t* indices);

  // Greatest score of class y and of all others. owner[lane] < 0 marks an empty lane.
  Best (*best)(const float* scores, const std::int32_t* owner, int n_tiles, std::int32_t y);
  // The lane with the greatest score; of several that of the lowest class, and of these the first.
  int (*winner)(const float* scores, const std::int32_t* owner, int n_tiles);
  // First lane with that score, of class y (right) or of another class.
  int (*find)(const float* scores, const std::int32_t* owner, int n_tiles, std::int32_t y,
              bool right, float score);

  // The lanes of class y (right) or of the others whose score is at least so much, ascending; returns how
  // many. Up to kTile entries beyond them are overwritten.
  int (*near)(const float* scores, const std::int32_t* owner, int n_tiles, std::int32_t y, bool right,
              float least, std::int32_t* lanes);

  // lane += c * x; a lane's features are as far apart as its tile has lanes, or lie close together (1)
  void (*add_dense)(float* lane, int stride, const float* x, std::int64_t n, float c);
  // lane i += c[i] * x, for all lanes of a whole tile; the same bits
  void (*add_dense_tile)(float* tile, const float* x, std::int64_t n, const float* c);
  void (*add_sparse32)(float* lane, int stride, const NonZeros<std::int32_t>& x, float c);
  void (*add_sparse64)(float* lane, int stride, const NonZeros<std::int64_t>& x, float c);
  void (*add_picked)(float* lane, int stride, const Picked& x, float c);

  // |x|^2, the same bits for a dense row and for its non-zeros.
  float (*squared_norm)(const float* x, std::int64_t n);
  float (*squared_norm32)(const float* values, const std::int32_t* indices, std::int64_t n_values);
  float (*squared_norm64)(const float* values, const std::int64_t* indices, std::int64_t n_values);

  // out[lane] = k(x, v_lane), from x.v and the squared norms.
  void (*kernel)(const Kernel& kernel, const float* dots, float x2, const float* v2, int n_tiles,
                 float* out);
  // out[lane] = gamma |x - v_lane|^2, whose negative is the exponent of the RBF kernel.
  void (*exponents)(const Kernel& kernel, const float* dots, float x2, const float* v2, int n_tiles,
                    float* out);
  // out[c] = sum over the lanes of coef[c][lane] * k[lane]
  void (*weigh)(const float* const* coef, int n_classes, const float* k, int n_tiles, float* out);
  // Both at once, with the same bits; `room` for a number a lane.
  void (*evaluate)(const Kernel& kernel, const float* dots, float x2, const float* v2,
                   const float* const* coef, int n_classes, int n_tiles, float* room, float* out);
  // out[lane] = sum over the classes of factor[c] * coef[c][lane]
  void (*mix)(const float* const* coef, int n_classes, const float* factor, int n_tiles, float* out);
  // The lane with the least size, of equals the one born first; empty lanes hold infinity.
  int (*smallest)(const float* sizes, const std::int64_t* born, int n_tiles);
  // The lane with which it costs least to merge lane `self`; see merging.hpp for the terms. Lanes
  // whose c is less than a do not count.
  Partner (*partner)(const float* exponents, float a, const float* b, const float* c, int self,
                     int n_tiles, PartnerRoom& room);

  // For symmetric matrices, in double precision.
  double (*dot)(const double* a, const double* b, std::int64_t n);
  void (*add_scaled)(double* out, const double* a, double x, std::int64_t n);  // out += x a
  // out += x a + y b
  void (*add_scaled2)(double* out, const double* a, double x, const double* b, double y,
                      std::int64_t n);
};

const Loops& loops();                            // the table in use
const std::vector<const Loops*>& all_loops();    // those that this CPU can run, narrowest first
const Loops* loops_named(const char* name);      // nullptr: none of these
void use_loops(const Loops& table);

}  // namespace multiplane
