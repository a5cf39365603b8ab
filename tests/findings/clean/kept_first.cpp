// What stays is made first, so it lies together, and the rest leaves whole pages.
#include <cstdio>
#include <memory>
#include <vector>

struct account {
  int number = 0;
  long sum = 0;
  char name[40] = {};
};

int main() {
  std::vector<std::unique_ptr<account>> accounts(1'500);
  for (auto& each : accounts) each = std::make_unique<account>();
  std::vector<std::unique_ptr<char[]>> lines(50'000);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    lines[i] = std::make_unique<char[]>(96 + i % 11 * 16);
    lines[i][0] = 1;
    accounts[i % accounts.size()]->sum += lines[i][0];
  }
  for (auto& line : lines) line.reset();
  long sum = 0;
  for (int round = 0; round < 2'000; ++round)
    for (const auto& each : accounts) sum += each->sum;
  std::printf("%ld\n", sum);
  return 0;
}
