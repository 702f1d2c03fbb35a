// Trains the same learners, of hyperplanes and of kernel machines, at every instruction set that this
// CPU has and compares the models bit by bit; prints a digest and the time of each. Needs no Python: for
// machines that only have a shell.
//
//   make levels      (or levels-arm)
//
// It does what these do:
//   cmake -S native/tests -B build/levels -DCMAKE_BUILD_TYPE=Release
//   cmake --build build/levels && build/levels/levels
#include <chrono>
#include <cstdio>
#include <cstring>
#include <random>
#include <vector>

#include "kernel_learner.hpp"
#include "learner.hpp"
#include "scoring.hpp"

using namespace multiplane;

namespace {

constexpr std::int32_t kClasses = 7;

// Random rows, as an array or in CSR.
struct Data {
  Data(std::int64_t n, std::int64_t d, double zeros, bool csr);

  std::vector<float> X, values;
  std::vector<std::int32_t> y, indices, indptr{0};
  Rows rows;
};

struct Problem {
  const char* name;
  std::int64_t n, d;
  double zeros;   // share of the entries
  double growth;  // p
  bool csr;
};

struct KernelProblem {
  const char* name;
  std::int64_t n, d;
  double zeros;
  bool csr;
  Kernel kernel;
  std::int32_t budget;
  const char* maintenance;
};

std::uint64_t digest(std::uint64_t h, const void* data, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i)
    h = (h ^ static_cast<const unsigned char*>(data)[i]) * 0x100000001b3u;
  return h;
}

Data::Data(std::int64_t n, std::int64_t d, double zeros, bool csr)
    : X(static_cast<std::size_t>(n * d)), y(static_cast<std::size_t>(n)) {
  std::mt19937 random(17);
  const auto uniform = [&] { return static_cast<float>(random()) / 4294967296.0f; };
  for (std::int64_t i = 0; i < n; ++i) {
    y[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(random() % kClasses);
    for (std::int64_t f = 0; f < d; ++f) {
      float& x = X[static_cast<std::size_t>(i * d + f)];
      const float value = uniform() - 0.5f + 0.2f * ((f + y[static_cast<std::size_t>(i)]) % 5 == 0);
      x = uniform() < zeros ? 0.0f : value;
      if (x == 0.0f) continue;
      values.push_back(x);
      indices.push_back(static_cast<std::int32_t>(f));
    }
    indptr.push_back(static_cast<std::int32_t>(values.size()));
  }
  rows = csr ? Rows{Rows::Kind::csr32, n, d, values.data(), indices.data(), indptr.data()}
             : Rows{Rows::Kind::dense, n, d, X.data(), nullptr, nullptr};
}

using Clock = std::chrono::steady_clock;
double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Digest of everything that was learnt and predicted, and the seconds it took.
std::pair<std::uint64_t, double> run(const Problem& p) {
  const Data data(p.n, p.d, p.zeros, p.csr);
  const Rows& rows = data.rows;
  LearnerConfig config;
  config.lam = 1e-4;
  Learner learner(p.d, 1.0f, kClasses, config);
  learner.growth_ = p.growth;
  const auto start = Clock::now();
  for (int pass = 0; pass < 3; ++pass) {
    learner.learn(rows, nullptr, p.n, data.y.data(), nullptr, nullptr, Learner::Assignment::online);
    learner.prune(2.0);
  }
  std::vector<float> scores(static_cast<std::size_t>(p.n * kClasses));
  const Hyperplanes model = learner.snapshot();
  decision(model, rows, kClasses, 2, 0.0f, scores.data());
  const double seconds = seconds_since(start);
  std::uint64_t h = digest(0xcbf29ce484222325u, scores.data(), scores.size() * sizeof(float));
  for (int i = 0; i < model.size(); ++i)
    for (std::int64_t f = 0; f <= p.d; ++f)
      h = digest(h, model.lane(i) + f * model.stride(i), sizeof(float));
  return {h, seconds};
}

// Likewise, with the averaged model and all that maintenance remembers.
std::pair<std::uint64_t, double> run(const KernelProblem& p) {
  const Data data(p.n, p.d, p.zeros, p.csr);
  KernelLearner learner(p.d, kClasses, {1e-4, p.kernel, p.budget, p.maintenance, true, true, 3});
  const auto start = Clock::now();
  for (int pass = 0; pass < 2; ++pass)
    learner.learn(data.rows, nullptr, p.n, data.y.data(), nullptr);
  std::vector<float> scores(static_cast<std::size_t>(p.n * kClasses));
  const KernelMachine model = learner.snapshot();
  decision(model, data.rows, 2, 0.0f, scores.data());
  const double seconds = seconds_since(start);
  std::uint64_t h = digest(0xcbf29ce484222325u, scores.data(), scores.size() * sizeof(float));
  std::vector<float> x(static_cast<std::size_t>(p.d));
  for (int i = 0; i < model.size(); ++i) {
    model.copy_vector(i, x.data());
    h = digest(h, x.data(), x.size() * sizeof(float));
    for (int c = 0; c < kClasses; ++c) {
      const float both[] = {model.coef(c, i), learner.support_.machine().coef(c, i)};
      h = digest(h, both, sizeof(both));
    }
  }
  std::vector<double> rest = learner.maintenance_->memory();
  rest.insert(rest.end(), {learner.scale_, learner.squared_norm_, learner.degradation_});
  return {digest(h, rest.data(), rest.size() * sizeof(double)), seconds};
}

// At every level; false if two with fused multiply-add differ.
template <class AnyProblem>
bool same_at_all_levels(const AnyProblem& p) {
  bool same = true;
  std::uint64_t fused = 0;
  for (const Loops* table : all_loops()) {
    use_loops(*table);
    const auto [h, seconds] = run(p);
    std::printf("%-21s %-9s %016llx  %7.1f ms\n", p.name, table->name,
                static_cast<unsigned long long>(h), 1e3 * seconds);
    if (!table->fused) continue;
    same &= fused == 0 || fused == h;
    fused = h;
  }
  return same;
}

}  // namespace

