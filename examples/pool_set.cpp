// Blocks of several sizes without a heap: buffers of a protocol stack, in one static object.
#include <cstddef>
#include <cstdio>

#include <ashlar/freestanding.hpp>

namespace {

using namespace ashlar;

// Small control messages, full frames of 396 bytes, and a few large ones. A request is served by the
// smallest class that fits; when that is empty, by the next larger one.
constinit static_pool_set<blocks<32, 4>, blocks<396, 2>, blocks<768, 1>, named<"frames">> frames;

void print_use() {
  const auto stats = frames.stats();
  for (const pool_stats& c : stats.classes) {
    std::printf("  %4zu bytes: %zu of %zu in use, at most %zu\n", c.block_size, c.blocks_in_use,
                c.capacity, c.peak_in_use);
  }
}

}  // namespace

int main() {
  static_assert(decltype(frames)::class_of(396) == 1, "a size that fits exactly is used");

  void* const ack = frames.allocate(20);
  void* const first = frames.allocate(396);
  void* const second = frames.allocate(300);
  void* const third = frames.allocate(396);   // its class is empty: a block of 768 bytes
  void* const fourth = frames.allocate(396);  // and now there is none
  std::printf("third frame: %zu usable bytes; fourth: %s\n", frames.usable_size(third),
              fourth == nullptr ? "no block left" : "?");
  print_use();

  // With the size, as std::allocator's users know it, or by the address alone.
  frames.deallocate(ack, 20);
  frames.deallocate(first, 396);
  frames.deallocate(second);
  frames.deallocate(third);
  std::printf("%zu blocks in use, %zu of %zu bytes were, at the classes' peaks\n",
              frames.stats().blocks_in_use(), frames.stats().bytes_at_peaks(),
              frames.stats().capacity_bytes());
  return frames.audit() ? 0 : 1;
}
