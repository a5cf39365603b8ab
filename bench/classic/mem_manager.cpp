// bench/classic/mem_manager.cpp: document 002: 10 million objects allocated, then released; and
// each released before the next one is allocated.

#include <array>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <vector>

#include <MemManager.h>

#include <ashlar/core/check_policy.hpp>
#include <ashlar/core/counting.hpp>

#include "benchmark.hpp"

// The algorithm of "Custom C++ Memory Pool for Fast
// Allocation from Heap", written from that document's description, to measure against.
//
// As described: malloc gives one piece for all slots. A fresh slot is the next one of the piece; a
// freed slot's address goes on a stack, which is an array of MaxSize addresses inside the object,
// and is used first. One caller at a time. The document checks by assert; a release build has no
// asserts, so there are none here.
namespace originals {

template <class T, std::size_t MaxSize>
class mem_manager {
 public:
  mem_manager() : slots_(static_cast<T*>(std::malloc(MaxSize * sizeof(T)))) {}
  mem_manager(const mem_manager&) = delete;
  mem_manager& operator=(const mem_manager&) = delete;
  ~mem_manager() { std::free(slots_); }

  [[nodiscard]] void* allocate() noexcept {
    if (freed_count_ != 0) return freed_[--freed_count_];
    return slots_ + used_count_++;
  }
  void deallocate(void* p) noexcept { freed_[freed_count_++] = static_cast<T*>(p); }

 private:
  T* slots_;
  std::array<T*, MaxSize> freed_;
  std::size_t freed_count_ = 0;
  std::size_t used_count_ = 0;
};

}  // namespace originals

namespace classic {
namespace {

constexpr std::size_t objects = 10'000'000;

struct item {
  int value;
};

// The kinds of memory: make and end of an item.
template <std::size_t>
struct with_new {
  item* make(int value) { return new item{value}; }
  void end(item* p) { delete p; }
};
template <class Manager>
struct in_manager {
  Manager manager;
  item* make(int value) {
    if constexpr (requires { manager.Allocate(); })
      return new (manager.Allocate()) item{value};
    else
      return new (manager.allocate()) item{value};
  }
  void end(item* p) {
    if constexpr (requires { manager.Deallocate(p); })
      manager.Deallocate(p);
    else
      manager.deallocate(p);
  }
};
template <std::size_t Count>
using original = in_manager<originals::mem_manager<item, Count>>;
template <std::size_t Count>
using checked = in_manager<MemManager<item, Count>>;
template <std::size_t Count>
using bare = in_manager<
    MemManager<item, Count, ashlar::check::none, ashlar::counting::none, ashlar::at_death::ignore>>;

// One for all runs, as `new` has one heap for all runs.
template <class Memory>
Memory& memory() {
  static const auto made = std::make_unique<Memory>();
  return *made;
}

/// The addresses; made and touched before anything is timed.
std::vector<item*>& addresses() {
  static std::vector<item*> list(objects);
  return list;
}

template <template <std::size_t> class Memory>
figures all_then_none() {
  auto& in = memory<Memory<objects>>();
  std::vector<item*>& list = addresses();
  return {{timed([&] {
    for (std::size_t i = 0; i < objects; ++i) list[i] = in.make(static_cast<int>(i));
    keep(list);
    for (item* p : list) in.end(p);
  })}};
}
template <template <std::size_t> class Memory>
figures one_by_one() {
  auto& in = memory<Memory<1000>>();
  return {{timed([&] {
    for (std::size_t i = 0; i < objects; ++i) {
      item* p = in.make(static_cast<int>(i));
      keep(*p);
      in.end(p);
    }
  })}};
}
}  // namespace

std::vector<benchmark> mem_manager_benchmarks() {
  return {{"mem_manager/10M",
           {"all"},
           {{"original", all_then_none<original>},
            {"ashlar", all_then_none<checked>},
            {"bare", all_then_none<bare>},
            {"system", all_then_none<with_new>}}},
          {"mem_manager/pairs",
           {"all"},
           {{"original", one_by_one<original>},
            {"ashlar", one_by_one<checked>},
            {"bare", one_by_one<bare>},
            {"system", one_by_one<with_new>}}}};
}

}  // namespace classic
