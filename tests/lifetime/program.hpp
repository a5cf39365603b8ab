// lifetime/program.hpp: what the programs of this folder share: busy threads, blocks that know their bytes, children,
// figures of /proc, and the audit.
#pragma once

#include <atomic>
#include <tests/support/extent.hpp>
#include <tests/support/face.hpp>
#include <tests/support/in_child.hpp>
#include <tests/support/pattern.hpp>
#include <tests/support/random.hpp>
#include <tests/support/require.hpp>
#include <tests/support/resident.hpp>
#include <thread>

#include <fcntl.h>
#include <tests/support/programs.h>
#include <time.h>
#include <unistd.h>

#ifndef ASHLAR_FACE_DROP_IN
#include <ashlar/runtime/process_heap.hpp>
#endif

inline constexpr std::size_t mebibyte = std::size_t{1} << 20;

namespace face {

/// Effects: sorts back what the calling thread holds, which finds double frees; in the C face every
/// table of the heap is compared with every other, too. Ends the process with a fault if they differ.
/// Requires: no other thread uses the heap.
inline void audit() {
  trim();
#ifndef ASHLAR_FACE_DROP_IN
  ashlar::runtime::the_heap.audit();
#endif
}

}  // namespace face

namespace support {

/// Effects: tells why, and ends with the status that ctest knows as "skipped" (SKIP_RETURN_CODE).
[[noreturn]] inline void skipped(const char* reason) {
  std::printf("skipped: %s\n", reason);
  std::exit(77);
}

inline double seconds_now() {
  timespec now = {};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

/// Returns: the number behind `key` in a file of at most 64 KiB; 0 if there is none. Allocates nothing. Requires: one thread at a time.
inline std::uint64_t figure_in(const char* path, const char* key, int base = 10) {
  static char text[1 << 16];  // no stack of 16 KiB has room for it
  const int file = ::open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  std::size_t length = 0;
  for (ssize_t got; (got = ::read(file, text + length, sizeof text - 1 - length)) > 0;)
    length += static_cast<std::size_t>(got);
  ::close(file);
  text[length] = '\0';
  const char* const found = std::strstr(text, key);
  return found == nullptr ? 0 : std::strtoull(found + std::strlen(key), nullptr, base);
}

/// Effects: calls `body` in a child, which has a minute: so long nobody waits on the busiest machine.
template <class Body>
void fork_and_wait(Body body, unsigned seconds = 60) {
  const auto work = [&body] {
    body();
    return 42;
  };
  const int status = wait_status_of(work, seconds);
  if (WIFSIGNALED(status)) std::fprintf(stderr, "child: signal %d\n", WTERMSIG(status));
  REQUIRE(WIFEXITED(status) && WEXITSTATUS(status) == 42);
}

/// Blocks of many sizes with their patterns, of any allocator; as objects without a destructor.
template <std::size_t Count>
struct kept_blocks {
  static constexpr std::size_t size_of(std::size_t i) {
    return i % 100 == 99 ? 140'000 : i * 7 % 1'500 + 1;
  }
  template <class Allocate = void* (*)(std::size_t)>
  void allocate(std::uint64_t key, Allocate allocate_one = face::allocate) {
    for (std::size_t i = 0; i < Count; ++i) {
      blocks[i] = allocate_one(size_of(i));
      REQUIRE(blocks[i] != nullptr);
      fill_pattern(blocks[i], key + i, size_of(i));
    }
  }
  template <class Release = void (*)(void*)>
  void check_and_free(std::uint64_t key, Release release_one = face::release) {
    for (std::size_t i = 0; i < Count; ++i) {
      REQUIRE(find_damage(blocks[i], key + i, size_of(i)) == size_of(i));
      release_one(blocks[i]);
    }
  }
  void* blocks[Count];
};

}  // namespace support

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
