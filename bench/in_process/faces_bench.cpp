// bench/in_process/faces_bench.cpp: what each face of ashlar costs inside the program, beside what a program would use
// instead: the table of faces in results/measurements.md. Containers are in containers_bench.
//
//   pair        allocate and free a block of 64 bytes
//   random      10,000 blocks of 64 bytes, freed in shuffled order
//   replace     one of 1,000 blocks of 16 to 1,039 bytes, chosen at random
//   batch       a block of 48 bytes of an arena that begins anew after 1,000 of them
//   life        a heap from its beginning to its end, with so many blocks
//   lock        a lock and an unlock: while the process has one thread, and after it has started another
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <memory_resource>
#include <mutex>
#include <numeric>
#include <random>
#include <span>
#include <thread>
#include <vector>

#include <benchmark/benchmark.h>

#include <ashlar/ashlar.hpp>
#include <ashlar/runtime/process_heap.hpp>

namespace {

constexpr std::size_t few = 10'000;
struct alignas(16) object {
  unsigned char bytes[64];
};

template <class T>
T* opaque(T* p) {
  asm volatile("" : "+r"(p) : : "memory");
  return p;
}

// ---- what is measured: allocate(size) and deallocate(p, size) ----

template <class... Policies>
struct pool_of {
  ashlar::static_pool<object, few, Policies...> pool;
  void* allocate(std::size_t) { return pool.allocate(); }
  void deallocate(void* p, std::size_t) { pool.deallocate(p); }
};
using unchecked_pool = pool_of<ashlar::check::none, ashlar::counting::none>;
using pool = pool_of<>;

/// The objects' class among others, by a size that the compiler knows.
struct pool_set {
  ashlar::static_pool_set<ashlar::blocks<16, 10>, ashlar::blocks<32, 10>, ashlar::blocks<64, few>,
                          ashlar::blocks<400, 10>>
      set;
  void* allocate(std::size_t) { return set.allocate(64, 16); }
  void deallocate(void* p, std::size_t) { set.deallocate(p, 64, 16); }
};

/// A list through the free blocks, which are an array: what one writes by hand. Nothing is checked or counted.
class list_by_hand {
 public:
  list_by_hand() {
    for (std::size_t i = few; i-- > 0;) deallocate(&slots_[i], 0);
  }
  void* allocate(std::size_t) {
    slot* const s = free_;
    if (s != nullptr) free_ = s->next;
    return s;
  }
  void deallocate(void* p, std::size_t) {
    slot* const s = static_cast<slot*>(p);
    s->next = free_;
    free_ = s;
  }

