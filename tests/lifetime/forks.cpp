// fork from a process whose threads are inside the heap: the child owns a heap that works, although
// the threads that may have held its locks do not exist there. A child that hangs is ended by
// alarm.
#include <atomic>
#include <tests/support/face.hpp>
#include <tests/support/modes.hpp>
#include <tests/support/pattern.hpp>
#include <tests/support/random.hpp>
#include <tests/support/require.hpp>
#include <tests/support/sanitizers.hpp>
#include <thread>
#include <vector>

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

constexpr unsigned child_seconds = support::sanitized ? 60 : 20;
std::atomic<bool> stop = false;

void churn(std::uint64_t seed) {
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

/// Every path of the heap once: small, large, huge, aligned, realloc, refill, flush, trim.
void use_every_path(std::uint64_t seed) {
  std::vector<void*> blocks(3'000);
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const std::size_t size = i % 500 == 499 ? 2'000'000 : i % 50 == 49 ? 70'000 : i % 700;
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

template <class Body>
void in_child(Body body) {
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    ::alarm(child_seconds);
    body();
    ::_exit(42);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  if (WIFSIGNALED(status)) std::fprintf(stderr, "child: signal %d\n", WTERMSIG(status));
  REQUIRE(WIFEXITED(status) && WEXITSTATUS(status) == 42);
}

/// Blocks of the parent that a child checks and frees; they are the parent's still.
class inheritance {
 public:
  inheritance() : blocks_(1'000) {
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      blocks_[i] = face::allocate(size(i));
      REQUIRE(blocks_[i] != nullptr);
      support::fill_pattern(blocks_[i], i, size(i));
    }
  }
  void check_and_free() {
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      REQUIRE(support::find_damage(blocks_[i], i, size(i)) == size(i));
      face::release(blocks_[i]);
    }
  }

 private:
  static std::size_t size(std::size_t i) { return i % 100 == 0 ? 80'000 : i + 1; }
  std::vector<void*> blocks_;
};

void with_churning_threads(void (*body)()) {
  std::vector<std::thread> threads;
  for (std::uint64_t i = 0; i < 4; ++i) threads.emplace_back(churn, i);
  body();
  stop = true;
  for (std::thread& thread : threads) thread.join();
}

int busy() {
  with_churning_threads([] {
    inheritance kept;
    for (std::uint64_t i = 0; i < (support::sanitized ? 10 : 120); ++i) {
      in_child([&] {
        kept.check_and_free();
        use_every_path(i);
      });
      face::release(face::allocate(i * 1'000));
    }
    kept.check_and_free();
  });
  return 0;
}

int nested() {
  with_churning_threads([] {
    for (std::uint64_t i = 0; i < (support::sanitized ? 5 : 40); ++i) {
      inheritance kept;
      in_child([&] {
        use_every_path(i);
        in_child([&] {
          kept.check_and_free();
          in_child([&] { use_every_path(i + 1); });
        });
        kept.check_and_free();
        use_every_path(i + 2);
      });
      kept.check_and_free();
    }
  });
  return 0;
}

// A child that becomes multi-threaded itself.
int threads_in_child() {
  with_churning_threads([] {
    for (std::uint64_t i = 0; i < 30; ++i) {
      in_child([&] {
        std::vector<std::thread> threads;
        for (std::uint64_t k = 0; k < 4; ++k) threads.emplace_back(use_every_path, i + k);
        for (std::thread& thread : threads) thread.join();
      });
    }
  });
  return 0;
}

// Handlers that others registered with pthread_atfork after the heap has started may allocate.
int handlers() {
  static void* from_prepare = nullptr;
  face::release(face::allocate(1));
  REQUIRE(pthread_atfork(
              [] {
                from_prepare = face::allocate(100);
                REQUIRE(from_prepare != nullptr);
              },
              [] { face::release(from_prepare); },
              [] {
                face::release(from_prepare);
                face::release(face::allocate(100'000));
              }) == 0);
  with_churning_threads([] {
    for (std::uint64_t i = 0; i < (support::sanitized ? 5 : 40); ++i) {
      in_child([&] { use_every_path(i); });
    }
  });
  return 0;
}

// fork while other threads fork, and while threads start and end.
int from_several_threads() {
  std::vector<std::thread> threads;
  for (std::uint64_t k = 0; k < 3; ++k) {
    threads.emplace_back([k] {
      for (std::uint64_t i = 0; i < (support::sanitized ? 4 : 30); ++i) {
        std::thread([&] { use_every_path(k); }).join();
        in_child([&] { use_every_path(i); });
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return 0;
}

constexpr support::mode modes[] = {{"busy", busy},
                                   {"nested", nested},
                                   {"threads_in_child", threads_in_child},
                                   {"handlers", handlers},
                                   {"from_several_threads", from_several_threads}};

}  // namespace

int main(int argument_count, char** arguments) {
  return support::run_mode(modes, argument_count, arguments);
}
