// Trains the same learners at every instruction set that this CPU has and compares the models bit by
// bit; prints a digest and the time of each. Needs no Python: for machines that only have a shell.
//
//   cmake -S native/tests -B build/levels -DCMAKE_BUILD_TYPE=Release
//   cmake --build build/levels && build/levels/levels
#include <chrono>
#include <cstdio>
#include <cstring>
#include <random>
#include <vector>

#include "learner.hpp"
#include "scoring.hpp"

using namespace multiplane;

namespace {

struct Problem {
  const char* name;
  std::int64_t n, d;
  double zeros;   // share of the entries
  double growth;  // p
  bool csr;
};

std::uint64_t digest(std::uint64_t h, const void* data, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i)
    h = (h ^ static_cast<const unsigned char*>(data)[i]) * 0x100000001b3u;
  return h;
}

// Digest of everything that was learnt and predicted, and the seconds it took.
std::pair<std::uint64_t, double> run(const Problem& p) {
  constexpr std::int32_t kClasses = 7;
  std::mt19937 random(17);
  const auto uniform = [&] { return static_cast<float>(random()) / 4294967296.0f; };
  std::vector<float> X(static_cast<std::size_t>(p.n * p.d)), values;
  std::vector<std::int32_t> y(static_cast<std::size_t>(p.n)), indices, indptr{0};
  for (std::int64_t i = 0; i < p.n; ++i) {
    y[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(random() % kClasses);
    for (std::int64_t f = 0; f < p.d; ++f) {
      float& x = X[static_cast<std::size_t>(i * p.d + f)];
      const float value = uniform() - 0.5f + 0.2f * ((f + y[static_cast<std::size_t>(i)]) % 5 == 0);
      x = uniform() < p.zeros ? 0.0f : value;
      if (x == 0.0f) continue;
      values.push_back(x);
      indices.push_back(static_cast<std::int32_t>(f));
    }
    indptr.push_back(static_cast<std::int32_t>(values.size()));
  }
  const Rows rows = p.csr ? Rows{Rows::Kind::csr32, p.n, p.d, values.data(), indices.data(), indptr.data()}
                          : Rows{Rows::Kind::dense, p.n, p.d, X.data(), nullptr, nullptr};
  LearnerConfig config;
  config.lam = 1e-4;
  Learner learner(p.d, 1.0f, kClasses, config);
  learner.growth_ = p.growth;
  const auto start = std::chrono::steady_clock::now();
  for (int pass = 0; pass < 3; ++pass) {
    learner.learn(rows, nullptr, p.n, y.data(), nullptr, nullptr, Learner::Assignment::online);
    learner.prune(2.0);
  }
  std::vector<float> scores(static_cast<std::size_t>(p.n * kClasses));
  const Hyperplanes model = learner.snapshot();
  decision(model, rows, kClasses, 2, 0.0f, scores.data());
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  std::uint64_t h = digest(0xcbf29ce484222325u, scores.data(), scores.size() * sizeof(float));
  for (int i = 0; i < model.size(); ++i)
    for (std::int64_t f = 0; f <= p.d; ++f) h = digest(h, model.lane(i) + f * kTile, sizeof(float));
  return {h, seconds};
}

}  // namespace

int main() {
  const Problem problems[] = {{"dense", 6000, 784, 0.0, 0.0, false},
                              {"dense, growing", 3000, 67, 0.0, 0.2, false},
                              {"dense with zeros", 6000, 784, 0.8, 0.05, false},
                              {"sparse", 6000, 784, 0.8, 0.05, true},
                              {"short rows", 20000, 5, 0.1, 0.2, false}};
  bool same = true;
  for (const Problem& p : problems) {
    std::uint64_t fused = 0;
    for (const Loops* table : all_loops()) {
      use_loops(*table);
      const auto [h, seconds] = run(p);
      std::printf("%-17s %-9s %016llx  %7.1f ms\n", p.name, table->name,
                  static_cast<unsigned long long>(h), 1e3 * seconds);
      if (!table->fused) continue;
      same &= fused == 0 || fused == h;
      fused = h;
    }
  }
  std::puts(same ? "same bits at all levels with fused multiply-add" : "DIFFERENT BITS");
  return same ? 0 : 1;
}
