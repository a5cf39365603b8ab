// Many more threads than processors, all of them alive at once, who free each other's blocks.
#include <barrier>
#include <tests/lifetime/program.hpp>

namespace {

constexpr unsigned thread_count = support::sanitized ? 64 : 256;
constexpr unsigned rounds = 4;
constexpr unsigned steps = 200;

/// A block says itself how long it is and whose pattern it has.
struct header {
  std::uint64_t key;
  std::size_t size;
};

void* new_block(support::random_source& random) {
  const std::size_t size = sizeof(header) + random.below(random.chance(98)   ? 1'500
                                                         : random.chance(90) ? 20'000
                                                                             : 300'000);
  void* const block = face::allocate(size);
  REQUIRE(block != nullptr);
  const header h = {random.next(), size};
  std::memcpy(block, &h, sizeof h);
  auto* const rest = static_cast<unsigned char*>(block) + sizeof h;
  support::fill_pattern(rest, h.key, size - sizeof h);
  return block;
}

void check_and_free(void* block) {
  if (block == nullptr) return;
  header h;
  std::memcpy(&h, block, sizeof h);
  auto* const rest = static_cast<unsigned char*>(block) + sizeof h;
  REQUIRE(support::find_damage(rest, h.key, h.size - sizeof h) == h.size - sizeof h);
  face::release(block);
}

std::atomic<void*> shared[thread_count * 32];

/// Effects: starts all threads, lets them exchange blocks, and ends them with the last block freed.
void gather() {
  std::barrier phase(thread_count);
  std::vector<std::thread> threads;
  for (unsigned k = 0; k < thread_count; ++k) {
    threads.emplace_back([&phase, k] {
      support::random_source random(k);
      for (unsigned round = 0; round < rounds; ++round) {
        phase.arrive_and_wait();
        for (unsigned i = 0; i < steps; ++i) {
          auto& slot = shared[random.below(std::size(shared))];
          check_and_free(slot.exchange(new_block(random)));
        }
      }
      // Each frees a part that is mostly others' work, while the others do and end.
      phase.arrive_and_wait();
      for (std::size_t i = k; i < std::size(shared); i += thread_count)
        check_and_free(shared[i].exchange(nullptr));
    });
  }
  for (std::thread& thread : threads) thread.join();
}

PROGRAM(exchange) {
  gather();  // the C library's stacks and ours are warm then
  face::trim();
  const std::size_t before = support::resident_bytes();
  gather();
  const std::size_t loaded = support::resident_bytes();
  face::audit();
  const std::size_t after = support::resident_bytes();
  std::printf(
      "%u threads: resident before %zu KiB, after all have ended %zu KiB, trimmed %zu KiB\n",
      thread_count, before / 1024, loaded / 1024, after / 1024);
  if (!support::sanitized) REQUIRE(after < before + 4 * mebibyte);
#ifndef ASHLAR_FACE_DROP_IN
  static ashlar_stats stats;
  ashlar_stats_get(&stats);
  REQUIRE(stats.total.threads <= 1);
  if (!support::sanitized) REQUIRE(stats.total.committed_bytes < 8 * mebibyte);
#endif
}

}  // namespace
