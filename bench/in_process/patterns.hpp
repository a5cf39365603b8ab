// bench/in_process/patterns.hpp: the loops that every allocator of pools_bench is put through.
//
//   pair            allocate, free
//   lifo_10k        allocate 10,000, free them youngest first
//   fifo_10k        allocate 10,000, free them oldest first
//   random_10k      allocate 10,000, free them in shuffled order
//   churn_10k       10,000 live: free a random one, allocate one
//   fresh_10k       a new allocator, and each of its 10,000 blocks once
//   random_1m, churn_1m, churn_1m_touch: the same with 1,000,000; touch writes a word into each block got
//
// An item is a pair of allocate and free (in fresh_10k, an allocate). Every allocator has been filled and
// emptied once before it is measured, so that a list that is built up front and one that is carved on first
// use start alike; fresh_10k is where they differ. It is reached through a pointer that the compiler knows
// nothing of, for all alike.
//
// A row is a template over the number of blocks, with
//   void* allocate(); void deallocate(void*);      and, where it applies,
//   void reset();                                  it takes blocks back only all at once: deallocate does nothing
//   static constexpr bool ordered_free = true;     a free walks a list: only pair and lifo_10k end in time
//   static constexpr bool owns_blocks = false;     its end frees no blocks: no fresh_10k
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <benchmark/benchmark.h>

namespace pools_bench {

constexpr std::size_t few = 10'000;
constexpr std::size_t many = 1'000'000;

/// What is in a block.
struct alignas(16) object {
  unsigned char bytes[64];
};

template <class T>
T* opaque(T* p) {
  asm volatile("" : "+r"(p) : : "memory");
  return p;
}

template <class Row>
concept takes_back_all_at_once = requires(Row& row) { row.reset(); };

/// A row that has been filled and emptied once, and the blocks of the measured loops.
template <class Row, std::size_t count>
struct warm {
  std::unique_ptr<Row> owner = std::make_unique<Row>();
  Row& row = *opaque(owner.get());
  std::vector<void*> blocks = std::vector<void*>(count);
  std::vector<std::uint32_t> order = std::vector<std::uint32_t>(count);

  warm() {
    for (void*& p : blocks) p = allocate();
    free_youngest_first();
    for (std::uint32_t i = 0; i < count; ++i) order[i] = i;
    std::shuffle(order.begin(), order.end(), std::mt19937(1));
  }
  void* allocate() {
    void* const p = opaque(row.allocate());
    if (p == nullptr) {
      std::fputs("pools_bench: an allocator had no block left\n", stderr);
      std::abort();
    }
    return p;
  }
  void fill() {
    for (void*& p : blocks) p = opaque(row.allocate());
  }
  void free_youngest_first() {
    for (std::size_t i = count; i-- > 0;) row.deallocate(opaque(blocks[i]));
    start_over();
  }
  void free_oldest_first() {
    for (void* const p : blocks) row.deallocate(opaque(p));
    start_over();
  }
  void free_shuffled() {
    for (const std::uint32_t i : order) row.deallocate(opaque(blocks[i]));
    start_over();
  }
  void start_over() {
    if constexpr (takes_back_all_at_once<Row>) row.reset();
  }
};

inline void set_items(benchmark::State& state, std::size_t of_an_iteration) {
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(of_an_iteration));
}

template <template <std::size_t> class Row>
void pair(benchmark::State& state) {
  warm<Row<few>, few> w;
  for (auto _ : state) {
    w.row.deallocate(opaque(w.row.allocate()));
    w.start_over();
  }
  set_items(state, 1);
}
template <template <std::size_t> class Row>
void lifo(benchmark::State& state) {
  warm<Row<few>, few> w;
  for (auto _ : state) {
    w.fill();
    w.free_youngest_first();
  }
  set_items(state, few);
}
template <template <std::size_t> class Row>
void fifo(benchmark::State& state) {
  warm<Row<few>, few> w;
  for (auto _ : state) {
    w.fill();
    w.free_oldest_first();
  }
  set_items(state, few);
}
template <template <std::size_t> class Row, std::size_t count>
void random_order(benchmark::State& state) {
  warm<Row<count>, count> w;
  w.fill();  // untimed: the first time, a list still has the blocks in the order of their addresses
  w.free_shuffled();
  for (auto _ : state) {
    w.fill();
    w.free_shuffled();
  }
  set_items(state, count);
}
template <template <std::size_t> class Row, std::size_t count, bool touch>
void churn(benchmark::State& state) {
  warm<Row<count>, count> w;
  w.fill();
  for (auto _ : state) {
    for (const std::uint32_t i : w.order) {
      w.row.deallocate(opaque(w.blocks[i]));
      void* const p = opaque(w.row.allocate());
      if constexpr (touch) *static_cast<std::uint64_t*>(p) = i;
      w.blocks[i] = p;
    }
  }
  set_items(state, count);
  w.free_oldest_first();
}
template <template <std::size_t> class Row>
void fresh(benchmark::State& state) {
  for (auto _ : state) {
    const auto owner = std::unique_ptr<Row<few>>(new Row<few>);
    Row<few>& row = *opaque(owner.get());
    for (std::size_t i = 0; i < few; ++i) opaque(row.allocate());
  }
  set_items(state, few);
}

/// Registers the row's cells, "pattern/name", as far as they apply to it. Names that begin with "ashlar" are ours,
/// with "limit" what no allocator can beat; the rest are peers (run_pools.py).
template <template <std::size_t> class Row>
void add_row(const std::string& name) {
  const auto add = [&name](const char* pattern, void (*run)(benchmark::State&)) {
    benchmark::RegisterBenchmark((std::string(pattern) + "/" + name).c_str(), run);
  };
  add("pair", pair<Row>);
  add("lifo_10k", lifo<Row>);
  if constexpr (!requires { requires Row<few>::ordered_free; }) {
    add("fifo_10k", fifo<Row>);
    add("random_10k", random_order<Row, few>);
    add("random_1m", random_order<Row, many>);
    if constexpr (!takes_back_all_at_once<Row<few>>) {
      add("churn_10k", churn<Row, few, false>);
      add("churn_1m", churn<Row, many, false>);
      add("churn_1m_touch", churn<Row, many, true>);
    }
  }
  if constexpr (!requires { requires !Row<few>::owns_blocks; }) add("fresh_10k", fresh<Row>);
}

}  // namespace pools_bench
