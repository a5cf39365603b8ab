// fork from a process whose threads are inside the heap: the child owns a heap that works, although
// the threads that may have held its locks do not exist there. A child that hangs is ended by
// alarm.
#include <tests/lifetime/program.hpp>

#include <pthread.h>

namespace {

using busy::use_every_path;
using support::fork_and_wait;

// Children that use what they inherited, fork themselves, and become multi-threaded.
PROGRAM(busy_parent) {
  const busy::threads others(4);
  static support::kept_blocks<1'000> kept;
  kept.allocate(1);
  for (std::uint64_t i = 0; i < (support::sanitized ? 10 : 120); ++i) {
    fork_and_wait([&] {
      if (i % 2 == 0) use_every_path(i);
      if (i % 3 == 0)
        fork_and_wait([&] {
          kept.check_and_free(1);
          fork_and_wait([&] { use_every_path(i + 1, 600); });
        });
      kept.check_and_free(1);
      if (i % 4 != 0) return use_every_path(i + 2, 1'000);
      std::vector<std::thread> threads;
      for (std::uint64_t k = 0; k < 4; ++k) threads.emplace_back(use_every_path, i + k, 1'000);
      for (std::thread& thread : threads) thread.join();
    });
    face::release(face::allocate(i * 1'000));
  }
  kept.check_and_free(1);
}

// Handlers that others registered with pthread_atfork after the heap has started may allocate.
PROGRAM(handlers) {
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
  for (std::uint64_t i = 0; i < (support::sanitized ? 5 : 40); ++i)
    fork_and_wait([&] { use_every_path(i); });
}

// fork while other threads fork, and while threads start and end.
PROGRAM(from_several_threads) {
  std::vector<std::thread> threads;
  for (std::uint64_t k = 0; k < 3; ++k) {
    threads.emplace_back([k] {
      for (std::uint64_t i = 0; i < (support::sanitized ? 4 : 30); ++i) {
        std::thread([&] { use_every_path(k); }).join();
        fork_and_wait([&] { use_every_path(i); });
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// fork while threads are ending: what their caches held is whole in the child, wherever the end was
// interrupted.
PROGRAM(ending_threads) {
  std::atomic<bool> stop = false;
  std::vector<std::thread> makers;
  for (std::uint64_t k = 0; k < 2; ++k) {
    makers.emplace_back([&stop, k] {
      // Small work, so that most of the time goes into beginning and ending.
      while (!stop) std::thread(use_every_path, k, 60).join();
    });
  }
  for (std::uint64_t i = 0; i < (support::sanitized ? 20 : 300); ++i)
    fork_and_wait([&] { use_every_path(i, 600); });
  stop = true;
  for (std::thread& maker : makers) maker.join();
}

// The thread that forked is all that the child has, and it ends there as threads do: its cache goes
// back, and the process with it.
PROGRAM(last_thread_of_child) {
  const busy::threads others(2);
  for (std::uint64_t i = 0; i < (support::sanitized ? 5 : 50); ++i) {
    std::thread([i] {
      fork_and_wait([i] {
        use_every_path(i, 600);
        // The exit status of a process whose last thread ends is 0, after what was left to do at exit.
        std::atexit([] {
          use_every_path(1, 600);
          ::_exit(42);
        });
        ::pthread_exit(nullptr);
      });
    }).join();
  }
}

}  // namespace
