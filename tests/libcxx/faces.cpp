// The C++ faces with the other standard library: the checks of ashlar/adapt/*_test.cpp as one program
// without a test framework, which is built for one library only.
#include <memory_resource>
#include <tests/support/allocator_conformance.hpp>
#include <tests/support/container_programs.hpp>
#include <tests/support/model_heap.hpp>
#include <tests/support/node_checks.hpp>
#include <tests/support/require.hpp>

#include <ashlar/ashlar.hpp>

#if !defined(_LIBCPP_VERSION)
#error "this program is to be built with libc++"
#endif

namespace {

using namespace ashlar;
using support::model_heap;

constinit static_pool_for<std::list<int>, 50> list_nodes;
constinit static_pool_for<std::map<int, double>, 50> map_nodes;
constinit static_pool_for<std::unordered_set<int>, 50> set_nodes;
constinit static_pool_for<std::unordered_map<int, support::sized_key<64, 64>>, 50> wide_nodes;

void allocators() {
  support::check_allocator(allocator<int>());
  support::check_allocator(allocator<support::cache_line>());
  support::check_incomplete_type(allocator<int>());
  support::run_containers(allocator<int>(), 1);

  model_heap one(1 << 20);
  model_heap two;
  const component_allocator<int, model_heap> a(one);
  const component_allocator<int, model_heap> b(two);
  support::check_allocator(a, &b);
  support::check_propagation(a, b);
  support::run_containers<support::extent::brief>(a, 2);

  fixed_pool<process_source> pool(block_layout{48, 16}, heap_blocks{});
  support::run_containers<support::extent::brief>(
      pool_allocator<int, decltype(pool), process_source>(pool), 3);
  REQUIRE(pool.stats().blocks_in_use == 0 && pool.audit());
}

void at_least() {
  allocator<int> a;
  for (const std::size_t n : {1u, 5u, 100u, 5000u, 20000u}) {
    const auto got = a.allocate_at_least(n);
    REQUIRE(got.count >= n && got.count * sizeof(int) <= xusable_size(got.ptr));
    a.deallocate(got.ptr, got.count);
  }
#if defined(__cpp_lib_allocate_at_least)
  // What the library's containers call.
  const auto got = std::allocator_traits<allocator<int>>::allocate_at_least(a, 5);
  REQUIRE(got.count == 8);
  a.deallocate(got.ptr, 6);
#endif
}

void resources() {
  support::run_containers<support::extent::brief>(
      std::pmr::polymorphic_allocator<int>(ashlar::pmr::process_resource()), 4);
  model_heap heap;
  ashlar::pmr::resource bottom(heap);
  fixed_pool<ashlar::pmr::source> pool(block_layout{64, 16}, heap_blocks{},
                                       ashlar::pmr::source(&bottom));
  ashlar::pmr::resource top(pool, &bottom);
  support::run_containers<support::extent::brief>(std::pmr::polymorphic_allocator<int>(&top), 5);
  REQUIRE(pool.stats().blocks_in_use == 0);
}

void static_pools() {
  const auto pair = [](auto& c, int i) {
    c.emplace(i, typename std::remove_cvref_t<decltype(c)>::mapped_type());
  };
  support::check_static_pool(list_nodes, [](auto& c, int i) {
    if (c.size() < 50) c.push_back(i);
  });
  support::check_static_pool(map_nodes, pair);
  support::check_static_pool(set_nodes, [](auto& c, int i) { c.emplace(i); });
  support::check_static_pool(wide_nodes, pair);
}

}  // namespace

int main() {
  support::check_all_nodes();
  support::check_shared_blocks();
  support::check_buckets();
  static_pools();
  allocators();
  at_least();
  resources();
  std::puts("all checks passed");
  return 0;
}
