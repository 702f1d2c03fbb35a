// The one file that knows of Python: arrays in, arrays out. Every shape and every index is checked
// here, so that the code behind never reads or writes out of bounds, whatever it is handed.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "centres.hpp"
#include "check.hpp"
#include "deform.hpp"
#include "kernel_learner.hpp"
#include "learner.hpp"
#include "libsvm.hpp"
#include "projectron.hpp"
#include "scoring.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace multiplane;

namespace {

template <class T, int N>
using In = nb::ndarray<const T, nb::ndim<N>, nb::c_contig, nb::device::cpu>;
template <class T, int N>
using Out = nb::ndarray<T, nb::numpy, nb::ndim<N>, nb::c_contig>;

template <class T>
struct Buffer {
  T* data;
  nb::capsule owner;
};

template <class T>
Buffer<T> new_buffer(std::size_t n) {
  T* data = new T[n ? n : 1];
  return {data, nb::capsule(data, [](void* p) noexcept { delete[] static_cast<T*>(p); })};
}

template <class T>
Out<T, 1> array1(const Buffer<T>& b, std::size_t n) {
  return Out<T, 1>(b.data, {n}, b.owner);
}
template <class T>
Out<T, 2> array2(const Buffer<T>& b, std::size_t n, std::size_t m) {
  return Out<T, 2>(b.data, {n, m}, b.owner);
}
template <class T, class C>
Out<T, 1> copied(const C& values, std::size_t n) {
  Buffer<T> b = new_buffer<T>(n);
  for (std::size_t i = 0; i < n; ++i) b.data[i] = values[i];
  return array1(b, n);
}

// Exclusive use of a learner. The GIL is let go while waiting: its holder may be waiting for us.
class Locked {
 public:
  template <class AnyLearner>
  explicit Locked(const AnyLearner& learner) : mutex_(*learner.mutex_) {
    nb::gil_scoped_release release;
    mutex_.lock();
  }
  ~Locked() { mutex_.unlock(); }
  Locked(const Locked&) = delete;

