// bench/classic/arena.cpp: document 004: a million Orcs, and objects of three sizes.
#include <functional>
#include <utility>
#include <vector>

#include <ChunkSizedAllocator.h>
#include <SizeBasedArena.h>

#include "benchmark.hpp"
#include "originals/arenas.hpp"

namespace classic {
namespace {

// ---- Orcs: 16 bytes each, never used again once dead ------------------------------------------------

constexpr std::size_t orcs = 1'000'000;

struct system_orc {
  char name[4]{'U', 'R', 'G'};
  int strength = 100;
  double smell = 1000.0;
};

struct arena_orc {
  char name[4]{'U', 'R', 'G'};
  int strength = 100;
  double smell = 1000.0;

  static void* operator new(std::size_t);
  static void operator delete(void* p) noexcept;
};
using tribe = SizeBasedArena<arena_orc, orcs>;

void* arena_orc::operator new(std::size_t n) {
  return tribe::get().allocate_object(n);
}
void arena_orc::operator delete(void* p) noexcept {
  tribe::get().deallocate_one(p);
}

struct original_orc {
  char name[4]{'U', 'R', 'G'};
  int strength = 100;
  double smell = 1000.0;

  static void* operator new(std::size_t);
  static void operator delete(void* p) noexcept;
};
using original_tribe = originals::size_based_arena<original_orc, orcs>;

void* original_orc::operator new(std::size_t) {
  return original_tribe::get().allocate_one();
}
void original_orc::operator delete(void* p) noexcept {
  original_tribe::deallocate_one(p);
}

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
           {{"original", battle<original_orc>},
            {"ashlar", battle<arena_orc>},
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
