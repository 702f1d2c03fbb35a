// LIBSVM text to rows:  label [qid:number] index:value index:value ... [# comment]
//
// Plain bytes in, plain vectors out; whoever calls cuts files at line ends and may do so in several
// threads. Whatever the bytes are, the work is linear in their number and so is the memory: an entry
// takes four bytes of text at least and eight of memory. A line that is not of this form is a fault
// with its place, and either ends the reading or is passed over and counted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace multiplane {

struct LibsvmRules {
  bool zero_based = false;
  bool multilabel = false;       // labels are lists: 1,3,7 or nothing at all
  std::int64_t n_features = 0;   // 0: as many as there are
  bool drop_beyond = false;      // features from n_features on are passed over, not faults
  bool skip_faults = false;
};

struct LibsvmFault {
  std::int64_t line;    // from 0, counted from the beginning of the text
  std::int64_t column;  // from 0, in bytes
  std::string what;
};

struct LibsvmRows {
  static constexpr std::size_t kMostFaults = 100;  // told; all are counted

  std::vector<std::int64_t> labels;
  std::vector<std::int64_t> label_begin{0};  // by row, where labels are lists
  std::vector<float> values;
  std::vector<std::int32_t> indices;  // from 0, rising in every row
  std::vector<std::int64_t> row_begin{0};
  std::int64_t n_features = 0;  // the highest index and one
  std::int64_t n_lines = 0, n_qids = 0, n_faults = 0, n_dropped = 0;
  std::vector<LibsvmFault> faults;
};

// Highest index of a feature: one more is still an int32.
constexpr std::int64_t kMostLibsvmIndex = (std::int64_t{1} << 31) - 2;

// Highest label of a list: each is a column of an indicator matrix.
constexpr std::int64_t kMostLibsvmLabel = (std::int64_t{1} << 24) - 1;

LibsvmRows read_libsvm(const char* text, std::size_t size, const LibsvmRules& rules);

}  // namespace multiplane