 private:
  std::mutex& mutex_;
};

void need(bool condition, const char* message) {
  if (!condition) throw std::invalid_argument(message);
}

// Rows that keep their arrays alive and whose structure has been checked.
struct OwnedRows {
  Rows rows;
  std::vector<nb::object> arrays;
  bool canonical = true;
};

std::string describe(const Fault& fault) {
  const std::string where = " at row " + std::to_string(fault.row);
  switch (fault.kind) {
    case Fault::Kind::none: return "";
    case Fault::Kind::not_a_number:
      return "Input X contains NaN" + where + ", column " + std::to_string(fault.column);
    case Fault::Kind::infinite:
      return "Input X contains infinity or a value too large for float32" + where + ", column " +
             std::to_string(fault.column);
    case Fault::Kind::too_large:
      return "Input X contains a value beyond 1e15" + where + ", column " +
             std::to_string(fault.column) + "; scale the features, for example with StandardScaler";
    case Fault::Kind::pointers:
      return "corrupt CSR matrix: indptr is not a rising sequence within the data" + where;
    case Fault::Kind::index:
      return "corrupt CSR matrix: column index " + std::to_string(fault.column) +
             " is out of range" + where;
  }
  return "";
}

void raise_if(const Fault& fault) {
  if (fault.kind != Fault::Kind::none) throw std::invalid_argument(describe(fault));
}

OwnedRows dense_rows(In<float, 2> X) {
  return {{Rows::Kind::dense, static_cast<std::int64_t>(X.shape(0)),
           static_cast<std::int64_t>(X.shape(1)), X.data(), nullptr, nullptr},
          {nb::cast(X)}};
}

template <class Index>
OwnedRows csr_rows(In<float, 1> values, In<Index, 1> indices, In<Index, 1> indptr,
                   std::int64_t n_features) {
  need(n_features >= 0, "corrupt CSR matrix: a negative number of columns");
  need(indptr.shape(0) >= 1, "corrupt CSR matrix: indptr is empty");
  need(values.shape(0) == indices.shape(0),
       "corrupt CSR matrix: data and indices differ in length");
  const auto kind = sizeof(Index) == 4 ? Rows::Kind::csr32 : Rows::Kind::csr64;
  OwnedRows owned{{kind, static_cast<std::int64_t>(indptr.shape(0)) - 1, n_features, values.data(),
                   indices.data(), indptr.data()},
                  {nb::cast(values), nb::cast(indices), nb::cast(indptr)}};
  const auto n_values = static_cast<std::int64_t>(values.shape(0));
  raise_if(check_structure(owned.rows, n_values, owned.canonical));
  return owned;
}

// Sum of all values and of their squares, of the rows in `order` or of all, added to what is given.
std::tuple<double, double> moments(const OwnedRows& X, std::optional<In<std::int64_t, 1>> order,
                                   double sum, double squares) {
  const std::int64_t n = order ? static_cast<std::int64_t>(order->shape(0)) : X.rows.n_rows;
  for (std::int64_t k = 0; k < n; ++k) {
    const std::int64_t i = order ? order->data()[k] : k;
    need(i >= 0 && i < X.rows.n_rows, "row number out of range");
    const Row x = X.rows.row(i);
    for (std::int64_t j = 0; j < x.n_values; ++j) {
      const double v = x.values[j];
      sum += v;
      squares += v * v;
    }
  }
  return {sum, squares};
}

template <class Model>
void need_fit(const Rows& rows, const Model& model) {
  // Sparse rows may lack trailing columns: what is not stored is zero.
  need(rows.kind == Rows::Kind::dense ? rows.n_features == model.n_features()
                                      : rows.n_features <= model.n_features(),
       "rows and model differ in their number of features");
}

Out<float, 2> lanes(const Hyperplanes& h) {
  const std::size_t d = static_cast<std::size_t>(h.n_features()) + 1;
  const std::size_t m = static_cast<std::size_t>(h.size());
  Buffer<float> out = new_buffer<float>(m * d);
  for (std::size_t i = 0; i < m; ++i) {
    const float* u = h.lane(static_cast<int>(i));
    const auto by = static_cast<std::size_t>(h.stride(static_cast<int>(i)));
    for (std::size_t f = 0; f < d; ++f) out.data[i * d + f] = u[f * by];
  }
  return array2(out, m, d);
}

Out<float, 2> all_sums(const Sums& sums) {
  const std::size_t d = static_cast<std::size_t>(sums.n_features()) + 1;
  const std::size_t m = static_cast<std::size_t>(sums.size());
  Buffer<float> out = new_buffer<float>(m * d);
  for (std::size_t i = 0; i < m; ++i) std::copy_n(sums[static_cast<int>(i)], d, out.data + i * d);
  return array2(out, m, d);
}

// weights (m, n_features + 1), the last column belonging to the constant feature.
Hyperplanes from_lanes(In<float, 2> weights, In<std::int32_t, 1> owner, float bias) {
  need(weights.shape(1) >= 1 && weights.shape(0) == owner.shape(0),
       "weights and owner differ in their number of hyperplanes");
  const std::size_t d = weights.shape(1);
  Hyperplanes h(static_cast<std::int64_t>(d) - 1, bias);
  for (std::size_t i = 0; i < owner.shape(0); ++i) {
    need(owner(i) >= 0, "owner must not be negative");
    const int lane = h.add(owner(i));
    const auto by = static_cast<std::size_t>(h.stride(lane));
    for (std::size_t f = 0; f < d; ++f)
      if (weights(i, f) != 0.0f) h.lane(lane)[f * by] = weights(i, f);
  }
  return h;
}

Out<std::int32_t, 1> owners(const Hyperplanes& h) {
  return copied<std::int32_t>(h.owner(), static_cast<std::size_t>(h.size()));
}

// Calls score(largest) while other threads of Python may run; it is false where a value of X is at
// fault, if `check` says that they are to be looked at.
template <class Score>
void checked(const OwnedRows& X, bool check, Score score) {
  bool fine;
  {
    nb::gil_scoped_release release;
    fine = score(check ? kLargest : 0.0f);
  }
  if (!fine) raise_if(check_values(X.rows));
}

template <class Model>
Out<std::int32_t, 1> winners_py(const Model& h, const OwnedRows& X, int n_threads, bool check) {
  need_fit(X.rows, h);
  const std::size_t n = static_cast<std::size_t>(X.rows.n_rows);
  Buffer<std::int32_t> out = new_buffer<std::int32_t>(n);
  checked(X, check, [&](float largest) {
    return winners(h, X.rows, n_threads, largest, out.data);
  });
  return array1(out, n);
}

Out<float, 2> decision_py(const Hyperplanes& h, const OwnedRows& X, std::int32_t n_classes,
                          int n_threads, bool check) {
  need_fit(X.rows, h);
  for (int i = 0; i < h.size(); ++i) need(h.owner(i) < n_classes, "a hyperplane's class is unknown");
  const std::size_t n = static_cast<std::size_t>(X.rows.n_rows);
  Buffer<float> out = new_buffer<float>(n * static_cast<std::size_t>(n_classes));
  checked(X, check, [&](float largest) {
    return decision(h, X.rows, n_classes, n_threads, largest, out.data);
  });
  return array2(out, n, static_cast<std::size_t>(n_classes));
}

constexpr char kNoSharing[] = "learner: hyperplanes that share steps are neither born nor projected";
bool may_share(const LearnerConfig& c, double growth) {
  return !c.adaptive && !c.ball_projection && growth == 0;
}

Learner new_learner(std::int64_t n_features, float bias, std::int32_t n_classes, double lam,
                    bool adaptive, bool ball_projection, bool average, double growth,
                    double growth_decay, std::uint64_t seed, double sharing) {
  need(n_features >= 0 && n_classes >= 0 && lam > 0, "learner: sizes and lam must be positive");
  need(n_features <= Tile::kMostFeatures, "more than 2^40 features do not fit into any memory");
  LearnerConfig config{lam, adaptive, ball_projection, average, growth_decay, seed, sharing};
  need(sharing == 0 || (sharing > 0 && may_share(config, growth)), kNoSharing);
  Learner learner(n_features, bias, n_classes, config);
  learner.growth_ = growth;
  return learner;
}

nb::dict as_dict(const LearnerCounts& counts) {
  nb::dict out;
  out["rows"] = counts.rows;
  out["updates"] = counts.updates;
  out["mistakes"] = counts.mistakes;
  out["created"] = counts.created;
  out["duplicated"] = counts.duplicated;
  out["loss"] = counts.loss;
  out["weight"] = counts.weight;
  return out;
}

// Labels and weights for the rows in `order`, or for all: returns how many rows that are.
std::int64_t checked_examples(const Rows& rows, const In<std::int32_t, 1>& y,
                              const std::optional<In<std::int64_t, 1>>& order,
                              const std::optional<In<float, 1>>& weight, std::int64_t n_classes) {
  const std::size_t n_rows = static_cast<std::size_t>(rows.n_rows);
  need(y.shape(0) == n_rows, "y and X differ in length");
  need(!weight || weight->shape(0) == n_rows, "sample weights and X differ in length");
  const std::int64_t n = order ? static_cast<std::int64_t>(order->shape(0)) : rows.n_rows;
  for (std::int64_t k = 0; k < n; ++k) {
    const std::int64_t i = order ? order->data()[k] : k;
    need(i >= 0 && i < rows.n_rows, "row number out of range");
    need(y.data()[i] >= 0 && y.data()[i] < n_classes, "class code out of range");
  }
  return n;
}

nb::dict learn_py(Learner& learner, const OwnedRows& X, In<std::int32_t, 1> y,
                  std::optional<In<std::int64_t, 1>> order,
                  std::optional<In<float, 1>> weight,
                  std::optional<nb::ndarray<std::int32_t, nb::ndim<1>, nb::c_contig>> z,
                  bool obey, bool check, std::tuple<double, double> so_far) {
  const Locked locked(learner);
  const Rows& rows = X.rows;
  need_fit(rows, learner.u_);
  const auto n_classes = static_cast<std::int64_t>(learner.n_of_class_.size());
  const std::int64_t n = checked_examples(rows, y, order, weight, n_classes);
  need(!z || z->shape(0) == y.shape(0), "assignments and X differ in length");
  need(z || !obey, "assignments to obey are missing");
  const auto n_ids = static_cast<std::int32_t>(learner.lane_of_id_.size());
  for (std::int64_t k = 0; obey && k < n; ++k) {
    const std::int64_t i = order ? order->data()[k] : k;
    need(z->data()[i] >= 0 && z->data()[i] < n_ids, "unknown hyperplane id");
    const std::int32_t lane = learner.lane_of_id_[static_cast<std::size_t>(z->data()[i])];
    need(lane < 0 || learner.u_.owner(lane) == y.data()[i], "a row is assigned to another class");
  }
  const auto assignment = !z     ? Learner::Assignment::online
                          : obey ? Learner::Assignment::given
                                 : Learner::Assignment::record;
  LearnerCounts counts;
  std::tie(counts.loss, counts.weight) = so_far;
  {
    nb::gil_scoped_release release;
    counts = learner.learn(rows, order ? order->data() : nullptr, n, y.data(),
                           weight ? weight->data() : nullptr, z ? z->data() : nullptr, assignment,
                           check ? kLargest : 0.0f, counts);
  }
  if (counts.bad_row >= 0) raise_if(check_values(rows));
  return as_dict(counts);
}

Out<double, 2> centres_py(const OwnedRows& X, In<std::int64_t, 1> order, int n, std::int64_t first,
                          In<double, 1> draws, int iterations) {
  const auto n_rows = static_cast<std::int64_t>(order.shape(0));
  for (std::int64_t k = 0; k < n_rows; ++k)
    need(order.data()[k] >= 0 && order.data()[k] < X.rows.n_rows, "row number out of range");
  need(first >= 0 && first < n_rows, "first row out of range");
  need(n >= 1 && draws.shape(0) + 1 >= static_cast<std::size_t>(n), "too few draws");
  std::vector<double> centres;
  {
    nb::gil_scoped_release release;
    centres = k_means(X.rows, order.data(), n_rows, n, first, draws.data(), iterations, [] {
      nb::gil_scoped_acquire acquire;  // for Ctrl-C
      if (PyErr_CheckSignals() != 0) throw nb::python_error();
    });
  }
  const std::size_t d = static_cast<std::size_t>(X.rows.n_features);
  const std::size_t m = d ? centres.size() / d : 1;
  Buffer<double> out = new_buffer<double>(m * d);
  std::copy(centres.begin(), centres.end(), out.data);
  return array2(out, m, d);
}

// The best hyperplane of its own class for every row, as ids; -1 where the reserved zero
// hyperplane is the best.
Out<std::int32_t, 1> assign_py(const Learner& learner, const OwnedRows& X, In<std::int32_t, 1> y,
                               int n_threads) {
  const Locked locked(learner);
  need_fit(X.rows, learner.u_);
  const std::size_t n = static_cast<std::size_t>(X.rows.n_rows);
  need(y.shape(0) == n, "y and X differ in length");
  Buffer<std::int32_t> out = new_buffer<std::int32_t>(n);
  {
    nb::gil_scoped_release release;
    winners_of_class(learner.u_, X.rows, y.data(), learner.config_.adaptive, n_threads, out.data);
    for (std::size_t i = 0; i < n; ++i)
      if (out.data[i] >= 0) out.data[i] = learner.id_of_lane_[static_cast<std::size_t>(out.data[i])];
  }
  return array1(out, n);
}

nb::dict state_py(const Learner& learner) {
  const Locked locked(learner);
  const LearnerConfig& c = learner.config_;
  nb::dict s;
  s["n_features"] = learner.u_.n_features();
  s["bias"] = learner.u_.bias();
  s["n_classes"] = learner.n_of_class_.size();
  s["lam"] = c.lam;
  s["adaptive"] = c.adaptive;
  s["ball_projection"] = c.ball_projection;
  s["average"] = c.average;
  s["growth_decay"] = c.growth_decay;
  s["seed"] = c.seed;
  s["sharing"] = c.sharing;
  s["rate"] = c.rate;
  s["growth"] = learner.growth_;
  s["t"] = learner.t_;
  s["t0"] = learner.t0_;
  s["scale"] = learner.scale_;
  s["squared_norm"] = learner.squared_norm_;
  s["average_unit"] = learner.average_unit_;
  s["average_sum"] = learner.average_sum_;
  s["average_weight"] = learner.average_weight_;
  s["U"] = lanes(learner.u_);
  s["V"] = learner.v_ ? nb::cast(all_sums(*learner.v_)) : nb::none();
  s["owner"] = owners(learner.u_);
  s["ids"] = copied<std::int32_t>(learner.id_of_lane_, learner.id_of_lane_.size());
  s["n_ids"] = learner.lane_of_id_.size();
  return s;
}

template <class T>
T get(const nb::dict& s, const char* key) {
  return nb::cast<T>(s[key]);
}

// More steps than any stream has; cubes of them, and counting on, stay within their types.
constexpr std::int64_t kMostSteps = std::int64_t{1} << 54;

Learner learner_from_state(const nb::dict& s) {
  const auto bias = get<float>(s, "bias");
  const auto owner = get<In<std::int32_t, 1>>(s, "owner");
  const auto ids = get<In<std::int32_t, 1>>(s, "ids");
  const auto n_ids = get<std::int64_t>(s, "n_ids");
  Learner learner = new_learner(
      get<std::int64_t>(s, "n_features"), bias, get<std::int32_t>(s, "n_classes"),
      get<double>(s, "lam"), get<bool>(s, "adaptive"), get<bool>(s, "ball_projection"),
      get<bool>(s, "average"), get<double>(s, "growth"), get<double>(s, "growth_decay"),
      get<std::uint64_t>(s, "seed"), get<double>(s, "sharing"));
  const auto n_classes = static_cast<std::int32_t>(learner.n_of_class_.size());
  Hyperplanes u = from_lanes(get<In<float, 2>>(s, "U"), owner, bias);
  need(u.n_features() == learner.u_.n_features(), "learner state: U has the wrong width");
  need(ids.shape(0) == owner.shape(0) && n_ids >= 0, "learner state: ids and owner differ");
  learner.u_ = std::move(u);
  need(s["V"].is_none() != learner.config_.average, "learner state: V and average disagree");
  if (learner.config_.average) {
    const auto V = get<In<float, 2>>(s, "V");
    const std::size_t d = static_cast<std::size_t>(learner.u_.n_features()) + 1;
    need(V.shape(0) == owner.shape(0) && V.shape(1) == d, "learner state: V has the wrong shape");
    for (std::size_t i = 0; i < V.shape(0); ++i) {
      learner.v_->add();
      for (std::size_t f = 0; f < d; ++f)
        if (V(i, f) != 0.0f) (*learner.v_)[static_cast<int>(i)][f] = V(i, f);
    }
  }
  learner.lane_of_id_.assign(static_cast<std::size_t>(n_ids), -1);
  for (std::size_t i = 0; i < ids.shape(0); ++i) {
    need(ids(i) >= 0 && ids(i) < n_ids && owner(i) < n_classes, "learner state: out of range");
    learner.id_of_lane_.push_back(ids(i));
    learner.lane_of_id_[static_cast<std::size_t>(ids(i))] = static_cast<std::int32_t>(i);
    ++learner.n_of_class_[static_cast<std::size_t>(owner(i))];
  }
  learner.t_ = get<std::int64_t>(s, "t");
  learner.t0_ = get<std::int64_t>(s, "t0");
  learner.config_.rate = get<double>(s, "rate");
  learner.scale_ = get<double>(s, "scale");
  learner.squared_norm_ = get<double>(s, "squared_norm");
  learner.average_unit_ = get<double>(s, "average_unit");
  learner.average_sum_ = get<double>(s, "average_sum");
  learner.average_weight_ = get<double>(s, "average_weight");
  const LearnerConfig& c = learner.config_;
  for (double x : {c.lam, c.growth_decay, c.sharing, learner.growth_, static_cast<double>(bias),
                   learner.scale_, learner.squared_norm_, learner.average_unit_,
                   learner.average_sum_, learner.average_weight_})
    need(std::isfinite(x), "learner state: a number is not finite");
  need(learner.t0_ >= 0 && learner.t_ > learner.t0_ && learner.t_ <= kMostSteps &&
           c.rate > 0 && c.rate <= 1 && learner.scale_ > 0 && learner.average_weight_ >= 0,
       "learner state: out of range");
  return learner;
}

void need_class(const Learner& learner, std::int32_t y) {
  need(y >= 0 && y < static_cast<std::int32_t>(learner.n_of_class_.size()),
       "class code out of range");
}

// A property that is read under the lock.
template <class AnyLearner = Learner, class Get>
auto read(Get get) {
  return [get](const AnyLearner& learner) {
    const Locked locked(learner);
    return get(learner);
  };
}

// --- kernel machines ---

Kernel kernel_named(const std::string& name, double gamma, double coef0, std::int32_t degree) {
  need(std::isfinite(static_cast<float>(gamma)) && std::isfinite(static_cast<float>(coef0)) &&
           degree >= 0,
       "kernel parameters: out of range");
  const auto make = [&](Kernel::Kind kind) {
    return Kernel{kind, static_cast<float>(gamma), static_cast<float>(coef0), degree};
  };
#define MP_NAMED(text, Type, definite) \
  if (name == text) return make(Kernel::Kind::Type);
  MP_KERNELS(MP_NAMED)
#undef MP_NAMED
  throw std::invalid_argument("unknown kernel '" + name + "'");
}

std::string kernel_name(const Kernel& kernel) {
  switch (kernel.kind) {
#define MP_NAME(text, Type, definite) \
  case Kernel::Kind::Type: return text;
    MP_KERNELS(MP_NAME)
#undef MP_NAME
  }
  return "";
}

Out<float, 2> vectors(const KernelMachine& machine) {
  const auto n = static_cast<std::size_t>(machine.size());
  const auto d = static_cast<std::size_t>(machine.n_features());
  Buffer<float> out = new_buffer<float>(n * d);
  for (int i = 0; i < machine.size(); ++i)
    machine.copy_vector(i, out.data + static_cast<std::size_t>(i) * d);
  return array2(out, n, d);
}

// A row a support vector; get(class, support vector)
template <class Get>
Out<float, 2> coefficients(int n, int n_classes, Get get) {
  Buffer<float> out = new_buffer<float>(static_cast<std::size_t>(n) * static_cast<std::size_t>(n_classes));
  float* next = out.data;
  for (int i = 0; i < n; ++i)
    for (int c = 0; c < n_classes; ++c) *next++ = get(c, i);
  return array2(out, static_cast<std::size_t>(n), static_cast<std::size_t>(n_classes));
}
Out<float, 2> dual_coef(const KernelMachine& machine) {
  return coefficients(machine.size(), machine.n_classes(),
                      [&](int c, int i) { return machine.coef(c, i); });
}

KernelMachine new_machine(In<float, 2> vectors, In<float, 2> coef, const std::string& kernel,
                          double gamma, double coef0, std::int32_t degree) {
  need(vectors.shape(0) == coef.shape(0), "vectors and coefficients differ in number");
  const auto d = static_cast<std::int64_t>(vectors.shape(1));
  KernelMachine machine(d, static_cast<int>(coef.shape(1)),
                        kernel_named(kernel, gamma, coef0, degree));
  for (std::size_t i = 0; i < vectors.shape(0); ++i) {
    const Row x{Row::Kind::dense, vectors.data() + i * vectors.shape(1), nullptr, d};
    const int slot = machine.add(x, squared_norm(x));
    for (std::size_t c = 0; c < coef.shape(1); ++c)
      machine.set_coef(static_cast<int>(c), slot, coef(i, c));
  }
  return machine;
}

nb::tuple machine_state(const KernelMachine& machine) {
  const Kernel& k = machine.kernel();
  return nb::make_tuple(vectors(machine), dual_coef(machine), kernel_name(k), k.gamma, k.coef0,
                        k.degree);
}

Out<float, 2> kernel_decision_py(const KernelMachine& machine, const OwnedRows& X, int n_threads,
                                 bool check) {
  need_fit(X.rows, machine);
  const auto n = static_cast<std::size_t>(X.rows.n_rows);
  const auto n_classes = static_cast<std::size_t>(machine.n_classes());
  Buffer<float> out = new_buffer<float>(n * n_classes);
  checked(X, check, [&](float largest) {
    return decision(machine, X.rows, n_threads, largest, out.data);
  });
  return array2(out, n, n_classes);
}

KernelLearner new_kernel_learner(std::int64_t n_features, std::int32_t n_classes, double lam,
                                 const std::string& kernel, double gamma, double coef0,
                                 std::int32_t degree, std::int32_t budget,
                                 const std::string& maintenance, bool ball_projection, bool average,
                                 std::uint64_t seed) {
  need(n_features >= 0 && n_classes >= 0 && lam > 0 && budget >= 0 && budget <= 1 << 30,
       "learner: sizes and lam must be positive, and budget at most 2^30");
  need(n_features <= Tile::kMostFeatures, "more than 2^40 features do not fit into any memory");
  need(maintenance_named(maintenance) != nullptr, "unknown maintenance");
  need(kernel == "rbf" || maintenance.rfind("merge", 0) != 0 || budget == 0,
       "merging needs the RBF kernel");
  return KernelLearner(n_features, n_classes,
                       {lam, kernel_named(kernel, gamma, coef0, degree), budget, maintenance,
                        ball_projection, average, seed});
}

template <class AnyLearner>
nb::dict kernel_learn_py(AnyLearner& learner, const OwnedRows& X, In<std::int32_t, 1> y,
                         std::optional<In<std::int64_t, 1>> order,
                         std::optional<In<float, 1>> weight, bool check,
                         std::tuple<double, double> so_far) {
  const Locked locked(learner);
  const Rows& rows = X.rows;
  const KernelMachine& machine = learner.support_.machine();
  need_fit(rows, machine);
  const std::int64_t n = checked_examples(rows, y, order, weight, machine.n_classes());
  LearnerCounts counts;
  std::tie(counts.loss, counts.weight) = so_far;
  {
    nb::gil_scoped_release release;
    counts = learner.learn(rows, order ? order->data() : nullptr, n, y.data(),
                           weight ? weight->data() : nullptr, check ? kLargest : 0.0f, counts);
  }
  if (counts.bad_row >= 0) raise_if(check_values(rows));
  return as_dict(counts);
}

template <class AnyLearner>
void kernel_relabel_py(AnyLearner& learner, const std::vector<std::int32_t>& code,
                       std::int32_t n_classes) {
  const Locked locked(learner);
  need(code.size() == static_cast<std::size_t>(learner.support_.machine().n_classes()) &&
           n_classes >= 0,
       "one new code a class is needed");
  std::vector<char> taken(static_cast<std::size_t>(n_classes), 0);
  for (std::int32_t k : code) {
    need(k >= 0 && k < n_classes && !taken[static_cast<std::size_t>(k)], "class code out of range");
    taken[static_cast<std::size_t>(k)] = 1;
  }
  learner.relabel(code, n_classes);
}

// What all kernel learners can do.
template <class AnyLearner>
void bind_kernel_learner(nb::class_<AnyLearner>& type) {
  type.def("learn", &kernel_learn_py<AnyLearner>, "X"_a, "y"_a.noconvert(), nb::kw_only(),
           "order"_a.noconvert() = nb::none(), "weight"_a.noconvert() = nb::none(),
           "check"_a = false,
           "so_far"_a = std::make_tuple(0.0, 0.0))
      .def("relabel", &kernel_relabel_py<AnyLearner>, "code"_a, "n_classes"_a)
      .def("snapshot",
           [](const AnyLearner& l) {
             const Locked locked(l);
             nb::gil_scoped_release release;
             return l.snapshot();
           })
      .def("__len__", read<AnyLearner>([](const AnyLearner& l) { return l.support_.size(); }))
      .def_prop_ro("version", read<AnyLearner>([](const AnyLearner& l) { return l.version_; }))
      .def_prop_ro("t", read<AnyLearner>([](const AnyLearner& l) { return l.t_; }));
}

nb::dict kernel_state_py(const KernelLearner& learner) {
  const Locked locked(learner);
  const KernelLearnerConfig& c = learner.config_;
  const Support& support = learner.support_;
  const KernelMachine& machine = support.machine();
  nb::dict s;
  s["n_features"] = machine.n_features();
  s["n_classes"] = machine.n_classes();
  s["lam"] = c.lam;
  s["kernel"] = kernel_name(c.kernel);
  s["gamma"] = c.kernel.gamma;
  s["coef0"] = c.kernel.coef0;
  s["degree"] = c.kernel.degree;
  s["budget"] = c.budget;
  s["maintenance"] = c.maintenance;
  s["ball_projection"] = c.ball_projection;
  s["average"] = c.average;
  s["seed"] = c.seed;
  s["t"] = learner.t_;
  s["scale"] = learner.scale_;
  s["squared_norm"] = learner.squared_norm_;
  s["norm_is_exact"] = learner.norm_is_exact_;
  s["n_maintained"] = learner.n_maintained_;
  s["degradation"] = learner.degradation_;
  s["average_unit"] = learner.average_unit_;
  s["average_sum"] = learner.average_sum_;
  s["average_weight"] = learner.average_weight_;
  s["vectors"] = vectors(machine);
  s["coef"] = dual_coef(machine);
  s["sums"] = support.averages() ? nb::cast(coefficients(support.size(), machine.n_classes(),
                                                         [&](int k, int i) { return support.sum(k, i); }))
                                 : nb::none();
  std::vector<std::int64_t> born;
  for (int i = 0; i < support.size(); ++i) born.push_back(support.born(i));
  s["born"] = copied<std::int64_t>(born, born.size());
  const std::vector<double> memory = learner.maintenance_->memory();
  s["memory"] = copied<double>(memory, memory.size());
  return s;
}

// With `reduce` there may be more support vectors than the budget allows, until it has been called;
// what the maintenance remembers is then made anew.
KernelLearner kernel_learner_from_state(const nb::dict& s, bool reduce = false) {
  KernelLearner learner = new_kernel_learner(
      get<std::int64_t>(s, "n_features"), get<std::int32_t>(s, "n_classes"), get<double>(s, "lam"),
      get<std::string>(s, "kernel"), get<double>(s, "gamma"), get<double>(s, "coef0"),
      get<std::int32_t>(s, "degree"), get<std::int32_t>(s, "budget"),
      get<std::string>(s, "maintenance"), get<bool>(s, "ball_projection"), get<bool>(s, "average"),
      get<std::uint64_t>(s, "seed"));
  const auto vectors = get<In<float, 2>>(s, "vectors");
  const auto coef = get<In<float, 2>>(s, "coef");
  const auto born = get<In<std::int64_t, 1>>(s, "born");
  const auto memory = get<In<double, 1>>(s, "memory");
  Support& support = learner.support_;
  const std::size_t n = vectors.shape(0), n_classes = coef.shape(1);
  need(vectors.shape(1) == static_cast<std::size_t>(support.machine().n_features()) &&
           n_classes == static_cast<std::size_t>(support.machine().n_classes()) &&
           coef.shape(0) == n && born.shape(0) == n &&
           (reduce || learner.config_.budget == 0 ||
            n <= static_cast<std::size_t>(learner.config_.budget)),
       "learner state: shapes differ");
  need(s["sums"].is_none() != support.averages(), "learner state: sums and average disagree");
  std::optional<In<float, 2>> sums;
  if (support.averages()) {
    sums = get<In<float, 2>>(s, "sums");
    need(sums->shape(0) == n && sums->shape(1) == n_classes, "learner state: sums differ");
  }
  for (std::size_t i = 0; i < n; ++i) {
    const Row x{Row::Kind::dense, vectors.data() + i * vectors.shape(1), nullptr,
                support.machine().n_features()};
    const float x2 = squared_norm(x);
    need(std::isfinite(x2), "learner state: a support vector is not finite");
    const int slot = support.add(x, x2, born(i));
    for (std::size_t c = 0; c < n_classes; ++c) {
      need(std::isfinite(coef(i, c)) && (!sums || std::isfinite((*sums)(i, c))),
           "learner state: a coefficient is not finite");
      support.machine().set_coef(static_cast<int>(c), slot, coef(i, c));
      if (sums) support.set_sum(static_cast<int>(c), slot, (*sums)(i, c));
    }
    support.weigh(slot);
  }
  // Projection remembers an inverse, row by row, and its ridge.
  const bool remembers = learner.config_.maintenance == "project" && !reduce;
  need(memory.shape(0) == (remembers ? n * (n + 1) / 2 + 1 : 0),
       "learner state: memory of the maintenance differs");
  for (std::size_t i = 0; i < memory.shape(0); ++i)
    need(std::isfinite(memory(i)), "learner state: a number is not finite");
  need(memory.shape(0) == 0 || memory(memory.shape(0) - 1) > 0,
       "learner state: the ridge must be positive");
  if (memory.shape(0))
    learner.maintenance_->remember({memory.data(), memory.data() + memory.shape(0)},
                                   static_cast<int>(n));
  learner.t_ = get<std::int64_t>(s, "t");
  learner.scale_ = get<double>(s, "scale");
  learner.squared_norm_ = get<double>(s, "squared_norm");
  learner.norm_is_exact_ = get<bool>(s, "norm_is_exact");
  learner.n_maintained_ = get<std::int64_t>(s, "n_maintained");
  learner.degradation_ = get<double>(s, "degradation");
  learner.average_unit_ = get<double>(s, "average_unit");
  learner.average_sum_ = get<double>(s, "average_sum");
  learner.average_weight_ = get<double>(s, "average_weight");
  for (double x : {learner.scale_, learner.squared_norm_, learner.degradation_,
                   learner.average_unit_, learner.average_sum_, learner.average_weight_})
    need(std::isfinite(x), "learner state: a number is not finite");
  need(learner.t_ >= 1 && learner.t_ <= kMostSteps && learner.scale_ > 0 &&
           learner.n_maintained_ >= 0 && std::isfinite(learner.config_.lam),
       "learner state: out of range");
  if (reduce) {
    nb::gil_scoped_release release;
    learner.reduce();
  }
  return learner;
}

Projectron new_projectron(std::int64_t n_features, std::int32_t n_classes,
                          const std::string& kernel, double gamma, double coef0,
                          std::int32_t degree, double eta) {
  need(n_features >= 0 && n_features <= Tile::kMostFeatures && n_classes >= 0 && eta > 0 &&
           std::isfinite(eta),
       "projectron: out of range");
  return Projectron(n_features, n_classes, kernel_named(kernel, gamma, coef0, degree), eta);
}

nb::dict projectron_state_py(const Projectron& learner) {
  const Locked locked(learner);
  const KernelMachine& machine = learner.support_.machine();
  nb::dict s;
  s["n_features"] = machine.n_features();
  s["n_classes"] = machine.n_classes();
  s["kernel"] = kernel_name(machine.kernel());
  s["gamma"] = machine.kernel().gamma;
  s["coef0"] = machine.kernel().coef0;
  s["degree"] = machine.kernel().degree;
  s["eta"] = learner.eta_;
  s["t"] = learner.t_;
  s["vectors"] = vectors(machine);
  s["coef"] = dual_coef(machine);
  nb::list slots, inverses;
  for (const Projectron::Set& set : learner.sets_) {
    slots.append(copied<std::int32_t>(set.slots, set.slots.size()));
    inverses.append(copied<double>(set.inverse.lower(), set.inverse.lower().size()));
  }
  s["slots"] = slots;
  s["inverses"] = inverses;
  return s;
}

Projectron projectron_from_state(const nb::dict& s) {
  Projectron learner = new_projectron(
      get<std::int64_t>(s, "n_features"), get<std::int32_t>(s, "n_classes"),
      get<std::string>(s, "kernel"), get<double>(s, "gamma"), get<double>(s, "coef0"),
      get<std::int32_t>(s, "degree"), get<double>(s, "eta"));
  const auto vectors = get<In<float, 2>>(s, "vectors");
  const auto coef = get<In<float, 2>>(s, "coef");
  const auto slots = get<nb::list>(s, "slots"), inverses = get<nb::list>(s, "inverses");
  Support& support = learner.support_;
  const std::size_t n = vectors.shape(0), n_classes = learner.sets_.size();
  need(vectors.shape(1) == static_cast<std::size_t>(support.machine().n_features()) &&
           coef.shape(0) == n && coef.shape(1) == n_classes && slots.size() == n_classes &&
           inverses.size() == n_classes,
       "learner state: shapes differ");
  for (std::size_t i = 0; i < n; ++i) {
    const Row x{Row::Kind::dense, vectors.data() + i * vectors.shape(1), nullptr,
                support.machine().n_features()};
    const int slot = support.add(x, squared_norm(x), 0);
    for (std::size_t c = 0; c < n_classes; ++c)
      support.machine().set_coef(static_cast<int>(c), slot, coef(i, c));
  }
  for (std::size_t c = 0; c < n_classes; ++c) {
    const auto own = nb::cast<In<std::int32_t, 1>>(slots[c]);
    const auto inverse = nb::cast<In<double, 1>>(inverses[c]);
    const std::size_t size = own.shape(0);
    need(inverse.shape(0) == size * (size + 1) / 2, "learner state: an inverse has the wrong size");
    Projectron::Set& set = learner.sets_[c];
    for (std::size_t i = 0; i < inverse.shape(0); ++i)
      need(std::isfinite(inverse(i)), "learner state: a number is not finite");
    for (std::size_t i = 0; i < size; ++i) {
      need(own(i) >= 0 && static_cast<std::size_t>(own(i)) < n, "learner state: out of range");
      set.slots.push_back(own(i));
    }
    set.inverse.assign({inverse.data(), inverse.data() + inverse.shape(0)}, static_cast<int>(size));
  }
  learner.t_ = get<std::int64_t>(s, "t");
  need(learner.t_ >= 1 && learner.t_ <= kMostSteps, "learner state: out of range");
  return learner;
}

// One row at a time, at as little cost as can be: what does not change is checked once.
class OneRow {
 public:
  explicit OneRow(nb::object model) : model_(std::move(model)) {
    if (nb::isinstance<Hyperplanes>(model_)) {
      planes_ = nb::cast<const Hyperplanes*>(model_);
      n_features_ = planes_->n_features();
      work_ = n_features_ * planes_->n_tiles() * kTile;
    } else {
      machine_ = nb::cast<const KernelMachine*>(model_);
      n_features_ = machine_->n_features();
      work_ = n_features_ * machine_->n_tiles() * kTile;
    }
  }
  // Of rows that are scaled first: (x - shift) * factor, in double precision.
  OneRow(nb::object model, In<double, 1> shift, In<double, 1> factor) : OneRow(std::move(model)) {
    const auto n = static_cast<std::size_t>(n_features_);
    need(shift.shape(0) == n && factor.shape(0) == n, "shift, factor and model differ in width");
    shift_.assign(shift.data(), shift.data() + n);
    factor_.assign(factor.data(), factor.data() + n);
  }

