// The library's own thread (ASHLAR_BACKGROUND=1): it starts when there is work, gives back what a
// quiet process has freed, sleeps without a timer, and is gone before the process is. Nothing here is
// timed: each mode waits for what has to happen, and a hang ends in the test's timeout.
#define PROGRAMS_WITHOUT_MAIN
#include <tests/lifetime/plugin.hpp>
#include <tests/lifetime/program.hpp>

#include <dirent.h>
#include <dlfcn.h>
#include <pthread.h>
#include <sys/prctl.h>

#ifndef ASHLAR_FACE_DROP_IN
#include <ashlar/adapt/c_api.h>
#endif

namespace {

constexpr std::size_t load = (support::sanitized ? 24 : 96) * mebibyte;
constexpr std::size_t block_bytes = 500;
constexpr std::size_t count = load / block_bytes;
constexpr std::size_t survivor_each = 100;

void* blocks[count];
char** arguments;

// ---- what /proc tells of the thread ------------------------------------------------------------------

/// Returns: the number of the process's thread that is called "ashlar"; 0 if there is none.
long own_thread() {
  DIR* const tasks = ::opendir("/proc/self/task");
  REQUIRE(tasks != nullptr);
  long found = 0;
  while (const dirent* const entry = ::readdir(tasks)) {
    char path[300], name[32] = {};
    std::snprintf(path, sizeof path, "/proc/self/task/%s/comm", entry->d_name);
    const int file = ::open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) continue;
    const auto got = ::read(file, name, sizeof name - 1);
    ::close(file);
    if (got > 0 && std::strcmp(name, "ashlar\n") == 0) found = std::atol(entry->d_name);
  }
  ::closedir(tasks);
  return found;
}

/// Returns: the number behind `key` in the thread's status, in base `base`.
std::uint64_t status_of(long thread, const char* key, int base) {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/self/task/%ld/status", thread);
  return support::figure_in(path, key, base);
}

