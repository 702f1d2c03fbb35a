// Multi-class kernel Pegasos, with or without a budget (budgeted Pegasos, Algorithm 1).
//
// In scaled space, U = lam (t-1) W, a step adds a support vector with the coefficients +-weight and
// nothing else; see learner.hpp, which does the same with hyperplanes. Rows are taken in blocks: their
// products with all support vectors come from one matrix product, and of the tiles that change while
// the block is walked through, those of the rows still to come are made anew. A tile gives the same
// bits either way, so that the model does not depend on where blocks begin.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "budget.hpp"
#include "kernel_block.hpp"

namespace multiplane {

struct KernelLearnerConfig {
  double lam;
  Kernel kernel;
  std::int32_t budget;      // 0: as many as come
  std::string maintenance;  // see maintenance_named
  bool ball_projection;
  bool average;
  std::uint64_t seed;
};

class KernelLearner {
 public:
  KernelLearner(std::int64_t n_features, std::int32_t n_classes, const KernelLearnerConfig& config)
      : config_(config),
        support_(n_features, n_classes, config.kernel, config.average),
        maintenance_(maintenance_named(config.maintenance)) {}
  KernelLearner(KernelLearner&&) = default;

  // As Learner::learn. Throws std::invalid_argument, before the step, where kernel values leave the
  // range of float32.
  LearnerCounts learn(const Rows& rows, const std::int64_t* order, std::int64_t n,
                      const std::int32_t* y, const float* weight, float largest = 0, LearnerCounts counts = {});
  void relabel(const std::vector<std::int32_t>& code, std::int32_t n_classes);
  // From any number of support vectors to what the budget allows, and into the ball.
  void reduce();
  // The model: W^(t), or its average.
  KernelMachine snapshot() const;

  // The state, for the bindings to read and restore.
  KernelLearnerConfig config_;
  Support support_;
  std::unique_ptr<Maintenance> maintenance_;
  std::int64_t t_ = 1;
  double scale_ = 1;         // U = scale * what support_ holds
  double squared_norm_ = 0;  // |U|^2, or a bound on it, for the ball projection
  bool norm_is_exact_ = true;
  double degradation_ = 0;         // sum of |E_t| = |delta U_t|
  std::int64_t n_maintained_ = 0;  // how often there was one
  double average_unit_ = 1, average_sum_ = 0, average_weight_ = 0;  // as in Learner
  std::int64_t version_ = 0;
  std::unique_ptr<std::mutex> mutex_ = std::make_unique<std::mutex>();

 private:
  void step(KernelBlock& block, int r, std::int32_t y, float weight, LearnerCounts& counts);
  void insert(KernelBlock& block, int r, std::int32_t y, std::int32_t rival, float weight,
              double gap);
  void maintain(const Newest& newest, KernelBlock& block);
  void project(std::int64_t t);
  void fold_scale();
  void next_step();
};

}  // namespace multiplane
