#include "budget.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace multiplane {

void Maintenance::shrink(Support& support, int most, const std::function<double()>& draw,
                         const std::function<void(double)>& moved) {
  while (support.size() > most)
    moved(std::sqrt(reduce(support, {-1, nullptr, nullptr, draw()}, false).squared_norm));
}

Change Removal::reduce(Support& support, const Newest& newest, bool want_inner) {
  const int first = support.frozen(), n = support.size() - first;
  const int p = random_ ? first + std::min(static_cast<int>(newest.draw * n), n - 1)
                        : support.smallest();
  Change change;
  // k(v, v) < 0 can be had from kernels that are not positive definite
  change.squared_norm = static_cast<double>(support.weight(p)) * std::fabs(support.self(p));
  if (want_inner) {
    const KernelMachine& machine = support.machine();
    std::vector<float> x(static_cast<std::size_t>(machine.n_features()));
    std::vector<float> dots(static_cast<std::size_t>(support.n_lanes())), kernels(dots.size());
    machine.copy_vector(p, x.data());
    support.row(x.data(), machine.squared_norm_of(p), dots.data(), kernels.data());
    std::vector<float> f(static_cast<std::size_t>(machine.n_classes()));
    support.evaluate(kernels.data(), f.data());
    change.inner = support.inner(p, f.data());
    change.has_inner = true;
  }
  support.remove(p);
  change.touched[0] = p;
  return change;
}

void Merging::look(const Support& support, const Newest& newest, int m) {
  const KernelMachine& machine = support.machine();
  const std::size_t lanes = static_cast<std::size_t>(support.n_lanes());
  dots_.resize(lanes);
  if (m == newest.slot) {
    std::copy_n(newest.dots, lanes, dots_.begin());
    return;
  }
  x_.resize(static_cast<std::size_t>(machine.n_features()));
  machine.copy_vector(m, x_.data());
  support.products(x_.data(), dots_.data());
}

Partner Merging::partner(const Support& support, int m) {
  const KernelMachine& machine = support.machine();
  const std::size_t lanes = dots_.size();
  exponents_.resize(lanes);
  alphas_m_.resize(lanes);
  const std::size_t size = lanes + PartnerRoom::kSpare;
  room_.resize(4 * size);
  room_lanes_.resize(size);
  const auto part = [&](std::size_t k) { return room_.data() + k * size; };
  PartnerRoom room{part(0), part(1), part(2), part(3), room_lanes_.data()};
  loops().exponents(machine.kernel(), dots_.data(), machine.squared_norm_of(m),
                    machine.squared_norms(), machine.n_tiles(), exponents_.data());
  coef_products_(machine, m, machine.n_tiles(), alphas_m_.data());
  return loops().partner(exponents_.data(), std::max(support.weight(m), 1e-30f), alphas_m_.data(),
                         support.weights(), m, machine.n_tiles(), room);
}

// <f, alpha_m k_m + alpha_n k_n - alpha_z k_z>, with alpha_z = alpha_m k(m,z) + alpha_n k(n,z) and f the
// sum of alpha_i k_i.
double Merging::inner(const Support& support, int m, int n, const Merge& merge) {
  const KernelMachine& machine = support.machine();
  const std::size_t lanes = static_cast<std::size_t>(support.n_lanes());
  const int n_tiles = machine.n_tiles();
  kernels_.resize(lanes);
  support.kernels(dots_.data(), machine.squared_norm_of(m), kernels_.data());
  double sum = weighed(alphas_m_.data(), kernels_.data(), n_tiles);
  x_.resize(static_cast<std::size_t>(machine.n_features()));
  machine.copy_vector(n, x_.data());
  std::swap(dots_, dots_m_);
  dots_.resize(lanes);
  support.row(x_.data(), machine.squared_norm_of(n), dots_.data(), kernels_.data());
  alphas_n_.resize(lanes);
  coef_products_(machine, n, n_tiles, alphas_n_.data());
  sum += weighed(alphas_n_.data(), kernels_.data(), n_tiles);
  // z.v = h m.v + (1-h) n.v: the products of z need no features
  const auto h = static_cast<float>(merge.h);
  for (std::size_t i = 0; i < lanes; ++i) dots_[i] += h * (dots_m_[i] - dots_[i]);
  const float z2 = loops().squared_norm(z_.data(), machine.n_features());
  support.kernels(dots_.data(), z2, kernels_.data());
  return sum - merge.k_mz * weighed(alphas_m_.data(), kernels_.data(), n_tiles) -
         merge.k_nz * weighed(alphas_n_.data(), kernels_.data(), n_tiles);
}

