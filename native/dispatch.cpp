// Which table of loops fits this CPU. MP_HAVE_* say which were compiled.
#include "loops.hpp"

#include <atomic>
#include <cstring>

namespace multiplane {

extern const Loops loops_baseline;
#ifdef MP_HAVE_X86
extern const Loops loops_avx2;
extern const Loops loops_avx512;
#endif

namespace {

#ifdef MP_HAVE_X86
bool has_avx2() { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }
bool has_avx512() { return has_avx2() && __builtin_cpu_supports("avx512f"); }
#endif

const Loops* widest() {
#ifdef MP_HAVE_X86
  if (has_avx512()) return &loops_avx512;
  if (has_avx2()) return &loops_avx2;
#endif
  return &loops_baseline;
}

std::atomic<const Loops*> in_use{widest()};

}  // namespace

const Loops& loops() { return *in_use.load(std::memory_order_relaxed); }

const Loops* loops_named(const char* name) {
#ifdef MP_HAVE_X86
  if (!std::strcmp(name, "avx512")) return has_avx512() ? &loops_avx512 : nullptr;
  if (!std::strcmp(name, "avx2")) return has_avx2() ? &loops_avx2 : nullptr;
#endif
  return std::strcmp(name, "baseline") ? nullptr : &loops_baseline;
}

void use_loops(const Loops& table) { in_use.store(&table, std::memory_order_relaxed); }

}  // namespace multiplane
