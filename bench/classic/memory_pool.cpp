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

// `insert` is called `count` times on an empty container; its end is in the time.
template <class Container>
figures filled(unsigned count, auto insert) {
  return {{timed([&] {
    Container container;
    for (unsigned i = 0; i < count; ++i) insert(container, i);
    keep(container);
  })}};
}
// 20,000 vectors of 1 to 16 elements, a thousand alive at a time.
template <class Vector>
figures small_vectors() {
  return {{timed([] {
    std::vector<Vector> list(1'000);
    for (std::size_t i = 0; i < 20'000; ++i) {
      Vector made;
      for (std::size_t n = 0; n <= i % 16; ++n) made.push_back(static_cast<int>(n));
      list[i % list.size()] = std::move(made);
    }
    keep(list);
  })}};
}

// ---- the sides ----------------------------------------------------------------------------------

/// An allocator template, as an argument of a function.
template <template <class> class Alloc>
struct alloc {
  template <class T>
  using of = Alloc<T>;
};
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

/// `Run` is a lambda that captures nothing and takes an alloc<>.
template <std::size_t MaxBytes, class Run>
std::vector<side> sides(Run) {
  using of = bounds<MaxBytes>;
  return {{"original", [] { return Run()(alloc<of::template original>()); }},
          {"ashlar", [] { return Run()(alloc<of::template ashlar>()); }},
          {"bare", [] { return Run()(alloc<of::template bare>()); }},
          {"system", [] { return Run()(alloc<std::allocator>()); }}};
}
template <class T, std::size_t Large, std::size_t Middle, std::size_t Small, std::size_t MaxBytes>
std::vector<side> extreme_sides() {
  return sides<MaxBytes>([]<class A>(A) {
    return extreme<std::vector<T, typename A::template of<T>>, Large, Middle, Small>();
  });
}
template <template <class, class> class Container, class T, std::size_t Count>
std::vector<side> given_sides() {
  return sides<1024>(
      []<class A>(A) { return given<Container<T, typename A::template of<T>>, Count, 1'000>(); });
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
      {"memory_pool/list_100k", {"all"}, sides<128>([]<class A>(A) {
         return filled<std::list<int, typename A::template of<int>>>(
             100'000, [](auto& list, unsigned i) { list.push_back(static_cast<int>(i)); });
       })},
      {"memory_pool/deque_1m", {"all"}, sides<1024>([]<class A>(A) {
         return filled<std::deque<int, typename A::template of<int>>>(
             1'000'000, [](auto& deque, unsigned i) { deque.push_front(static_cast<int>(i)); });
       })},
      {"memory_pool/set_50k", {"all"}, sides<128>([]<class A>(A) {
         return filled<std::set<int, std::less<>, typename A::template of<int>>>(
             50'000, [](auto& set, unsigned i) { set.insert(static_cast<int>(i * 2654435761u)); });
       })},
      {"memory_pool/small_vectors", {"all"}, sides<128>([]<class A>(A) {
         return small_vectors<std::vector<int, typename A::template of<int>>>();
       })},
  };
}

}  // namespace classic
