// Each worker has a buffer for the largest message that there may be.
#include <algorithm>
#include <cstdio>
#include <memory>
#include <thread>
#include <vector>

static long work(int worker) {
  constexpr std::size_t most = 16u << 20;
  const std::unique_ptr<char[]> message(new char[most]);  // planted: untouched
  long sum = 0;
  for (int i = 0; i < 2000; ++i) {
    const std::size_t bytes = 1000 + static_cast<std::size_t>(i * (worker + 7)) % 40'000;
    std::fill_n(message.get(), bytes, static_cast<char>(i));
    sum += message[bytes / 2];
  }
  return sum;
}

int main() {
  long sums[4] = {};
  std::vector<std::jthread> workers;
  for (int i = 0; i < 4; ++i) workers.emplace_back([&sums, i] { sums[i] = work(i); });
  workers.clear();
  std::printf("%ld\n", sums[0] + sums[1] + sums[2] + sums[3]);
  return 0;
}
