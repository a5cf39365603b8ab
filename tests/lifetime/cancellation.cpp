// Threads that are cancelled. None of the heap's functions is a point where that can happen, and a
// cancelled thread's blocks are whoever's who knows their addresses.
#include <tests/lifetime/program.hpp>

#include <pthread.h>

namespace {

constexpr int count = support::sanitized ? 100 : 1'000;

/// What a thread has when it is cancelled: no object of its own, so that nothing has to be unwound.
struct possessions {
  support::kept_blocks<100> kept;
  std::atomic<bool> complete;
};
possessions of_thread;

void take_blocks() {
  of_thread.kept.allocate(1);
  of_thread.complete = true;
}

void check_and_free_blocks() {
  REQUIRE(of_thread.complete);
  of_thread.complete = false;
  of_thread.kept.check_and_free(1);
}

void* run(void* (*body)(void*), bool cancel) {
  pthread_t thread;
  REQUIRE(::pthread_create(&thread, nullptr, body, nullptr) == 0);
  if (cancel) {
    while (!of_thread.complete) ::usleep(10);
    REQUIRE(::pthread_cancel(thread) == 0);
  }
  void* result = nullptr;
  REQUIRE(::pthread_join(thread, &result) == 0);
  return result;
}

std::atomic<bool> was_through = false;

extern "C" void* go_through_everything(void*) {
  // From here on the thread ends at the first point where it can be cancelled.
  REQUIRE(::pthread_cancel(::pthread_self()) == 0);
  busy::use_every_path(3);
#ifdef ASHLAR_FACE_DROP_IN
  static_cast<void>(::mallinfo2());
  REQUIRE(::malloc_info(0, stdout) == 0);
  ::malloc_stats();
#else
  static ashlar_stats stats;
  ashlar_stats_get(&stats);
#endif
  was_through = true;
  ::pthread_testcancel();
  return nullptr;
}

// A cancellation that is pending waits until the heap has been left.
PROGRAM(pending) {
  for (int i = 0; i < 20; ++i) {
    was_through = false;
    REQUIRE(run(go_through_everything, false) == PTHREAD_CANCELED);
    REQUIRE(was_through);
  }
  face::audit();
}

extern "C" void clean_up(void*) {
  check_and_free_blocks();
  face::release(face::allocate(5'000));
}

extern "C" void* work_and_test(void*) {
  pthread_cleanup_push(clean_up, nullptr);
  take_blocks();
  for (;;) {
    void* const block = face::allocate(300);
    REQUIRE(block != nullptr);
    face::release(block);
    ::pthread_testcancel();
  }
  pthread_cleanup_pop(0);
  return nullptr;
}

// A cleanup handler frees the thread's blocks, and allocates.
PROGRAM(deferred) {
  for (int i = 0; i < count; ++i) {
    REQUIRE(run(work_and_test, true) == PTHREAD_CANCELED);
    REQUIRE(!of_thread.complete);
  }
  face::audit();
}

extern "C" void* work_then_compute(void*) {
  take_blocks();
  int previous = 0;
  // From here on the thread may end at any instruction, so it must not call the heap.
  ::pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &previous);
  for (;;) asm volatile("");
  return nullptr;
}

// The thread that joins frees what the cancelled one had.
PROGRAM(asynchronous) {
  for (int i = 0; i < count; ++i) {
    REQUIRE(run(work_then_compute, true) == PTHREAD_CANCELED);
    check_and_free_blocks();
  }
  face::audit();
#ifndef ASHLAR_FACE_DROP_IN
  static ashlar_stats stats;
  ashlar_stats_get(&stats);
  REQUIRE(stats.total.threads <= 1);  // the others' caches went back
#endif
}

}  // namespace
