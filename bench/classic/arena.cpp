// bench/classic/arena.cpp: document 004: a million Orcs, and objects of three sizes.
#include <array>
#include <bit>
#include <cstddef>
#include <cstdlib>
#include <functional>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include <ChunkSizedAllocator.h>
#include <SizeBasedArena.h>

#include "benchmark.hpp"

// The two algorithms of "Arena-Based Memory Management and
// Other Optimizations", written from that chapter's description, to measure against.
//
//   size_based_arena      malloc gives room for N objects; an allocation takes the next room under
//                         a mutex; freeing does nothing. The chapter's faster form: a global
//                         object, so no look at whether it was made
//   chunk_sized_allocator malloc gives N blocks for each size, rounded up to a power of two. A
//                         request takes the next block of the first size that is larger, under one
//                         mutex for all sizes; what has no block is operator new's. Freeing walks
//                         through the sizes to see whose block it is, and uses none of them again
namespace originals {

template <class T, std::size_t N>
class size_based_arena {
 public:
  size_based_arena(const size_based_arena&) = delete;
  size_based_arena& operator=(const size_based_arena&) = delete;
  ~size_based_arena() { std::free(begin_); }

  [[nodiscard]] static size_based_arena& get() noexcept { return singleton; }

  [[nodiscard]] void* allocate_one() {
    const std::lock_guard guard(lock_);
    char* const p = next_;
    next_ += sizeof(T);
    return p;
  }
  static void deallocate_one(void*) noexcept {}

 private:
  size_based_arena() : begin_(static_cast<char*>(std::malloc(N * sizeof(T)))), next_(begin_) {}

  static size_based_arena singleton;
  std::mutex lock_;
  char* begin_;
  char* next_;
};
template <class T, std::size_t N>
size_based_arena<T, N> size_based_arena<T, N>::singleton;

template <std::size_t N, std::size_t... Sizes>
class chunk_sized_allocator {
 public:
  chunk_sized_allocator() {
    for (std::size_t i = 0; i < sizes.size(); ++i)
      blocks_[i] = static_cast<char*>(std::malloc(N * sizes[i]));
  }
  chunk_sized_allocator(const chunk_sized_allocator&) = delete;
  chunk_sized_allocator& operator=(const chunk_sized_allocator&) = delete;
  ~chunk_sized_allocator() {
    for (char* const p : blocks_) std::free(p);
  }

  [[nodiscard]] void* allocate(std::size_t n) {
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      if (n >= sizes[i]) continue;
      const std::lock_guard guard(lock_);
      if (used_[i] < N) return blocks_[i] + used_[i]++ * sizes[i];
    }
    return ::operator new(n);
  }
  void deallocate(void* p) noexcept {
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      if (std::greater_equal<>{}(p, static_cast<void*>(blocks_[i])) &&
          std::less<>{}(p, static_cast<void*>(blocks_[i] + N * sizes[i])))
        return;
    }
    ::operator delete(p);
  }

 private:
  static constexpr std::array<std::size_t, sizeof...(Sizes)> sizes{std::bit_ceil(Sizes)...};

  std::mutex lock_;
  std::array<char*, sizes.size()> blocks_{};
  std::array<std::size_t, sizes.size()> used_{};
};

}  // namespace originals

template <std::size_t N, std::size_t... Sizes>
[[nodiscard]] void* operator new(std::size_t n,
                                 originals::chunk_sized_allocator<N, Sizes...>& chunks) {
  return chunks.allocate(n);
}
template <std::size_t N, std::size_t... Sizes>
void operator delete(void* p, originals::chunk_sized_allocator<N, Sizes...>& chunks) noexcept {
  chunks.deallocate(p);
}

namespace classic {
namespace {

// ---- Orcs: 16 bytes each, never used again once dead ------------------------------------------------

constexpr std::size_t orcs = 1'000'000;

struct system_orc {
  char name[4]{'U', 'R', 'G'};
  int strength = 100;
  double smell = 1000.0;
};
// An orc of a tribe, which is the one allocator of all its orcs.
template <template <class, std::size_t> class Arena>
struct orc_of final : system_orc {
  using tribe = Arena<orc_of, orcs>;
  static void* operator new(std::size_t) { return tribe::get().allocate_one(); }
  static void operator delete(void* p) noexcept { tribe::get().deallocate_one(p); }
};

template <class Orc>
figures battle() {
  static std::vector<Orc*> list(orcs);
  figures result;
  result.parts.push_back(timed([] {
    for (Orc*& p : list) p = new Orc;
    keep(list);
  }));
  result.parts.push_back(timed([] {
    for (Orc* p : list) delete p;
  }));
  return result;
}

// ---- three sizes ------------------------------------------------------------------------------------

constexpr int each_size = 100'000;
using chunks_type = ChunkSizedAllocator<each_size, 32, 62, 128>;
using original_chunks = originals::chunk_sized_allocator<each_size, 32, 62, 128>;

template <int Bytes>
struct dummy {
  char bytes[Bytes]{};
};
using ending = std::pair<void*, std::function<void(void*)>>;

template <int Bytes>
ending make_with_new() {
  return {new dummy<Bytes>{}, [](void* p) { delete static_cast<dummy<Bytes>*>(p); }};
}
template <int Bytes>
ending make_in(auto& chunks) {
  return {new (chunks) dummy<Bytes>{}, [&chunks](void* p) { ::operator delete(p, chunks); }};
}

template <class Make30, class Make60, class Make100>
figures three_sizes(Make30 make30, Make60 make60, Make100 make100) {
  std::vector<ending> list(3 * each_size);
  return {{timed([&] {
    for (std::size_t i = 0; i < list.size(); i += 3) {
      list[i] = make30();
      list[i + 1] = make60();
      list[i + 2] = make100();
    }
    for (auto& [object, end] : list) end(object);
  })}};
}

figures chunks_with_new() {
  return three_sizes(make_with_new<30>, make_with_new<60>, make_with_new<100>);
}
// As in the document, the allocator is made before the time counts, and no block has been used.
template <class Chunks>
figures chunks_in() {
  Chunks chunks;
  return three_sizes([&] { return make_in<30>(chunks); }, [&] { return make_in<60>(chunks); },
                     [&] { return make_in<100>(chunks); });
}

}  // namespace

std::vector<benchmark> arena_benchmarks() {
  return {{"arena/orcs",
           {"new", "delete"},
           {{"original", battle<orc_of<originals::size_based_arena>>},
            {"ashlar", battle<orc_of<SizeBasedArena>>},
            {"system", battle<system_orc>}},
           true},
          {"arena/chunks",
           {"all"},
           {{"original", chunks_in<original_chunks>},
            {"ashlar", chunks_in<chunks_type>},
            {"system", chunks_with_new}},
           true}};
}

}  // namespace classic