  std::int32_t operator()(In<float, 1> x) const {
    need(static_cast<std::int64_t>(x.shape(0)) == n_features_,
         "the row and the model differ in their number of features");
    const float* row = shift_.empty() ? x.data() : scaled(x.data());
    if (!loops().all_within(row, n_features_, kLargest))
      raise_if(check_values({Rows::Kind::dense, 1, n_features_, row, nullptr, nullptr}));
    if (work_ < kWorthReleasing) return class_of(row);
    nb::gil_scoped_release release;
    return class_of(row);
  }

 private:
  // Some microseconds: letting other threads run costs a tenth of that.
  static constexpr std::int64_t kWorthReleasing = 1 << 17;

  const float* scaled(const float* x) const {
    thread_local std::vector<float> row;
    row.resize(shift_.size());
    for (std::size_t f = 0; f < row.size(); ++f)
      row[f] = static_cast<float>((static_cast<double>(x[f]) - shift_[f]) * factor_[f]);
    return row.data();
  }
  std::int32_t class_of(const float* x) const {
    return planes_ ? multiplane::class_of(*planes_, x) : multiplane::class_of(*machine_, x);
  }

  nb::object model_;  // kept alive
  const Hyperplanes* planes_ = nullptr;
  const KernelMachine* machine_ = nullptr;
  std::int64_t n_features_, work_;
  std::vector<double> shift_, factor_;
};

std::vector<std::string> simd_levels() {
  std::vector<std::string> names;
  for (const Loops* table : all_loops()) names.emplace_back(table->name);
  return names;
}

void use_simd(const std::string& name) {
  const Loops* table = loops_named(name.c_str());
  if (!table) {
    std::string known;
    for (const std::string& level : simd_levels()) known += (known.empty() ? "" : ", ") + level;
    throw std::invalid_argument("SIMD level '" + name + "' is not available here; choose one of " +
                                known);
  }
  use_loops(*table);
}

constexpr const char* kCompiler =
#if defined(__clang__)
    "clang " __clang_version__;
#elif defined(__GNUC__)
    "gcc " __VERSION__;
#else
    "unknown";
#endif

// --- files -------------------------------------------------------------------------------------

// A vector becomes an array without a copy.
template <class T>
Out<T, 1> given_away(std::vector<T>& values) {
  auto* moved = new std::vector<T>(std::move(values));
  const nb::capsule owner(moved, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return Out<T, 1>(moved->data(), {moved->size()}, owner);
}

nb::dict read_libsvm_py(const nb::bytes& text, bool zero_based, bool multilabel,
                        std::int64_t n_features, bool drop_beyond, bool skip_faults) {
  need(n_features >= 0, "n_features must not be negative");
  const LibsvmRules rules{zero_based, multilabel, n_features, drop_beyond, skip_faults};
  LibsvmRows rows;
  {
    const char* data = text.c_str();
    const std::size_t size = text.size();
    nb::gil_scoped_release release;
    rows = read_libsvm(data, size, rules);
  }
  nb::list faults;
  for (const LibsvmFault& f : rows.faults)
    faults.append(nb::make_tuple(f.line, f.column, nb::str(f.what.c_str(), f.what.size())));
  nb::dict out;
  out["labels"] = given_away(rows.labels);
  out["label_begin"] = given_away(rows.label_begin);
  out["values"] = given_away(rows.values);
  out["indices"] = given_away(rows.indices);
  out["row_begin"] = given_away(rows.row_begin);
  out["n_features"] = rows.n_features;
  out["n_lines"] = rows.n_lines;
  out["n_qids"] = rows.n_qids;
  out["n_dropped"] = rows.n_dropped;
  out["n_faults"] = rows.n_faults;
  out["faults"] = faults;
  return out;
}

nb::tuple deform_py(In<std::uint8_t, 2> images, In<std::int16_t, 2> texture,
                    const std::tuple<int, int, int, int, int>& strength, std::uint64_t seed,
                    std::int64_t first, std::int64_t n) {
  need(images.shape(1) == kDigitPixels && images.shape(0) >= 1 && images.shape(0) >> 32 == 0,
       "images must be rows of 28 * 28 bytes, at least one");
  need(texture.shape(0) == kTextureStride && texture.shape(1) == kTextureStride,
       "texture must have 284 x 284 values");
  need(first >= 0 && first < std::int64_t{1} << 62, "first must be from 0 to 2^62 - 1");
  need(n >= 0 && n <= 1 << 24, "n must be from 0 to 2^24");
  const auto [rotation, scale, shear, shift, elastic] = strength;
  for (const int most : {rotation, scale, shear, shift, elastic})
    need(most >= 0 && most <= Strength::kMost, "a strength must be from 0 to 32768");
  const auto size = static_cast<std::size_t>(n);
  Buffer<float> X = new_buffer<float>(size * kDigitPixels);
  Buffer<std::int64_t> image = new_buffer<std::int64_t>(size);
  {
    nb::gil_scoped_release release;
    deform({images.data(), static_cast<std::int64_t>(images.shape(0)), texture.data()},
           {rotation, scale, shear, shift, elastic}, seed, first, n, X.data, image.data);
  }
  return nb::make_tuple(array2(X, size, kDigitPixels), array1(image, size));
}

}  // namespace

NB_MODULE(_native, m) {
  // Models that live until the interpreter ends (in a notebook, a test's cache) are not leaks.
  nb::set_leak_warnings(false);
  m.doc() = "Compiled loops of multiplane: arrays in, arrays out.";
  m.attr("LARGEST") = kLargest;
  m.attr("COMPILER") = kCompiler;
  nb::dict kernels;  // name: positive definite
#define MP_LIST(text, Type, definite) kernels[text] = definite;
  MP_KERNELS(MP_LIST)
#undef MP_LIST
  m.attr("KERNELS") = kernels;
  m.def("simd_level", [] { return std::string(loops().name); });
  m.def("simd_fused", [] { return loops().fused; });
  m.def("simd_levels", &simd_levels);
  m.def("use_simd", &use_simd, "name"_a);
  m.def("hardware_threads", [] { return static_cast<int>(std::thread::hardware_concurrency()); });

  m.def("read_libsvm", &read_libsvm_py, "text"_a, nb::kw_only(), "zero_based"_a = false,
        "multilabel"_a = false, "n_features"_a = 0, "drop_beyond"_a = false,
        "skip_faults"_a = false);

  m.def("deform", &deform_py, "images"_a.noconvert(), "texture"_a.noconvert(), "strength"_a,
        "seed"_a, "first"_a, "n"_a);

  nb::class_<OwnedRows>(m, "Rows")
      .def_prop_ro("shape",
                   [](const OwnedRows& r) {
                     return nb::make_tuple(r.rows.n_rows, r.rows.n_features);
                   })
      .def_ro("canonical", &OwnedRows::canonical)
      .def("largest",
           [](const OwnedRows& r) {
             const std::int64_t n = r.rows.row_begin(r.rows.n_rows);
             float largest = 0;
             for (std::int64_t k = 0; k < n; ++k)
               largest = std::max(largest, std::fabs(r.rows.values[k]));
             return largest;
           },
           nb::call_guard<nb::gil_scoped_release>())
      .def("moments", &moments, "order"_a.noconvert().none(), "total"_a, "squares"_a)
      .def("squared_norms",
           [](const OwnedRows& X) {
             Buffer<double> out = new_buffer<double>(static_cast<std::size_t>(X.rows.n_rows));
             squared_norms(X.rows, out.data);
             return array1(out, static_cast<std::size_t>(X.rows.n_rows));
           })
      .def("centres", &centres_py, "order"_a.noconvert(), "n"_a, "first"_a, "draws"_a.noconvert(),
           "iterations"_a)
      .def("largest_squared_norm",
           [](const OwnedRows& r) {
             float largest = 0;
             for (std::int64_t i = 0; i < r.rows.n_rows; ++i)
               largest = std::max(largest, squared_norm(r.rows.row(i)));
             return largest;
           },
           nb::call_guard<nb::gil_scoped_release>())
      .def("check_values",
           [](const OwnedRows& r, std::int64_t first_row) {
             Fault fault;
             {
               nb::gil_scoped_release release;
               fault = check_values(r.rows);
             }
             fault.row += first_row;
             raise_if(fault);
           },
           "first_row"_a = 0);
  m.def("dense_rows", &dense_rows, "X"_a.noconvert());
  m.def("csr_rows", &csr_rows<std::int32_t>, "data"_a.noconvert(), "indices"_a.noconvert(),
        "indptr"_a.noconvert(), "n_features"_a);
  m.def("csr_rows", &csr_rows<std::int64_t>, "data"_a.noconvert(), "indices"_a.noconvert(),
        "indptr"_a.noconvert(), "n_features"_a);

  nb::class_<Hyperplanes>(m, "Hyperplanes")
      .def(nb::new_(&from_lanes), "weights"_a.noconvert(), "owner"_a.noconvert(), "bias"_a)
      .def("__len__", &Hyperplanes::size)
      .def_prop_ro("n_features", &Hyperplanes::n_features)
      .def_prop_ro("bias", &Hyperplanes::bias)
      .def_prop_ro("weights", &lanes, nb::rv_policy::automatic)
      .def_prop_ro("owner", &owners, nb::rv_policy::automatic)
      .def("__getstate__",
           [](const Hyperplanes& h) { return nb::make_tuple(lanes(h), owners(h), h.bias()); })
      .def("__setstate__",
           [](Hyperplanes& h,
              const std::tuple<In<float, 2>, In<std::int32_t, 1>, float>& s) {
             new (&h) Hyperplanes(from_lanes(std::get<0>(s), std::get<1>(s), std::get<2>(s)));
           })
      .def("winners", &winners_py<Hyperplanes>, "X"_a, "n_threads"_a = 1, "check"_a = false)
      .def("decision", &decision_py, "X"_a, "n_classes"_a, "n_threads"_a = 1, "check"_a = false);

  nb::class_<Learner>(m, "Learner")
      .def(nb::new_(&new_learner), nb::kw_only(), "n_features"_a, "bias"_a, "n_classes"_a, "lam"_a,
           "adaptive"_a, "ball_projection"_a, "average"_a, "growth"_a, "growth_decay"_a,
           "seed"_a, "sharing"_a = 0.0)
      .def("learn", &learn_py, "X"_a, "y"_a.noconvert(), nb::kw_only(),
           "order"_a.noconvert() = nb::none(), "weight"_a.noconvert() = nb::none(),
           "z"_a.noconvert() = nb::none(), "obey"_a = false, "check"_a = false,
           "so_far"_a = std::make_tuple(0.0, 0.0))
      .def("assign", &assign_py, "X"_a, "y"_a.noconvert(), "n_threads"_a = 1)
      .def("reserved_id",
           [](Learner& l, std::int32_t y) {
             const Locked locked(l);
             need_class(l, y);
             return l.reserved_id(y);
           },
           "y"_a)
      .def("start",
           [](Learner& l, const Hyperplanes& w, std::int64_t t0) {
             const Locked locked(l);
             need(w.n_features() == l.u_.n_features(), "hyperplanes have another width");
             need(w.bias() == l.u_.bias(), "hyperplanes have another constant feature");
             need(t0 >= 0 && t0 <= (std::int64_t{1} << 53), "t0 must be within 0 ... 2^53");
             for (int i = 0; i < w.size(); ++i) need_class(l, w.owner(i));
             l.start(w, t0);
           },
           "hyperplanes"_a, "t0"_a)
      .def("keep",
           [](Learner& l, const std::vector<int>& lanes) {
             const Locked locked(l);
             for (std::size_t i = 0; i < lanes.size(); ++i)
               need(lanes[i] >= 0 && lanes[i] < l.u_.size() && (i == 0 || lanes[i - 1] < lanes[i]),
                    "lanes must ascend within the hyperplanes there are");
             l.keep(lanes);
           },
           "lanes"_a)
      .def("prune",
           [](Learner& l, double c) {
             const Locked locked(l);
             return l.prune(c);
           },
           "c"_a)
      .def("add_hyperplane",
           [](Learner& l, std::int32_t owner) {
             const Locked locked(l);
             need_class(l, owner);
             return l.id_of_lane_[static_cast<std::size_t>(l.add_hyperplane(owner))];
           },
           "owner"_a)
      .def("relabel",
           [](Learner& l, const std::vector<std::int32_t>& code, std::int32_t n_classes) {
             const Locked locked(l);
             need(code.size() == l.n_of_class_.size(), "one new code a class is needed");
             for (std::int32_t k : code) need(k >= 0 && k < n_classes, "class code out of range");
             l.relabel(code, n_classes);
           },
           "code"_a, "n_classes"_a)
      .def("resize",
           [](Learner& l, std::int64_t n_features) {
             const Locked locked(l);
             need(n_features >= 1 && n_features <= Tile::kMostFeatures,
                  "n_features is out of range");
             need(l.resize(n_features), "features that are to go have weights");
           },
           "n_features"_a)
      .def("restart",
           [](Learner& l) {
             const Locked locked(l);
             l.restart();
           })
      .def("snapshot",
           [](const Learner& l) {
             const Locked locked(l);
             nb::gil_scoped_release release;
             return l.snapshot();
           })
      .def_prop_ro("version", read([](const Learner& l) { return l.version_; }))
      .def_prop_ro("t", read([](const Learner& l) { return l.t_ - l.t0_; }))
      .def_prop_ro("lam", read([](const Learner& l) { return l.config_.lam; }))
      .def_prop_ro("growth", read([](const Learner& l) { return l.growth_; }))
      .def_prop_rw("sharing", read([](const Learner& l) { return l.config_.sharing; }),
                   [](Learner& l, double sharing) {
                     const Locked locked(l);
                     need(sharing == 0 || (sharing > 0 && may_share(l.config_, l.growth_)), kNoSharing);
                     l.config_.sharing = sharing;
                   })
      .def_prop_rw("rate", read([](const Learner& l) { return l.config_.rate; }),
                   [](Learner& l, double rate) {
                     const Locked locked(l);
                     need(rate > 0 && rate <= 1, "rate must be above 0 and at most 1");
                     l.config_.rate = rate;
                   })
      .def("__len__", read([](const Learner& l) { return l.u_.size(); }))
      .def_prop_ro("class_counts", read([](const Learner& l) {
                     return copied<std::int32_t>(l.n_of_class_, l.n_of_class_.size());
                   }),
                   nb::rv_policy::automatic)
      .def("__getstate__", &state_py)
      .def("__setstate__", [](Learner& l, const nb::dict& s) { new (&l) Learner(learner_from_state(s)); });

  nb::class_<KernelMachine>(m, "KernelMachine")
      .def(nb::new_(&new_machine), "vectors"_a.noconvert(), "coef"_a.noconvert(), nb::kw_only(),
           "kernel"_a, "gamma"_a, "coef0"_a, "degree"_a)
      .def("__len__", &KernelMachine::size)
      .def_prop_ro("n_features", &KernelMachine::n_features)
      .def_prop_ro("vectors", &vectors, nb::rv_policy::automatic)
      .def_prop_ro("coef", &dual_coef, nb::rv_policy::automatic)
      .def("winners", &winners_py<KernelMachine>, "X"_a, "n_threads"_a = 1, "check"_a = false)
      .def("decision", &kernel_decision_py, "X"_a, "n_threads"_a = 1, "check"_a = false)
      .def("__getstate__", &machine_state)
      .def("__setstate__", [](KernelMachine& machine,
                              const std::tuple<In<float, 2>, In<float, 2>, std::string, double,
                                               double, std::int32_t>& s) {
        new (&machine) KernelMachine(std::apply(new_machine, s));
      });

  nb::class_<OneRow>(m, "OneRow")
      .def(nb::init<nb::object>(), "model"_a)
      .def(nb::init<nb::object, In<double, 1>, In<double, 1>>(), "model"_a, "shift"_a.noconvert(),
           "factor"_a.noconvert())
      .def("__call__", &OneRow::operator(), "x"_a.noconvert());

  nb::class_<KernelLearner> kernel_learner(m, "KernelLearner");
  bind_kernel_learner(kernel_learner);
  kernel_learner
      .def(nb::new_(&new_kernel_learner), nb::kw_only(), "n_features"_a, "n_classes"_a, "lam"_a,
           "kernel"_a, "gamma"_a, "coef0"_a, "degree"_a, "budget"_a, "maintenance"_a,
           "ball_projection"_a, "average"_a, "seed"_a)
      .def_prop_ro("degradation", read<KernelLearner>([](const KernelLearner& l) {
                     return l.t_ > 1 ? l.degradation_ / static_cast<double>(l.t_ - 1) : 0.0;
                   }))
      .def_static("reduced", [](const nb::dict& s) { return kernel_learner_from_state(s, true); },
                  "state"_a)
      .def("freeze",
           [](KernelLearner& l) {
             const Locked locked(l);
             l.support_.freeze();
           })
      .def("__getstate__", &kernel_state_py)
      .def("__setstate__", [](KernelLearner& l, const nb::dict& s) {
        new (&l) KernelLearner(kernel_learner_from_state(s));
      });

  nb::class_<Projectron> projectron(m, "Projectron");
  bind_kernel_learner(projectron);
  projectron
      .def(nb::new_(&new_projectron), nb::kw_only(), "n_features"_a, "n_classes"_a, "kernel"_a,
           "gamma"_a, "coef0"_a, "degree"_a, "eta"_a)
      .def("__getstate__", &projectron_state_py)
      .def("__setstate__", [](Projectron& p, const nb::dict& s) {
        new (&p) Projectron(projectron_from_state(s));
      });
}