template <class Condition>
void wait_until(Condition condition) {
  while (!condition()) ::usleep(5'000);
}

/// The system lists a thread for a moment longer than others have to wait for its end.
[[maybe_unused]] void wait_until_gone() {
  wait_until([] { return own_thread() == 0; });
}

// ---- the program --------------------------------------------------------------------------------------

/// Effects: allocates and writes all blocks. Returns: the resident bytes then.
std::size_t load_up() {
  for (std::size_t i = 0; i < count; ++i) {
    blocks[i] = face::allocate(block_bytes);
    REQUIRE(blocks[i] != nullptr);
    std::memset(blocks[i], 0x33, block_bytes);
  }
  return support::resident_bytes();
}
/// Effects: frees them, but for a few that hold their slabs.
void free_most() {
  for (std::size_t i = 0; i < count; ++i)
    if (i % survivor_each != 0) face::release(blocks[i]);
}
void free_rest() {
  for (std::size_t i = 0; i < count; i += survivor_each) face::release(blocks[i]);
}
/// Whether most of what was loaded has gone since the process had `full` bytes. The survivors hold a page each, so a
/// seventh of all stays at most, and what a cache holds.
bool has_gone_since(std::size_t full) { return support::resident_bytes() + load / 2 < full; }

void wait_for_memory_to_go(std::size_t full) {
  // Sanitizers keep freed pages of their own; there the thread's work is all that counts.
  if (!support::sanitized) wait_until([&] { return has_gone_since(full); });
}

/// Whether the thread has not run for as long as three looks take.
void wait_for_sleep(long thread) {
  constexpr useconds_t three_looks_us = 1'600'000;
  const auto switches = [&] { return status_of(thread, "\nvoluntary_ctxt_switches:", 10); };
  for (std::uint64_t before = switches();;) {
    ::usleep(three_looks_us);
    const std::uint64_t now = switches();
    REQUIRE(now != 0);
    if (now == before) return;
    before = now;
  }
}

PROGRAM(off_by_default) {
  load_up();
  free_most();
  free_rest();
  ::usleep(50'000);
  REQUIRE(own_thread() == 0);
#ifndef ASHLAR_FACE_DROP_IN
  REQUIRE(ashlar_background(0) == 0);
#endif
}

// No call at all after the last free, which is when memory stayed for ever.
PROGRAM(quiet) {
  REQUIRE(own_thread() == 0);  // a small heap needs none
  const std::size_t full = load_up();
  wait_until([] { return own_thread() != 0; });
  free_most();
  wait_for_memory_to_go(full);
  const long thread = own_thread();
  REQUIRE(thread != 0);
  wait_for_sleep(thread);
  // It wakes up again when there is something to do again.
  const std::size_t again = load_up();
  free_most();
  wait_for_memory_to_go(again);
  REQUIRE(own_thread() == thread);
}

// Calls that all hit: nobody looks on a hit.
PROGRAM(ticking) {
  const std::size_t full = load_up();
  free_most();
  void* warm = face::allocate(64);
  face::release(warm);
  if (support::sanitized) return;
  wait_until([&] {
    face::release(face::allocate(64));
    return has_gone_since(full);
  });
}

// A handler of the program's never runs on the thread's small stack.
PROGRAM(signals_are_blocked) {
  load_up();
  wait_until([] { return own_thread() != 0; });
  const std::uint64_t blocked = status_of(own_thread(), "\nSigBlk:", 16);
  for (int signal = 1; signal <= 64; ++signal) {
    // Two cannot be blocked, and two are the C library's own (setuid of all threads).
    if (signal == SIGKILL || signal == SIGSTOP || signal == 32 || signal == 33) continue;
    REQUIRE((blocked >> (signal - 1) & 1) != 0);
  }
}

PROGRAM(fork_restarts) {
  const std::size_t full = load_up();
  wait_until([] { return own_thread() != 0; });
  support::fork_and_wait([full] {
    REQUIRE(own_thread() == 0);
    free_most();
    free_rest();
    // An allocation that misses: each of a class of its own.
    for (std::size_t size = 1'000; size < 30'000; size += 1'000)
      face::release(face::allocate(size));
    wait_until([] { return own_thread() != 0; });
    wait_for_memory_to_go(full);
    std::exit(42);
  });
  REQUIRE(own_thread() != 0);
  free_most();
  wait_for_memory_to_go(full);
}

// Forks while the thread looks every few milliseconds (ASHLAR_PURGE_DELAY_MS=20), and others are busy.
PROGRAM(busy_forks) {
  const busy::threads others(2);
  for (std::uint64_t i = 0; i < 60; ++i) {
    support::fork_and_wait([i] {
      busy::use_every_path(i, 6'000);
      std::exit(42);
    });
    busy::use_every_path(i, 1'000);
  }
}

// Every path of the heap beside the thread; then, without it, all tables are right.
PROGRAM(busy_threads) {
  {
    const busy::threads others(3);
    for (std::uint64_t i = 0; i < (support::sanitized ? 10 : 60); ++i) {
      std::thread([i] { busy::use_every_path(i, 6'000); }).join();
#ifndef ASHLAR_FACE_DROP_IN
      if (i % 8 == 7) {
        REQUIRE(ashlar_background(0) == 1);
        wait_until_gone();
        REQUIRE(ashlar_background(1) == 0);
      }
#endif
    }
  }
#ifndef ASHLAR_FACE_DROP_IN
  REQUIRE(ashlar_background(0) == 1);
  wait_until_gone();
  face::audit();
#endif
}

// ---- endings --------------------------------------------------------------------------------------------

[[nodiscard]] bool is_own_thread() {
  char name[17] = {};
  ::prctl(PR_GET_NAME, name);
  return std::strcmp(name, "ashlar") == 0;
}

/// What is left to do at exit runs on a thread of the program's, whose stack is large.
extern "C" void last_act() {
  REQUIRE(!is_own_thread());
  busy::use_every_path(1, 600);
}

PROGRAM(exit_from_main) {
  REQUIRE(std::atexit(last_act) == 0);
  load_up();
  wait_until([] { return own_thread() != 0; });
  free_most();
}

PROGRAM(exit_from_thread) {
  REQUIRE(std::atexit(last_act) == 0);
  load_up();
  wait_until([] { return own_thread() != 0; });
  free_most();
  std::thread([] { std::exit(0); }).join();
  std::exit(1);
}

// The main thread ends first. The process ends with the program's last thread, whatever the library's does.
PROGRAM(last_thread) {
  REQUIRE(std::atexit(last_act) == 0);
  static const long main_thread = static_cast<long>(::getpid());
  std::thread([] {
    wait_until([] { return status_of(main_thread, "\nThreads:", 10) >= 2; });
    load_up();
    wait_until([] { return own_thread() != 0; });
    free_most();
  }).detach();
  ::pthread_exit(nullptr);
}

#ifndef ASHLAR_FACE_DROP_IN
bool look_at_the_end = false;

void after_the_library() {
  if (look_at_the_end) wait_until_gone();
}
// After the library's own destructor, which ends the thread and has the last priority that is not reserved (101).
[[gnu::used, gnu::section(".fini_array.00100")]] void (*at_the_end)() = after_the_library;

PROGRAM(gone_before_the_end) {
  look_at_the_end = true;
  exit_from_main();
}

PROGRAM(on_and_off) {
  REQUIRE(ashlar_background(1) == 0);
  REQUIRE(ashlar_background(1) == 1);
  REQUIRE(own_thread() == 0);
  const std::size_t full = load_up();
  wait_until([] { return own_thread() != 0; });
  REQUIRE(ashlar_background(0) == 1);
  wait_until_gone();
  REQUIRE(ashlar_background(0) == 0);
  free_most();
  // A quiet process turns it on: nothing else has to happen.
  REQUIRE(ashlar_background(1) == 0);
  wait_until([] { return own_thread() != 0; });
  wait_for_memory_to_go(full);
}

// A sealed heap asks the system for nothing, so not for a thread either.
PROGRAM(sealed) {
  REQUIRE(ashlar_prefault(load * 2, 0) == 0);  // which is kept from then on
  ashlar_seal();
  REQUIRE(ashlar_background(1) == 0);
  load_up();
  free_most();
  REQUIRE(own_thread() == 0);
  ashlar_unseal();
  ashlar_set_purge(1'000, 0);
  face::release(face::allocate(40'000));
  wait_until([] { return own_thread() != 0; });
}
#endif

// ---- the system's answer, as the program says it ----------------------------------------------------------

#ifdef INTERPOSE_PTHREAD_CREATE
std::atomic<bool> is_refused = false;
std::atomic<unsigned> asked = 0;
std::atomic<std::size_t> stack_bytes = 0;

}  // namespace

extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                              void* (*body)(void*), void* argument) noexcept {
  using function = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  static const auto next = reinterpret_cast<function>(::dlsym(RTLD_NEXT, "pthread_create"));
  ++asked;
  std::size_t bytes = 0;
  if (attributes != nullptr) ::pthread_attr_getstacksize(attributes, &bytes);
  stack_bytes = bytes;
  if (is_refused) return EAGAIN;
  return next(thread, attributes, body, argument);
}

namespace {

PROGRAM(small_stack) {
  load_up();
  wait_until([] { return own_thread() != 0; });
  REQUIRE(asked == 1);
  REQUIRE(stack_bytes != 0 && stack_bytes <= 64 * 1024);
}

// Without the thread everything is as if it had not been asked for, and it is asked for once.
PROGRAM(refused) {
  is_refused = true;
  const std::size_t full = load_up();
  free_most();
  free_rest();
  REQUIRE(asked == 1);
  REQUIRE(own_thread() == 0);
  wait_until([&] {
    for (std::size_t i = 0; i < 3'000; ++i) blocks[i] = face::allocate(16 + i % 900);
    for (std::size_t i = 0; i < 3'000; ++i) face::release(blocks[i]);
    ::usleep(10'000);
    return has_gone_since(full);
  });
  REQUIRE(asked == 1);
}
#endif

// A plugin's copy of the library has a thread of its own, which outlives dlclose as the copy does.
PROGRAM(plugin) {
  void* const library = ::dlopen(arguments[2], RTLD_NOW | RTLD_LOCAL);
  REQUIRE(library != nullptr);
  const auto* const use = reinterpret_cast<plugin_entry*>(::dlsym(library, "plugin"))();
  for (void*& block : blocks) {
    block = use->allocate(block_bytes);
    std::memset(block, 0x33, block_bytes);
  }
  const std::size_t full = support::resident_bytes();
  wait_until([] { return own_thread() != 0; });
  for (void* block : blocks) use->release(block);
  REQUIRE(::dlclose(library) == 0);
  wait_for_memory_to_go(full);
}

}  // namespace

int main(int, char** argument_values) {
  arguments = argument_values;
  return run_program(argument_values[1]);
}
