// bench/classic/mem_manager.cpp: document 002: 10 million objects allocated, then released.
#include <cstddef>
#include <memory>
#include <vector>

#include <MemManager.h>

#include "benchmark.hpp"

namespace classic {
namespace {

constexpr std::size_t objects = 10'000'000;

struct item {
  int value;
};
using manager = MemManager<item, objects>;

/// The addresses; made and touched before anything is timed.
std::vector<item*>& addresses() {
  static std::vector<item*> list(objects);
  return list;
}

figures with_new() {
  std::vector<item*>& list = addresses();
  return {{timed([&] {
    for (std::size_t i = 0; i < objects; ++i) list[i] = new item{static_cast<int>(i)};
    keep(list);
    for (item* p : list) delete p;
  })}};
}

// One pool for all runs, as the new side has one heap for all runs.
figures with_manager() {
  std::vector<item*>& list = addresses();
  static const auto pool = std::make_unique<manager>();
  return {{timed([&] {
    for (std::size_t i = 0; i < objects; ++i)
      list[i] = new (pool->Allocate()) item{static_cast<int>(i)};
    keep(list);
    for (item* p : list) pool->Deallocate(p);
  })}};
}

}  // namespace

std::vector<benchmark> mem_manager_benchmarks() {
  return {{"mem_manager/10M", {"all"}, with_new, with_manager}};
}

}  // namespace classic
