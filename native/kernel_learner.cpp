#include "kernel_learner.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "draw.hpp"

namespace multiplane {
namespace {

// Coefficients are up to 1 / this larger than what they stand for.
constexpr double kSmallestScale = 0.1;

}  // namespace

// Rows with their products and kernel values, kept up to date while support vectors change.
struct KernelLearner::Block {
  Block(const Support& s) : support(s), scorer(s.machine().n_features()) {}

  // Rows 0 ... n-1, which must be there already.
  void begin(int n) {
    const KernelMachine& machine = support.machine();
    const std::size_t lanes = static_cast<std::size_t>(support.n_lanes());
    if (dots.size() < lanes * kMaxBlock) {
      dots.resize(lanes * kMaxBlock);
      kernels.resize(lanes * kMaxBlock);
    }
    stale.assign(static_cast<std::size_t>(machine.n_tiles()), 0);
    changed.clear();
    scorer.score(machine.tiles(), rows, n, dots.data());
    for (int r = 0; r < n; ++r) {
      squared[r] = squared_norm(rows[r]);
      loops().kernel(machine.kernel(), dots_of(r), squared[r], machine.squared_norms(),
                     machine.n_tiles(), kernels_of(r));
    }
  }

  float* dots_of(int r) { return dots.data() + static_cast<std::ptrdiff_t>(r) * support.n_lanes(); }
  float* kernels_of(int r) {
    return kernels.data() + static_cast<std::ptrdiff_t>(r) * support.n_lanes();
  }

  void touch(int lane) {
    char& mark = stale[static_cast<std::size_t>(lane / kTile)];
    if (!mark) changed.push_back(lane / kTile);
    mark = 1;
  }

  // Row r with the tiles that have changed since the block began.
  void refresh(int r) {
    if (changed.empty()) return;
    const KernelMachine& machine = support.machine();
    const Tiles all = machine.tiles();
    constexpr int kMost = 16;
    const float* some[kMost];
    float fresh[kMost * kTile];
    for (std::size_t first = 0; first < changed.size(); first += kMost) {
      const int n = static_cast<int>(std::min<std::size_t>(kMost, changed.size() - first));
      for (int q = 0; q < n; ++q) some[q] = all.data[changed[first + static_cast<std::size_t>(q)]];
      scorer.score({some, n, 0.0f}, rows + r, 1, fresh);
      for (int q = 0; q < n; ++q) {
        const std::ptrdiff_t lane = changed[first + static_cast<std::size_t>(q)] * kTile;
        std::copy_n(fresh + q * kTile, kTile, dots_of(r) + lane);
        loops().kernel(machine.kernel(), fresh + q * kTile, squared[r],
                       machine.squared_norms() + lane, 1, kernels_of(r) + lane);
      }
    }
  }

