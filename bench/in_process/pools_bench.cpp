// bench/in_process/pools_bench.cpp: what a block of 64 bytes costs inside the program: ashlar's faces, with the default
// checks and counters and without ("unchecked"), beside other pools and what nobody can beat. run_table.py makes the
// table. Arenas are in arena_bench, heaps and the process heap in instance_bench, a pool that grows in containers_bench.
//
//   pair            allocate, free
//   random_10k      allocate 10,000, free them in shuffled order
//   churn_1m_touch  1,000,000 live: free a random one, allocate one, write a word into it
//   fresh_10k       a new allocator, and each of its 10,000 blocks once
//
// An item is a pair of allocate and free (in fresh_10k, an allocate). Every allocator has been filled and
// emptied once before it is measured, so that a list that is built up front and one that is carved on first
// use start alike; fresh_10k is where they differ. It is reached through a pointer that the compiler knows
// nothing of, for all alike.
//
// A row is a template over the number of blocks, with
//   void* allocate(); void deallocate(void*);
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <memory_resource>
#include <numeric>
#include <random>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include <benchmark/benchmark.h>

#include <ashlar/pool/object_pool.hpp>
#include <ashlar/pool/packed_pool.hpp>
#include <ashlar/pool/pool_set.hpp>
#include <ashlar/pool/static_pool.hpp>

#if __has_include(<boost/pool/pool.hpp>)
#define WITH_BOOST 1
#include <boost/pool/pool.hpp>
#endif
#if defined(WITH_FOONATHAN)
#include <foonathan/memory/memory_pool.hpp>
#endif

namespace {

constexpr std::size_t few = 10'000;
constexpr std::size_t many = 1'000'000;

/// What is in a block.
struct alignas(16) object {
  unsigned char bytes[64];
};
constexpr ashlar::block_layout layout = ashlar::block_layout::of<object>();

template <class T>
T* opaque(T* p) {
  asm volatile("" : "+r"(p) : : "memory");
  return p;
}

// ---- ashlar's faces ----

template <std::size_t count, class... Policies>
using in_static_pool = ashlar::static_pool<object, count, Policies...>;

/// A pool over bytes of its own.
template <class Pool, std::size_t size>
class over_bytes {
 public:
  void* allocate() { return pool_.allocate(); }
  void deallocate(void* p) { pool_.deallocate(p); }

 private:
  static Pool make(std::span<std::byte> bytes) {
    if constexpr (std::is_constructible_v<Pool, std::span<std::byte>>)
      return Pool(bytes);
    else
      return Pool(layout, bytes);
  }
  std::unique_ptr<std::byte[]> bytes_ = std::make_unique_for_overwrite<std::byte[]>(size);
  Pool pool_ = make({bytes_.get(), size});
};
template <std::size_t count, class... Policies>
using in_fixed_pool = over_bytes<ashlar::fixed_pool<Policies...>,
                                 ashlar::fixed_pool<Policies...>::storage_bytes(layout, count)>;
template <std::size_t count, class... Policies>
using in_object_pool = over_bytes<ashlar::object_pool<object, Policies...>,
                                  ashlar::object_pool<object, Policies...>::storage_bytes(count)>;
template <std::size_t count>
using in_packed_pool = over_bytes<ashlar::packed_pool<>, (count + 1) * sizeof(object)>;

/// By a size that the compiler knows.
template <class Pools>
class by_size {
 public:
  void* allocate() { return pools_.allocate(sizeof(object), alignof(object)); }
  void deallocate(void* p) { pools_.deallocate(p, sizeof(object), alignof(object)); }

 private:
  Pools pools_;
};
/// The objects' class among others.
template <std::size_t count, class... Policies>
using pool_set = ashlar::static_pool_set<ashlar::blocks<16, 10>, ashlar::blocks<32, 10>,
                                         ashlar::blocks<sizeof(object), count>,
                                         ashlar::blocks<400, 10>, Policies...>;
template <std::size_t count, class... Policies>
using in_pool_set = by_size<pool_set<count, Policies...>>;

/// The same by a size known at run time, and an address.
template <std::size_t count, class... Policies>
class in_pool_set_at_run_time {
 public:
  void* allocate() { return set_.allocate(*opaque(&size_)); }
  void deallocate(void* p) { set_.deallocate(p); }

 private:
  std::size_t size_ = sizeof(object);
  pool_set<count, Policies...> set_;
};

// ---- the pools that people have at hand ----

template <std::size_t>
using in_pmr_pool = by_size<std::pmr::unsynchronized_pool_resource>;

#if defined(WITH_BOOST)
template <std::size_t count>
class in_boost_pool {
 public:
  void* allocate() { return pool_.malloc(); }
  void deallocate(void* p) { pool_.free(p); }

 private:
  boost::pool<> pool_{sizeof(object), count};
};
#endif

#if defined(WITH_FOONATHAN)
template <std::size_t count>
class in_foonathan_pool {
  using pool = foonathan::memory::memory_pool<foonathan::memory::node_pool>;

 public:
  void* allocate() { return pool_.allocate_node(); }
  void deallocate(void* p) { pool_.deallocate_node(p); }

