// A list of strings and a map, which go and come again.
#include <cstddef>
#include <cstdio>
#include <ctime>

#include <ashlar/adapt/containers.hpp>

namespace {

using lines = ashlar::containers::list<ashlar::containers::string>;
using counts = ashlar::containers::map<int, int>;

}  // namespace

// With an argument: tell the time, too.
int main(int argc, char**) {
  const int rounds = argc > 1 ? 500 : 1;
  std::size_t elements = 0;
  const std::clock_t start = std::clock();
  for (int round = 0; round < rounds; ++round) {
    lines text;
    for (int i = 0; i < 10'000; ++i)
      text.push_back("a line that is longer than a string's own room");
    counts primes;
    for (int i = 0; i < 10'000; ++i) primes[i * 7919 % 10'007] = i;
    elements += text.size() + primes.size();
  }
  const auto ticks = static_cast<double>(std::clock() - start);
  std::printf("%zu elements for each round\n", elements / static_cast<std::size_t>(rounds));
  if (argc > 1)
    std::printf("%.0f ns\n", 1e9 * ticks / CLOCKS_PER_SEC / static_cast<double>(elements));
  return 0;
}
