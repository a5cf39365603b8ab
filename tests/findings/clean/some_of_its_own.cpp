// One line makes all blocks, and some of them stay. Pages of its own would not help: they would
// look the same.
#include <cstdio>
#include <memory>
#include <vector>

int main() {
  std::vector<std::unique_ptr<char[]>> records(50'000);
  for (std::size_t i = 0; i < records.size(); ++i) {
    records[i] = std::make_unique<char[]>(100 + i * 13 % 250);
    records[i][0] = 1;
  }
  for (std::size_t i = 0; i < records.size(); ++i)
    if (i % 40 != 0) records[i].reset();
  long sum = 0;
  for (int round = 0; round < 2'000; ++round)
    for (std::size_t i = 0; i < records.size(); i += 40) sum += records[i][0];
  std::printf("%ld\n", sum);
  return 0;
}
