// Sets of numbers whose table grows with them.
#include <cstdio>
#include <unordered_set>

int main() {
  std::size_t all = 0;
  for (int round = 0; round < 60; ++round) {
    std::unordered_set<int> seen;
    for (int i = 0; i < 3000; ++i) {
      seen.insert(i * (round + 1));  // planted: together
    }
    all += seen.size();
  }
  std::printf("%zu\n", all);
  return 0;
}
