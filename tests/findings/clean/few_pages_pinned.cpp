// Some blocks keep some pages, but fewer than would be worth a change.
#include <cstdio>
#include <memory>
#include <vector>

int main() {
  std::vector<std::unique_ptr<int>> kept(120);
  std::vector<std::unique_ptr<char[]>> rows(40'000);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    rows[i] = std::make_unique<char[]>(140 + i % 16 * 16);
    rows[i][0] = 1;
    if (i % 350 == 0) kept[i / 350] = std::make_unique<int>(1);
  }
  for (auto& row : rows) row.reset();
  long sum = 0;
  for (int round = 0; round < 20'000; ++round)
    for (const auto& each : kept) sum += each ? *each : 0;
  std::printf("%ld\n", sum);
  return 0;
}
