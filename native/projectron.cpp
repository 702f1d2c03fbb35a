#include "projectron.hpp"

#include <algorithm>
#include <cmath>

namespace multiplane {

LearnerCounts Projectron::learn(const Rows& rows, const std::int64_t* order, std::int64_t n,
                                const std::int32_t* y, const float* weight, float largest,
                                LearnerCounts counts) {
  ++version_;
  return walk(support_, rows, order, n, y, weight, largest, 0,
              [&](auto&&... arguments) { step(arguments...); }, counts);
}

void Projectron::cast(const KernelBlock& block, const float* kernels, std::int32_t c,
                      Shadow& shadow) const {
  const Set& set = sets_[static_cast<std::size_t>(c)];
  const int n = set.inverse.size();
  shadow.k.resize(static_cast<std::size_t>(n));
  shadow.g.resize(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < set.slots.size(); ++i) shadow.k[i] = kernels[set.slots[i]];
  set.inverse.solve(shadow.k.data(), shadow.g.data());
  const double self = block.self;
  shadow.rest = set.inverse.rest(shadow.k.data(), shadow.g.data(), self);
  shadow.lost = std::clamp(self - loops().dot(shadow.k.data(), shadow.g.data(), n), 0.0, self);
}

void Projectron::add_projected(std::int32_t c, const Shadow& shadow, double factor) {
  const Set& set = sets_[static_cast<std::size_t>(c)];
  KernelMachine& machine = support_.machine();
  for (std::size_t i = 0; i < set.slots.size(); ++i) {
    const int slot = set.slots[i];
    machine.set_coef(c, slot, static_cast<float>(machine.coef(c, slot) + factor * shadow.g[i]));
  }
}

void Projectron::step(KernelBlock& block, int r, std::int32_t y, float weight,
                      LearnerCounts& counts) {
  ++t_;
  counts.weight += weight;
  const std::int32_t rival = block.rival(y);
  if (rival < 0) return;
  const double margin = static_cast<double>(block.score(y)) - block.score(rival);
  const bool mistake = !(margin > 0);
  counts.mistakes += mistake;
  if (margin >= 1) return;
  counts.loss += weight * (1 - margin);
  if (weight == 0 || !(block.self > 0)) return;
  cast(block, block.kernels_of(r), y, right_);
  cast(block, block.kernels_of(r), rival, wrong_);
  const double w = weight;
  if (!mistake) {
    const double loss = 1 - margin;
    const double room = loss - w * std::sqrt((right_.lost + wrong_.lost) / 2) / eta_;
    const double length = 2.0 * block.self - right_.lost - wrong_.lost;
    if (!(room > 0) || !(length > 0)) return;
    const double tau = w * std::min({loss / length, 2 * room / length, 1.0});
    add_projected(y, right_, tau);
    add_projected(rival, wrong_, -tau);
    ++counts.updates;
    return;
  }
  ++counts.updates;
  const double limit = eta_ * eta_;
  const double most = w * w * std::max(right_.lost, wrong_.lost);
  // What projection loses nothing of needs no support vector, whatever becomes of the other one.
  const auto joins = [&](const Shadow& shadow) {
    return most > limit && shadow.lost > Inverse::kRidge * block.self;
  };
  const bool right_joins = joins(right_), wrong_joins = joins(wrong_);
  if (right_joins || wrong_joins) {
    const int slot = block.add_to(support_, r, t_);
    const auto join = [&](std::int32_t c, const Shadow& shadow, double coef) {
      Set& set = sets_[static_cast<std::size_t>(c)];
      set.inverse.append(shadow.g.data(), shadow.rest);
      set.slots.push_back(slot);
      support_.machine().set_coef(c, slot, static_cast<float>(coef));
    };
    if (right_joins) join(y, right_, w);
    if (wrong_joins) join(rival, wrong_, -w);
    ++counts.created;
  }
  if (!right_joins) add_projected(y, right_, w);
  if (!wrong_joins) add_projected(rival, wrong_, -w);
}

void Projectron::relabel(const std::vector<std::int32_t>& code, std::int32_t n_classes) {
  ++version_;
  support_.relabel(code, n_classes);
  std::vector<Set> sets(static_cast<std::size_t>(n_classes));
  for (std::size_t c = 0; c < code.size(); ++c)
    sets[static_cast<std::size_t>(code[c])] = std::move(sets_[c]);
  sets_ = std::move(sets);
}

KernelMachine Projectron::snapshot() const {
  return support_.machine().with([&](int c, int i) { return support_.machine().coef(c, i); });
}

}  // namespace multiplane
