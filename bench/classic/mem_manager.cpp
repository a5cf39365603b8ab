// bench/classic/mem_manager.cpp: document 002: 10 million objects allocated, then released; and
// each released before the next one is allocated.
#include "originals/mem_manager.hpp"

#include <cstddef>
#include <memory>
#include <vector>

#include <MemManager.h>

#include <ashlar/core/check_policy.hpp>
#include <ashlar/core/counting.hpp>

#include "benchmark.hpp"

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
