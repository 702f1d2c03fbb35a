#include "support.hpp"

#include <algorithm>
#include <cmath>

namespace multiplane {

void Support::reserve(int n) {
  machine_.reserve(n);
  const std::size_t lanes = static_cast<std::size_t>(n_lanes());
  weight_.resize(lanes, 0.0f);
  self_.resize(lanes, 0.0f);
  born_.resize(lanes, 0);
  for (std::vector<float>& row : sums_) row.resize(lanes, 0.0f);
}

int Support::add(const Row& x, float x2, std::int64_t born) {
  reserve(size() + 1);
  const int i = machine_.add(x, x2);
  set_self(i, self_kernel(machine_.kernel(), x2));
  set_born(i, born);
  return i;
}

void Support::remove(int i) {
  machine_.remove(i);
  const int last = size();
  const auto take = [&](auto& row) {
    row[static_cast<std::size_t>(i)] = row[static_cast<std::size_t>(last)];
    row[static_cast<std::size_t>(last)] = 0;
  };
  take(weight_);
  take(self_);
  take(born_);
  for (std::vector<float>& row : sums_) take(row);
}

void Support::relabel(const std::vector<std::int32_t>& code, std::int32_t n_classes) {
  machine_.relabel(code, n_classes);
  if (!averages()) return;
  std::vector<std::vector<float>> rows(static_cast<std::size_t>(n_classes));
  for (std::vector<float>& row : rows) row.resize(static_cast<std::size_t>(n_lanes()), 0.0f);
  for (std::size_t c = 0; c < code.size(); ++c)
    rows[static_cast<std::size_t>(code[c])] = std::move(sums_[c]);
  sums_ = std::move(rows);
}

void Support::add_scaled(int to, int from, double factor) {
  for (int c = 0; c < machine_.n_classes(); ++c) {
    machine_.set_coef(
        c, to, static_cast<float>(machine_.coef(c, to) + factor * machine_.coef(c, from)));
    if (averages())
      set_sum(c, to, static_cast<float>(sum(c, to) + factor * sum(c, from)));
  }
}

void Support::set_mixture(int to, int a, double x, int b, double y) {
  for (int c = 0; c < machine_.n_classes(); ++c) {
    machine_.set_coef(c, to,
                      static_cast<float>(x * machine_.coef(c, a) + y * machine_.coef(c, b)));
    if (averages()) set_sum(c, to, static_cast<float>(x * sum(c, a) + y * sum(c, b)));
  }
}

void Support::weigh(int i) {
  double sum = 0;
  for (int c = 0; c < machine_.n_classes(); ++c) {
    const double a = machine_.coef(c, i);
    sum += a * a;
  }
  weight_[static_cast<std::size_t>(i)] = static_cast<float>(sum);
}

void Support::weigh_all() {
  for (int i = 0; i < size(); ++i) weigh(i);
}

int Support::smallest() const {
  int best = 0;
  float least = 0;
  for (int i = 0; i < size(); ++i) {
    const float norm = weight(i) * std::fabs(self(i));
    if (i == 0 || norm < least || (norm == least && born(i) < born(best))) {
      best = i;
      least = norm;
    }
  }
  return best;
}

void Support::row(const float* x, float x2, float* dots, float* kernels) const {
  const Tiles tiles = machine_.tiles();
  loops().score_dense(&x, 1, machine_.n_features(), 0.0f, tiles.data, tiles.n, dots);
  loops().kernel(machine_.kernel(), dots, x2, machine_.squared_norms(), tiles.n, kernels);
}

double Support::score(int i, const float* kernels) const {
  std::vector<float> f(static_cast<std::size_t>(machine_.n_classes()));
  loops().weigh(machine_.coef().data(), machine_.n_classes(), kernels, machine_.n_tiles(), f.data());
  double sum = 0;
  for (int c = 0; c < machine_.n_classes(); ++c)
    sum += static_cast<double>(machine_.coef(c, i)) * f[static_cast<std::size_t>(c)];
  return sum;
}

double Support::squared_norm() const {
  const std::size_t d = static_cast<std::size_t>(machine_.n_features());
  const std::size_t lanes = static_cast<std::size_t>(n_lanes());
  std::vector<float> x(d * kMaxBlock), dots(lanes * kMaxBlock), kernels(lanes);
  const Tiles tiles = machine_.tiles();
  double sum = 0;
  for (int first = 0; first < size(); first += kMaxBlock) {
    const int n = std::min(kMaxBlock, size() - first);
    const float* rows[kMaxBlock];
    for (int r = 0; r < n; ++r) {
      float* row = x.data() + static_cast<std::size_t>(r) * d;
      machine_.copy_vector(first + r, row);
      rows[r] = row;
    }
    loops().score_dense(rows, n, machine_.n_features(), 0.0f, tiles.data, tiles.n, dots.data());
    for (int r = 0; r < n; ++r) {
      loops().kernel(machine_.kernel(), dots.data() + static_cast<std::size_t>(r) * lanes,
                     machine_.squared_norm_of(first + r), machine_.squared_norms(), tiles.n,
                     kernels.data());
      sum += score(first + r, kernels.data());
    }
  }
  return sum;
}

}  // namespace multiplane
