// What one block of an arena costs, beside std::pmr::monotonic_buffer_resource and the least there
// is: a pointer that is aligned, compared and moved, written out by hand. Each figure is for one
// block of a batch; the reset between two batches is in it.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory_resource>
#include <new>
#include <span>

#include <benchmark/benchmark.h>

#include <ashlar/arena/arena.hpp>
#include <ashlar/arena/static_arena.hpp>
#include <ashlar/core/lock_policy.hpp>

namespace {

constexpr std::size_t batch = 1000;
constexpr std::size_t room = batch * 80;

alignas(64) std::byte bytes[room];

struct malloc_source {
  void* allocate(std::size_t n, std::size_t) noexcept { return std::malloc(n); }
  void deallocate(void* p, std::size_t, std::size_t) noexcept { std::free(p); }
};

// ---- who is measured: allocate(size, alignment) and reset() ----

struct by_hand {
  std::byte* top = bytes;
  void* allocate(std::size_t size, std::size_t alignment) {
    const auto at = (reinterpret_cast<std::uintptr_t>(top) + alignment - 1) & -alignment;
    auto* const p = reinterpret_cast<std::byte*>(at);
    if (size > static_cast<std::size_t>(bytes + room - p)) return nullptr;
    top = p + size;
    return p;
  }
  void reset() { top = bytes; }
};

struct pmr_on_storage {
  std::pmr::monotonic_buffer_resource resource{bytes, room, std::pmr::null_memory_resource()};
  void* allocate(std::size_t size, std::size_t alignment) {
    return resource.allocate(size, alignment);
  }
  void reset() { resource.release(); }
};
struct pmr_on_heap {
  std::pmr::monotonic_buffer_resource resource{4096};
  void* allocate(std::size_t size, std::size_t alignment) {
    return resource.allocate(size, alignment);
  }
  void reset() { resource.release(); }  // and everything back to the heap: it has no other
};

template <class... Policies>
struct on_storage : ashlar::arena<Policies...> {
  on_storage() : ashlar::arena<Policies...>(std::span<std::byte>(bytes)) {}
};
template <class... Policies>
using inside = ashlar::static_arena<room, Policies...>;
template <class... Policies>
struct on_heap : ashlar::arena<malloc_source, Policies...> {};

// ---- what is measured ----

template <class Subject>
void batches(benchmark::State& state, auto one) {
  static Subject subject;
  while (state.KeepRunningBatch(batch)) {
    for (std::size_t i = 0; i < batch; ++i) {
      auto* p = one(subject, i);
      benchmark::DoNotOptimize(p);
    }
    subject.reset();
  }
}
template <class Subject>
void fixed_size(benchmark::State& state) {
  batches<Subject>(state, [](Subject& from, std::size_t) { return from.allocate(48, 16); });
}
template <class Subject>
void mixed_sizes(benchmark::State& state) {
  batches<Subject>(state, [](Subject& from, std::size_t i) {
    std::size_t size = 1 + i * 37 % 64;
    std::size_t alignment = std::size_t{1} << (i % 5);
    benchmark::DoNotOptimize(size);
    benchmark::DoNotOptimize(alignment);
    return from.allocate(size, alignment);
  });
}

template <class Subject>
void scopes(benchmark::State& state) {
  static Subject subject;
  while (state.KeepRunningBatch(batch)) {
    for (std::size_t i = 0; i < batch; ++i) {
      const ashlar::arena_scope scope(subject);
      void* p = subject.allocate(48, 16);
      benchmark::DoNotOptimize(p);
    }
  }
}

struct with_destructor {
  ~with_destructor() { benchmark::DoNotOptimize(value); }
  int value = 1;
};
template <class Subject>
void objects_that_end(benchmark::State& state) {
  batches<Subject>(state,
                   [](Subject& in, std::size_t) { return in.template create<with_destructor>(); });
}

using ashlar::counting::none;

BENCHMARK(fixed_size<by_hand>);
BENCHMARK(fixed_size<inside<none>>);
BENCHMARK(fixed_size<inside<>>);
BENCHMARK(fixed_size<on_storage<none>>);
BENCHMARK(fixed_size<on_storage<>>);
BENCHMARK(fixed_size<on_storage<ashlar::spin_lock>>);
BENCHMARK(fixed_size<pmr_on_storage>);
BENCHMARK(fixed_size<on_heap<none>>);
BENCHMARK(fixed_size<on_heap<>>);
BENCHMARK(fixed_size<pmr_on_heap>);

BENCHMARK(mixed_sizes<by_hand>);
BENCHMARK(mixed_sizes<on_storage<none>>);
BENCHMARK(mixed_sizes<on_storage<>>);
BENCHMARK(mixed_sizes<pmr_on_storage>);
BENCHMARK(mixed_sizes<on_heap<>>);
BENCHMARK(mixed_sizes<pmr_on_heap>);

BENCHMARK(scopes<on_storage<>>);
BENCHMARK(scopes<on_heap<>>);  // each scope begins and ends without a chunk in use
BENCHMARK(objects_that_end<on_storage<>>);

}  // namespace
