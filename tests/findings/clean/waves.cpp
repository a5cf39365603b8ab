// Work comes in waves. Between two of them few blocks keep many pages, and the next wave uses
// these.
#include <cstdio>
#include <memory>
#include <random>
#include <vector>

struct worker {
  int number = 0;
  long done = 0;
};

int main() {
  std::mt19937 random(5);
  std::vector<std::unique_ptr<worker>> workers(1'000);
  std::vector<std::unique_ptr<char[]>> work(30'000);
  long sum = 0;
  for (int wave = 0; wave < 8; ++wave) {
    for (std::size_t i = 0; i < work.size(); ++i) {
      work[i] = std::make_unique<char[]>(90 + random() % 250);
      work[i][0] = 1;
      if (i % 30 == 0 && !workers[i / 30]) workers[i / 30] = std::make_unique<worker>();
    }
    for (std::size_t i = 0; i < work.size(); ++i) {
      sum += work[i][0];
      if (i % 15 == 0)
        work[i] = std::make_unique<char[]>(100 + i % 7 * 30);  // the next wave's first ones
      else
        work[i].reset();
    }
  }
  std::printf("%ld\n", sum);
  return 0;
}