Change Merging::reduce(Support& support, const Newest& newest, bool want_inner) {
  int m = support.smallest();
  if (all_pairs_) {
    float least = std::numeric_limits<float>::infinity();
    for (int i = support.frozen(); i < support.size(); ++i) {
      look(support, newest, i);
      const Partner best = partner(support, i);
      if (best.lane < 0 || best.cost >= least) continue;
      m = i;
      least = best.cost;
    }
  }
  look(support, newest, m);
  int n = partner(support, m).lane;
  if (n < 0) {  // nobody is as large as m: coefficients of nothing but zeros
    const int first = support.frozen();
    n = m != first ? first : first + 1 < support.size() ? first + 1 : 0;
  }
  KernelMachine& machine = support.machine();
  const Merge merge = best_merge(support.weight(m), alphas_m_[static_cast<std::size_t>(n)],
                                 support.weight(n), exponents_[static_cast<std::size_t>(n)]);
  const std::int64_t d = machine.n_features();
  z_.resize(static_cast<std::size_t>(d));
  const float* v_m = machine.lane(m);
  const float* v_n = machine.lane(n);
  const auto h = static_cast<float>(merge.h);
  for (std::int64_t f = 0; f < d; ++f) {
    const float from = v_n[f * kTile];
    z_[static_cast<std::size_t>(f)] = from + h * (v_m[f * kTile] - from);
  }
  Change change;
  change.squared_norm = merge.cost;
  change.has_inner = want_inner;
  if (want_inner) change.inner = inner(support, m, n, merge);
  support.set_mixture(n, m, merge.k_mz, n, merge.k_nz);
  machine.replace(n, z_.data());
  support.weigh(n);
  change.touched[0] = m;
  change.touched[1] = n == support.size() - 1 ? m : n;
  support.remove(m);
  return change;
}

void Merging::shrink(Support& support, int most, const std::function<double()>& draw,
                     const std::function<void(double)>& moved) {
  Merging(false).Maintenance::shrink(support, most, draw, moved);
}

std::vector<double> Projection::memory() const {
  std::vector<double> all = inverse_.lower();
  all.push_back(inverse_.ridge());
  return all;
}

void Projection::remember(const std::vector<double>& memory, int n) {
  inverse_.assign({memory.begin(), memory.end() - 1}, n, memory.back());
}

// g = K^-1 k for the newest, and its rest, with the vectors before it.
bool Projection::prepare(const Support& support, const Newest& newest) {
  const int n = newest.slot;
  const double self = support.self(n);
  k_.assign(newest.kernels, newest.kernels + n);
  g_.resize(static_cast<std::size_t>(n) + 1);
  inverse_.solve(k_.data(), g_.data());
  rest_ = inverse_.rest(k_.data(), g_.data(), self);
  return inverse_.enough(rest_, self);
}

// Column p of the inverse with the newest, after prepare().
bool Projection::look(const Support& support, const Newest& newest, int p) {
  column_.resize(static_cast<std::size_t>(newest.slot) + 1);
  inverse_.column_with(g_.data(), rest_, p, column_.data());
  const double pivot = column_[static_cast<std::size_t>(p)];
  return pivot > 0 && inverse_.enough(1 / pivot, support.self(p)) &&
         (p == newest.slot || drift(support, newest, p) <= kMostDrift);
}

void Projection::added(const Support& support, const Newest& newest) {
  for (double ridge = inverse_.ridge(); !prepare(support, newest) && ridge < 1; ridge *= 4)
    refactor(support, newest.slot, ridge);
  inverse_.append(g_.data(), rest_);
}

double Projection::drift(const Support& support, const Newest& newest, int p) {
  const KernelMachine& machine = support.machine();
  x_.resize(static_cast<std::size_t>(machine.n_features()));
  dots_.resize(static_cast<std::size_t>(support.n_lanes()));
  kernels_.resize(dots_.size());
  machine.copy_vector(p, x_.data());
  support.row(x_.data(), machine.squared_norm_of(p), dots_.data(), kernels_.data());
  kernels_[static_cast<std::size_t>(p)] = support.self(p);  // not by way of x.x, which is rounded
  double sum = support.self(p) * inverse_.ridge() * column_[static_cast<std::size_t>(p)];
  for (int j = 0; j <= newest.slot; ++j) {
    const auto k = static_cast<std::size_t>(j);
    sum += static_cast<double>(kernels_[k]) * column_[k];
  }
  return std::fabs(sum - 1);
}

