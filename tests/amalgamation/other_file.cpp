// The program's second file with the header: what both define must be one thing to the linker.
#include "ashlar_pools.hpp"

int messages_of_the_other_file();

int messages_of_the_other_file() {
  static constinit ashlar::static_pool<long, 3> pool;
  int count = 0;
  while (pool.create(1L) != nullptr) ++count;
  return count;
}
