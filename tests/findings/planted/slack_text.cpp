// allocator: ashlar
// Texts of a round number of characters, and the zero behind them.
#include <cstdio>
#include <cstring>
#include <memory>
#include <vector>

int main() {
  std::vector<std::unique_ptr<char[]>> all;
  all.reserve(2000);
  for (int i = 0; i < 2000; ++i) {
    all.push_back(std::make_unique<char[]>(512 + 1));  // planted: slack
    std::memset(all.back().get(), 'a' + i % 26, 512);
  }
  std::printf("%zu\n", all.size());
  return 0;
}