  const Support& support;
  Scorer scorer;
  Row rows[kMaxBlock];
  float squared[kMaxBlock];
  std::vector<float> dots, kernels, scores;
  std::vector<const float*> coef;
  std::vector<char> stale;  // by tile
  std::vector<int> changed;
};

LearnerCounts KernelLearner::learn(const Rows& rows, const std::int64_t* order, std::int64_t n,
                                   const std::int32_t* y, const float* weight, float largest) {
  LearnerCounts counts;
  ++version_;
  const auto number = [&](std::int64_t k) { return order ? order[k] : k; };
  const bool dense = rows.kind == Rows::Kind::dense;
  const int most = dense ? loops().block : kSparseBlock;
  Block block(support_);
  block.scores.resize(static_cast<std::size_t>(support_.machine().n_classes()));
  for (std::int64_t k = 0; k < n;) {
    // A dense row that is seen through its non-zeros goes alone.
    block.rows[0] = block.scorer.shortened(rows.row(number(k)));
    const bool alone = dense && block.rows[0].kind != Row::Kind::dense;
    const int in_block = alone ? 1 : static_cast<int>(std::min<std::int64_t>(most, n - k));
    for (int r = 1; r < in_block; ++r) block.rows[r] = rows.row(number(k + r));
    for (int r = 0; r < in_block; ++r) {
      if (order && k + r + kFarAhead < n) rows.prefetch(order[k + r + kFarAhead]);
      const Row& x = block.rows[r];
      if (largest > 0 && !loops().all_within(x.values, x.n_values, largest)) {
        counts.bad_row = number(k + r);
        return counts;
      }
    }
    // Room for all that this block can bring, so that no tile is born on the way.
    const int room = support_.size() + in_block;
    support_.reserve(config_.budget ? std::min(room, config_.budget + 1) : room);
    block.begin(in_block);
    block.coef = support_.machine().coef();
    for (int r = 0; r < in_block; ++r) {
      const std::int64_t i = number(k + r);
      step(block, r, y[i], weight ? weight[i] : 1.0f, counts);
      ++counts.rows;
    }
    k += in_block;
  }
  return counts;
}

void KernelLearner::step(Block& block, int r, std::int32_t y, float weight,
                         LearnerCounts& counts) {
  const KernelMachine& machine = support_.machine();
  block.refresh(r);
  std::vector<float>& f = block.scores;
  loops().weigh(block.coef.data(), machine.n_classes(), block.kernels_of(r), machine.n_tiles(),
                f.data());
  std::int32_t rival = -1;
  for (std::int32_t c = 0; c < machine.n_classes(); ++c)
    if (c != y && (rival < 0 || f[static_cast<std::size_t>(c)] > f[static_cast<std::size_t>(rival)]))
      rival = c;
  const double right = f[static_cast<std::size_t>(y)];
  const double wrong = rival < 0 ? right : f[static_cast<std::size_t>(rival)];
  const float self = self_kernel(config_.kernel, block.squared[r]);
  if (!std::isfinite(right - wrong) || !std::isfinite(self))
    throw std::invalid_argument(
        "kernel values leave the range of float32; scale the features, for example with "
        "StandardScaler, or choose a smaller gamma, coef0 or degree");

  const double margin = config_.lam * static_cast<double>(t_ - 1);
  const double gap = scale_ * (wrong - right);
  const bool loss = rival >= 0 && (t_ == 1 || margin + gap > 0);
  counts.mistakes += rival >= 0 && !(right > wrong);
  counts.weight += weight;
  if (loss) counts.loss += weight * (t_ == 1 ? 1.0 : 1.0 + gap / margin);
  // A row of which the kernel sees nothing moves nothing.
  if (loss && weight > 0 && self != 0) {
    ++counts.updates;
    insert(block, r, y, rival, weight, gap);
  }
  next_step();
}

void KernelLearner::insert(Block& block, int r, std::int32_t y, std::int32_t rival, float weight,
                           double gap) {
  if (scale_ < kSmallestScale) fold_scale();
  const int slot = support_.add(block.rows[r], block.squared[r], t_);
  const double inner = weight / scale_;
  KernelMachine& machine = support_.machine();
  machine.set_coef(y, slot, static_cast<float>(inner));
  machine.set_coef(rival, slot, static_cast<float>(-inner));
  if (support_.averages()) {
    support_.set_sum(y, slot, static_cast<float>(inner * average_sum_));
    support_.set_sum(rival, slot, static_cast<float>(-inner * average_sum_));
  }
  support_.weigh(slot);
  block.touch(slot);
  const double self = support_.self(slot);
  squared_norm_ += -2.0 * weight * gap + 2.0 * weight * weight * self;

  block.dots_of(r)[slot] = block.squared[r];
  block.kernels_of(r)[slot] = support_.self(slot);
  const Newest newest{slot, block.dots_of(r), block.kernels_of(r), uniform(config_.seed, t_)};
  if (config_.budget && support_.size() > config_.budget)
    maintain(newest, block);
  else
    maintenance_->added(support_, newest);
  if (config_.ball_projection) project();
}

void KernelLearner::maintain(const Newest& newest, Block& block) {
  // |U - delta|^2 takes as long as a few rows, so it is left out while even the sum of the norms,
  // over many more steps, would stay within the ball.
  const double limit = std::sqrt(config_.lam) * static_cast<double>(t_);
  const double norm = std::sqrt(std::max(squared_norm_, 0.0));
  const bool near = norm + 0.25 * config_.budget * last_change_ > limit;
  const bool want_inner = config_.ball_projection && norm_is_exact_ && near;
  const Change change = maintenance_->reduce(support_, newest, want_inner);
  for (int lane : change.touched)
    if (lane >= 0) block.touch(lane);
  block.touch(support_.size());  // the lane that has become empty
  const double moved = scale_ * std::sqrt(change.squared_norm);
  degradation_ += moved;
  last_change_ = moved;
  if (change.has_inner) {
    squared_norm_ += scale_ * scale_ * (change.squared_norm - 2 * change.inner);
  } else {
    squared_norm_ = (norm + moved) * (norm + moved);
    norm_is_exact_ = false;
  }
}

// Back into the ball |W| <= 1/sqrt(lam), that is |U| <= sqrt(lam) t, by a global factor.
void KernelLearner::project() {
  const double limit = config_.lam * static_cast<double>(t_) * static_cast<double>(t_);
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
  KernelMachine out(machine.n_features(), machine.n_classes(), machine.kernel());
  out.reserve(machine.size());
  std::vector<float> x(static_cast<std::size_t>(machine.n_features()));
  for (int i = 0; i < machine.size(); ++i) {
    machine.copy_vector(i, x.data());
    out.add({Row::Kind::dense, x.data(), nullptr, machine.n_features()},
            machine.squared_norm_of(i));
    for (int c = 0; c < machine.n_classes(); ++c) {
      const double a = machine.coef(c, i);
      const double value = averaged ? average_sum_ * a - support_.sum(c, i) : scale_ * a;
      out.set_coef(c, i, static_cast<float>(value / divisor));
    }
  }
  return out;
}

}  // namespace multiplane
