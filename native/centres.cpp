#include "centres.hpp"

#include <algorithm>
#include <limits>

#include "hyperplanes.hpp"
#include "scoring.hpp"

namespace multiplane {
namespace {

constexpr double kSame = 1e-6;  // of its squared norm: a row nearer than that is no different row

// Calls use(feature, value) for all that a row holds.
template <class Use>
void each_value(const Row& x, Use use) {
  const auto sparse = [&](auto non_zeros) {
    for (std::int64_t k = 0; k < non_zeros.n; ++k)
      use(static_cast<std::int64_t>(non_zeros.indices[k]), static_cast<double>(non_zeros.value(k)));
  };
  switch (x.kind) {
    case Row::Kind::sparse32: sparse(x.non_zeros<std::int32_t>()); break;
    case Row::Kind::sparse64: sparse(x.non_zeros<std::int64_t>()); break;
    case Row::Kind::dense:
      for (std::int64_t f = 0; f < x.n_values; ++f) use(f, static_cast<double>(x.values[f]));
  }
}

double exact_square(const Row& x) {
  double sum = 0;
  each_value(x, [&](std::int64_t, double value) { sum += value * value; });
  return sum;
}

// The plane that touches |x|^2 / 2 at mu, for each of m centres.
Hyperplanes tangent_planes(const double* centres, int m, std::int64_t d) {
  Hyperplanes planes(d, 1.0f);
  for (int i = 0; i < m; ++i) planes.add(0);
  for (int i = 0; i < m; ++i) {
    float* w = planes.lane(i);
    const int by = planes.stride(i);
    double square = 0;
    for (std::int64_t f = 0; f < d; ++f) {
      const double value = centres[i * d + f];
      square += value * value;
      if (value != 0) w[f * by] = static_cast<float>(value);
    }
    w[d * by] = static_cast<float>(-0.5 * square);
  }
  return planes;
}

}  // namespace

void squared_norms(const Rows& rows, double* out) {
  for (std::int64_t i = 0; i < rows.n_rows; ++i) out[i] = exact_square(rows.row(i));
}

std::vector<double> k_means(const Rows& rows, const std::int64_t* order, std::int64_t n_rows, int n,
                            std::int64_t first, const double* draws, int iterations,
                            const std::function<void()>& pause) {
  const std::int64_t d = rows.n_features;
  const auto length = static_cast<std::size_t>(n_rows);
  std::vector<double> squares(length), total(length);
  std::vector<double> distance(length, std::numeric_limits<double>::infinity());
  for (std::size_t k = 0; k < length; ++k) squares[k] = exact_square(rows.row(order[k]));
  std::vector<std::int32_t> nearest(length);
  std::vector<float> score(length);

  std::vector<double> centres;
  const auto draw = [&](std::int64_t k) {
    centres.resize(centres.size() + static_cast<std::size_t>(d), 0.0);
    double* centre = centres.data() + (centres.size() - static_cast<std::size_t>(d));
    each_value(rows.row(order[k]), [&](std::int64_t f, double value) { centre[f] = value; });
  };
  draw(first);
  int m = 1;
  for (; m < n; ++m) {
    pause();
    const Hyperplanes plane = tangent_planes(centres.data() + (m - 1) * d, 1, d);
    winners(plane, rows, order, n_rows, nearest.data(), score.data());
    double sum = 0;
    for (std::size_t k = 0; k < length; ++k) {
      distance[k] = std::min(distance[k], squares[k] - 2 * static_cast<double>(score[k]));
      if (distance[k] > kSame * squares[k]) sum += distance[k];
      total[k] = sum;
    }
    if (!(sum > 0)) break;  // no more different rows
    const auto at = std::upper_bound(total.begin(), total.end(), draws[m - 1] * sum);
    draw(std::min<std::int64_t>(at - total.begin(), n_rows - 1));
  }

  std::vector<double> old;
  std::vector<std::int64_t> count;
  for (int iteration = 0; iteration < iterations; ++iteration) {
    pause();
    winners(tangent_planes(centres.data(), m, d), rows, order, n_rows, nearest.data(), score.data());
    old.swap(centres);
    centres.assign(old.size(), 0.0);
    count.assign(static_cast<std::size_t>(m), 0);
    for (std::size_t k = 0; k < length; ++k) {
      const auto i = static_cast<std::size_t>(std::max(nearest[k], 0));  // no score may be a number
      double* sum = centres.data() + i * static_cast<std::size_t>(d);
      each_value(rows.row(order[k]), [&](std::int64_t f, double value) { sum[f] += value; });
      ++count[i];
    }
    int kept = 0;
    for (int i = 0; i < m; ++i) {
      const std::int64_t members = count[static_cast<std::size_t>(i)];
      if (members == 0) continue;
      for (std::int64_t f = 0; f < d; ++f)
        centres[static_cast<std::size_t>(kept * d + f)] =
            centres[static_cast<std::size_t>(i * d + f)] / static_cast<double>(members);
      ++kept;
    }
    m = kept;
    centres.resize(static_cast<std::size_t>(m * d));
    if (centres == old) break;
  }
  return centres;
}

}  // namespace multiplane
