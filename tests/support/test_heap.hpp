// tests/support/test_heap.hpp: a heap on a steered address space, called as the runtime calls one, with the cache given.
#pragma once

#include <cstddef>
#include <mutex>
#include <tests/support/test_space.hpp>

#include <ashlar/heap/basic_heap.hpp>

namespace ashlar::test {

struct test_heap_config {
  using space = test_space;
  using mutex = std::mutex;
};
using test_heap = basic_heap<test_heap_config>;

template <class Heap>
void* allocate(Heap& h, typename Heap::cache& own, std::size_t size) {
  if (void* block = Heap::try_allocate(own.tops, size); block != nullptr) return block;
  if (const class_index c = Heap::classes::class_for(size, 1); c != 0) return h.refill(own, c);
  bool zeroed = false;
  return h.allocate_large(size, 1, zeroed, &own);
}
template <class Heap>
void deallocate(Heap& h, typename Heap::cache& own, void* block, const char* call = "free") {
  if (!Heap::try_deallocate(own.tops, block)) h.deallocate_slow(own, block, call);
}

}  // namespace ashlar::test
