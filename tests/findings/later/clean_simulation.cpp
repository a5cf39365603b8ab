// Bodies in arrays, a grid that is built anew in the same memory for each step.
#include <cstdio>
#include <vector>

struct bodies {
  std::vector<float> x, y, vx, vy;
};

int main() {
  constexpr std::size_t n = 5000;
  constexpr std::size_t cells = 64 * 64;
  bodies b;
  for (auto* column : {&b.x, &b.y, &b.vx, &b.vy}) column->resize(n);
  for (std::size_t i = 0; i < n; ++i)
    b.x[i] = static_cast<float>(i % 64), b.y[i] = static_cast<float>(i / 64 % 64);
  std::vector<unsigned> begin(cells + 1);
  std::vector<unsigned> order(n);
  for (int step = 0; step < 50; ++step) {
    begin.assign(cells + 1, 0);
    const auto cell = [&](std::size_t i) {
      return static_cast<std::size_t>(b.y[i]) * 64 + static_cast<std::size_t>(b.x[i]);
    };
    for (std::size_t i = 0; i < n; ++i) ++begin[cell(i) + 1];
    for (std::size_t c = 0; c < cells; ++c) begin[c + 1] += begin[c];
    std::vector<unsigned> at(begin.begin(), begin.end() - 1);
    for (std::size_t i = 0; i < n; ++i) order[at[cell(i)]++] = static_cast<unsigned>(i);
  }
  std::printf("%u\n", order[n / 2]);
  return 0;
}
