// Threads whose first use of the heap comes when they are about to be gone: in the last round of its keys' destructors a
// thread may get a cache, and nobody is told of its end any more. Then come forks, figures and other threads, which
// would meet whatever pointed into the dead thread's memory.
#define PROGRAMS_WITHOUT_MAIN
#include <iterator>
#include <tests/lifetime/program.hpp>

#include <pthread.h>

#ifndef ASHLAR_FACE_DROP_IN
#include <ashlar/ashlar.hpp>
#endif

namespace {

// ---- what a late thread does ------------------------------------------------------------------------

constexpr std::size_t block_bytes = 100;
void* of_main;    // a block that the thread may free
void* of_thread;  // a block that the thread leaves

void frees() { face::release(of_main); }
void frees_many() {  // so many that it seems to be a thread that goes on
  frees();
  for (int i = 0; i < 200; ++i) face::release(face::allocate(block_bytes));
}
void allocates() { of_thread = face::allocate(block_bytes); }
void pairs() { face::release(face::allocate(block_bytes)); }
void clears() { of_thread = face::allocate_zeroed(10, 10); }
void resizes() { of_thread = face::reallocate(of_main, 50 * block_bytes); }
void takes_large() { of_thread = face::allocate(1 << 20); }
void takes_aligned() { of_thread = face::allocate_aligned(256, block_bytes); }
void asks() { REQUIRE(face::usable_size(of_main) >= block_bytes); }

#ifndef ASHLAR_FACE_DROP_IN
ashlar::heap<>* instance;
void* of_instance;
void uses_instance() {
  void* const p = instance->try_allocate(block_bytes);
  REQUIRE(p != nullptr);
  instance->deallocate(p, block_bytes);
}
void frees_to_instance() { instance->deallocate(of_instance, block_bytes); }
#endif

struct use {
  void (*run)();
  bool takes_from_main;
};
constexpr use uses[] = {
    {frees, true},          {frees_many, true},
    {allocates, false},     {pairs, false},
    {clears, false},        {resizes, true},
    {takes_large, false},   {takes_aligned, false},
    {asks, false},
#ifndef ASHLAR_FACE_DROP_IN
    {uses_instance, false}, {frees_to_instance, false},
#endif
};

// ---- when it does it --------------------------------------------------------------------------------

const use* now;
pthread_key_t key;
std::atomic<bool> is_done;

void act() {
  now->run();
  is_done = true;
}
extern "C" void act_in_round(void* rounds) {
  auto left = reinterpret_cast<std::intptr_t>(rounds);
  if (--left == 0) return act();
  ::pthread_setspecific(key, reinterpret_cast<void*>(left));
}
/// `Round`: of the four in which keys' destructors are called.
template <std::intptr_t Round>
void* ends_in_round(void*) {
  ::pthread_setspecific(key, reinterpret_cast<void*>(Round));
  return nullptr;
}
void* ends_with_object(void*) {
  struct last_act {
    ~last_act() { act(); }
  };
  static thread_local last_act one;
  static_cast<void>(&one);
  return nullptr;
}
extern "C" void act_at_cleanup(void*) { act(); }
void* is_cancelled(void*) {
  pthread_cleanup_push(act_at_cleanup, nullptr);
  is_done = true;
  for (;;) ::pause();
  pthread_cleanup_pop(0);
  return nullptr;
}
void* exits(void*) {
  ::pthread_setspecific(key, reinterpret_cast<void*>(4));
  ::pthread_exit(nullptr);
}

struct moment {
  void* (*body)(void*);
  bool detached = false, cancelled = false;
};
constexpr moment moments[] = {
    {ends_in_round<1>},       {ends_in_round<2>}, {ends_in_round<3>},          {ends_in_round<4>},
    {ends_in_round<4>, true}, {ends_with_object}, {is_cancelled, false, true}, {exits},
};

void run_thread(const moment& when) {
  is_done = false;
  pthread_t thread;
  REQUIRE(::pthread_create(&thread, nullptr, when.body, nullptr) == 0);
  if (when.cancelled) {
    while (!is_done) ::usleep(10);
    is_done = false;
    REQUIRE(::pthread_cancel(thread) == 0);
  }
  if (when.detached) {
    REQUIRE(::pthread_detach(thread) == 0);
    while (!is_done) ::usleep(10);
    ::usleep(1'000);  // it ends
  } else {
    REQUIRE(::pthread_join(thread, nullptr) == 0);
  }
  REQUIRE(is_done);
}

// ---- what comes then --------------------------------------------------------------------------------

void* works(void*) {
  void* blocks[100];
  for (std::size_t i = 0; i < std::size(blocks); ++i) {
    blocks[i] = face::allocate(i * 20);
    std::memset(blocks[i], 1, i * 20);
  }
  for (void* block : blocks) face::release(block);
  return nullptr;
}
void use_heap() {
  static_cast<void>(works(nullptr));
  pthread_t thread;
  REQUIRE(::pthread_create(&thread, nullptr, works, nullptr) == 0);
  REQUIRE(::pthread_join(thread, nullptr) == 0);
}
void expect_whole_heap() {
  use_heap();
  support::fork_and_wait(use_heap, 20);
  face::audit();
}

PROGRAM(after_each) {
  REQUIRE(::pthread_key_create(&key, act_in_round) == 0);
#ifndef ASHLAR_FACE_DROP_IN
  ashlar::heap<> of_all;
  instance = &of_all;
#endif
  for (const moment& when : moments) {
    for (const use& u : uses) {
      now = &u;
      of_main = face::allocate(block_bytes);
#ifndef ASHLAR_FACE_DROP_IN
      of_instance = of_all.try_allocate(block_bytes);
#endif
      run_thread(when);
      expect_whole_heap();
      if (!u.takes_from_main) face::release(of_main);
      face::release(std::exchange(of_thread, nullptr));
#ifndef ASHLAR_FACE_DROP_IN
      if (u.run != frees_to_instance) of_all.deallocate(of_instance, block_bytes);
#endif
    }
  }
}

/// The main thread is the late one, and the last thread ends the process.
PROGRAM(after_main) {
  REQUIRE(::pthread_key_create(&key, act_in_round) == 0);
  now = &uses[1];
  of_main = face::allocate(block_bytes);
  pthread_t thread;
  const auto rest = [](void*) -> void* {
    while (!is_done) ::usleep(1'000);
    ::usleep(10'000);
    expect_whole_heap();
    ::_exit(0);
  };
  REQUIRE(::pthread_create(&thread, nullptr, rest, nullptr) == 0);
  ::pthread_setspecific(key, reinterpret_cast<void*>(4));
  ::pthread_exit(nullptr);
}

/// A thread that has the memory of a late one has its cache, too: so these do not pile up.
PROGRAM(one_after_another) {
  REQUIRE(::pthread_key_create(&key, act_in_round) == 0);
  constexpr use both = {pairs, false};
  now = &both;
  for (int i = 0; i < 100; ++i) run_thread({ends_in_round<4>});
#ifndef ASHLAR_FACE_DROP_IN
  REQUIRE(ashlar::runtime::the_heap.cache_count() <= 4);
#endif
  expect_whole_heap();
}

/// The library's own thread is there, and a late thread's cache stays. The process ends with the last thread all the same,
/// and on a thread of the program's kind: exit has a large stack.
void use_much() {
  for (int i = 0; i < 100; ++i) static_cast<void>(face::allocate(100'000));
}
void work_at_exit() {
  char large[256 * 1024];
  std::memset(large, 1, sizeof large);
  asm volatile("" : : "r"(large) : "memory");
  face::release(face::allocate(block_bytes));
  const char text[] = "all has ended\n";
  REQUIRE(::write(STDERR_FILENO, text, sizeof text - 1) > 0);
}
void begin_end() {
  REQUIRE(std::atexit(work_at_exit) == 0);
  REQUIRE(::pthread_key_create(&key, act_in_round) == 0);
  use_much();
}
PROGRAM(ends_after_late) {
  begin_end();
  now = &uses[2];
  run_thread({ends_in_round<4>});
  ::pthread_exit(nullptr);
}
PROGRAM(ends_with_late) {
  begin_end();
  static constexpr use much = {use_much, false};
  now = &much;
  pthread_t thread;
  const auto waits = [](void*) -> void* {
    ::usleep(100'000);  // the first thread has ended
    return ends_in_round<4>(nullptr);
  };
  REQUIRE(::pthread_create(&thread, nullptr, waits, nullptr) == 0);
  ::pthread_exit(nullptr);
}

}  // namespace

int main(int, char** arguments) {
  ::alarm(100);
  return run_program(arguments[1]);
}
