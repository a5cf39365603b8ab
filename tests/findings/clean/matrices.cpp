// Dense arithmetic: a few large blocks that live long.
#include <cstdio>
#include <vector>

using matrix = std::vector<double>;
constexpr std::size_t n = 120;

static void multiply(const matrix& a, const matrix& b, matrix& to) {
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j) {
      double sum = 0;
      for (std::size_t k = 0; k < n; ++k) sum += a[i * n + k] * b[k * n + j];
      to[i * n + j] = sum;
    }
}

int main() {
  matrix a(n * n, 0.5);
  matrix b(n * n, 0.001);
  matrix c(n * n);
  for (int step = 0; step < 20; ++step) {
    multiply(a, b, c);
    a.swap(c);
  }
  std::printf("%.3g\n", a[0]);
  return 0;
}
