// Budget maintenance: one support vector fewer, changing the model as little as may be.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "inverse.hpp"
#include "merging.hpp"
#include "support.hpp"

namespace multiplane {

// The support vector that came last, with its products and kernel values with all lanes.
struct Newest {
  int slot;
  float* dots;
  float* kernels;
  double draw;  // a number in [0, 1) for those who cast lots
};

struct Change {
  double squared_norm = 0;  // |delta|^2, delta being the model before less the model after
  double inner = 0;         // <model before, delta>, if it was asked for or comes for free
  bool has_inner = false;
  int touched[2] = {-1, -1};  // lanes that hold another vector now
};

class Maintenance {
 public:
  virtual ~Maintenance() = default;
  // A support vector came and fits into the budget.
  virtual void added(const Support&, const Newest&) {}
  virtual Change reduce(Support& support, const Newest& newest, bool want_inner) = 0;
  // One fewer again and again, until there are `most`; what is remembered is made anew. `draw` gives
  // numbers for those who cast lots, `moved` is told each |delta|.
  virtual void shrink(Support& support, int most, const std::function<double()>& draw,
                      const std::function<void(double)>& moved);

  // What it remembers, as an array; empty for most.
  virtual std::vector<double> memory() const { return {}; }
  virtual void remember(const std::vector<double>&, int) {}
};

// Drops the smallest, or one by lot.
class Removal : public Maintenance {
 public:
  explicit Removal(bool random) : random_(random) {}
  Change reduce(Support& support, const Newest& newest, bool want_inner) override;

 private:
  bool random_;
};

// Merges the smallest with the partner that costs least; or the pair that does, of all.
class Merging : public Maintenance {
 public:
  explicit Merging(bool all_pairs) : all_pairs_(all_pairs) {}
  Change reduce(Support& support, const Newest& newest, bool want_inner) override;
  // The smallest first, always: all pairs of some thousand vectors would take hours.
  void shrink(Support& support, int most, const std::function<double()>& draw,
              const std::function<void(double)>& moved) override;

 private:
  // Products of support vector m with all lanes, into dots_.
  void look(const Support& support, const Newest& newest, int m);
  // The best partner for m, which look() has seen, among those that are not smaller.
  Partner partner(const Support& support, int m);
  // <f, delta>, after look() and partner() have seen m.
  double inner(const Support& support, int m, int n, const Merge& merge);

  bool all_pairs_;
  CoefProducts coef_products_;
  std::vector<float> x_, z_, dots_, dots_m_, kernels_, exponents_, room_;
  std::vector<float> alphas_m_, alphas_n_;  // alpha_m . alpha_lane, and n's
  std::vector<std::int32_t> room_lanes_;
};

// Projects the smallest onto all others.
class Projection : public Maintenance {
 public:
  void added(const Support& support, const Newest& newest) override;
  Change reduce(Support& support, const Newest& newest, bool want_inner) override;
  // The vectors come anew, the largest first: the inverse never has more than `most` rows.
  void shrink(Support& support, int most, const std::function<double()>& draw,
              const std::function<void(double)>& moved) override;
  // The inverse, then its ridge.
  std::vector<double> memory() const override;
  void remember(const std::vector<double>& memory, int n) override;

 private:
  // Each is false where the inverse cannot be relied on.
  bool prepare(const Support& support, const Newest& newest);
  bool look(const Support& support, const Newest& newest, int p);
  // How far K K^-1 is from the unit matrix, at one place of the diagonal.
  double drift(const Support& support, const Newest& newest, int p);
  void refactor(const Support& support, int n, double ridge);

  // The inverse drifts by rounding, a little at each update; beyond this it is made anew.
  static constexpr double kMostDrift = 1e-6;

  Inverse inverse_;
  std::vector<double> k_, g_, column_;
  double rest_ = 0;
  std::vector<float> x_, dots_, kernels_;
};

// "merge", "merge-all", "project", "remove" or "random"; nullptr for anything else.
std::unique_ptr<Maintenance> maintenance_named(const std::string& name);

}  // namespace multiplane
