// bench/classic/xallocator.cpp: document 000: 10,000 blocks each of 2000 and 4000 bytes, freed interleaved.
// As the document has it, nobody writes to the blocks, so an allocator that does not either needs no memory
// at all; a second benchmark writes one byte to each, which is what blocks are for.
#include <cstdlib>
#include <vector>

#include <xallocator.h>

#include "benchmark.hpp"

namespace classic {
namespace {

constexpr std::size_t blocks = 10'000;

struct system_heap {
  static void* allocate(std::size_t size) { return std::malloc(size); }
  static void deallocate(void* p) { std::free(p); }
};
struct x_heap {
  static void* allocate(std::size_t size) { return xmalloc(size); }
  static void deallocate(void* p) { xfree(p); }
};

// Every other block of each size goes first, so that no two neighbours are free together; then the rest.
template <class Heap, bool Written>
figures interleaved() {
  static void* small[blocks];
  static void* large[blocks];
  return {{timed([] {
    for (std::size_t i = 0; i < blocks; ++i) {
      small[i] = Heap::allocate(2000);
      large[i] = Heap::allocate(4000);
      if constexpr (Written) {
        *static_cast<volatile char*>(small[i]) = 1;
        *static_cast<volatile char*>(large[i]) = 1;
      }
    }
    keep(small);
    keep(large);
    for (std::size_t i = 0; i < blocks; i += 2) {
      Heap::deallocate(small[i]);
      Heap::deallocate(large[i + 1]);
    }
    for (std::size_t i = 0; i < blocks; i += 2) {
      Heap::deallocate(small[i + 1]);
      Heap::deallocate(large[i]);
    }
  })}};
}

}  // namespace

std::vector<benchmark> xallocator_benchmarks() {
  return {{"xallocator/interleaved",
           {"all"},
           interleaved<system_heap, false>,
           interleaved<x_heap, false>},
          {"xallocator/interleaved_written",
           {"all"},
           interleaved<system_heap, true>,
           interleaved<x_heap, true>}};
}

}  // namespace classic
