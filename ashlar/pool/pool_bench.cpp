// What a typed pool costs beside a hand-written free list, ns per allocate and free.
//
//   pair       allocate, free
//   lifo       allocate 10,000, free them youngest first
//   fifo       allocate 10,000, free them oldest first
//   random     allocate 10,000, free them in shuffled order
//   churn      10,000 live: free a random one, allocate one
//   fresh      a new pool, and each of its 10,000 blocks once
//
// Every pool has been filled and emptied once before it is measured, so that a list that is built up
// front and one that is carved on first use start alike; `fresh` is where they differ. The pool is
// reached through a pointer that the compiler knows nothing of, for all rows.
#include <algorithm>
#include <cstddef>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <benchmark/benchmark.h>

#if __has_include(<boost/pool/pool.hpp>)
#include <boost/pool/pool.hpp>
#endif

#include <ashlar/pool/object_pool.hpp>
#include <ashlar/pool/pool_set.hpp>
#include <ashlar/pool/static_pool.hpp>

namespace {

constexpr std::size_t block_count = 10'000;
struct object {
  unsigned char bytes[64];
};

template <class T>
T* opaque(T* p) {
  asm volatile("" : "+r"(p) : : "memory");
  return p;
}

/// The limit: what one writes by hand where nothing is checked or counted.
class hand_written {
 public:
  hand_written() {
    for (std::size_t i = block_count; i-- > 0;) deallocate(&slots_[i]);
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
  slot slots_[block_count];
};

template <class... Policies>
using in_static_pool = ashlar::static_pool<object, block_count, Policies...>;

/// object_pool over bytes of its own.
template <class... Policies>
class in_object_pool {
  using pool_type = ashlar::object_pool<object, Policies...>;

 public:
  void* allocate() { return pool_.allocate(); }
  void deallocate(void* p) { pool_.deallocate(p); }

 private:
  static constexpr std::size_t bytes = pool_type::storage_bytes(block_count);
  std::unique_ptr<std::byte[]> storage_ = std::make_unique_for_overwrite<std::byte[]>(bytes);
  pool_type pool_{std::span(storage_.get(), bytes)};
};

/// A class of a pool set among others, by a size that the compiler knows.
template <class... Policies>
class in_pool_set {
 public:
  void* allocate() { return set_.allocate(sizeof(object), alignof(object)); }
  void deallocate(void* p) { set_.deallocate(p, sizeof(object), alignof(object)); }

 private:
  ashlar::static_pool_set<ashlar::blocks<16, 10>, ashlar::blocks<32, 10>,
                          ashlar::blocks<sizeof(object), block_count>, ashlar::blocks<396, 10>,
                          Policies...>
      set_;
};

/// The same by a size known at run time, and an address.
template <class... Policies>
class in_pool_set_at_run_time {
 public:
  void* allocate() { return set_.allocate(*opaque(&size_)); }
  void deallocate(void* p) { set_.deallocate(p); }

 private:
  std::size_t size_ = sizeof(object);
  ashlar::static_pool_set<ashlar::blocks<16, 10>, ashlar::blocks<32, 10>,
                          ashlar::blocks<sizeof(object), block_count>, ashlar::blocks<396, 10>,
                          Policies...>
      set_;
};

#if __has_include(<boost/pool/pool.hpp>)
class in_boost_pool {
 public:
  void* allocate() { return pool_.malloc(); }
  void deallocate(void* p) { pool_.free(p); }

 private:
  boost::pool<> pool_{sizeof(object), block_count};
};
#endif

/// A pool that has been filled and emptied once, and the blocks of the measured loops.
template <class Pool>
struct warm {
  std::unique_ptr<Pool> owner = std::make_unique<Pool>();
  Pool& pool = *opaque(owner.get());
  std::vector<void*> blocks = std::vector<void*>(block_count);
  std::vector<unsigned> order = std::vector<unsigned>(block_count);

