// Projectron++ for several classes (Orabona, Keshet and Caputo, JMLR 2009).
//
// A perceptron whose support set grows only where it must. Each class has a support set of its own.
// The update of a mistake, f_y += k(x, .) and f_r -= k(x, .), is projected onto what the support sets
// of y and of the rival r span if that loses at most eta for each of the two; otherwise x joins the
// support sets. A row that is right, but by a margin of less than 1, makes a projected update too, of
// the size
//     tau = min(loss / p, 2 (loss - lost / eta) / p, 1),   p = |projected update|^2,
// as long as loss > lost / eta, `lost` being the root of the mean square of what the two projections
// lose. Then the distance to any f with |f| <= 1 / (sqrt(2) eta) does not grow.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "inverse.hpp"
#include "kernel_block.hpp"

namespace multiplane {

class Projectron {
 public:
  Projectron(std::int64_t n_features, std::int32_t n_classes, const Kernel& kernel, double eta)
      : eta_(eta),
        support_(n_features, n_classes, kernel, false),
        sets_(static_cast<std::size_t>(n_classes)) {}
  Projectron(Projectron&&) = default;

  // As KernelLearner::learn; the loss is the hinge loss.
  LearnerCounts learn(const Rows& rows, const std::int64_t* order, std::int64_t n,
                      const std::int32_t* y, const float* weight, float largest = 0, LearnerCounts counts = {});
  void relabel(const std::vector<std::int32_t>& code, std::int32_t n_classes);
  KernelMachine snapshot() const;

  // The support vectors of one class, and the inverse of their kernel matrix.
  struct Set {
    std::vector<std::int32_t> slots;
    Inverse inverse;
  };

  // The state, for the bindings to read and restore.
  double eta_;
  Support support_;
  std::vector<Set> sets_;
  std::int64_t t_ = 1;
  std::int64_t version_ = 0;
  std::unique_ptr<std::mutex> mutex_ = std::make_unique<std::mutex>();

 private:
  // x projected onto what a class's support set spans: coefficients, and what is lost.
  struct Shadow {
    std::vector<double> k, g;
    double rest;  // as Inverse::rest
    double lost;  // |x - projection|^2
  };
  void step(KernelBlock& block, int r, std::int32_t y, float weight, LearnerCounts& counts);
  void cast(const KernelBlock& block, const float* kernels, std::int32_t c, Shadow& shadow) const;
  void add_projected(std::int32_t c, const Shadow& shadow, double factor);

  Shadow right_, wrong_;
};

}  // namespace multiplane
