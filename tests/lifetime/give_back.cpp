// Memory that is free goes back to the system: seen in the process's resident size, which nobody
// can talk into anything.
#include <tests/lifetime/program.hpp>

namespace {

constexpr std::size_t load = 100 * mebibyte;
constexpr std::size_t most_blocks = 4'000'000;

void** blocks;  // outside the heap: a static array, pages touched as used
void* block_space[most_blocks];

/// Allocates and touches `load` bytes in blocks of `size`; returns their count.
std::size_t load_up(std::size_t size) {
  const std::size_t count = load / size;
  for (std::size_t i = 0; i < count; ++i) {
    blocks[i] = face::allocate(size);
    REQUIRE(blocks[i] != nullptr);
    std::memset(blocks[i], 0x33, size);
  }
  return count;
}

void shuffle(std::size_t count) {
  support::random_source random(3);
  for (std::size_t i = count; i > 1; --i) {
    const std::size_t other = random.below(i);
    void* const kept = blocks[i - 1];
    blocks[i - 1] = blocks[other];
    blocks[other] = kept;
  }
}

std::size_t start_of_measurement() {
  blocks = block_space;
  std::memset(block_space, 0,
              sizeof block_space);  // so that the array itself counts from the start
  face::release(face::allocate(1));
  const std::size_t resident = support::resident_bytes();
  REQUIRE(resident != 0);
  return resident;
}

void compare(const char* what, std::size_t before, std::size_t full, std::size_t after,
             std::size_t allowed) {
  std::printf("%s: resident %zu KiB, loaded %zu KiB, given back %zu KiB\n", what, before / 1024,
              full / 1024, after / 1024);
  REQUIRE(full > before + load * 9 / 10);
  REQUIRE(after < before + allowed);
}

PROGRAM(after_trim) {
  const std::size_t before = start_of_measurement();
  for (const std::size_t size : {32u, 100u, 1'000u, 10'000u, 60'000u, 1'000'000u}) {
    const std::size_t count = load_up(size);
    const std::size_t full = support::resident_bytes();
    shuffle(count);
    for (std::size_t i = 0; i < count; ++i) face::release(blocks[i]);
    face::trim();
    compare("trim", before, full, support::resident_bytes(), 12 * mebibyte);
  }
#ifndef ASHLAR_FACE_DROP_IN
  static ashlar_stats stats;
  ashlar_stats_get(&stats);
  REQUIRE(stats.total.given_back_bytes > load);
  REQUIRE(stats.total.committed_bytes < 16 * mebibyte);
#endif
}

// The thread that allocated has ended; another frees, a third trims.
PROGRAM(after_threads) {
  const std::size_t before = start_of_measurement();
  std::size_t count = 0;
  std::thread([&] { count = load_up(200); }).join();
  const std::size_t full = support::resident_bytes();
  std::thread([&] {
    for (std::size_t i = 0; i < count; ++i) face::release(blocks[i]);
  }).join();
  face::trim();
  compare("threads", before, full, support::resident_bytes(), 12 * mebibyte);
}

// Nobody trims: the program goes on with a little work, and free pages go back after their delay
// (environment ASHLAR_PURGE_DELAY_MS; the test runs with the default and with 0).
PROGRAM(by_itself) {
  const std::size_t before = start_of_measurement();
  const std::size_t count = load_up(200);
  const std::size_t full = support::resident_bytes();
  for (std::size_t i = 0; i < count; ++i) face::release(blocks[i]);
  std::size_t after = 0;
  for (int tick = 0; tick < 400; ++tick) {
    for (std::size_t i = 0; i < 3'000; ++i) blocks[i] = face::allocate(16 + i % 900);
    for (std::size_t i = 0; i < 3'000; ++i) face::release(blocks[i]);
    after = support::resident_bytes();
    if (after < before + load / 4) break;
    const timespec pause = {0, 10'000'000};
    ::nanosleep(&pause, nullptr);
  }
  compare("by itself", before, full, after, load / 4);
}

}  // namespace