int main() {
  const Problem problems[] = {{"dense", 6000, 784, 0.0, 0.0, false},
                              {"dense, growing", 3000, 67, 0.0, 0.2, false},
                              {"dense with zeros", 6000, 784, 0.8, 0.05, false},
                              {"sparse", 6000, 784, 0.8, 0.05, true},
                              {"short rows", 20000, 5, 0.1, 0.2, false}};
  const Kernel rbf{Kernel::Kind::Rbf, 0.05f, 0.0f, 0};
  const Kernel poly{Kernel::Kind::Polynomial, 0.05f, 0.5f, 3};
  const Kernel sigmoid{Kernel::Kind::Sigmoid, 0.02f, 0.1f, 0}, linear{Kernel::Kind::Linear, 0, 0, 0};
  const KernelProblem kernel_problems[] = {
      {"merge", 3000, 67, 0.0, false, rbf, 100, "merge"},
      {"merge, sparse", 3000, 67, 0.8, true, rbf, 100, "merge"},
      {"merge, short rows", 6000, 5, 0.0, false, {Kernel::Kind::Rbf, 2.0f, 0.0f, 0}, 50, "merge"},
      {"merge of all pairs", 500, 20, 0.0, false, rbf, 30, "merge-all"},
      {"project", 3000, 67, 0.0, false, rbf, 100, "project"},
      {"project, singular", 3000, 5, 0.0, false, rbf, 60, "project"},
      {"project, polynomial", 3000, 67, 0.8, false, poly, 100, "project"},
      {"project, linear", 3000, 67, 0.0, false, linear, 40, "project"},
      {"random, sigmoid", 3000, 67, 0.0, false, sigmoid, 100, "random"},
      {"no budget, polynomial", 1000, 67, 0.0, false, poly, 0, "remove"}};
  bool same = true;
  for (const Problem& p : problems) same &= same_at_all_levels(p);
  for (const KernelProblem& p : kernel_problems) same &= same_at_all_levels(p);
  std::puts(same ? "same bits at all levels with fused multiply-add" : "DIFFERENT BITS");
  return same ? 0 : 1;
}
