// Starts a thread for each of many small works: what a thread needs is the library's.
#include <atomic>
#include <cstdio>
#include <thread>

int main() {
  std::atomic<long> sum{0};
  for (int i = 0; i < 1200; ++i) {
    std::thread worker([&sum, i] { sum += i; });
    worker.join();
  }
  std::printf("%ld\n", sum.load());
  return 0;
}
