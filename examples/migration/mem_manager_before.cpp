// Objects of one class in a pool that the caller names.
#include <cstddef>
#include <cstdio>
#include <ctime>
#include <vector>

#include "MemManager.h"

namespace {

class Dummy {
 public:
  explicit Dummy(int v) : value(v) {}
  static void* operator new(std::size_t, MemManager<Dummy>& pool) { return pool.Allocate(); }
  static void operator delete(void* p, MemManager<Dummy>& pool) { pool.Deallocate(p); }
  int value;
};

MemManager<Dummy> pool;

Dummy* begin(int value) { return new (pool) Dummy(value); }
void end(Dummy* d) {
  d->~Dummy();
  Dummy::operator delete(d, pool);
}

}  // namespace

// With an argument: tell the time, too.
int main(int argc, char**) {
  const int rounds = argc > 1 ? 20'000 : 10;
  std::vector<Dummy*> objects(1000);
  long sum = 0;
  const std::clock_t start = std::clock();
  for (int round = 0; round < rounds; ++round) {
    for (auto& d : objects) d = begin(2);
    for (const auto* d : objects) sum += d->value;
    for (auto* d : objects) end(d);
  }
  const auto ticks = static_cast<double>(std::clock() - start);
  std::printf("%ld objects for each round\n", sum / 2 / rounds);
  if (argc > 1) std::printf("%.1f ns\n", 1e6 * ticks / CLOCKS_PER_SEC / rounds);
  return 0;
}
