// Centres of some rows, by k-means.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "rows.hpp"

namespace multiplane {

// |x|^2 of each row, added up from the first feature to the last.
void squared_norms(const Rows& rows, double* out);

// At most n centres of rows order[0..n_rows), m x n_features numbers. The first is row order[first]; each
// further one is drawn by squared distance from those drawn before, at draws[0], draws[1], ... in [0, 1) of
// the sum of all distances; then Lloyd's iterations. Rows that are (nearly) one that was drawn are not drawn,
// and centres that are nearest to no row are dropped.
//
// The nearest centre mu is the one whose tangent plane to |x|^2 / 2 is the highest at x: the scorer finds
// it, in float32, and all sums are made in double precision in the order of the rows. So a seed gives the same
// centres on every machine. `pause` is called before each reading of the rows, and may throw.
std::vector<double> k_means(const Rows& rows, const std::int64_t* order, std::int64_t n_rows, int n,
                            std::int64_t first, const double* draws, int iterations,
                            const std::function<void()>& pause);

}  // namespace multiplane
