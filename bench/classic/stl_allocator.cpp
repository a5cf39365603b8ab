// bench/classic/stl_allocator.cpp: document 001: 10,000 elements into a list, a map, a list of strings; clear.

#include <cstddef>
#include <functional>
#include <list>
#include <map>
#include <string>
#include <utility>

#include <xlist.h>
#include <xmap.h>
#include <xstring.h>

#include "benchmark.hpp"
#include "original_xallocator.hpp"

// The algorithm of "A Custom STL std::allocator
// Replacement Improves Performance", written from that document's description, to measure against.
//
// As described: each request of a container is one call of xmalloc or xfree, in heap-blocks mode.
namespace originals {

template <class T>
class stl_allocator {
 public:
  using value_type = T;

  constexpr stl_allocator() noexcept = default;
  template <class U>
  constexpr stl_allocator(const stl_allocator<U>&) noexcept {}  // NOLINT: as std::allocator

  [[nodiscard]] T* allocate(std::size_t n) { return static_cast<T*>(xmalloc(n * sizeof(T))); }
  void deallocate(T* p, std::size_t) noexcept { xfree(p); }

  template <class U>
  friend constexpr bool operator==(const stl_allocator&, const stl_allocator<U>&) noexcept {
    return true;
  }
};

}  // namespace originals

namespace classic {
namespace {

constexpr int elements = 10'000;

template <class List>
figures list_test() {
  List list;
  return {{timed([&] {
    for (int i = 0; i < elements; ++i) list.push_back(123);
    keep(list);
    list.clear();
  })}};
}

template <class Map>
figures map_test() {
  Map map;
  return {{timed([&] {
    for (int i = 0; i < elements; ++i) map[i] = 123;
    keep(map);
    map.clear();
  })}};
}

// Longer than what a string keeps inside itself, so that each has a block of its own beside its node.
template <class List>
figures string_test() {
  List list;
  return {{timed([&] {
    for (int i = 0; i < elements; ++i)
      list.push_back("a text that needs memory outside of the string object");
    keep(list);
    list.clear();
  })}};
}

template <class T>
using original = originals::stl_allocator<T>;
using original_list = std::list<int, original<int>>;
using original_map = std::map<int, int, std::less<>, original<std::pair<const int, int>>>;
using original_string = std::basic_string<char, std::char_traits<char>, original<char>>;
using original_strings = std::list<original_string, original<original_string>>;

}  // namespace

std::vector<benchmark> stl_allocator_benchmarks() {
  return {
      {"stl_allocator/list",
       {"all"},
       {{"original", list_test<original_list>},
        {"ashlar", list_test<xlist<int>>},
        {"system", list_test<std::list<int>>}}},
      {"stl_allocator/map",
       {"all"},
       {{"original", map_test<original_map>},
        {"ashlar", map_test<xmap<int, int>>},
        {"system", map_test<std::map<int, int>>}}},
      {"stl_allocator/string",
       {"all"},
       {{"original", string_test<original_strings>},
        {"ashlar", string_test<xlist<xstring>>},
        {"system", string_test<std::list<std::string>>}}},
  };
}

}  // namespace classic
