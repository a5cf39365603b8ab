// Containers and objects on the pools of pools.hpp, shared by threads.
#include <cstdio>
#include <list>
#include <mutex>
#include <new>

#include <ashlar/adapt/pmr.hpp>

#include "pools.hpp"

// Any policy of a pool set may follow: a lock, what happens when no block is left, a name.
using shared_pools = tuned::static_pools<std::mutex, ashlar::named<"tuned">>;
constinit shared_pools memory;

int main() {
  ashlar::pmr::resource<shared_pools> resource(memory);
  std::pmr::list<int> readings(&resource);
  try {
    for (;;) readings.push_back(1);
  } catch (const std::bad_alloc&) {
    std::printf("%zu readings, then the pools are empty\n", readings.size());
  }
  std::printf("a block of 32 bytes: %s\n",
              memory.allocate(32) != nullptr ? "there is one" : "none");
  std::printf("a block of 33 bytes: %s\n",
              memory.allocate(33) != nullptr ? "there is one" : "none");
  return 0;
}
