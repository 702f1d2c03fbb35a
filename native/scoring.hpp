// Prediction: scores of many rows, over several threads.
#pragma once

#include <cstdint>

#include "hyperplanes.hpp"
#include "kernel_machine.hpp"

namespace multiplane {

// winners() and decision(): with a `largest` above zero values are checked as rows are met; false if one
// is not a number or beyond, and the output is then unfinished.

// winner[i] = the lane with the greatest score, -1 if there is none, or none whose score is a number
// (of sums that left float32). Among equals the lowest class wins, as with the argmax of decision().
bool winners(const Hyperplanes& h, const Rows& rows, int n_threads, float largest,
             std::int32_t* winner);

// The same for rows order[0..n), with the winners' scores; values are not checked.
void winners(const Hyperplanes& h, const Rows& rows, const std::int64_t* order, std::int64_t n,
             std::int32_t* winner, float* score);

// Of the lanes that y[i] owns: the first with the greatest score, -1 if there is none or, where
// `positive`, if that score is not above zero (then the reserved zero hyperplane is the best).
void winners_of_class(const Hyperplanes& h, const Rows& rows, const std::int32_t* y, bool positive,
                      int n_threads, std::int32_t* winner);

// out[i, k] = greatest score among the lanes of class k. A class without hyperplanes
// gets a little less than the row's least value: it never wins.
bool decision(const Hyperplanes& h, const Rows& rows, std::int32_t n_classes, int n_threads,
              float largest, float* out);

// The class of one dense row: the same as that of winners(), without its threads, blocks and searches
// for zeros. 0 where there is no winner. Allocates at a thread's first call at most.
std::int32_t class_of(const Hyperplanes& h, const float* x);
std::int32_t class_of(const KernelMachine& machine, const float* x);

// winner[i] = the class with the greatest f_k(x_i), the first among equals
bool winners(const KernelMachine& machine, const Rows& rows, int n_threads, float largest,
             std::int32_t* winner);

// out[i, k] = f_k(x_i)
bool decision(const KernelMachine& machine, const Rows& rows, int n_threads, float largest,
              float* out);

}  // namespace multiplane
