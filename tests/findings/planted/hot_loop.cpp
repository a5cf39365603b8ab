// A state that each round makes anew, while the round allocates other things, too.
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

struct state {
  explicit state(std::size_t n) : cells(new double[n]()) {}  // planted: hot_loop
  std::unique_ptr<double[]> cells;
};

int main() {
  std::vector<std::string> kept;
  kept.reserve(70'000);
  double sum = 0;
  for (int round = 0; round < 12'000; ++round) {
    const state s(static_cast<std::size_t>(16 + round % 9));
    for (int k = 0; k < 5; ++k)
      kept.emplace_back(static_cast<std::size_t>(20 + (round + k) % 40), 'x');
    s.cells[0] = round;
    sum += s.cells[0];
  }
  std::printf("%.0f, %zu\n", sum, kept.size());
  std::fflush(stdout);
  std::_Exit(0);  // it leaves its strings to the system
}
