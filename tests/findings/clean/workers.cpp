// Threads that work on parts of one array, each with scratch memory of its own that it keeps.
#include <cstdio>
#include <numeric>
#include <thread>
#include <vector>

int main() {
  std::vector<int> all(400'000);
  std::iota(all.begin(), all.end(), 0);
  std::vector<long> sums(4);
  std::vector<std::thread> threads;
  threads.reserve(sums.size());
  for (std::size_t t = 0; t < sums.size(); ++t) {
    threads.emplace_back([&, t] {
      std::vector<int> scratch;
      scratch.reserve(1000);
      for (std::size_t at = t * 100'000; at < (t + 1) * 100'000; at += 1000) {
        scratch.assign(all.begin() + static_cast<long>(at),
                       all.begin() + static_cast<long>(at) + 1000);
        for (const int n : scratch) sums[t] += n % 7;
      }
    });
  }
  for (std::thread& t : threads) t.join();
  std::printf("%ld\n", std::accumulate(sums.begin(), sums.end(), 0L));
  return 0;
}
