// bench/classic/memory_pool.cpp: document 003: vectors that shrink and grow by sizes that fit one
// another ("extreme"), containers created and resized at random ("given"), and the containers of
// its last part.
#include <cstddef>
#include <cstdlib>
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include <memory_pool_allocator.h>

#include <ashlar/core/check_policy.hpp>
#include <ashlar/core/counting.hpp>
#include <ashlar/core/lock_policy.hpp>

#include "benchmark.hpp"

// The algorithm of "An Allocator with Memory Pool",
// written from that document's description, to measure against.
//
// As described (it follows SGI's): free lists of blocks, 8 bytes apart up to MaxBytes. An empty
// list gets 50 blocks from a rest of memory. When the rest has not even one block, it is filed, and
// malloc gives 80 times as much as was asked for and a sixteenth of all that the heap gave before.
// Larger requests are malloc's. All memory stays. No lock: one caller at a time. Each element type
// has lists of its own, since they are static members of the allocator template.
namespace originals {

template <class T, std::size_t MaxBytes = 128>
class pool_allocator {
 public:
  using value_type = T;
  template <class U>
  struct rebind {
    using other = pool_allocator<U, MaxBytes>;
  };

  constexpr pool_allocator() noexcept = default;
  template <class U>
  constexpr pool_allocator(const pool_allocator<U, MaxBytes>&) noexcept {}  // NOLINT

  [[nodiscard]] T* allocate(std::size_t n) {
    const std::size_t bytes = n * sizeof(T);
    if (bytes > MaxBytes) return static_cast<T*>(std::malloc(bytes));
    node*& list = list_of(bytes);
    node* const first = list;
    if (first == nullptr) return static_cast<T*>(refill(rounded(bytes)));
    list = first->next;
    return reinterpret_cast<T*>(first);
  }
  void deallocate(T* p, std::size_t n) noexcept {
    const std::size_t bytes = n * sizeof(T);
    if (bytes > MaxBytes) return std::free(p);
    file(p, bytes);
  }

  template <class U>
  friend constexpr bool operator==(const pool_allocator&,
                                   const pool_allocator<U, MaxBytes>&) noexcept {
    return true;
  }

 private:
  static constexpr std::size_t step = 8;
  struct node {
    node* next;
  };
  [[nodiscard]] static constexpr std::size_t rounded(std::size_t bytes) noexcept {
    return (bytes + step - 1) & ~(step - 1);
  }
  [[nodiscard]] static node*& list_of(std::size_t bytes) noexcept {
    return lists[(bytes + step - 1) / step - 1];
  }
  static void file(void* p, std::size_t bytes) noexcept {
    node*& list = list_of(bytes);
    node* const block = static_cast<node*>(p);
    block->next = list;
    list = block;
  }

  /// Returns: a block; the others of its batch are on their list.
  static void* refill(std::size_t bytes) noexcept {
    std::size_t count = 50;
    char* const batch = carve(bytes, count);
    if (batch == nullptr || count == 1) return batch;
    node** link = &list_of(bytes);
    for (std::size_t i = 1; i < count; ++i) {
      node* const block = reinterpret_cast<node*>(batch + i * bytes);
      *link = block;
      link = &block->next;
    }
    *link = nullptr;
    return batch;
  }
  /// Returns: `count` blocks side by side; `count` is what the rest had room for, at least one.
  static char* carve(std::size_t bytes, std::size_t& count) noexcept {
    const auto left = static_cast<std::size_t>(rest_end - rest);
    if (left < bytes) {
      const std::size_t wanted = 80 * bytes * count + rounded(heap_bytes >> 4);
      if (left != 0) file(rest, left);
      rest = static_cast<char*>(std::malloc(wanted));
      if (rest == nullptr) return carve_from_larger(bytes, count);
      heap_bytes += wanted;
      rest_end = rest + wanted;
      return carve(bytes, count);
    }
    if (left < bytes * count) count = left / bytes;
    char* const first = rest;
    rest += bytes * count;
    return first;
  }
  static char* carve_from_larger(std::size_t bytes, std::size_t& count) noexcept {
    for (std::size_t size = bytes; size < MaxBytes; size += step) {
      node*& list = list_of(size);
      if (list == nullptr) continue;
      rest = reinterpret_cast<char*>(list);
      list = list->next;
      rest_end = rest + size;
      return carve(bytes, count);
    }
    rest_end = nullptr;
    return nullptr;
  }

  static inline node* lists[MaxBytes / step];
  static inline char* rest = nullptr;
  static inline char* rest_end = nullptr;
  static inline std::size_t heap_bytes = 0;
};

}  // namespace originals

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

// ---- the containers that the document tries, as a program uses them -----------------------------

