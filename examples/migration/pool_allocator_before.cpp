// Two threads with containers of their own, on one allocator.
#include <cstdio>
#include <ctime>
#include <functional>
#include <list>
#include <set>
#include <thread>

#include "memory_pool_allocator.h"

namespace {

template <class T>
using allocator_of = Allocator<T>;

std::size_t fill(int rounds) {
  std::size_t elements = 0;
  for (int round = 0; round < rounds; ++round) {
    std::list<int, allocator_of<int>> list;
    std::set<int, std::less<>, allocator_of<int>> set;
    for (int i = 0; i < 1000; ++i) {
      list.push_back(i);
      set.insert(i * 7919 % 1009);
    }
    elements += list.size() + set.size();
  }
  return elements;
}

}  // namespace

// With an argument: tell the time, too.
int main(int argc, char**) {
  const int rounds = argc > 1 ? 5000 : 10;
  const std::clock_t start = std::clock();
  std::size_t others = 0;
  std::thread other([&] { others = fill(rounds); });
  const std::size_t elements = fill(rounds);
  other.join();
  const auto ticks = static_cast<double>(std::clock() - start);
  std::printf("%zu elements\n", (elements + others) / static_cast<std::size_t>(rounds));
  if (argc > 1)
    std::printf("%.0f ns\n", 1e9 * ticks / CLOCKS_PER_SEC / static_cast<double>(elements + others));
  return 0;
}