 private:
  pool pool_{sizeof(object), pool::min_block_size(sizeof(object), count)};
};
#endif

// ---- the least that allocating a block can cost; nothing is checked or counted ----

/// A list through the free blocks, which are an array. What one writes by hand.
template <std::size_t count>
class intrusive_list {
 public:
  intrusive_list() {
    for (std::size_t i = count; i-- > 0;) deallocate(&slots_[i]);
  }
  void* allocate() {
    slot* const s = free_;
    if (s != nullptr) free_ = s->next;
    return s;
  }
  void deallocate(void* p) {
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
  slot slots_[count];
};

/// The free blocks' addresses in an array of their own: no free block is read or written.
template <std::size_t count>
class address_stack {
 public:
  address_stack() {
    for (std::size_t i = count; i-- > 0;) deallocate(&objects_[i]);
  }
  void* allocate() { return top_ != 0 ? free_[--top_] : nullptr; }
  void deallocate(void* p) { free_[top_++] = p; }

 private:
  std::size_t top_ = 0;
  void* free_[count];
  object objects_[count];
};

// ---- the patterns ----

/// A row that has been filled and emptied once, and the blocks of the measured loops.
template <class Row, std::size_t count>
struct warm {
  std::unique_ptr<Row> owner = std::make_unique<Row>();
  Row& row = *opaque(owner.get());
  std::vector<void*> blocks = std::vector<void*>(count);
  std::vector<std::uint32_t> order = std::vector<std::uint32_t>(count);

  warm() {
    fill();
    if (std::ranges::count(blocks, nullptr) != 0) {
      std::fputs("pools_bench: an allocator had no block left\n", stderr);
      std::abort();
    }
    for (std::size_t i = count; i-- > 0;) row.deallocate(opaque(blocks[i]));
    std::iota(order.begin(), order.end(), 0u);
    std::shuffle(order.begin(), order.end(), std::mt19937(1));
  }
  void fill() {
    for (void*& p : blocks) p = opaque(row.allocate());
  }
  void free_shuffled() {
    for (const std::uint32_t i : order) row.deallocate(opaque(blocks[i]));
  }
};

void set_items(benchmark::State& state, std::size_t of_an_iteration) {
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(of_an_iteration));
}

template <class Row>
void pair(benchmark::State& state) {
  const warm<Row, few> w;
  for (auto _ : state) w.row.deallocate(opaque(w.row.allocate()));
  set_items(state, 1);
}
template <class Row>
void random_order(benchmark::State& state) {
  warm<Row, few> w;
  w.fill();  // untimed: the first time, a list still has the blocks in the order of their addresses
  w.free_shuffled();
  for (auto _ : state) {
    w.fill();
    w.free_shuffled();
  }
  set_items(state, few);
}
template <class Row>
void churn(benchmark::State& state) {
  warm<Row, many> w;
  w.fill();
  for (auto _ : state) {
    for (const std::uint32_t i : w.order) {
      w.row.deallocate(opaque(w.blocks[i]));
      w.blocks[i] = opaque(w.row.allocate());
      *static_cast<std::uint64_t*>(w.blocks[i]) = i;
    }
  }
  set_items(state, many);
  w.free_shuffled();
}
template <class Row>
void fresh(benchmark::State& state) {
  for (auto _ : state) {
    const auto owner = std::unique_ptr<Row>(new Row);
    Row& row = *opaque(owner.get());
    for (std::size_t i = 0; i < few; ++i) opaque(row.allocate());
  }
  set_items(state, few);
}

/// Registers the row's cells, "pattern/name". Names that begin with "ashlar" are ours, with "limit" what no allocator
/// can beat; the rest are peers (run_table.py).
template <template <std::size_t, class...> class Row, class... Policies>
void add(const char* name) {
  const auto cell = [name](const char* pattern, void (*run)(benchmark::State&)) {
    benchmark::RegisterBenchmark((std::string(pattern) + "/" + name).c_str(), run);
  };
  cell("pair", pair<Row<few, Policies...>>);
  cell("random_10k", random_order<Row<few, Policies...>>);
  cell("churn_1m_touch", churn<Row<many, Policies...>>);
  cell("fresh_10k", fresh<Row<few, Policies...>>);
}

}  // namespace

int main(int count, char** arguments) {
  using unchecked = ashlar::check::none;
  using uncounted = ashlar::counting::none;
  benchmark::Initialize(&count, arguments);
  if (benchmark::ReportUnrecognizedArguments(count, arguments)) return 2;
  add<in_static_pool, unchecked, uncounted>("ashlar static_pool, unchecked");
  add<in_static_pool>("ashlar static_pool");
  add<in_fixed_pool, unchecked, uncounted>("ashlar fixed_pool, unchecked");
  add<in_fixed_pool>("ashlar fixed_pool");
  add<in_object_pool, unchecked, uncounted>("ashlar object_pool, unchecked");
  add<in_object_pool>("ashlar object_pool");
  add<in_packed_pool>("ashlar packed_pool");
  add<in_pool_set, unchecked, uncounted>("ashlar pool_set, unchecked");
  add<in_pool_set>("ashlar pool_set");
  add<in_pool_set_at_run_time, unchecked, uncounted>(
      "ashlar pool_set, size at run time, unchecked");
  add<in_pool_set_at_run_time>("ashlar pool_set, size at run time");
#if defined(WITH_BOOST)
  add<in_boost_pool>("boost::pool");
#endif
#if defined(WITH_FOONATHAN)
  add<in_foonathan_pool>("foonathan node_pool");
#endif
  add<in_pmr_pool>("pmr unsynchronized");
  add<intrusive_list>("limit: intrusive list");
  add<address_stack>("limit: stack of addresses");
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
