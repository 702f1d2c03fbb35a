#include "kernel_machine.hpp"

namespace multiplane {

std::vector<std::vector<float>> relabelled(std::vector<std::vector<float>> rows,
                                           const std::vector<std::int32_t>& code,
                                           std::int32_t n_classes, std::size_t n_lanes) {
  std::vector<std::vector<float>> out(static_cast<std::size_t>(n_classes));
  for (std::vector<float>& row : out) row.resize(n_lanes, 0.0f);
  for (std::size_t c = 0; c < code.size(); ++c)
    out[static_cast<std::size_t>(code[c])] = std::move(rows[c]);
  return out;
}

void KernelMachine::reserve(int n) {
  while (n_tiles() * kTile < n) {
    const std::size_t lanes = (tiles_.size() + 1) * kTile;
    squared_.resize(lanes, 0.0f);
    for (std::vector<float>& row : coef_) row.resize(lanes, 0.0f);
    point();
    pointers_.reserve(tiles_.size() + 1);
    tiles_.emplace_back(n_features_);
    pointers_.push_back(tiles_.back().data());
  }
}

int KernelMachine::add(const Row& x, float x2) {
  reserve(size_ + 1);
  float* v = lane(size_);
  switch (x.kind) {
    case Row::Kind::dense:
      if (x.is_picked()) {
        const Picked picked = x.picked();
        for (std::int64_t k = 0; k < picked.n; ++k)
          v[std::int64_t{picked.indices[k]} * kTile] = picked.value(k);
      } else {
        for (std::int64_t f = 0; f < x.n_values; ++f) v[f * kTile] = x.values[f];
      }
      break;
    case Row::Kind::sparse32:
      for (std::int64_t k = 0; k < x.n_values; ++k)
        v[std::int64_t{static_cast<const std::int32_t*>(x.indices)[k]} * kTile] = x.values[k];
      break;
    case Row::Kind::sparse64:
      for (std::int64_t k = 0; k < x.n_values; ++k)
        v[std::int64_t{static_cast<const std::int64_t*>(x.indices)[k]} * kTile] = x.values[k];
      break;
  }
  squared_[static_cast<std::size_t>(size_)] = x2;
  return size_++;
}

void KernelMachine::remove(int i) {
  const int last = --size_;
  float* v = lane(i);
  float* from = lane(last);
  for (std::int64_t f = 0; f < n_features_ * kTile; f += kTile) {
    v[f] = from[f];
    from[f] = 0.0f;
  }
  const auto take = [&](std::vector<float>& row) {
    row[static_cast<std::size_t>(i)] = row[static_cast<std::size_t>(last)];
    row[static_cast<std::size_t>(last)] = 0.0f;
  };
  take(squared_);
  for (std::vector<float>& row : coef_) take(row);
}

void KernelMachine::replace(int i, const float* x) {
  float* v = lane(i);
  for (std::int64_t f = 0; f < n_features_; ++f) v[f * kTile] = x[f];
  squared_[static_cast<std::size_t>(i)] = loops().squared_norm(x, n_features_);
}

void KernelMachine::copy_vector(int i, float* x) const {
  const float* v = lane(i);
  for (std::int64_t f = 0; f < n_features_; ++f) x[f] = v[f * kTile];
}

void KernelMachine::relabel(const std::vector<std::int32_t>& code, std::int32_t n_classes) {
  coef_ = relabelled(std::move(coef_), code, n_classes, squared_.size());
  point();
}

}  // namespace multiplane
