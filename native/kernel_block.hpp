// Walking through rows with a kernel learner, block by block.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "learner.hpp"
#include "support.hpp"

namespace multiplane {

// Rows at once, few: most change some tiles, which the others then have to look at again.
constexpr int kKernelBlock = 4;
static_assert(kKernelBlock <= kSparseBlock);

// Rows with their products and kernel values, kept up to date while support vectors change.
struct KernelBlock {
  KernelBlock(const Support& s, float largest)
      : support(s), scorer(s.machine().n_features(), largest) {}

  // Rows 0 ... n-1, which must be there already.
  void begin(int n) {
    const KernelMachine& machine = support.machine();
    const std::size_t lanes = static_cast<std::size_t>(support.n_lanes());
    if (dots.size() < lanes * kKernelBlock) {
      dots.resize(lanes * kKernelBlock);
      kernels.resize(lanes * kKernelBlock);
    }
    changed.begin(machine.n_tiles());
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

  void touch(int lane) { changed.add(lane / kTile); }

  // Row r with the tiles that have changed since the block began.
  void refresh(int r) {
    const KernelMachine& machine = support.machine();
    scorer.rescore(machine.tiles(), changed, rows + r, 1, dots_of(r));
    for (int q : changed.list()) {
      const std::ptrdiff_t lane = q * kTile;
      loops().kernel(machine.kernel(), dots_of(r) + lane, squared[r],
                     machine.squared_norms() + lane, 1, kernels_of(r) + lane);
    }
  }

  // scores = f(x_r). Throws where kernel values leave the range of float32.
  void evaluate(int r) {
    const KernelMachine& machine = support.machine();
    refresh(r);
    loops().weigh(machine.coef(), machine.n_classes(), kernels_of(r), machine.n_tiles(),
                  scores.data());
    self = self_kernel(machine.kernel(), squared[r]);
    float sum = self;
    for (float score : scores) sum += score;
    if (!std::isfinite(sum))
      throw std::invalid_argument(
          "kernel values leave the range of float32; scale the features, for example with "
          "StandardScaler, or choose a smaller gamma, coef0 or degree");
  }

  // The class with the greatest score but for y, -1 if there is only one.
  std::int32_t rival(std::int32_t y) const {
    std::int32_t best = -1;
    for (std::int32_t c = 0; c < static_cast<std::int32_t>(scores.size()); ++c)
      if (c != y && (best < 0 || score(c) > score(best))) best = c;
    return best;
  }
  float score(std::int32_t c) const { return scores[static_cast<std::size_t>(c)]; }

  // Row r becomes a support vector, whose own products and kernel values are then in its row too.
  int add_to(Support& target, int r, std::int64_t born) {
    const int slot = target.add(rows[r], squared[r], born);
    touch(slot);
    dots_of(r)[slot] = squared[r];
    kernels_of(r)[slot] = self;
    return slot;
  }

  const Support& support;
  Scorer scorer;
  Row rows[kKernelBlock];
  float squared[kKernelBlock];
  float self = 0;  // k(x, x) of the row that was evaluated last
  std::vector<float> dots, kernels, scores;
  ChangedTiles changed;
};

// Calls step(block, r, y, weight) for each row, in order; see Learner::learn for the arguments. A step
// may add one support vector at most; `most_support` is how many there can ever be, 0 for no limit.
template <class Step>
LearnerCounts walk(Support& support, const Rows& rows, const std::int64_t* order, std::int64_t n,
                   const std::int32_t* y, const float* weight, float largest, int most_support,
                   Step step, LearnerCounts counts) {
  const auto number = [&](std::int64_t k) { return order ? order[k] : k; };
  KernelBlock block(support, largest);
  block.scores.resize(static_cast<std::size_t>(support.machine().n_classes()));
  for (std::int64_t k = 0; k < n;) {
    // A dense row that is seen through its non-zeros goes alone.
    block.rows[0] = rows.row(number(k));
    const bool alone = block.scorer.pick(block.rows[0], rows.ahead(order, k, n));
    const int in_block = alone ? 1 : static_cast<int>(std::min<std::int64_t>(kKernelBlock, n - k));
    for (int r = 1; r < in_block; ++r) block.rows[r] = rows.row(number(k + r));
    for (int r = 0; r < in_block; ++r) {
      if (order) rows.look_ahead(order, k + r, n, y, alone);
      if (!alone && !block.scorer.fine(block.rows[r])) {
        counts.bad_row = number(k + r);
        return counts;
      }
    }
    // Room for all that this block can bring, so that no tile is born on the way.
    const int room = support.size() + in_block;
    support.reserve(most_support ? std::min(room, most_support) : room);
    block.begin(in_block);
    for (int r = 0; r < in_block; ++r) {
      const std::int64_t i = number(k + r);
      block.evaluate(r);
      step(block, r, y[i], weight ? weight[i] : 1.0f, counts);
      ++counts.rows;
    }
    k += in_block;
  }
  return counts;
}

}  // namespace multiplane
