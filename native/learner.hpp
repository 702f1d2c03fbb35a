// Stochastic gradient descent for multi-hyperplane machines, in scaled space.
//
//   minimise   lam/2 |W|^2 + mean_i max(0, 1 + max_{k != y_i} g(k, x_i) - g(y_i, x_i)),
//   g(k, x) = max over the hyperplanes w of class k of w.x
//
// With steps 1/(lam t) and U = lam (t-1) W a step is U[right] += x, U[rival] -= x, and nothing else:
// no shrinking, no per-weight scale. The margin 1 becomes lam (t-1). One learner serves Pegasos
// (one hyperplane a class), MM (a fixed number), AMM (born as needed) and GAMM (duplicated too). It
// can also start from given hyperplanes, as if t0 steps had been made, and share a step among all
// hyperplanes of a side that come near the winner: then none is left behind for good.
//
// The result is that of one-row-at-a-time descent, bit for bit: rows are scored in blocks on the
// guess that none of them changes the model, and after a change those behind it are scored anew by the
// tiles that changed.
// So neither the block size, nor the cut of a stream into calls, nor sparse or dense storage can
// be seen in the model.
//
// The average gives U^(t) the weight (t - t0)^3 (without a start W^(t) then has t^4): the last half of
// the steps has 94 % of the weight, so the wild first steps are forgotten without anyone knowing how
// long the stream is.
// With C the weights given so far and V += C x whenever U += x, the average is (C U - V) / sum.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "hyperplanes.hpp"
#include "sums.hpp"

namespace multiplane {

struct LearnerConfig {
  double lam = 1e-4;
  bool adaptive = true;          // every class has zero hyperplanes in reserve (AMM, section 3.2)
  bool ball_projection = false;  // keep |W| <= 1/sqrt(lam)
  bool average = true;           // the model is a weighted average of the U^(t)
  double growth_decay = 0.99;    // beta
  std::uint64_t seed = 0;        // of the duplications
  double sharing = 0;            // in margins: who comes that near to the winner has a share
  double rate = 1;               // of all steps: what they are multiplied by
};

struct LearnerCounts {
  std::int64_t rows = 0, updates = 0, mistakes = 0, created = 0, duplicated = 0;
  // Sums of weighted hinge losses and of weights. Calls that go on from the sums of the call before
  // add up to the same bits, however a stream is cut.
  double loss = 0, weight = 0;
  std::int64_t bad_row = -1;
};

class Learner {
 public:
  enum class Assignment { online, record, given };

  Learner(std::int64_t n_features, float bias, std::int32_t n_classes, const LearnerConfig& config)
      : config_(config), u_(n_features, bias), n_of_class_(static_cast<std::size_t>(n_classes), 0) {
    if (config.average) v_.emplace(n_features, bias);
  }

  Learner(Learner&&) = default;
  Learner& operator=(Learner&&) = default;

  // Rows order[0..n), or 0..n where order is null; y, weight and z are indexed by row number.
  // z holds ids of hyperplanes: written (record), obeyed (given) or ignored (online).
  // With a `largest` above zero each row's values are checked when it is met; learning ends before
  // the first row with a fault, up to a block earlier, and its number is then in counts.bad_row.
  LearnerCounts learn(const Rows& rows, const std::int64_t* order, std::int64_t n,
                      const std::int32_t* y, const float* weight, std::int32_t* z,
                      Assignment assignment, float largest = 0, LearnerCounts counts = {});

  // From now on these hyperplanes W, as if t0 steps had been made. Ids are 0 ... size-1.
  void start(const Hyperplanes& w, std::int64_t t0);
  // Removes all hyperplanes but these lanes (ascending).
  void keep(const std::vector<int>& lanes);
  // Removes the smallest hyperplanes while the norm of all that is removed stays within c.
  int prune(double c);

  int add_hyperplane(std::int32_t owner);
  // An id without a hyperplane: zero until an update brings it to life.
  std::int32_t reserve_id();
  // The id of a class's zero hyperplane in reserve: the same one until it comes to life.
  std::int32_t reserved_id(std::int32_t y);
  // Class k is now called code[k], out of n_classes.
  void relabel(const std::vector<std::int32_t>& code, std::int32_t n_classes);
  // Another number of features, if those that go have never mattered.
  bool resize(std::int64_t n_features);
  // All hyperplanes to zero and t to 1; ids stay.
  void restart();
  // The model: W^(t), or its average.
  Hyperplanes snapshot() const;

  // The state, for the bindings to read and restore.
  LearnerConfig config_;
  Hyperplanes u_;
  std::optional<Sums> v_;  // sum of C * (what was added to U), when averaging
  std::vector<std::int32_t> id_of_lane_, lane_of_id_;
  std::vector<int> n_of_class_;
  std::vector<std::int32_t> reserved_;  // by class, -1 or missing: none yet
  std::int64_t t_ = 1, t0_ = 0;
  double growth_ = 0;        // p
  double scale_ = 1;         // U = scale * u_
  double squared_norm_ = 0;  // |U|^2, kept for the ball projection
  double average_unit_ = 1;    // U^(t+1) enters the average with the weight unit * t^3
  double average_sum_ = 0;     // C: weights given so far (times scale)
  double average_weight_ = 0;  // what C U - V is to be divided by to give W
  std::int64_t version_ = 0;   // changes whenever the model may have changed
  // Held by the bindings around every call: learning lets other threads of Python run.
  std::unique_ptr<std::mutex> mutex_ = std::make_unique<std::mutex>();

 private:
  ChangedTiles changed_;  // by the last step
  std::vector<std::int32_t> near_;  // room for lanes

  bool step(const Row& x, const float* scores, std::int32_t y, float weight, std::int32_t* z,
            Assignment assignment, LearnerCounts& counts);
  void prepare();
  int add_lane(std::int32_t owner, std::int32_t id);
  void add_row(int lane, const Row& x, double c);
  void add_to_near(const Row& x, const float* scores, int n_tiles, std::int32_t y, bool right,
                   float best, double c);
  void project(double squared_norm);
  void fold_scale();
  void next_step();
  void rescale_average();
};

}  // namespace multiplane
