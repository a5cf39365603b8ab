// lifetime/busy.hpp: threads that are inside the heap most of the time, and a walk over its paths.
#pragma once

#include <atomic>
#include <cstdint>
#include <tests/support/face.hpp>
#include <tests/support/pattern.hpp>
#include <tests/support/random.hpp>
#include <tests/support/require.hpp>
#include <thread>
#include <vector>

namespace busy {

/// Effects: allocates and frees random sizes until `stop`.
inline void churn(std::uint64_t seed, const std::atomic<bool>& stop) {
  support::random_source random(seed);
  void* blocks[256] = {};
  while (!stop) {
    void*& slot = blocks[random.below(256)];
    face::release(slot);
    slot = face::allocate(random.below(random.chance(97) ? 1'024 : 200'000));
    REQUIRE(slot != nullptr);
    if (random.below(5'000) == 0) face::trim();
  }
  for (void* block : blocks) face::release(block);
}

/// Threads that churn for as long as the object lives.
class threads {
 public:
  explicit threads(unsigned count) {
    for (unsigned i = 0; i < count; ++i) threads_.emplace_back([this, i] { churn(i, stop_); });
  }
  threads(const threads&) = delete;
  threads& operator=(const threads&) = delete;
  ~threads() {
    stop_ = true;
    for (std::thread& thread : threads_) thread.join();
  }

 private:
  std::atomic<bool> stop_ = false;
  std::vector<std::thread> threads_;
};

/// Every path of the heap once: small, large, huge, aligned, realloc, refill, flush, trim.
inline void use_every_path(std::uint64_t seed, std::size_t count = 3'000) {
  std::vector<void*> blocks(count);
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const std::size_t size = i % 500 == 499 ? 2'000'000 : i % 50 == 49 ? 70'000 : 8 + i % 692;
    blocks[i] = i % 16 == 0 ? face::allocate_aligned(256, size / 256 * 256 + 256)
                            : face::allocate_zeroed(1, size);
    REQUIRE(blocks[i] != nullptr);
    support::fill_pattern(blocks[i], seed + i, 8);
  }
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    if (i % 3 == 0) blocks[i] = face::reallocate(blocks[i], 300);
    REQUIRE(blocks[i] != nullptr);
  }
  face::trim();
  for (void* block : blocks) face::release(block);
  face::trim();
}

}  // namespace busy
