// bench/classic/memory_pool.cpp: document 003: vectors that shrink and grow by sizes that fit one another
// ("extreme"), and containers created and resized at random ("given").
#include <list>
#include <random>
#include <utility>
#include <vector>

#include <memory_pool_allocator.h>

#include "benchmark.hpp"

namespace classic {
namespace {

constexpr std::size_t containers = 10'000;

struct point_2d {
  int x;
  int y;
};

/// Half of the vectors have `Large` elements, half `Small`; the large ones are resized to `Middle`, which
/// keeps their memory, then the small ones, which does not. Timed: the resizing, as in the document.
template <class Vector, std::size_t Large, std::size_t Middle, std::size_t Small>
figures extreme() {
  std::vector<Vector> list;
  list.reserve(containers);
  for (std::size_t i = 0; i < containers; ++i)
    list.emplace_back(i < containers / 2 ? Large : Small);
  return {{timed([&] {
    for (Vector& v : list) v.resize(Middle);
    keep(list);
  })}};
}

/// `Count` containers of random size, then `Resized` of them, picked at random, resized at random; sizes 1
/// to 10,000. The same random numbers on both sides.
template <class Container, std::size_t Count, std::size_t Resized>
figures given() {
  std::mt19937 random(20200630);
  std::uniform_int_distribution<std::size_t> size(1, 10'000);
  std::uniform_int_distribution<std::size_t> pick(0, Count - 1);
  std::vector<Container> list;
  list.reserve(Count);
  figures result;
  result.parts.push_back(timed([&] {
    for (std::size_t i = 0; i < Count; ++i) list.emplace_back(size(random));
    keep(list);
  }));
  result.parts.push_back(timed([&] {
    for (std::size_t i = 0; i < Resized; ++i) list[pick(random)].resize(size(random));
    keep(list);
  }));
  return result;
}

template <class T, std::size_t MaxBytes = 1024>
using pool_vector = std::vector<T, Allocator<T, MaxBytes>>;
template <class T>
using pool_list = std::list<T, Allocator<T, 1024>>;

}  // namespace

std::vector<benchmark> memory_pool_benchmarks() {
  const std::vector<std::string_view> both{"create", "resize"};
  return {
      {"memory_pool/int1",
       {"resize"},
       extreme<std::vector<int>, 128, 64, 32>,
       extreme<pool_vector<int>, 128, 64, 32>},
      {"memory_pool/point2d",
       {"resize"},
       extreme<std::vector<point_2d>, 64, 32, 16>,
       extreme<pool_vector<point_2d>, 64, 32, 16>},
      {"memory_pool/int2",
       {"resize"},
       extreme<std::vector<int>, 1024, 512, 256>,
       extreme<pool_vector<int, 4096>, 1024, 512, 256>},
      {"memory_pool/int3",
       {"resize"},
       extreme<std::vector<int>, 128, 64, 32>,
       extreme<pool_vector<int, 4096>, 128, 64, 32>},
      {"memory_pool/given_vector_int", both, given<std::vector<int>, containers, 1'000>,
       given<pool_vector<int>, containers, 1'000>},
      {"memory_pool/given_vector_point2d", both, given<std::vector<point_2d>, containers, 1'000>,
       given<pool_vector<point_2d>, containers, 1'000>},
      // A tenth of the document's lists: ten thousand of them are some 1.6 GB of nodes.
      {"memory_pool/given_list_int", both, given<std::list<int>, containers / 10, 1'000>,
       given<pool_list<int>, containers / 10, 1'000>},
      {"memory_pool/given_list_point2d", both, given<std::list<point_2d>, containers / 10, 1'000>,
       given<pool_list<point_2d>, containers / 10, 1'000>},
  };
}

}  // namespace classic
