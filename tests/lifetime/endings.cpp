// The ways in which a process ends while its threads are inside the heap; std::exit is in threads.cpp.
// What runs at the end uses the heap. A hang ends in the test's timeout.
#include <atomic>
#include <cstdlib>
#include <functional>
#include <tests/lifetime/busy.hpp>
#include <tests/support/face.hpp>
#include <tests/support/modes.hpp>
#include <tests/support/require.hpp>
#include <thread>

#include <pthread.h>
#include <unistd.h>

namespace {

constexpr int not_reached = 1;

/// Threads that nobody stops or awaits.
void start_busy_threads() {
  static std::atomic<bool> never = false;
  for (std::uint64_t i = 0; i < 3; ++i) std::thread(busy::churn, i, std::cref(never)).detach();
  ::usleep(5'000);
}

/// What runs at the end; the process ends with 0 only from here.
extern "C" void last_act() {
  busy::use_every_path(1, 600);
  ::_exit(0);
}

MODE(quick_exit) {
  REQUIRE(std::at_quick_exit(last_act) == 0);
  start_busy_threads();
  std::thread([] { std::quick_exit(not_reached); }).join();
  return not_reached;
}

MODE(exit_at_once) {
  // Not even the functions registered for exit run.
  REQUIRE(std::atexit([] { std::abort(); }) == 0);
  start_busy_threads();
  std::thread([] {
    busy::use_every_path(1, 600);
    ::_exit(0);
  }).join();
  return not_reached;
}

std::atomic<bool> main_thread_has_ended = false;

extern "C" void end_of_main_thread(void* block) {
  face::release(block);
  busy::use_every_path(2, 600);
  main_thread_has_ended = true;
}

// The main thread ends first, as a thread does; a later one's end is the process's.
MODE(main_thread_first) {
  REQUIRE(std::atexit(last_act) == 0);
  // Not a thread_local object: glibc destroys none when the main thread ends alone.
  pthread_key_t key;
  REQUIRE(::pthread_key_create(&key, end_of_main_thread) == 0);
  void* const block = face::allocate(1'000);
  REQUIRE(block != nullptr);  // or nobody would be told of this thread's end
  REQUIRE(::pthread_setspecific(key, block) == 0);
  std::thread([] {
    // Not joined: sanitizers do not know the main thread as one that can be.
    while (!main_thread_has_ended) ::usleep(1'000);
    ::usleep(20'000);  // the rest of its end, the heap's part included
    for (std::uint64_t i = 0; i < 10; ++i)
      std::thread([i] { busy::use_every_path(i, 600); }).join();
  }).detach();
  ::pthread_exit(nullptr);
}

}  // namespace