figures timed_with(auto work) {
  return {{timed(work)}};
}

template <template <class> class Alloc>
figures list_100k() {
  return timed_with([] {
    std::list<int, Alloc<int>> list;
    for (int i = 0; i < 100'000; ++i) list.push_back(i);
    keep(list);
  });
}
template <template <class> class Alloc>
figures deque_1m() {
  return timed_with([] {
    std::deque<int, Alloc<int>> deque;
    for (int i = 0; i < 1'000'000; ++i) deque.push_front(i);
    keep(deque);
  });
}
template <template <class> class Alloc>
figures set_50k() {
  return timed_with([] {
    std::set<int, std::less<>, Alloc<int>> set;
    for (unsigned i = 0; i < 50'000; ++i) set.insert(static_cast<int>(i * 2654435761u));
    keep(set);
  });
}
// 20,000 vectors of 1 to 16 elements, a thousand alive at a time.
template <template <class> class Alloc>
figures small_vectors() {
  return timed_with([] {
    std::vector<std::vector<int, Alloc<int>>> list(1'000);
    for (std::size_t i = 0; i < 20'000; ++i) {
      std::vector<int, Alloc<int>> made;
      for (std::size_t n = 0; n <= i % 16; ++n) made.push_back(static_cast<int>(n));
      list[i % list.size()] = std::move(made);
    }
    keep(list);
  });
}

// ---- the sides ----------------------------------------------------------------------------------

template <std::size_t MaxBytes>
struct bounds {
  template <class T>
  using original = originals::pool_allocator<T, MaxBytes>;
  template <class T>
  using ashlar = Allocator<T, MaxBytes>;
  template <class T>
  using bare =
      Allocator<T, MaxBytes, 8, ::ashlar::no_lock, ::ashlar::check::none, ::ashlar::counting::none>;
};

template <class T, std::size_t Large, std::size_t Middle, std::size_t Small, std::size_t MaxBytes>
std::vector<side> extreme_sides() {
  using of = bounds<MaxBytes>;
  return {
      {"original",
       extreme<std::vector<T, typename of::template original<T>>, Large, Middle, Small>},
      {"ashlar", extreme<std::vector<T, typename of::template ashlar<T>>, Large, Middle, Small>},
      {"bare", extreme<std::vector<T, typename of::template bare<T>>, Large, Middle, Small>},
      {"system", extreme<std::vector<T>, Large, Middle, Small>}};
}
template <template <class, class> class Container, class T, std::size_t Count>
std::vector<side> given_sides() {
  using of = bounds<1024>;
  return {{"original", given<Container<T, of::original<T>>, Count, 1'000>},
          {"ashlar", given<Container<T, of::ashlar<T>>, Count, 1'000>},
          {"bare", given<Container<T, of::bare<T>>, Count, 1'000>},
          {"system", given<Container<T, std::allocator<T>>, Count, 1'000>}};
}
/// Requires: `run` is a function template over an allocator template.
#define CLASSIC_SIDES(run, bytes)                                                       \
  {                                                                                     \
    {"original", run<bounds<bytes>::original>}, {"ashlar", run<bounds<bytes>::ashlar>}, \
        {"bare", run<bounds<bytes>::bare>}, {                                           \
      "system", run<std::allocator>                                                     \
    }                                                                                   \
  }

}  // namespace

std::vector<benchmark> memory_pool_benchmarks() {
  const std::vector<std::string_view> both{"create", "resize"};
  return {
      {"memory_pool/int1", {"resize"}, extreme_sides<int, 128, 64, 32, 1024>()},
      {"memory_pool/point2d", {"resize"}, extreme_sides<point_2d, 64, 32, 16, 1024>()},
      {"memory_pool/int2", {"resize"}, extreme_sides<int, 1024, 512, 256, 4096>()},
      {"memory_pool/int3", {"resize"}, extreme_sides<int, 128, 64, 32, 4096>()},
      {"memory_pool/given_vector_int", both, given_sides<std::vector, int, containers>()},
      {"memory_pool/given_vector_point2d", both, given_sides<std::vector, point_2d, containers>()},
      // A tenth of the document's lists: ten thousand of them are some 1.6 GB of nodes.
      {"memory_pool/given_list_int", both, given_sides<std::list, int, containers / 10>()},
      {"memory_pool/list_100k", {"all"}, CLASSIC_SIDES(list_100k, 128)},
      {"memory_pool/deque_1m", {"all"}, CLASSIC_SIDES(deque_1m, 1024)},
      {"memory_pool/set_50k", {"all"}, CLASSIC_SIDES(set_50k, 128)},
      {"memory_pool/small_vectors", {"all"}, CLASSIC_SIDES(small_vectors, 128)},
  };
}

}  // namespace classic
