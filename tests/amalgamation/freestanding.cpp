// The header without a standard library: this object may name no malloc, no throw and no stdio.
#include "ashlar_pools.hpp"

extern "C" void ashlar_fault(const ashlar::fault&) noexcept {
  for (;;) __asm__ volatile("");
}
extern "C" void ashlar_report(const ashlar::fault&) noexcept {}

extern "C" int use_pool_and_arena();

extern "C" int use_pool_and_arena() {
  static constinit ashlar::static_pool<int, 8> pool;
  static constinit ashlar::static_arena<256, ashlar::at_death::ignore> arena;
  int* const a = pool.create(1);
  int* const b = arena.create<int>(2);
  const int sum = (a != nullptr ? *a : 0) + (b != nullptr ? *b : 0);
  pool.destroy(a);
  arena.reset();
  return sum;
}
