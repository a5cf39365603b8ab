// Objects of several sizes out of one chunked pool; what it has no block for comes from the heap.
#include <cstdio>
#include <functional>
#include <utility>
#include <vector>

#include <ChunkSizedAllocator.h>

namespace {

using chunks_type = ChunkSizedAllocator<1000, 32, 62, 128>;

template <class T>
void make(std::vector<std::function<void()>>& ends, chunks_type& chunks) {
  T* const object = new (chunks) T{};
  ends.emplace_back([object, &chunks] {
    object->~T();
    ::operator delete(object, chunks);
  });
}

struct small {
  char bytes[30];
};
struct medium {
  char bytes[60];
};
struct large {
  char bytes[100];
};
struct huge {
  char bytes[1000];
};

}  // namespace

int main() {
  chunks_type chunks;
  for (int round = 0; round < 3; ++round) {
    std::vector<std::function<void()>> ends;
    for (int i = 0; i < 1000; ++i) {
      make<small>(ends, chunks);
      make<medium>(ends, chunks);
      make<large>(ends, chunks);
    }
    make<huge>(ends, chunks);  // the heap's
    for (auto& end : ends) end();
  }
  for (const ashlar::pool_stats& c : chunks.stats().classes) {
    std::printf("%3zu bytes: %zu blocks served %zu objects, %zu in use\n", c.block_size, c.capacity,
                c.allocations, c.blocks_in_use);
  }
  return 0;
}
