// All blocks go in any order at the end. For a moment few of them keep many pages, but nothing
// stays.
#include <algorithm>
#include <cstdio>
#include <memory>
#include <random>
#include <vector>

int main() {
  std::mt19937 random(3);
  std::vector<std::unique_ptr<char[]>> all(60'000);
  long sum = 0;
  for (auto& each : all) {
    each = std::make_unique<char[]>(60 + random() % 300);
    each[0] = 1;
  }
  for (int round = 0; round < 50; ++round)
    for (const auto& each : all) sum += each[0];
  std::shuffle(all.begin(), all.end(), random);
  for (auto& each : all) each.reset();
  std::printf("%ld\n", sum);
  return 0;
}
