// What was read goes at last, and the program ends with its settings: nothing follows that would
// show how long they stay.
#include <cstdio>
#include <memory>
#include <vector>

struct setting {
  int number = 0;
  int value = 0;
  setting* next = nullptr;
};

int main() {
  setting* all = nullptr;
  std::vector<std::unique_ptr<char[]>> lines(40'000);
  for (int i = 0; i < 40'000; ++i) {
    auto& line = lines[static_cast<std::size_t>(i)];
    line = std::make_unique<char[]>(static_cast<std::size_t>(150 + i % 14 * 16));
    line[0] = 's';
    if (i % 35 == 0) all = new setting{i, i / 2, all};  // planted: pins
  }
  for (auto& line : lines) line.reset();
  std::printf("%d\n", all->value);
  return 0;
}
