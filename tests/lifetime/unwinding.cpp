// Frames that are left the short way while they have blocks: by longjmp, by exceptions, from one
// thread into another.
#include <atomic>
#include <csetjmp>
#include <cstdint>
#include <exception>
#include <mutex>
#include <stdexcept>
#include <string>
#include <tests/lifetime/audit.hpp>
#include <tests/support/face.hpp>
#include <tests/support/modes.hpp>
#include <tests/support/pattern.hpp>
#include <tests/support/random.hpp>
#include <tests/support/require.hpp>
#include <tests/support/sanitizers.hpp>
#include <thread>
#include <utility>
#include <vector>

namespace {

constexpr std::size_t depth = 60;

constexpr std::size_t size_of(std::size_t i) {
  return i % 30 == 29 ? 200'000 : i * 40 + 1;
}

std::jmp_buf bottom;
volatile std::size_t deepest = depth - 1;  // the compiler cannot know that no call returns
void* block_of_frame[depth];

void check_and_free(std::size_t level) {
  void* const block = block_of_frame[level];
  REQUIRE(support::find_damage(block, level, size_of(level)) == size_of(level));
  face::release(block);
}

// No frame has an object with a destructor: longjmp would not run it.
[[gnu::noinline]] void descend(std::size_t level) {
  if (level > deepest) {
    if (deepest != 0) std::longjmp(bottom, 1);
    return;
  }
  block_of_frame[level] = face::allocate(size_of(level));
  REQUIRE(block_of_frame[level] != nullptr);
  support::fill_pattern(block_of_frame[level], level, size_of(level));
  descend(level + 1);
  check_and_free(level);  // not reached; keeps the frame
}

MODE(longjmp_over_blocks) {
  static int round;  // not in a register, which longjmp may undo
  for (round = 0; round < 500; ++round) {
    if (setjmp(bottom) == 0) descend(0);
    for (std::size_t level = 0; level < depth; ++level) check_and_free(level);
  }
  face::audit();
  return 0;
}

/// A block that goes where its object goes.
class owned_block {
 public:
  explicit owned_block(std::uint64_t key) : key_(key), block_(face::allocate(size())) {
    REQUIRE(block_ != nullptr);
    support::fill_pattern(block_, key_, size());
    ++alive;
  }
  owned_block(owned_block&& other) noexcept
      : key_(other.key_), block_(std::exchange(other.block_, nullptr)) {}
  owned_block(const owned_block& other) : owned_block(other.key_) {}
  owned_block& operator=(const owned_block&) = delete;
  ~owned_block() {
    if (block_ == nullptr) return;
    REQUIRE(is_whole());
    face::release(block_);
    --alive;
  }
  [[nodiscard]] bool is_whole() const {
    return support::find_damage(block_, key_, size()) == size();
  }
  static inline std::atomic<int> alive = 0;

 private:
  [[nodiscard]] std::size_t size() const { return key_ % 50 == 49 ? 150'000 : key_ * 13 % 3'000; }

  std::uint64_t key_;
  void* block_;
};

struct failure : std::runtime_error {
  explicit failure(std::uint64_t key)
      : std::runtime_error("failure " + std::string(100, 'x') + std::to_string(key)), block(key) {}
  owned_block block;
};

[[gnu::noinline]] void fail_below(std::uint64_t key, int levels) {
  const owned_block of_frame(key + static_cast<std::uint64_t>(levels));
  if (levels == 0) throw failure(key);
  fail_below(key, levels - 1);
  REQUIRE(of_frame.is_whole());  // not reached; keeps the frame
}

// Thrown in one thread, kept, thrown again and caught in another, freed in a third.
MODE(exceptions_between_threads) {
  constexpr std::uint64_t rounds = support::sanitized ? 30 : 300;
  std::mutex mutex;
  std::vector<std::exception_ptr> in_flight, handled;
  for (std::uint64_t round = 0; round < rounds; ++round) {
    std::vector<std::thread> threads;
    for (std::uint64_t k = 0; k < 4; ++k) {
      threads.emplace_back([&, key = round * 4 + k] {
        std::exception_ptr own;
        try {
          fail_below(key, 20);
        } catch (...) {
          own = std::current_exception();
        }
        std::exception_ptr other;
        {
          const std::lock_guard guard(mutex);
          in_flight.push_back(std::move(own));
          if (in_flight.size() < 3) return;
          other = in_flight.front();
          in_flight.erase(in_flight.begin());
        }
        try {
          std::rethrow_exception(other);
        } catch (const failure& caught) {
          REQUIRE(caught.block.is_whole());
        }
        const std::lock_guard guard(mutex);
        handled.push_back(std::move(other));
      });
    }
    for (std::thread& thread : threads) thread.join();
    std::thread([&] { handled.clear(); }).join();
  }
  in_flight.clear();
  REQUIRE(owned_block::alive == 0);
  face::audit();
  return 0;
}

}  // namespace
