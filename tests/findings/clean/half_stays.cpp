// Half of what was read goes, and the rest fills its pages well enough.
#include <cstdio>
#include <memory>
#include <vector>

int main() {
  std::vector<std::unique_ptr<char[]>> kept(25'000);
  std::vector<std::unique_ptr<char[]>> read(25'000);
  for (std::size_t i = 0; i < kept.size(); ++i) {
    read[i] = std::make_unique<char[]>(128 + i % 8 * 16);
    kept[i] = std::make_unique<char[]>(112 + i % 9 * 16);
    read[i][0] = kept[i][0] = 1;
  }
  for (auto& each : read) each.reset();
  long sum = 0;
  for (int round = 0; round < 300; ++round)
    for (const auto& each : kept) sum += each[0];
  std::printf("%ld\n", sum);
  return 0;
}
