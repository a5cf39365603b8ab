// Particles that are born and die at random.
#include <cstdio>
#include <memory>
#include <random>
#include <vector>

struct particle {
  double place[3] = {};
  double speed[3] = {};
  int age = 0;
};

int main() {
  std::mt19937 random(3);
  std::vector<std::unique_ptr<particle>> all(500);
  long ages = 0;
  for (int step = 0; step < 30'000; ++step) {
    auto& one = all[random() % all.size()];
    if (one) {
      ages += one->age;
      one.reset();
    } else {
      one = std::make_unique<particle>();  // planted: pool
      one->age = step % 7;
    }
  }
  std::printf("%ld\n", ages);
  return 0;
}
