// fork from a process whose threads are inside the heap: the child owns a heap that works, although
// the threads that may have held its locks do not exist there. A child that hangs is ended by
// alarm.
#include <atomic>
#include <tests/lifetime/busy.hpp>
#include <tests/support/face.hpp>
#include <tests/support/modes.hpp>
#include <tests/support/pattern.hpp>
#include <tests/support/require.hpp>
#include <tests/support/sanitizers.hpp>
#include <thread>
#include <vector>

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

using busy::use_every_path;

constexpr unsigned child_seconds = support::sanitized ? 60 : 20;

void wait_for(pid_t child) {
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  if (WIFSIGNALED(status)) std::fprintf(stderr, "child: signal %d\n", WTERMSIG(status));
  REQUIRE(WIFEXITED(status) && WEXITSTATUS(status) == 42);
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
  wait_for(child);
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

int busy_parent() {
  const busy::threads others(4);
  inheritance kept;
  for (std::uint64_t i = 0; i < (support::sanitized ? 10 : 120); ++i) {
    in_child([&] {
      kept.check_and_free();
      use_every_path(i);
    });
    face::release(face::allocate(i * 1'000));
  }
  kept.check_and_free();
  return 0;
}

MODE(nested) {
  const busy::threads others(4);
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
  return 0;
}

// A child that becomes multi-threaded itself.
MODE(threads_in_child) {
  const busy::threads others(4);
  for (std::uint64_t i = 0; i < 30; ++i) {
    in_child([&] {
      std::vector<std::thread> threads;
      for (std::uint64_t k = 0; k < 4; ++k) threads.emplace_back(use_every_path, i + k, 3'000);
      for (std::thread& thread : threads) thread.join();
    });
  }
  return 0;
}

// Handlers that others registered with pthread_atfork after the heap has started may allocate.
MODE(handlers) {
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
  const busy::threads others(4);
  for (std::uint64_t i = 0; i < (support::sanitized ? 5 : 40); ++i) {
    in_child([&] { use_every_path(i); });
  }
  return 0;
}

// fork while other threads fork, and while threads start and end.
MODE(from_several_threads) {
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

// fork while threads are ending: what their caches held is whole in the child, wherever the end was
// interrupted.
MODE(ending_threads) {
  std::atomic<bool> stop = false;
  std::vector<std::thread> makers;
  for (std::uint64_t k = 0; k < 2; ++k) {
    makers.emplace_back([&stop, k] {
      // Small work, so that most of the time goes into beginning and ending.
      while (!stop) std::thread(use_every_path, k, 60).join();
    });
  }
  for (std::uint64_t i = 0; i < (support::sanitized ? 20 : 300); ++i) {
    in_child([&] { use_every_path(i, 600); });
  }
  stop = true;
  for (std::thread& maker : makers) maker.join();
  return 0;
}

// The thread that forked is all that the child has, and it ends there as threads do: its cache goes
// back, and the process with it.
MODE(last_thread_of_child) {
  const busy::threads others(2);
  for (std::uint64_t i = 0; i < (support::sanitized ? 5 : 50); ++i) {
    std::thread([i] {
      const pid_t child = ::fork();
      REQUIRE(child >= 0);
      if (child == 0) {
        ::alarm(child_seconds);
        use_every_path(i, 600);
        // The exit status of a process whose last thread ends is 0, after what was left to do at exit.
        std::atexit([] {
          use_every_path(1, 600);
          ::_exit(42);
        });
        ::pthread_exit(nullptr);
      }
      wait_for(child);
    }).join();
  }
  return 0;
}

const support::mode mode_busy("busy", busy_parent);

}  // namespace
