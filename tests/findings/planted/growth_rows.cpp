// Reads rows of numbers, each into a vector that nobody told the size.
#include <cstdio>
#include <vector>

int main() {
  std::vector<std::vector<int>> rows;
  rows.reserve(1500);
  for (int row = 0; row < 1500; ++row) {
    std::vector<int> numbers;
    for (int i = 0; i < 40; ++i) {
      numbers.push_back(row * i);  // planted: growth
    }
    rows.push_back(std::move(numbers));
  }
  std::printf("%zu rows\n", rows.size());
  return 0;
}
