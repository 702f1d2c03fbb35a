#include "learner.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "draw.hpp"

namespace multiplane {
namespace {

constexpr float kNone = -std::numeric_limits<float>::infinity();

// u is up to 1 / this larger than what it stands for: one decimal digit is lost at most.
constexpr double kSmallestScale = 0.1;

double squared_norm(const Row& x) {
  double sum = 0;
  for (std::int64_t k = 0; k < x.n_values; ++k)
    sum += static_cast<double>(x.values[k]) * static_cast<double>(x.values[k]);
  return sum;
}

}  // namespace

LearnerCounts Learner::learn(const Rows& rows, const std::int64_t* order, std::int64_t n,
                             const std::int32_t* y, const float* weight, std::int32_t* z,
                             Assignment assignment, float largest, LearnerCounts counts) {
  counts.rows = n;
  ++version_;
  const auto number = [&](std::int64_t k) { return order ? order[k] : k; };
  const bool dense = rows.kind == Rows::Kind::dense;
  const int most = dense ? loops().block : kSparseBlock;
  Scorer scorer(u_.n_features(), largest);
  std::vector<float> scores;
  Row block[kMaxBlock];
  int width = 1;  // rows to score at once: fewer after a change, more after none
  for (std::int64_t k = 0; k < n;) {
    // A dense row that is seen through its non-zeros goes alone.
    block[0] = rows.row(number(k));
    const bool alone = scorer.pick(block[0], rows.ahead(order, k, n));
    const int in_block = alone ? 1 : static_cast<int>(std::min<std::int64_t>(width, n - k));
    for (int r = 1; r < in_block; ++r) block[r] = rows.row(number(k + r));
    for (int r = 0; r < in_block; ++r) {
      if (order) rows.look_ahead(order, k + r, n, y, alone);
      if (!alone && !scorer.fine(block[r])) {
        counts.bad_row = number(k + r);
        return counts;
      }
    }
    const int n_tiles = u_.n_tiles();
    const std::size_t stride = static_cast<std::size_t>(n_tiles) * kTile;
    if (scores.size() < stride * kMaxBlock) scores.resize(2 * stride * kMaxBlock);
    changed_.begin(n_tiles + 1);  // a step opens one at most
    if (config_.sharing > 0) near_.resize(stride + kTile);
    scorer.score(u_.tiles(), block, in_block, scores.data());
    int used = 0;
    bool changed = false;
    // A new tile ends the block: there is no room for its scores.
    while (used < in_block && u_.n_tiles() == n_tiles) {
      const std::int64_t i = number(k + used);
      float* mine = scores.data() + static_cast<std::size_t>(used) * stride;
      if (step(block[used], mine, y[i], weight ? weight[i] : 1.0f, z ? z + i : nullptr, assignment,
               counts)) {
        changed = true;
        if (used + 1 < in_block && u_.n_tiles() == n_tiles)
          scorer.rescore(u_.tiles(), changed_, block + used + 1, in_block - used - 1, mine + stride);
        changed_.clear();
      }
      ++used;
    }
    k += used;
    width = changed ? std::max(1, (width + 1) / 2) : std::min(2 * width, most);
  }
  return counts;
}

// One example: true if the model changed. Scores are of u_, so true ones are scale_ times that.
bool Learner::step(const Row& x, const float* scores, std::int32_t y, float weight,
                   std::int32_t* z, Assignment assignment, LearnerCounts& counts) {
  const std::int32_t* owner = u_.owner();
  const int n_tiles = u_.n_tiles();  // that have scores; births may add one
  const Best best = loops().best(scores, owner, n_tiles, y);

  int right_lane = -1;  // -1: a zero hyperplane
  float right = 0;
  const bool given = assignment == Assignment::given;
  if (given) {
    right_lane = lane_of_id_[static_cast<std::size_t>(*z)];
    if (right_lane >= 0) right = scores[right_lane];
  } else if (config_.adaptive ? best.right > 0 : best.right > kNone) {
    right = best.right;
    right_lane = -2;  // somewhere: looked up only if needed
  }

  // Where no rival is above zero, the zero hyperplanes of all other classes are equally good; the
  // class that comes nearest takes the step. (The first row has no rival yet: the first class.)
  float rival = best.rival;
  std::int32_t born_rival = -1;
  if (config_.adaptive && rival < 0) {
    if (rival > kNone)
      born_rival = u_.owner(loops().find(scores, owner, n_tiles, y, false, rival));
    else if (n_of_class_.size() > 1)
      born_rival = y == 0 ? 1 : 0;
    if (born_rival >= 0) rival = 0;
  }

  const double margin = config_.lam * static_cast<double>(t_ - 1);
  const double gap = scale_ * (static_cast<double>(rival) - static_cast<double>(right));
  // A class without a hyperplane, and without a reserve, gets one with its first row.
  const bool first_of_class = !config_.adaptive && !given && best.right == kNone;
  const bool loss = rival > kNone && (t_ == 1 || first_of_class || margin + gap > 0);
  counts.mistakes += !(best.right > best.rival);
  counts.weight += weight;
  if (loss) counts.loss += weight * (t_ == 1 ? 1.0 : std::max(0.0, 1.0 + gap / margin));

  if (right_lane == -2 && (assignment == Assignment::record || loss))
    right_lane = loops().find(scores, owner, n_tiles, y, true, right);
  if (assignment == Assignment::record && right_lane >= 0)
    *z = id_of_lane_[static_cast<std::size_t>(right_lane)];

  // A row of zeros moves nothing and must not give birth.
  if (!loss || weight == 0 || (u_.bias() == 0 && x.is_zero())) {
    if (assignment == Assignment::record && right_lane < 0) *z = reserve_id();
    next_step();
    return false;
  }

  ++counts.updates;
  int rival_lane = -1;
  if (born_rival < 0)
    rival_lane = loops().find(scores, owner, n_tiles, y, false, rival);
  const bool grows = right_lane >= 0 && growth_ > 0 && uniform(config_.seed, t_) < growth_;
  // From here on nothing can fail: what memory two new hyperplanes take is there.
  if (right_lane < 0 || grows || born_rival >= 0) prepare();
  if (scale_ < kSmallestScale) fold_scale();
  const bool born_right = right_lane < 0;
  if (born_right) {
    right_lane = add_lane(y, given ? *z : reserve_id());
    ++counts.created;
    if (assignment == Assignment::record) *z = id_of_lane_[static_cast<std::size_t>(right_lane)];
  } else if (grows) {
    const int copy = add_lane(y, reserve_id());
    u_.copy_lane(right_lane, copy);
    changed_.add(copy / kTile);
    if (v_) v_->copy(right_lane, copy);
    if (config_.ball_projection)
      squared_norm_ += u_.squared_norm(copy) * scale_ * scale_;
    growth_ *= config_.growth_decay;
    ++counts.duplicated;
  }
  if (born_rival >= 0) {
    rival_lane = add_lane(born_rival, reserve_id());
    ++counts.created;
  }
  // A class's first hyperplane has no score yet, and nobody to share with.
  const bool shared = config_.sharing > 0 && margin > 0 && !given;
  const double size = config_.rate * static_cast<double>(weight);
  if (shared && !born_right)
    add_to_near(x, scores, n_tiles, y, true, right, size);
  else
    add_row(right_lane, x, size);
  if (shared)
    add_to_near(x, scores, n_tiles, y, false, rival, -size);
  else
    add_row(rival_lane, x, -size);
  if (config_.ball_projection) {
    const double x2 = squared_norm(x) + static_cast<double>(u_.bias()) * u_.bias();
    project(squared_norm_ - 2.0 * size * gap + 2.0 * size * size * x2);
  }
  next_step();
  return true;
}

// U += c x, where U = scale u. V follows with the weights that older U have already got.
void Learner::add_row(int lane, const Row& x, double c) {
  const double inner = c / scale_;
  u_.add_row(lane, x, static_cast<float>(inner));
  changed_.add(lane / kTile);
  if (v_) v_->add_row(lane, x, static_cast<float>(inner * average_sum_));
}

// c x for the hyperplanes of class y (or of the others) together: the best one's share is 1, that of
// one which stands `sharing` margins below it 0, in between along a line; then all are divided by
// their sum.
void Learner::add_to_near(const Row& x, const float* scores, int n_tiles, std::int32_t y,
                          bool right, float best, double c) {
  const double width = config_.sharing * config_.lam * static_cast<double>(t_ - 1) / scale_;
  const auto share = [&](int lane) {
    const double below = static_cast<double>(best) - static_cast<double>(scores[lane]);
    return std::max(0.0, 1 - below / width);
  };
  // Rounded down, so that nobody is missed.
  const float least = std::nextafter(static_cast<float>(static_cast<double>(best) - width), kNone);
  const int n = loops().near(scores, u_.owner(), n_tiles, y, right, least, near_.data());
  double sum = 0;
  for (int k = 0; k < n; ++k) sum += share(near_[static_cast<std::size_t>(k)]);
  for (int k = 0; k < n;) {  // lanes of a tile follow each other
    const int tile = near_[static_cast<std::size_t>(k)] / kTile;
    float parts[kTile] = {};
    for (; k < n && near_[static_cast<std::size_t>(k)] / kTile == tile; ++k) {
      const int lane = near_[static_cast<std::size_t>(k)];
      const double inner = c * share(lane) / sum / scale_;
      parts[lane % kTile] = static_cast<float>(inner);
      if (v_ && inner != 0) v_->add_row(lane, x, static_cast<float>(inner * average_sum_));
    }
    u_.add_row_to_tile(tile, x, parts);
    changed_.add(tile);
  }
}

void Learner::next_step() {
  if (v_) {
    const double t = static_cast<double>(t_), age = static_cast<double>(t_ - t0_);
    const double weight = average_unit_ * age * age * age;
    average_sum_ += weight * scale_;
    average_weight_ += weight * config_.lam * t;
    if (average_sum_ > 1e4) rescale_average();
  }
  ++t_;
}

// Only ratios of the weights matter: keep V far from the end of float32's range.
void Learner::rescale_average() {
  const double factor = 1 / average_sum_;
  for (int i = 0; i < v_->size(); ++i) {
    float* v = (*v_)[i];
    for (std::int64_t f = 0; f <= v_->n_features(); ++f)
      if (v[f] != 0.0f) v[f] = static_cast<float>(v[f] * factor);
  }
  average_unit_ *= factor;
  average_sum_ *= factor;
  average_weight_ *= factor;
}

// Back into the ball |W| <= 1/sqrt(lam), that is |U| <= sqrt(lam) t, by a global factor.
void Learner::project(double squared_norm) {
  const double bound = std::sqrt(config_.lam) * static_cast<double>(t_);
  squared_norm_ = std::min(squared_norm, bound * bound);
  if (squared_norm > bound * bound) scale_ *= bound / std::sqrt(squared_norm);
}

// Multiply the factor into u before additions of x / scale overwhelm what is there. So that C u - V
// stays as it is, C u moves into V and C begins anew; hence before an addition, not after.
void Learner::fold_scale() {
  double sum = 0;
  for (int i = 0; i < u_.size(); ++i) {
    float* u = u_.lane(i);
    float* v = v_ ? (*v_)[i] : nullptr;
    for (std::int64_t f = 0; f <= u_.n_features(); ++f, u += u_.stride(i)) {
      if (*u == 0.0f) continue;
      if (v) v[f] = static_cast<float>(v[f] - average_sum_ * *u);
      *u = static_cast<float>(*u * scale_);
    }
    sum += u_.squared_norm(i);
  }
  for (int q = 0; q < u_.n_tiles(); ++q) changed_.add(q);
  average_sum_ = 0;
  scale_ = 1;
  squared_norm_ = sum;
}

void Learner::prepare() {
  u_.prepare();
  if (v_) v_->prepare();
  const auto room = [](std::vector<std::int32_t>& v) {
    if (v.capacity() < v.size() + 2) v.reserve(2 * v.size() + 2);
  };
  room(id_of_lane_);
  room(lane_of_id_);
}

// After prepare().
int Learner::add_lane(std::int32_t owner, std::int32_t id) {
  if (v_) v_->add();
  const int lane = u_.add(owner);
  id_of_lane_.push_back(id);
  lane_of_id_[static_cast<std::size_t>(id)] = lane;
  ++n_of_class_[static_cast<std::size_t>(owner)];
  return lane;
}

int Learner::add_hyperplane(std::int32_t owner) {
  ++version_;
  prepare();
  return add_lane(owner, reserve_id());
}

std::int32_t Learner::reserve_id() {
  lane_of_id_.push_back(-1);
  return static_cast<std::int32_t>(lane_of_id_.size() - 1);
}

std::int32_t Learner::reserved_id(std::int32_t y) {
  reserved_.resize(n_of_class_.size(), -1);
  std::int32_t& id = reserved_[static_cast<std::size_t>(y)];
  if (id < 0 || lane_of_id_[static_cast<std::size_t>(id)] >= 0) id = reserve_id();
  return id;
}

int Learner::prune(double c) {
  const int n = u_.size();
  std::vector<double> squared = u_.squared_norms();
  for (double& norm : squared) norm *= scale_ * scale_;
  std::vector<int> lanes(static_cast<std::size_t>(n));
  std::iota(lanes.begin(), lanes.end(), 0);
  std::stable_sort(lanes.begin(), lanes.end(), [&](int a, int b) {
    return squared[static_cast<std::size_t>(a)] < squared[static_cast<std::size_t>(b)];
  });
  std::vector<int> n_left = n_of_class_;
  double removed = 0;
  bool full = false;
  std::vector<int> kept;
  kept.reserve(lanes.size());
  for (int lane : lanes) {
    int& left = n_left[static_cast<std::size_t>(u_.owner(lane))];
    const double next = removed + squared[static_cast<std::size_t>(lane)];
    full = full || next > c * c;
    // Without a reserve a class must not lose its last hyperplane: it could no longer compete.
    if (full || (!config_.adaptive && left == 1)) {
      kept.push_back(lane);
      continue;
    }
    removed = next;
    --left;
  }
  if (kept.size() == lanes.size()) return 0;
  std::sort(kept.begin(), kept.end());
  keep(kept);
  squared_norm_ -= removed;
  return n - static_cast<int>(kept.size());
}

void Learner::keep(const std::vector<int>& lanes) {
  ++version_;
  for (std::int32_t id : id_of_lane_) lane_of_id_[static_cast<std::size_t>(id)] = -1;
  std::fill(n_of_class_.begin(), n_of_class_.end(), 0);
  for (std::size_t to = 0; to < lanes.size(); ++to) {
    const std::int32_t id = id_of_lane_[static_cast<std::size_t>(lanes[to])];
    id_of_lane_[to] = id;
    lane_of_id_[static_cast<std::size_t>(id)] = static_cast<std::int32_t>(to);
    ++n_of_class_[static_cast<std::size_t>(u_.owner(lanes[to]))];
  }
  id_of_lane_.resize(lanes.size());
  u_.keep(lanes);
  if (v_) v_->keep(lanes);
}

void Learner::start(const Hyperplanes& w, std::int64_t t0) {
  Learner fresh(u_.n_features(), u_.bias(), static_cast<std::int32_t>(n_of_class_.size()), config_);
  const double unit = config_.lam * static_cast<double>(t0);
  for (int i = 0; i < w.size(); ++i) {
    float* to = fresh.u_.lane(fresh.add_hyperplane(w.owner(i)));
    const float* from = w.lane(i);
    for (std::int64_t f = 0; f <= w.n_features(); ++f)
      to[f * fresh.u_.stride(i)] = static_cast<float>(unit * from[f * w.stride(i)]);
    fresh.squared_norm_ += fresh.u_.squared_norm(i);
  }
  fresh.t_ = t0 + 1;
  fresh.t0_ = t0;
  fresh.growth_ = growth_;
  fresh.version_ = version_ + 1;
  fresh.mutex_ = std::move(mutex_);
  *this = std::move(fresh);
}

void Learner::relabel(const std::vector<std::int32_t>& code, std::int32_t n_classes) {
  std::vector<int> counts(static_cast<std::size_t>(n_classes), 0);
  for (int i = 0; i < u_.size(); ++i) {
    const std::int32_t owner = code[static_cast<std::size_t>(u_.owner(i))];
    u_.set_owner(i, owner);
    ++counts[static_cast<std::size_t>(owner)];
  }
  ++version_;
  n_of_class_ = counts;
  reserved_.clear();
}

bool Learner::resize(std::int64_t n_features) {
  std::optional<Sums> v;  // both or none
  if (v_ && !(v = v_->resized(n_features))) return false;
  if (!u_.resize(n_features)) return false;
  v_ = std::move(v);
  ++version_;
  return true;
}

void Learner::restart() {
  Hyperplanes u(u_.n_features(), u_.bias());
  Sums v(u_.n_features(), u_.bias());
  for (int i = 0; i < u_.size(); ++i) {
    u.add(u_.owner(i));
    if (v_) v.add();
  }
  u_ = std::move(u);
  if (v_) v_ = std::move(v);
  ++version_;
  t_ = 1;
  t0_ = 0;
  scale_ = average_unit_ = 1;
  squared_norm_ = average_sum_ = average_weight_ = 0;
}

Hyperplanes Learner::snapshot() const {
  const bool averaged = v_ && average_weight_ > 0;
  const double divisor =
      averaged ? average_weight_ : config_.lam * static_cast<double>(t_ > 1 ? t_ - 1 : 1);
  Hyperplanes w(u_.n_features(), u_.bias());
  for (int i = 0; i < u_.size(); ++i) {
    w.add(u_.owner(i));
    const float* u = u_.lane(i);
    const float* v = averaged ? (*v_)[i] : nullptr;
    float* out = w.lane(i);
    for (std::int64_t f = 0; f <= u_.n_features(); ++f) {
      const double a = u[f * u_.stride(i)];
      // Zero stays zero without a write: untouched pages of wide models stay uncommitted.
      if (a == 0 && (!v || v[f] == 0)) continue;
      const double value = averaged ? average_sum_ * a - v[f] : scale_ * a;
      out[f * w.stride(i)] = static_cast<float>(value / divisor);
    }
  }
  return w;
}

}  // namespace multiplane
