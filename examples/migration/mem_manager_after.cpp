// Objects of one class in a pool that the caller names.
#include <cstddef>
#include <cstdio>
#include <ctime>
#include <vector>

#include <ashlar/pool/static_pool.hpp>

namespace {

class Dummy {
 public:
  explicit Dummy(int v) : value(v) {}
  int value;
};

constinit ashlar::static_pool<Dummy, 1000> pool;

Dummy* begin(int value) { return pool.create(value); }
void end(Dummy* d) { pool.destroy(d); }

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