  warm() {
    for (void*& p : blocks) p = pool.allocate();
    for (std::size_t i = block_count; i-- > 0;) pool.deallocate(blocks[i]);
    for (unsigned i = 0; i < block_count; ++i) order[i] = i;
    std::shuffle(order.begin(), order.end(), std::mt19937(1));
  }
};

void per_pair(benchmark::State& state, std::size_t pairs) {
  state.counters["ns_per_pair"] =
      benchmark::Counter(static_cast<double>(pairs) * static_cast<double>(state.iterations()) / 1e9,
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

template <class Pool>
void pair(benchmark::State& state) {
  warm<Pool> w;
  Pool& pool = w.pool;
  for (auto _ : state) pool.deallocate(opaque(pool.allocate()));
  per_pair(state, 1);
}

template <class Pool, class FreeAll>
void fill_and_free(benchmark::State& state, FreeAll free_all) {
  warm<Pool> w;
  for (auto _ : state) {
    for (void*& p : w.blocks) p = opaque(w.pool.allocate());
    free_all(w);
  }
  per_pair(state, block_count);
}
template <class Pool>
void lifo(benchmark::State& state) {
  fill_and_free<Pool>(state, [](warm<Pool>& w) {
    for (std::size_t i = block_count; i-- > 0;) w.pool.deallocate(opaque(w.blocks[i]));
  });
}
template <class Pool>
void fifo(benchmark::State& state) {
  fill_and_free<Pool>(state, [](warm<Pool>& w) {
    for (void* p : w.blocks) w.pool.deallocate(opaque(p));
  });
}
template <class Pool>
void random_order(benchmark::State& state) {
  fill_and_free<Pool>(state, [](warm<Pool>& w) {
    for (unsigned i : w.order) w.pool.deallocate(opaque(w.blocks[i]));
  });
}
template <class Pool>
void churn(benchmark::State& state) {
  warm<Pool> w;
  for (void*& p : w.blocks) p = w.pool.allocate();
  for (auto _ : state) {
    for (unsigned i : w.order) {
      w.pool.deallocate(opaque(w.blocks[i]));
      w.blocks[i] = opaque(w.pool.allocate());
    }
  }
  per_pair(state, block_count);
  for (void* p : w.blocks) w.pool.deallocate(p);
}
template <class Pool>
void fresh(benchmark::State& state) {
  for (auto _ : state) {
    auto owner = std::unique_ptr<Pool>(new Pool);
    Pool& pool = *opaque(owner.get());
    for (std::size_t i = 0; i < block_count; ++i) opaque(pool.allocate());
  }
  per_pair(state, block_count);
}

template <class Pool>
void add_row(const char* name) {
  using function = void (*)(benchmark::State&);
  const std::pair<const char*, function> patterns[] = {
      {"pair", pair<Pool>},           {"lifo", lifo<Pool>},   {"fifo", fifo<Pool>},
      {"random", random_order<Pool>}, {"churn", churn<Pool>}, {"fresh", fresh<Pool>}};
  for (const auto& [pattern, run] : patterns) {
    benchmark::RegisterBenchmark((std::string(pattern) + "/" + name).c_str(), run);
  }
}

using ashlar::counting::none;
using unchecked = ashlar::check::none;
const int rows = [] {
  add_row<hand_written>("hand_written");
#if __has_include(<boost/pool/pool.hpp>)
  add_row<in_boost_pool>("boost_pool");
#endif
  add_row<in_static_pool<unchecked, none>>("static_pool_unchecked");
  add_row<in_static_pool<none>>("static_pool_checked_uncounted");
  add_row<in_static_pool<>>("static_pool_default");
  add_row<in_object_pool<unchecked, none>>("object_pool_unchecked");
  add_row<in_object_pool<>>("object_pool_default");
  add_row<in_pool_set<unchecked, none>>("pool_set_unchecked");
  add_row<in_pool_set<>>("pool_set_default");
  add_row<in_pool_set_at_run_time<unchecked, none>>("pool_set_run_time_unchecked");
  add_row<in_pool_set_at_run_time<>>("pool_set_run_time_default");
  return 0;
}();

}  // namespace
