// Which table of loops fits this CPU: on x86-64 the widest that it has (MP_HAVE_X86), elsewhere the one
// that was compiled, MP_ONLY_LEVEL (neon on ARM).
#include "loops.hpp"

#include <atomic>
#include <cstring>
#include <vector>

namespace multiplane {

#ifdef MP_HAVE_X86
extern const Loops loops_baseline;
extern const Loops loops_avx2;
extern const Loops loops_avx512;
#else
extern const Loops MP_ONLY_LEVEL;
#endif

namespace {

std::vector<const Loops*> find_tables() {
#ifdef MP_HAVE_X86
  std::vector<const Loops*> tables{&loops_baseline};
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    tables.push_back(&loops_avx2);
    if (__builtin_cpu_supports("avx512f")) tables.push_back(&loops_avx512);
  }
  return tables;
#else
  return {&MP_ONLY_LEVEL};
#endif
}

std::atomic<const Loops*> in_use{find_tables().back()};

}  // namespace

const std::vector<const Loops*>& all_loops() {
  static const std::vector<const Loops*> tables = find_tables();
  return tables;
}

const Loops& loops() { return *in_use.load(std::memory_order_relaxed); }

const Loops* loops_named(const char* name) {
  for (const Loops* table : all_loops())
    if (!std::strcmp(table->name, name)) return table;
  return nullptr;
}

void use_loops(const Loops& table) { in_use.store(&table, std::memory_order_relaxed); }

}  // namespace multiplane
