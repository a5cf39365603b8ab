// Many threads that used the heap, freed all of it and are idle: what their caches hold is bounded
// by a total, whatever their number.
#define PROGRAMS_WITHOUT_MAIN
#include <cmath>
#include <tests/lifetime/program.hpp>

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>

#include <ashlar/heap/heap_bounds.hpp>

namespace {

constexpr std::size_t thread_count = 500;
/// What a thread has in memory beside its blocks: pages of its stack, of its locals, of its cache.
constexpr std::size_t thread_bytes = std::size_t{32} << 10;
/// What is free in the heap and was not given back: more than one thread has in use at a time.
constexpr std::size_t free_bytes = 8 * mebibyte;

sem_t used, ended;

void* use_and_wait(void* key) {
  constexpr std::size_t count = 200;
  support::random_source random(reinterpret_cast<std::uintptr_t>(key));
  void* blocks[count];
  for (int round = 0; round < 3; ++round) {
    for (void*& block : blocks) {
      const std::size_t size = 16 + random.below(8'000);
      block = face::allocate(size);
      REQUIRE(block != nullptr);
      std::memset(block, 1, size);
    }
    for (void* block : blocks) face::release(block);
  }
  ::sem_post(&used);
  while (::sem_wait(&ended) != 0) {
  }
  return nullptr;
}

/// Effects: begins the program anew with one processor, if it has more: the total follows them, and
/// what this test allows has to be far below what it fails on.
void run_on_one_processor(char** arguments) {
  cpu_set_t mine, one;
  REQUIRE(::sched_getaffinity(0, sizeof mine, &mine) == 0);
  if (CPU_COUNT(&mine) == 1) return;
  CPU_ZERO(&one);
  for (unsigned i = 0; CPU_COUNT(&one) == 0; ++i)
    if (CPU_ISSET(i, &mine)) CPU_SET(i, &one);
  REQUIRE(::sched_setaffinity(0, sizeof one, &one) == 0);
  ::execv("/proc/self/exe", arguments);
  REQUIRE(false);
}

PROGRAM(one_after_another) {
  ::sem_init(&used, 0, 0);
  ::sem_init(&ended, 0, 0);
  face::release(face::allocate(1));
  const std::size_t before = support::resident_bytes();
  static pthread_t threads[thread_count];
  pthread_attr_t small;
  ::pthread_attr_init(&small);
  ::pthread_attr_setstacksize(&small, 128 << 10);
  for (std::size_t i = 0; i < thread_count; ++i) {
    REQUIRE(::pthread_create(&threads[i], &small, use_and_wait, reinterpret_cast<void*>(i + 1)) ==
            0);
    while (::sem_wait(&used) != 0) {
    }
  }
  const std::size_t idle = support::resident_bytes();
  const auto total = static_cast<double>(ashlar::heap_bounds{}.caches_total(1));
  // ashlar/heap/heap_bounds.hpp: T * (1 + ln N).
  const auto caches = static_cast<std::size_t>(total * (1 + std::log(double{thread_count})));
  const std::size_t allowed = caches + thread_count * thread_bytes + free_bytes;
  std::printf("%zu idle threads: resident %zu KiB more than before them, allowed %zu KiB\n",
              thread_count, (idle - before) / 1024, allowed / 1024);
  for (std::size_t i = 0; i < thread_count; ++i) ::sem_post(&ended);
  for (pthread_t thread : threads) ::pthread_join(thread, nullptr);
  REQUIRE(idle < before + allowed);
}

}  // namespace

int main(int, char** arguments) {
  run_on_one_processor(arguments);
  return run_program(arguments[1]);
}
