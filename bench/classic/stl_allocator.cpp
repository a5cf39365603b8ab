// bench/classic/stl_allocator.cpp: document 001: 10,000 elements into a list, a map, a list of strings; clear.
#include <list>
#include <map>
#include <string>

#include <xlist.h>
#include <xmap.h>
#include <xstring.h>

#include "benchmark.hpp"

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

}  // namespace

std::vector<benchmark> stl_allocator_benchmarks() {
  return {
      {"stl_allocator/list", {"all"}, list_test<std::list<int>>, list_test<xlist<int>>},
      {"stl_allocator/map", {"all"}, map_test<std::map<int, int>>, map_test<xmap<int, int>>},
      {"stl_allocator/string",
       {"all"},
       string_test<std::list<std::string>>,
       string_test<xlist<xstring>>},
  };
}

}  // namespace classic
