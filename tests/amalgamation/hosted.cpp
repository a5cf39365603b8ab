// A hosted program that has ashlar_pools.hpp and nothing else of ashlar. With an argument it frees a block twice.
#define ASHLAR_POOLS_IMPLEMENTATION
#include <cstdio>

#include "ashlar_pools.hpp"
#include "ashlar_pools.hpp"  // a second time changes nothing

struct message {
  explicit message(int n) : number(n) {}
  int number;
};
int messages_of_the_other_file();

namespace {
constinit ashlar::static_pool<message, 3> pool;
constinit ashlar::static_arena<4096> arena;
}  // namespace

int main(int argc, char**) {
  message* held[4] = {};
  for (int i = 0; i < 4; ++i) held[i] = pool.create(i);
  if (held[2] == nullptr || held[2]->number != 2 || held[3] != nullptr) return 1;
  for (message* m : held) pool.destroy(m);
  if (argc > 1) pool.destroy(held[0]);
  {
    const ashlar::arena_scope scope(arena);
    for (int i = 0; i < 10; ++i)
      if (arena.create<message>(i)->number != i) return 2;
    if (arena.used_bytes() < 10 * sizeof(message)) return 3;
  }
  if (arena.used_bytes() != 0 || pool.stats().blocks_in_use != 0) return 4;
  if (messages_of_the_other_file() != 3) return 5;
  std::puts("amalgamation: pool and arena");
  return 0;
}
