// instance/test_heaps.hpp: what the tests of heap instances share.
#pragma once

#include <cstddef>
#include <vector>

#include <ashlar/instance/heap.hpp>
#include <ashlar/pages/run.hpp>

namespace ashlar {

inline constexpr std::size_t mib = std::size_t{1} << 20;
inline constexpr std::size_t page = detail::page_size;

/// A source that is another heap.
template <class Heap>
struct source_of {
  Heap* from;
  void* allocate(std::size_t bytes, std::size_t alignment) noexcept {
    return from->try_allocate(bytes, alignment);
  }
  void deallocate(void* p, std::size_t bytes, std::size_t alignment) noexcept {
    from->deallocate(p, bytes, alignment);
  }
};

using heap_source = source_of<heap<>>;

template <class Heap>
std::vector<void*> fill(Heap& h, std::size_t size) {
  std::vector<void*> blocks;
  while (void* p = h.try_allocate(size)) blocks.push_back(p);
  return blocks;
}
template <class Heap>
void release(Heap& h, std::vector<void*>& blocks) {
  for (void* p : blocks) h.deallocate(p);
  blocks.clear();
}

}  // namespace ashlar
