#include "scoring.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <exception>
#include <limits>
#include <thread>
#include <vector>

namespace multiplane {
namespace {

constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();
constexpr std::size_t kScores = 4096;  // that stay in the first-level cache: 16 KiB

// Calls use(i, row i, its scores) for the rows [begin, end), or use(k, row order[k], its scores) where
// there is an order. Full rows go in blocks, so that a tile, once in the cache, serves many of them.
// Where tiles are many none stays for so long: there, blocks are short, so that at least their scores do.
//
// With a `largest` above zero a row's values are checked when it is met; false if one fails.
template <class Use>
bool score_range(const Tiles& tiles, std::int64_t n_features, const Rows& rows,
                 const std::int64_t* order, std::int64_t begin, std::int64_t end, float largest,
                 Use use) {
  const std::size_t stride = static_cast<std::size_t>(tiles.n) * kTile;
  const int most = stride * kPredictBlock > kScores ? kMaxBlock : kPredictBlock;
  std::vector<float> scores(stride * static_cast<std::size_t>(most));
  Scorer scorer(n_features, largest);
  Row block[kPredictBlock];
  std::int64_t number[kPredictBlock];
  int n = 0;
  const auto flush = [&] {
    if (n) scorer.score(tiles, block, n, scores.data());
    for (int r = 0; r < n; ++r)
      use(number[r], block[r], scores.data() + static_cast<std::size_t>(r) * stride);
    n = 0;
  };
  const bool dense = rows.kind == Rows::Kind::dense;
  for (std::int64_t i = begin; i < end; ++i) {
    Row row = rows.row(order ? order[i] : i);
    if (scorer.pick(row)) {
      scorer.score(tiles, &row, 1, scores.data());
      use(i, row, scores.data());
      continue;
    }
    if (!scorer.fine(row)) return false;
    block[n] = row;
    number[n++] = i;
    if (n == (dense ? most : kSparseBlock)) flush();
  }
  flush();
  return true;
}

// Threads take stretches of rows as they get on, so that one which is held up does not hold up all.
// What a row gets does not depend on who had it.
template <class Use>
bool score_all(const Tiles& tiles, std::int64_t n_features, const Rows& rows, int n_threads,
               float largest, Use use) {
  const std::int64_t n = rows.n_rows;
  const std::int64_t n_workers = std::clamp<std::int64_t>(n_threads, 1, n / 64 + 1);
  const std::int64_t some = std::clamp<std::int64_t>(n / (8 * n_workers), 64, 1024);
  const std::int64_t stretch = n_workers == 1 ? std::max<std::int64_t>(n, 1) : some;
  std::vector<std::thread> threads;
  std::vector<std::exception_ptr> failures(static_cast<std::size_t>(n_workers));
  std::atomic<std::int64_t> next{0};
  std::atomic<bool> fine{true};
  const auto work = [&](std::int64_t k) {
    try {
      for (std::int64_t i; fine && (i = next.fetch_add(stretch)) < n;)
        if (!score_range(tiles, n_features, rows, nullptr, i, std::min(i + stretch, n), largest,
                         use))
          fine = false;
    } catch (...) {
      failures[static_cast<std::size_t>(k)] = std::current_exception();
    }
  };
  threads.reserve(static_cast<std::size_t>(n_workers));
  try {
    for (std::int64_t k = 1; k < n_workers; ++k) threads.emplace_back(work, k);
  } catch (const std::exception&) {
    // No more threads to be had, or no memory for one: the others do the rest.
  }
  work(0);
  for (std::thread& thread : threads) thread.join();
  for (const std::exception_ptr& failure : failures)
    if (failure) std::rethrow_exception(failure);
  return fine;
}

}  // namespace

bool winners(const Hyperplanes& h, const Rows& rows, int n_threads, float largest,
             std::int32_t* winner) {
  const auto use = [&](std::int64_t i, const Row&, const float* scores) {
    winner[i] = loops().winner(scores, h.owner(), h.n_tiles());
  };
  return score_all(h.tiles(), h.n_features(), rows, n_threads, largest, use);
}

void winners(const Hyperplanes& h, const Rows& rows, const std::int64_t* order, std::int64_t n,
             std::int32_t* winner, float* score) {
  const auto use = [&](std::int64_t k, const Row&, const float* scores) {
    winner[k] = loops().winner(scores, h.owner(), h.n_tiles());
    score[k] = winner[k] < 0 ? kMinusInfinity : scores[winner[k]];
  };
  score_range(h.tiles(), h.n_features(), rows, order, 0, n, 0.0f, use);
}

void winners_of_class(const Hyperplanes& h, const Rows& rows, const std::int32_t* y, bool positive,
                      int n_threads, std::int32_t* winner) {
  const auto use = [&](std::int64_t i, const Row&, const float* scores) {
    const Best best = loops().best(scores, h.owner(), h.n_tiles(), y[i]);
    winner[i] = positive && !(best.right > 0.0f)
                    ? -1
                    : loops().find(scores, h.owner(), h.n_tiles(), y[i], true, best.right);
  };
  score_all(h.tiles(), h.n_features(), rows, n_threads, 0.0f, use);
}

bool decision(const Hyperplanes& h, const Rows& rows, std::int32_t n_classes, int n_threads,
              float largest, float* out) {
  std::vector<char> owns(static_cast<std::size_t>(n_classes), 0);
  for (int lane = 0; lane < h.size(); ++lane) owns[static_cast<std::size_t>(h.owner(lane))] = 1;
  const bool some_without = std::find(owns.begin(), owns.end(), 0) != owns.end();
  const auto use = [&](std::int64_t i, const Row&, const float* scores) {
    float* row = out + i * n_classes;
    std::fill(row, row + n_classes, kMinusInfinity);
    for (int lane = 0; lane < h.size(); ++lane) {
      float& best = row[h.owner(lane)];
      best = std::max(best, scores[lane]);
    }
    if (some_without) {
      float least = 0.0f;  // the value of a model without any hyperplane
      bool first = true;
      for (std::int32_t k = 0; k < n_classes; ++k) {
        if (!owns[static_cast<std::size_t>(k)]) continue;
        least = first ? row[k] : std::min(least, row[k]);
        first = false;
      }
      if (!first) least = std::nextafter(least, kMinusInfinity);
      for (std::int32_t k = 0; k < n_classes; ++k)
        if (!owns[static_cast<std::size_t>(k)]) row[k] = least;
    }
  };
  return score_all(h.tiles(), h.n_features(), rows, n_threads, largest, use);
}

namespace {

// Calls use(i, f(x_i)) for all rows.
template <class Use>
bool evaluate_all(const KernelMachine& machine, const Rows& rows, int n_threads, float largest,
                  Use use) {
  const std::size_t n_lanes = static_cast<std::size_t>(machine.n_tiles()) * kTile;
  return score_all(
      machine.tiles(), machine.n_features(), rows, n_threads, largest,
      [&](std::int64_t i, const Row& x, const float* dots) {
        thread_local std::vector<float> values, f;
        values.resize(n_lanes);
        f.resize(static_cast<std::size_t>(machine.n_classes()));
        loops().evaluate(machine.kernel(), dots, squared_norm(x), machine.squared_norms(),
                         machine.coef(), machine.n_classes(), machine.n_tiles(), values.data(),
                         f.data());
        use(i, f);
      });
}

}  // namespace

std::int32_t class_of(const Hyperplanes& h, const float* x) {
  thread_local std::vector<float> scores;
  const Tiles tiles = h.tiles();
  scores.resize(static_cast<std::size_t>(tiles.n) * kTile);
  loops().score_dense(&x, 1, h.n_features(), tiles, scores.data());
  const int lane = loops().winner(scores.data(), h.owner(), tiles.n);
  return lane < 0 ? 0 : h.owner(lane);
}

std::int32_t class_of(const KernelMachine& machine, const float* x) {
  thread_local std::vector<float> dots, values, f;
  const Tiles tiles = machine.tiles();
  const std::size_t n_lanes = static_cast<std::size_t>(tiles.n) * kTile;
  dots.resize(n_lanes);
  values.resize(n_lanes);
  f.resize(static_cast<std::size_t>(machine.n_classes()));
  const Loops& run = loops();
  run.score_dense(&x, 1, machine.n_features(), tiles, dots.data());
  run.evaluate(machine.kernel(), dots.data(), run.squared_norm(x, machine.n_features()),
               machine.squared_norms(), machine.coef(), machine.n_classes(), tiles.n, values.data(),
               f.data());
  return static_cast<std::int32_t>(std::max_element(f.begin(), f.end()) - f.begin());
}

bool decision(const KernelMachine& machine, const Rows& rows, int n_threads, float largest,
              float* out) {
  return evaluate_all(machine, rows, n_threads, largest,
                      [&](std::int64_t i, const std::vector<float>& f) {
                        std::copy(f.begin(), f.end(), out + i * machine.n_classes());
                      });
}

bool winners(const KernelMachine& machine, const Rows& rows, int n_threads, float largest,
             std::int32_t* winner) {
  return evaluate_all(
      machine, rows, n_threads, largest, [&](std::int64_t i, const std::vector<float>& f) {
        winner[i] = static_cast<std::int32_t>(std::max_element(f.begin(), f.end()) - f.begin());
      });
}

}  // namespace multiplane
