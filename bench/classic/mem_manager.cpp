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

// Each kind of memory: one for all runs, as `new` has one heap for all runs.
struct with_new {
  static item* make(int value) { return new item{value}; }
  static void end(item* p) { delete p; }
};
template <std::size_t Count>
struct original {
  using manager = originals::mem_manager<item, Count>;
  static manager& pool() {
    static const auto made = std::make_unique<manager>();
    return *made;
  }
};
template <class... Policies>
struct ours {
  template <std::size_t Count>
  struct of {
    using manager = MemManager<item, Count, Policies...>;
    static manager& pool() {
      static const auto made = std::make_unique<manager>();
      return *made;
    }
  };
};
using checked = ours<>;
using bare = ours<ashlar::check::none, ashlar::counting::none, ashlar::at_death::ignore>;

item* make_in(auto& pool, int value) {
  if constexpr (requires { pool.Allocate(); }) {
    return new (pool.Allocate()) item{value};
  } else {
    return new (pool.allocate()) item{value};
  }
}
void end_in(auto& pool, item* p) {
  if constexpr (requires { pool.Deallocate(p); }) {
    pool.Deallocate(p);
  } else {
    pool.deallocate(p);
  }
}

/// The addresses; made and touched before anything is timed.
std::vector<item*>& addresses() {
  static std::vector<item*> list(objects);
  return list;
}

template <class Make, class End>
figures all_then_none(Make make, End end) {
  std::vector<item*>& list = addresses();
  return {{timed([&] {
    for (std::size_t i = 0; i < objects; ++i) list[i] = make(static_cast<int>(i));
    keep(list);
    for (item* p : list) end(p);
  })}};
}
template <class Make, class End>
figures one_by_one(Make make, End end) {
  return {{timed([&] {
    for (std::size_t i = 0; i < objects; ++i) {
      item* p = make(static_cast<int>(i));
      keep(*p);
      end(p);
    }
  })}};
}

figures all_with_new() {
  return all_then_none(with_new::make, with_new::end);
}
figures pairs_with_new() {
  return one_by_one(with_new::make, with_new::end);
}
template <template <std::size_t> class Memory>
figures all_in() {
  auto& pool = Memory<objects>::pool();
  return all_then_none([&pool](int v) { return make_in(pool, v); },
                       [&pool](item* p) { end_in(pool, p); });
}
template <template <std::size_t> class Memory>
figures pairs_in() {
  auto& pool = Memory<1000>::pool();
  return one_by_one([&pool](int v) { return make_in(pool, v); },
                    [&pool](item* p) { end_in(pool, p); });
}

}  // namespace

std::vector<benchmark> mem_manager_benchmarks() {
  return {{"mem_manager/10M",
           {"all"},
           {{"original", all_in<original>},
            {"ashlar", all_in<checked::of>},
            {"bare", all_in<bare::of>},
            {"system", all_with_new}}},
          {"mem_manager/pairs",
           {"all"},
           {{"original", pairs_in<original>},
            {"ashlar", pairs_in<checked::of>},
            {"bare", pairs_in<bare::of>},
            {"system", pairs_with_new}}}};
}

}  // namespace classic
