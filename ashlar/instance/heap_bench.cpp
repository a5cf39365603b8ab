// What a heap of one's own costs, beside the process heap and the standard library's shared pools.
// ns per pair of allocate and free; for the life of a heap, ns per heap.
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <memory_resource>

#include <benchmark/benchmark.h>

#include <ashlar/instance/heap.hpp>
#include <ashlar/runtime/process_heap.hpp>

namespace {

struct process_face {
  void* allocate(std::size_t n) { return ashlar::runtime::allocate(n); }
  void deallocate(void* p, std::size_t) { ashlar::runtime::deallocate(p, "free"); }
};
template <ashlar::heap_options options, class... Policies>
struct heap_of {
  ashlar::heap<Policies...> heap{options};
  void* allocate(std::size_t n) { return heap.try_allocate(n); }
  void deallocate(void* p, std::size_t n) { heap.deallocate(p, n); }
};
using heap_face = heap_of<ashlar::heap_options{}>;
using budget_face = heap_of<ashlar::heap_options{.budget_bytes = 64 << 20}>;
/// Full checks without call stacks, which take ten times as long.
template <class Check>
using checked_face = heap_of<ashlar::heap_options{.check_stack_depth = 0}, Check>;
struct pmr_face {
  std::pmr::synchronized_pool_resource pool;
  void* allocate(std::size_t n) { return pool.allocate(n); }
  void deallocate(void* p, std::size_t n) { pool.deallocate(p, n); }
};

template <class Face>
Face& shared() {
  static Face face;
  return face;
}

template <class Face>
void pair_of_64(benchmark::State& state) {
  Face& face = shared<Face>();
  for (auto _ : state) {
    void* p = face.allocate(64);
    benchmark::DoNotOptimize(p);
    face.deallocate(p, 64);
  }
}

/// A thousand blocks of 16 to 1,039 bytes live; a random one is replaced.
template <class Face>
void replace_one_of_1000(benchmark::State& state) {
  Face& face = shared<Face>();
  struct block {
    void* p = nullptr;
    std::size_t n = 0;
  };
  std::array<block, 1000> live{};
  std::uint64_t random = 88172645463325252u + static_cast<std::uint64_t>(state.thread_index());
  const auto replace = [&](block& b) {
    b.n = 16 + (random >> 40) % 1024;
    b.p = face.allocate(b.n);
    *static_cast<char*>(b.p) = 1;
  };
  const auto next = [&random] {
    random ^= random << 13;
    random ^= random >> 7;
    random ^= random << 17;
  };
  for (block& b : live) {
    next();
    replace(b);
  }
  for (auto _ : state) {
    next();
    block& b = live[random % live.size()];
    face.deallocate(b.p, b.n);
    replace(b);
  }
  for (block& b : live) face.deallocate(b.p, b.n);
}

/// A face from its beginning to its end, with some allocations in between.
template <class Face>
void life(benchmark::State& state) {
  for (auto _ : state) {
    Face face;
    for (std::int64_t i = 0; i < state.range(0); ++i) {
      void* p = face.allocate(64);
      benchmark::DoNotOptimize(p);
    }
  }
}

BENCHMARK(pair_of_64<process_face>)->ThreadRange(1, 2)->UseRealTime();
BENCHMARK(pair_of_64<heap_face>)->ThreadRange(1, 2)->UseRealTime();
BENCHMARK(pair_of_64<budget_face>)->ThreadRange(1, 2)->UseRealTime();
BENCHMARK(pair_of_64<checked_face<ashlar::check::cheap>>);
BENCHMARK(pair_of_64<checked_face<ashlar::check::full<>>>);
BENCHMARK(pair_of_64<pmr_face>)->ThreadRange(1, 2)->UseRealTime();
BENCHMARK(replace_one_of_1000<process_face>)->ThreadRange(1, 2)->UseRealTime();
BENCHMARK(replace_one_of_1000<heap_face>)->ThreadRange(1, 2)->UseRealTime();
BENCHMARK(replace_one_of_1000<budget_face>)->ThreadRange(1, 2)->UseRealTime();
BENCHMARK(replace_one_of_1000<pmr_face>)->ThreadRange(1, 2)->UseRealTime();
BENCHMARK(life<budget_face>)->Arg(0)->Arg(1)->Arg(1000);
BENCHMARK(life<pmr_face>)->Arg(0)->Arg(1)->Arg(1000);

}  // namespace