 private:
  union slot {
    slot* next;
    object used;
  };
  slot* free_ = nullptr;
  slot slots_[few];
};

struct process_heap {
  void* allocate(std::size_t n) { return ashlar::runtime::allocate(n); }
  void deallocate(void* p, std::size_t) { ashlar::runtime::deallocate(p, "free"); }
};
/// Full checks without call stacks, which take ten times as long.
template <class... Policies>
struct heap_of {
  ashlar::heap<Policies...> heap{{.budget_bytes = 64 << 20, .check_stack_depth = 0}};
  void* allocate(std::size_t n) { return heap.try_allocate(n); }
  void deallocate(void* p, std::size_t n) { heap.deallocate(p, n); }
};
using heap = heap_of<>;
using cheaply_checked_heap = heap_of<ashlar::check::cheap>;
using fully_checked_heap = heap_of<ashlar::check::full<>>;
struct pmr_pools {
  std::pmr::synchronized_pool_resource resource;
  void* allocate(std::size_t n) { return resource.allocate(n); }
  void deallocate(void* p, std::size_t n) { resource.deallocate(p, n); }
};

// ---- the patterns ----

/// One for all threads, filled and emptied once, reached through a pointer that the compiler knows nothing of.
template <class Face>
Face& shared() {
  static Face& face = []() -> Face& {
    auto* const made = opaque(new Face);
    std::vector<void*> blocks(few);
    for (void*& p : blocks) p = made->allocate(64);
    for (void* p : blocks) made->deallocate(p, 64);
    return *made;
  }();
  return face;
}

template <class Face>
void pair(benchmark::State& state) {
  Face& face = shared<Face>();
  for (auto _ : state) face.deallocate(opaque(face.allocate(64)), 64);
}

template <class Face>
void random(benchmark::State& state) {
  Face& face = shared<Face>();
  std::vector<void*> blocks(few);
  std::vector<std::uint32_t> order(few);
  std::iota(order.begin(), order.end(), 0u);
  std::shuffle(order.begin(), order.end(), std::mt19937(1));
  while (state.KeepRunningBatch(few)) {
    for (void*& p : blocks) p = opaque(face.allocate(64));
    for (const std::uint32_t i : order) face.deallocate(blocks[i], 64);
  }
}

template <class Face>
void replace(benchmark::State& state) {
  Face& face = shared<Face>();
  std::minstd_rand random(static_cast<unsigned>(state.thread_index()) + 1);
  std::array<std::pair<void*, std::size_t>, 1000> live{};
  const auto fill = [&](auto& block) {
    block.second = 16 + random() % 1024;
    block.first = face.allocate(block.second);
    *static_cast<char*>(block.first) = 1;
  };
  for (auto& block : live) fill(block);
  for (auto _ : state) {
    auto& block = live[random() % live.size()];
    face.deallocate(block.first, block.second);
    fill(block);
  }
  for (auto& [p, n] : live) face.deallocate(p, n);
}

template <class Face>
void life(benchmark::State& state) {
  for (auto _ : state) {
    Face face;
    for (std::int64_t i = 0; i < state.range(0); ++i) opaque(face.allocate(64));
  }
}

constexpr std::size_t batch_blocks = 1000;
constexpr std::size_t batch_bytes = batch_blocks * 64;
struct pmr_arena {
  alignas(64) std::byte bytes[batch_bytes];
  std::pmr::monotonic_buffer_resource resource{bytes, batch_bytes,
                                               std::pmr::null_memory_resource()};
  void* allocate(std::size_t n, std::size_t a) { return resource.allocate(n, a); }
  void reset() { resource.release(); }
};
template <class Arena>
void batch(benchmark::State& state) {
  static Arena arena;
  while (state.KeepRunningBatch(batch_blocks)) {
    for (std::size_t i = 0; i < batch_blocks; ++i) opaque(arena.allocate(48, 16));
    arena.reset();
  }
}

template <class Lock>
void lock(benchmark::State& state) {
  static Lock one;
  for (auto _ : state) {
    one.lock();
    benchmark::ClobberMemory();
    one.unlock();
  }
}
template <class Lock>
void lock_after_a_thread(benchmark::State& state) {
  static std::jthread other(
      [] {});  // from here on the C library takes the process for multi-threaded
  lock<Lock>(state);
}

// These first: a process that has started a thread stays one that has.
BENCHMARK(lock<ashlar::os::mutex>);
BENCHMARK(lock<std::mutex>);
BENCHMARK(lock<ashlar::spin_lock>);
BENCHMARK(pair<unchecked_pool>);
BENCHMARK(pair<pool>);
BENCHMARK(pair<pool_set>);
BENCHMARK(pair<list_by_hand>);
BENCHMARK(random<unchecked_pool>);
BENCHMARK(random<pool>);
BENCHMARK(random<pool_set>);
BENCHMARK(random<list_by_hand>);
BENCHMARK(batch<ashlar::static_arena<batch_bytes>>);
BENCHMARK(batch<pmr_arena>);
BENCHMARK(life<heap>)->Arg(0)->Arg(1);
BENCHMARK(life<pmr_pools>)->Arg(0)->Arg(1);
BENCHMARK(pair<cheaply_checked_heap>);
BENCHMARK(pair<fully_checked_heap>);
BENCHMARK(pair<process_heap>)->ThreadRange(1, 2)->UseRealTime();
BENCHMARK(pair<heap>)->ThreadRange(1, 2)->UseRealTime();
BENCHMARK(pair<pmr_pools>)->ThreadRange(1, 2)->UseRealTime();
BENCHMARK(replace<process_heap>)->ThreadRange(1, 2)->UseRealTime();
BENCHMARK(replace<heap>)->ThreadRange(1, 2)->UseRealTime();
BENCHMARK(replace<pmr_pools>)->ThreadRange(1, 2)->UseRealTime();
BENCHMARK(lock_after_a_thread<ashlar::os::mutex>);
BENCHMARK(lock_after_a_thread<std::mutex>);
BENCHMARK(lock_after_a_thread<ashlar::spin_lock>);

}  // namespace