// With this ridge, or a larger one if it is not enough.
void Projection::refactor(const Support& support, int n, double ridge) {
  const KernelMachine& machine = support.machine();
  x_.resize(static_cast<std::size_t>(machine.n_features()));
  dots_.resize(static_cast<std::size_t>(support.n_lanes()));
  kernels_.resize(dots_.size());
  std::vector<double> lower;
  for (int i = 0; i < n; ++i) {
    machine.copy_vector(i, x_.data());
    support.row(x_.data(), machine.squared_norm_of(i), dots_.data(), kernels_.data());
    lower.insert(lower.end(), kernels_.begin(), kernels_.begin() + i);
    lower.push_back(support.self(i));
  }
  while (!inverse_.factor(lower, n, ridge) && ridge < 1) ridge *= 4;
}

Change Projection::reduce(Support& support, const Newest& newest, bool) {
  const int n = newest.slot;  // vectors that the inverse knows
  const int p = support.smallest();
  const auto sound = [&] {
    const bool known = prepare(support, newest);
    return look(support, newest, p) && known;
  };
  bool fine = sound();
  for (double ridge = inverse_.ridge(); !fine && ridge < 1; ridge *= 4) {
    refactor(support, n, ridge);
    fine = sound();
  }
  if (!fine) {
    // Kernel values that are rounding errors: nothing to project onto, so p just goes.
    Change change;
    change.squared_norm = static_cast<double>(support.weight(p)) * std::fabs(support.self(p));
    change.touched[0] = p;
    support.remove(p);
    refactor(support, n, inverse_.ridge());
    return change;
  }
  // v_p is about the sum of -column_j / column_p v_j
  const double by_pivot = 1 / column_[static_cast<std::size_t>(p)];
  double ridge = support.self(p), tilt = 0;
  for (int j = 0; j <= n; ++j) {
    if (j == p) continue;
    const double factor = -by_pivot * column_[static_cast<std::size_t>(j)];
    ridge += factor * factor * support.self(j);
    support.add_scaled(j, p, factor);
    tilt += factor * support.self(j) * support.inner(j, p);
  }
  Change change;
  change.squared_norm =
      support.weight(p) * std::max(by_pivot - inverse_.ridge() * ridge, 0.0);
  // But for the ridge, delta is orthogonal to what is left: <v_j, delta> = ridge k(j, j) factor alpha_p.
  change.inner = change.squared_norm + inverse_.ridge() * tilt;
  change.has_inner = true;
  change.touched[0] = p;
  if (p != n) inverse_.replace(g_.data(), rest_, p, column_.data());
  support.remove(p);
  support.weigh_all();
  return change;
}

void Projection::shrink(Support& support, int most, const std::function<double()>& draw,
                        const std::function<void(double)>& moved) {
  std::vector<int> order(static_cast<std::size_t>(support.size()));
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](int i, int j) { return support.smaller(j, i); });
  const KernelMachine& machine = support.machine();
  Support anew(machine.n_features(), machine.n_classes(), machine.kernel(), support.averages());
  anew.reserve(std::min(support.size(), most + 1));
  std::vector<float> x(static_cast<std::size_t>(machine.n_features()));
  std::vector<float> dots(static_cast<std::size_t>(anew.n_lanes())), kernels(dots.size());
  inverse_ = {};
  for (int i : order) {
    machine.copy_vector(i, x.data());
    const int slot = anew.add({Row::Kind::dense, x.data(), nullptr, machine.n_features()},
                              machine.squared_norm_of(i), support.born(i));
    for (int c = 0; c < machine.n_classes(); ++c) {
      anew.machine().set_coef(c, slot, machine.coef(c, i));
      if (anew.averages()) anew.set_sum(c, slot, support.sum(c, i));
    }
    anew.weigh(slot);
    anew.row(x.data(), machine.squared_norm_of(i), dots.data(), kernels.data());
    kernels[static_cast<std::size_t>(slot)] = anew.self(slot);
    const Newest newest{slot, dots.data(), kernels.data(), draw()};
    if (anew.size() > most)
      moved(std::sqrt(reduce(anew, newest, false).squared_norm));
    else
      added(anew, newest);
  }
  support = std::move(anew);
}

std::unique_ptr<Maintenance> maintenance_named(const std::string& name) {
  if (name == "merge") return std::make_unique<Merging>(false);
  if (name == "merge-all") return std::make_unique<Merging>(true);
  if (name == "project") return std::make_unique<Projection>();
  if (name == "remove") return std::make_unique<Removal>(false);
  if (name == "random") return std::make_unique<Removal>(true);
  return nullptr;
}

}  // namespace multiplane
