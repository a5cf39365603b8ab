// What an out-of-memory handler may do: allocate, free, start a thread that does, fork. A lock that is held while the
// handler runs would stop the thread or the child. The program has to succeed whichever request for pages is refused
// first, and all later ones with it, for its handler makes memory available again: sweep.py tries every n.
#include <iterator>
#include <tests/support/in_child.hpp>
#include <tests/support/require.hpp>

#include <pthread.h>
#include <tests/support/programs.h>
#include <tests/sweep/failing_pages.h>
#ifndef ASHLAR_FACE_DROP_IN
#include <ashlar/ashlar.hpp>
#include <ashlar/os/mutex.hpp>
#include <ashlar/os/page_source.hpp>
#endif

namespace {

/// Allocates and frees without asking the handler. Returns: whether there was memory.
bool (*use_quietly)() = nullptr;
int handler_calls = 0;

void* use_in_thread(void*) { return use_quietly() ? &handler_calls : nullptr; }

bool use_in_other_thread() {
  pthread_t thread{};
  if (::pthread_create(&thread, nullptr, use_in_thread, nullptr) != 0) return false;
  void* served = nullptr;
  REQUIRE(::pthread_join(thread, &served) == 0);
  return served != nullptr;
}

void handler() {
  ++handler_calls;
  static_cast<void>(use_quietly());  // there may be none, but it has to return
  sweep_memory_is_back();
  REQUIRE(use_in_other_thread());

  REQUIRE(support::exit_status_of([] { return use_quietly() ? 0 : 1; }, 10) == 0);
  REQUIRE(use_quietly());
}

constexpr std::size_t sizes[] = {24, 700, 64, 9'000, 48, 40'000, 200, 150'000, 3'000'000, 16};
constexpr std::size_t block_count = 400;

/// Takes blocks of many sizes, or of one, and gives them back; all must come.
template <class Allocate, class Release>
void fill_and_drop(Allocate allocate, Release release, std::size_t one_size = 0) {
  use_in_other_thread();  // the C library keeps what a first thread takes
  static void* blocks[block_count];
  for (int round = 0; round < 2; ++round) {
    for (std::size_t i = 0; i < block_count; ++i) {
      const std::size_t size = one_size != 0 ? one_size : sizes[i % std::size(sizes)];
      blocks[i] = allocate(size);
      REQUIRE(blocks[i] != nullptr);
      std::memset(blocks[i], 0x5a, size < 4096 ? size : 4096);
    }
    for (std::size_t i = 0; i < block_count; ++i)
      release(blocks[i], one_size != 0 ? one_size : sizes[i % std::size(sizes)]);
  }
  std::fprintf(stderr, "the handler was called %d times\n", handler_calls);
}

#ifdef ASHLAR_FACE_DROP_IN

// The compiler may leave out a pair of new-expressions, but not direct calls through this pointer.
void* (*volatile allocate)(std::size_t) = ::operator new;

PROGRAM(operators) {
  use_quietly = [] {
    void* const block = std::malloc(5'000);
    void* const large = std::malloc(400'000);
    const bool served = block != nullptr && large != nullptr;
    std::free(block);
    std::free(large);
    return served;
  };
  std::set_new_handler(handler);
  fill_and_drop([](std::size_t size) { return allocate(size); },
                [](void* block, std::size_t) { ::operator delete(block); });
}

#else

using policy = ashlar::exhaustion::handler_and_retry<>;

PROGRAM(process_heap) {
  use_quietly = [] {
    void* const block = ::xmalloc(5'000);
    void* const large = ::xmalloc(400'000);
    const bool served = block != nullptr && large != nullptr;
    ::xfree(block);
    ::xfree(large);
    return served;
  };
  std::set_new_handler(handler);
  ashlar::allocator<std::byte> allocator;
  fill_and_drop([&](std::size_t size) { return static_cast<void*>(allocator.allocate(size)); },
                [&](void* block, std::size_t size) {
                  allocator.deallocate(static_cast<std::byte*>(block), size);
                });
}

/// Returns: whether the component has a block of `size`, which it gets back.
template <class Component>
bool has_block(Component& component, std::size_t size) {
  void* const block = component.try_allocate(size);
  if (block != nullptr) component.deallocate(block, size);
  return block != nullptr;
}

ashlar::heap<policy>* instance = nullptr;
PROGRAM(heap_instance) {
  // Without its own data, which it takes here, a heap is empty for ever, whatever a handler does.
  sweep_memory_is_back();
  ashlar::heap<policy> own;
  sweep_memory_is_short();
  instance = &own;
  use_quietly = [] { return has_block(*instance, 5'000) && has_block(*instance, 400'000); };
  std::set_new_handler(handler);
  fill_and_drop([&](std::size_t size) { return own.allocate(size); },
                [&](void* block, std::size_t size) { own.deallocate(block, size); });
}

using shared_pool = ashlar::fixed_pool<ashlar::os::mutex, ashlar::os::page_source, policy>;
shared_pool* the_pool = nullptr;
PROGRAM(pool) {
  shared_pool own({3'000, 16}, ashlar::heap_blocks{4});
  the_pool = &own;
  use_quietly = [] {
    void* const block = the_pool->try_allocate();
    the_pool->deallocate(block);
    return block != nullptr;
  };
  std::set_new_handler(handler);
  fill_and_drop([&](std::size_t) { return own.allocate(); },
                [&](void* block, std::size_t) { own.deallocate(block); }, 3'000);
}

using shared_arena = ashlar::arena<ashlar::os::mutex, ashlar::os::page_source, policy>;
shared_arena* the_arena = nullptr;
PROGRAM(arena) {
  shared_arena own;
  the_arena = &own;
  use_quietly = [] { return the_arena->try_allocate(100) != nullptr; };
  std::set_new_handler(handler);
  fill_and_drop([&](std::size_t size) { return own.allocate(size); }, [](void*, std::size_t) {});
}
#endif

}  // namespace
