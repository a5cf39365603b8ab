// One large vector, whose last copy is the peak of the program.
#include <cstdio>
#include <vector>

int main() {
  std::vector<double> samples;
  for (int i = 0; i < 1'200'000; ++i) {
    samples.push_back(0.5 * i);  // planted: growth
  }
  double sum = 0;
  for (const double s : samples) sum += s;
  std::printf("%.0f\n", sum);
  return 0;
}
