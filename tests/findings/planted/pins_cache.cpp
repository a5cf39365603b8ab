// A cache that is filled while large answers are put together, and answers from then on.
#include <cstdio>
#include <memory>
#include <vector>

struct entry {
  std::unique_ptr<char[]> bytes;
  std::size_t size = 0;
};

int main() {
  std::vector<entry> cache(1'200);
  std::vector<std::unique_ptr<char[]>> parts(48'000);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::size_t size = 96 + i % 9 * 48;
    parts[i] = std::make_unique<char[]>(size);
    parts[i][0] = 1;
    if (i % 40 != 0) continue;
    entry& kept = cache[i / 40];
    kept.size = 30 + i % 7 * 10;
    kept.bytes = std::make_unique<char[]>(kept.size);  // planted: pins
    kept.bytes[0] = 1;
  }
  for (auto& part : parts) part.reset();
  long sum = 0;
  for (int round = 0; round < 3'000; ++round)
    for (const entry& e : cache) sum += e.bytes[0];
  std::printf("%ld\n", sum);
  return 0;
}
