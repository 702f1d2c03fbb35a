#include "kernel_learner.hpp"

#include <algorithm>
#include <cmath>

#include "draw.hpp"

namespace multiplane {
namespace {

// Coefficients are up to 1 / this larger than what they stand for.
constexpr double kSmallestScale = 0.1;

}  // namespace

LearnerCounts KernelLearner::learn(const Rows& rows, const std::int64_t* order, std::int64_t n,
                                   const std::int32_t* y, const float* weight, float largest,
                                   LearnerCounts counts) {
  ++version_;
  return walk(support_, rows, order, n, y, weight, largest, config_.budget ? config_.budget + 1 : 0,
              [&](auto&&... arguments) { step(arguments...); }, counts);
}

void KernelLearner::step(KernelBlock& block, int r, std::int32_t y, float weight,
                         LearnerCounts& counts) {
  const std::int32_t rival = block.rival(y);
  const double right = block.score(y), wrong = rival < 0 ? right : block.score(rival);
  const double margin = config_.lam * static_cast<double>(t_ - 1);
  const double gap = scale_ * (wrong - right);
  const bool loss = rival >= 0 && (t_ == 1 || margin + gap > 0);
  counts.mistakes += rival >= 0 && !(right > wrong);
  counts.weight += weight;
  if (loss) counts.loss += weight * (t_ == 1 ? 1.0 : 1.0 + gap / margin);
  // A row of which the kernel sees nothing moves nothing.
  if (loss && weight > 0 && block.self != 0) {
    ++counts.updates;
    insert(block, r, y, rival, weight, gap);
  }
  next_step();
}

void KernelLearner::insert(KernelBlock& block, int r, std::int32_t y, std::int32_t rival,
                           float weight, double gap) {
  if (scale_ < kSmallestScale) fold_scale();
  const int slot = block.add_to(support_, r, t_);
  const double inner = weight / scale_;
  KernelMachine& machine = support_.machine();
  machine.set_coef(y, slot, static_cast<float>(inner));
  machine.set_coef(rival, slot, static_cast<float>(-inner));
  if (support_.averages()) {
    support_.set_sum(y, slot, static_cast<float>(inner * average_sum_));
    support_.set_sum(rival, slot, static_cast<float>(-inner * average_sum_));
  }
  support_.weigh(slot);
  const double self = support_.self(slot);
  squared_norm_ += -2.0 * weight * gap + 2.0 * weight * weight * self;

  const Newest newest{slot, block.dots_of(r), block.kernels_of(r), uniform(config_.seed, t_)};
  if (config_.budget && support_.size() > config_.budget)
    maintain(newest, block);
  else
    maintenance_->added(support_, newest);
  if (config_.ball_projection) project(t_);
}

void KernelLearner::maintain(const Newest& newest, KernelBlock& block) {
  // |U - delta|^2 takes as long as a few rows, so it is left out while even the sum of the norms,
  // over many more steps, would stay within the ball; but not while the ball is what holds U back.
  const double limit = std::sqrt(config_.lam) * static_cast<double>(t_);
  const double norm = std::sqrt(std::max(squared_norm_, 0.0));
  const double usual = degradation_ / static_cast<double>(std::max<std::int64_t>(n_maintained_, 1));
  const bool near = norm + std::max(0.25 * config_.budget * usual, 0.1 * limit) > limit;
  const bool want_inner = config_.ball_projection && norm_is_exact_ && near;
  const Change change = maintenance_->reduce(support_, newest, want_inner);
  for (int lane : change.touched)
    if (lane >= 0) block.touch(lane);
  block.touch(support_.size());  // the lane that has become empty
  const double moved = scale_ * std::sqrt(change.squared_norm);
  degradation_ += moved;
  ++n_maintained_;
  if (change.has_inner) {
    squared_norm_ += scale_ * scale_ * (change.squared_norm - 2 * change.inner);
  } else {
    squared_norm_ = (norm + moved) * (norm + moved);
    norm_is_exact_ = false;
  }
}

void KernelLearner::reduce() {
  ++version_;
  double norm = std::sqrt(std::max(squared_norm_, 0.0));
  // Draws are numbered backwards from 0: steps have the positive numbers.
  std::int64_t n_drawn = n_maintained_;
  maintenance_->shrink(
      support_, config_.budget ? config_.budget : support_.size(),
      [&] { return uniform(config_.seed, -n_drawn++); },
      [&](double length) {
        norm += scale_ * length;
        degradation_ += scale_ * length;
        ++n_maintained_;
      });
  squared_norm_ = norm * norm;
  norm_is_exact_ = false;
  if (config_.ball_projection) project(t_ - 1);
}

// Back into the ball |W| <= 1/sqrt(lam), that is |U| <= sqrt(lam) t, by a global factor.
void KernelLearner::project(std::int64_t t) {
  const double limit = config_.lam * static_cast<double>(t) * static_cast<double>(t);
  if (squared_norm_ <= limit) return;
  if (!norm_is_exact_) {
    squared_norm_ = scale_ * scale_ * support_.squared_norm();
    norm_is_exact_ = true;
    if (squared_norm_ <= limit) return;
  }
  scale_ *= std::sqrt(limit / squared_norm_);
  squared_norm_ = limit;
}

void KernelLearner::next_step() {
  if (config_.average) {
    const double t = static_cast<double>(t_);
    const double weight = average_unit_ * t * t * t;
    average_sum_ += weight * scale_;
    average_weight_ += weight * config_.lam * t;
    if (average_sum_ > 1e4) {
      const double factor = 1 / average_sum_;
      for (int c = 0; c < support_.machine().n_classes(); ++c)
        for (int i = 0; i < support_.size(); ++i)
          support_.set_sum(c, i, static_cast<float>(support_.sum(c, i) * factor));
      average_unit_ *= factor;
      average_sum_ *= factor;
      average_weight_ *= factor;
    }
  }
  ++t_;
}

// See Learner::fold_scale.
void KernelLearner::fold_scale() {
  KernelMachine& machine = support_.machine();
  for (int c = 0; c < machine.n_classes(); ++c)
    for (int i = 0; i < machine.size(); ++i) {
      const double a = machine.coef(c, i);
      if (config_.average)
        support_.set_sum(c, i, static_cast<float>(support_.sum(c, i) - average_sum_ * a));
      machine.set_coef(c, i, static_cast<float>(a * scale_));
    }
  support_.weigh_all();
  average_sum_ = 0;
  scale_ = 1;
}

void KernelLearner::relabel(const std::vector<std::int32_t>& code, std::int32_t n_classes) {
  ++version_;
  support_.relabel(code, n_classes);
}

KernelMachine KernelLearner::snapshot() const {
  const KernelMachine& machine = support_.machine();
  const bool averaged = config_.average && average_weight_ > 0;
  const double divisor =
      averaged ? average_weight_ : config_.lam * static_cast<double>(t_ > 1 ? t_ - 1 : 1);
  return machine.with([&](int c, int i) {
    const double a = machine.coef(c, i);
    const double value = averaged ? average_sum_ * a - support_.sum(c, i) : scale_ * a;
    return static_cast<float>(value / divisor);
  });
}

}  // namespace multiplane
