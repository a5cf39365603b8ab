// An editor's steps to undo: most are dropped at each save, all of the same line, the latest stay.
#include <cstdio>
#include <deque>
#include <memory>

struct step {
  std::unique_ptr<char[]> text;
};

int main() {
  std::deque<step> steps;
  long sum = 0;
  for (std::size_t i = 0; i < 60'000; ++i) {
    steps.push_back({std::make_unique<char[]>(20 + i * 17 % 500)});
    steps.back().text[0] = 1;
    sum += steps.back().text[0];
    if (i % 15'000 == 14'999)
      while (steps.size() > 3'000) steps.pop_front();
  }
  std::printf("%ld\n", sum);
  return 0;
}
