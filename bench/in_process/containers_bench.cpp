// bench/in_process/containers_bench.cpp: what it costs to fill and clear each standard container on each allocator.
// A cell inserts 10,000 elements into an empty container and clears it; the allocator's own state lives on
// from one iteration to the next, so that pools are warm, as in a program that runs for long.
// run_table.py makes the table. Reported: seconds an iteration; items are elements.
#include <cstddef>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <memory_resource>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>

#include <benchmark/benchmark.h>

#include <ashlar/adapt/allocator.hpp>
#include <ashlar/adapt/component_allocator.hpp>
#include <ashlar/adapt/process_source.hpp>
#include <ashlar/arena/arena.hpp>
#include <ashlar/core/check_policy.hpp>
#include <ashlar/core/counting.hpp>
#include <ashlar/pool/fixed_pool.hpp>

#if __has_include(<boost/pool/pool_alloc.hpp>)
#include <boost/pool/pool_alloc.hpp>
#define WITH_BOOST 1
#endif
#if defined(WITH_FOONATHAN)
#include <foonathan/memory/memory_pool.hpp>
#include <foonathan/memory/namespace_alias.hpp>
#include <foonathan/memory/std_allocator.hpp>
#endif

namespace {

constexpr int elements = 10'000;

// ---- the allocators: of<T> is the allocator's type, get() makes one, refresh() comes after each clear ----

/// One that has no state.
template <template <class> class Allocator>
struct stateless {
  template <class T>
  using of = Allocator<T>;
  template <class T>
  of<T> get() {
    return {};
  }
  void refresh() {}
};
struct on_system : stateless<std::allocator> {
  static constexpr const char* name = "std::allocator";
};
struct on_process_heap : stateless<ashlar::allocator> {
  static constexpr const char* name = "ashlar::allocator";
};

struct on_pool {
  static constexpr const char* name = "ashlar::pool_allocator";
  using pool =
      ashlar::fixed_pool<ashlar::process_source, ashlar::check::none, ashlar::counting::none>;
  template <class T>
  using of = ashlar::pool_allocator<T, pool, ashlar::process_source>;
  template <class T>
  of<T> get() {
    return of<T>(blocks);
  }
  void refresh() {}
  pool blocks;
  explicit on_pool(std::size_t node_bytes)
      : blocks({.size_bytes = node_bytes, .alignment = alignof(void*)},
               ashlar::heap_blocks{.first_slab_blocks = 1024}) {}
};

struct on_arena {
  static constexpr const char* name = "ashlar::arena_allocator";
  using memory = ashlar::arena<ashlar::process_source, ashlar::exhaustion::throw_bad_alloc>;
  template <class T>
  using of = ashlar::arena_allocator<T, memory>;
  template <class T>
  of<T> get() {
    return of<T>(bytes);
  }
  void refresh() { bytes.reset(); }
  memory bytes{ashlar::arena_growth{.first_chunk_bytes = 1 << 20}};
};

template <class Resource>
struct on_resource {
  template <class T>
  using of = std::pmr::polymorphic_allocator<T>;
  template <class T>
  of<T> get() {
    return &resource;
  }
  Resource resource;
};
struct on_unsynchronized : on_resource<std::pmr::unsynchronized_pool_resource> {
  static constexpr const char* name = "pmr unsynchronized";
  void refresh() {}
};
struct on_monotonic : on_resource<std::pmr::monotonic_buffer_resource> {
  static constexpr const char* name = "pmr monotonic";
  void refresh() { resource.release(); }
};

#if defined(WITH_BOOST)
template <class T>
using boost_allocator = boost::fast_pool_allocator<T, boost::default_user_allocator_new_delete,
                                                   boost::details::pool::null_mutex>;
struct on_boost : stateless<boost_allocator> {
  static constexpr const char* name = "boost fast_pool";
};
#endif

#if defined(WITH_FOONATHAN)
struct on_foonathan {
  static constexpr const char* name = "foonathan node_pool";
  using pool = foonathan::memory::memory_pool<foonathan::memory::node_pool>;
  template <class T>
  using of = foonathan::memory::std_allocator<T, pool>;
  template <class T>
  of<T> get() {
    return of<T>(blocks);
  }
  void refresh() {}
  pool blocks;
  explicit on_foonathan(std::size_t node_bytes) : blocks(node_bytes, 1 << 20) {}
};
#endif

// ---- the cells -------------------------------------------------------------------------------------------

template <class Face>
using list_of = std::list<int, typename Face::template of<int>>;
template <class Face>
using map_of =
    std::map<int, int, std::less<>, typename Face::template of<std::pair<const int, int>>>;
template <class Face>
using set_of = std::set<int, std::less<>, typename Face::template of<int>>;
template <class Face>
using unordered_map_of = std::unordered_map<int, int, std::hash<int>, std::equal_to<>,
                                            typename Face::template of<std::pair<const int, int>>>;
template <class Face>
using text_of = std::basic_string<char, std::char_traits<char>, typename Face::template of<char>>;

template <class Face>
Face make(std::size_t node_bytes) {
  if constexpr (std::is_constructible_v<Face, std::size_t>) {
    return Face(node_bytes);
  } else {
    return Face();
  }
}

template <class Face, class Container, class Insert>
void fill_and_clear(benchmark::State& state, std::size_t node_bytes, Insert insert) {
  auto face = make<Face>(node_bytes);
  for (auto _ : state) {
    {
      Container c(face.template get<typename Container::value_type>());
      for (int i = 0; i < elements; ++i) insert(c, i);
      benchmark::DoNotOptimize(&c);
      benchmark::ClobberMemory();
      c.clear();
    }
    face.refresh();
  }
  state.SetItemsProcessed(state.iterations() * elements);
}

template <class Face>
void list(benchmark::State& state) {
  fill_and_clear<Face, list_of<Face>>(state, 24, [](auto& c, int i) { c.push_back(i); });
}
template <class Face>
void map(benchmark::State& state) {
  fill_and_clear<Face, map_of<Face>>(state, 40, [](auto& c, int i) { c[i] = i; });
}
template <class Face>
void set(benchmark::State& state) {
  fill_and_clear<Face, set_of<Face>>(state, 40, [](auto& c, int i) { c.insert(i); });
}
template <class Face>
void unordered_map(benchmark::State& state) {
  fill_and_clear<Face, unordered_map_of<Face>>(state, 16, [](auto& c, int i) { c[i] = i; });
}
/// Strings of 40 characters, each with a block of its own; they live in an array that is there already.
template <class Face>
void string(benchmark::State& state) {
  using text = text_of<Face>;
  auto face = make<Face>(48);
  struct slot {
    alignas(text) std::byte bytes[sizeof(text)];
  };
  const auto slots = std::make_unique<slot[]>(elements);
  for (auto _ : state) {
    for (int i = 0; i < elements; ++i)
      ::new (static_cast<void*>(&slots[static_cast<std::size_t>(i)]))
          text(40, 'x', face.template get<char>());
    benchmark::ClobberMemory();
    for (int i = 0; i < elements; ++i)
      std::destroy_at(reinterpret_cast<text*>(&slots[static_cast<std::size_t>(i)]));
    face.refresh();
  }
  state.SetItemsProcessed(state.iterations() * elements);
}

template <class Face>
void add(bool any_size = true) {
  const auto named = [](const char* cell) { return std::string(cell) + "/" + Face::name; };
  benchmark::RegisterBenchmark(named("list").c_str(), list<Face>);
  benchmark::RegisterBenchmark(named("map").c_str(), map<Face>);
  benchmark::RegisterBenchmark(named("set").c_str(), set<Face>);
  if (!any_size) return;
  benchmark::RegisterBenchmark(named("unordered_map").c_str(), unordered_map<Face>);
  benchmark::RegisterBenchmark(named("string").c_str(), string<Face>);
}

}  // namespace

int main(int count, char** arguments) {
  add<on_process_heap>();
  add<on_pool>();
  add<on_arena>();
  add<on_system>();
  add<on_unsynchronized>();
  add<on_monotonic>();
#if defined(WITH_BOOST)
  add<on_boost>();
#endif
#if defined(WITH_FOONATHAN)
  add<on_foonathan>(false);  // a node pool has no room for a hash table's array, nor for a string
#endif
  benchmark::Initialize(&count, arguments);
  if (benchmark::ReportUnrecognizedArguments(count, arguments)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
