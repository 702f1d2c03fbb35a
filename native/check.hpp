// Checks on data that come before any work on it: nothing is read out of bounds afterwards, and no
// score can overflow.
#pragma once

#include <cstdint>

#include "rows.hpp"

namespace multiplane {

// Beyond this a product of two features, summed over a long stream, could leave float32.
constexpr float kLargest = 1e15f;

struct Fault {
  enum class Kind { none, not_a_number, infinite, too_large, pointers, index } kind;
  std::int64_t row, column;
};

// indptr and indices of a CSR view: monotone, within n_values and n_features. `canonical` is set to
// whether the indices of every row rise, so that none comes twice.
Fault check_structure(const Rows& rows, std::int64_t n_values, bool& canonical);
// Every stored value is a number, finite and not too large.
Fault check_values(const Rows& rows);

}  // namespace multiplane
