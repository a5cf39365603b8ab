// Threads with the least stack that the system allows: all of the heap's paths fit, whoever's memory
// the stack is.
#include <tests/lifetime/program.hpp>

#include <pthread.h>
#include <sys/mman.h>

namespace {

// As constants of the program were before they came to depend on the processor.
const std::size_t stack_bytes = static_cast<std::size_t>(::sysconf(_SC_THREAD_STACK_MIN));

extern "C" void* use_heap(void* seed) {
  busy::use_every_path(reinterpret_cast<std::uintptr_t>(seed), 1'000);
#ifdef ASHLAR_FACE_DROP_IN
  REQUIRE(::mallinfo2().arena != 0);
  static std::FILE* const nowhere = std::fopen("/dev/null", "w");
  REQUIRE(nowhere != nullptr && ::malloc_info(0, nowhere) == 0);
  ::malloc_stats();
#else
  static ashlar_stats stats;
  ashlar_stats_get(&stats);
#endif
  return face::allocate(100);  // outlives the thread
}

// Beyond the stack there is a page that must not be touched: a crash would tell.
PROGRAM(many_threads) {
  pthread_attr_t attributes;
  REQUIRE(::pthread_attr_init(&attributes) == 0);
  REQUIRE(::pthread_attr_setstacksize(&attributes, stack_bytes) == 0);
  for (std::uintptr_t round = 0; round < 100; ++round) {
    pthread_t threads[4];
    for (pthread_t& thread : threads) {
      REQUIRE(::pthread_create(&thread, &attributes, use_heap, reinterpret_cast<void*>(round)) ==
              0);
    }
    for (const pthread_t& thread : threads) {
      void* block = nullptr;
      REQUIRE(::pthread_join(thread, &block) == 0);
      REQUIRE(block != nullptr);
      face::release(block);
    }
  }
  REQUIRE(::pthread_attr_destroy(&attributes) == 0);
  face::audit();
}

// How much is left at the deepest moment, told by bytes that nobody has written to.
PROGRAM(depth) {
  void* const stack =
      ::mmap(nullptr, stack_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(stack != MAP_FAILED);
  const auto deepest = [&](void* (*body)(void*)) {
    std::memset(stack, 0x5a, stack_bytes);
    pthread_attr_t attributes;
    REQUIRE(::pthread_attr_init(&attributes) == 0);
    REQUIRE(::pthread_attr_setstack(&attributes, stack, stack_bytes) == 0);
    pthread_t thread;
    REQUIRE(::pthread_create(&thread, &attributes, body, nullptr) == 0);
    void* block = nullptr;
    REQUIRE(::pthread_join(thread, &block) == 0);
    face::release(block);
    std::size_t untouched = 0;
    while (static_cast<unsigned char*>(stack)[untouched] == 0x5a) ++untouched;
    return stack_bytes - untouched;
  };
  const std::size_t nothing = deepest([](void*) { return static_cast<void*>(nullptr); });
  const std::size_t heap = deepest(use_heap);
  const std::size_t family = deepest([](void*) {
    busy::use_every_path(5, 1'000);
    return static_cast<void*>(nullptr);
  });
  std::printf(
      "of %zu bytes of stack a thread that does nothing needs %zu, every path of the heap "
      "%zu more, statistics %zu more\n",
      stack_bytes, nothing, family - nothing, heap - nothing);
  REQUIRE(family - nothing <= 3'072);
  REQUIRE(heap < stack_bytes);
}

}  // namespace
