// support/shared_blocks.hpp: threads that take blocks of one component, write them whole, and give them back.
#pragma once

#include <tests/support/pattern.hpp>
#include <tests/support/random.hpp>
#include <tests/support/test_headers.hpp>

namespace support {

struct sharing {
  unsigned threads = 3;
  int rounds = 4'000;
  std::size_t held_most = 6;    ///< blocks of a thread at a time
  std::size_t size_least = 1;   ///< bytes asked for: from here
  std::size_t size_most = 400;  ///< to here
};

/// Effects: each thread calls allocate(size), which may give null, and release(address, size) at random, and expects what it
/// wrote. All is released in the end. Returns: how many blocks there were.
template <class Allocate, class Release>
std::size_t share_blocks(const sharing& how, Allocate allocate, Release release) {
  struct held {
    void* address;
    std::size_t size;
    std::uint64_t key;
  };
  std::atomic<std::size_t> got{0}, wrong{0};
  std::vector<std::thread> workers;
  workers.reserve(how.threads);
  for (unsigned t = 0; t < how.threads; ++t) {
    workers.emplace_back([&, t] {
      random_source random(t);
      std::vector<held> blocks;
      const auto drop = [&] {
        const held b = blocks.back();
        blocks.pop_back();
        if (find_damage(b.address, b.key, b.size) != b.size) ++wrong;
        release(b.address, b.size);
      };
      for (int r = 0; r < how.rounds; ++r) {
        if (blocks.size() < how.held_most && random.chance(50)) {
          const std::size_t size =
              how.size_least + random.below(how.size_most - how.size_least + 1);
          void* const p = allocate(size);
          if (p == nullptr) continue;
          blocks.push_back({p, size, random.next()});
          fill_pattern(p, blocks.back().key, size);
          ++got;
        } else if (!blocks.empty()) {
          std::swap(blocks[random.below(blocks.size())], blocks.back());
          drop();
        }
      }
      while (!blocks.empty()) drop();
    });
  }
  for (std::thread& worker : workers) worker.join();
  EXPECT_EQ(wrong, 0u);
  return got;
}

}  // namespace support
