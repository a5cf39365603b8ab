// The first phase leaves results behind; the second one needs a tenth of the memory, and does not
// get the first one's back.
#include <cstdio>
#include <memory>
#include <vector>

struct result {
  long sum;
  int first;
};

int main() {
  std::vector<std::unique_ptr<result>> results;
  results.reserve(2'000);
  std::vector<std::unique_ptr<char[]>> cells(60'000);
  for (std::size_t i = 0; i < cells.size(); ++i) {
    cells[i] = std::make_unique<char[]>(90 + i % 15 * 16);
    cells[i][0] = 1;
    if (i % 40 == 39) results.push_back(std::make_unique<result>());  // planted: pins
  }
  for (auto& cell : cells) cell.reset();
  std::vector<std::unique_ptr<char[]>> pages(300);
  long sum = 0;
  for (int round = 0; round < 400; ++round)
    for (std::size_t i = 0; i < pages.size(); i += 1 + static_cast<std::size_t>(round) % 5) {
      pages[i] = std::make_unique<char[]>(2'000 + i % 3 * 1'000);
      pages[i][0] = 1;
      sum += pages[i][0] + results[i]->first;
    }
  std::printf("%ld\n", sum);
  return 0;
}
