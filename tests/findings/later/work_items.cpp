// A pool of three threads; the main thread makes closures, and a worker drops each.
#include <condition_variable>
#include <cstdio>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

int main() {
  std::mutex lock;
  std::condition_variable changed;
  std::deque<std::function<long()>> queue;
  bool is_over = false;
  long sum = 0;
  std::vector<std::thread> workers;
  workers.reserve(3);
  for (int w = 0; w < 3; ++w)
    workers.emplace_back([&] {
      for (;;) {
        std::unique_lock guard(lock);
        changed.wait(guard, [&] { return is_over || !queue.empty(); });
        if (queue.empty()) return;
        const std::function<long()> work = std::move(queue.front());
        queue.pop_front();
        changed.notify_all();
        guard.unlock();
        const long result = work();
        guard.lock();
        sum += result;
      }
    });
  for (long i = 0; i < 9000; ++i) {
    const long a = i, b = i % 7, c = i % 11;
    std::unique_lock guard(lock);
    changed.wait(guard, [&] { return queue.size() < 64; });
    queue.emplace_back([a, b, c] { return a + b * c; });  // planted: handoff
    changed.notify_all();
  }
  {
    const std::lock_guard guard(lock);
    is_over = true;
  }
  changed.notify_all();
  for (std::thread& w : workers) w.join();
  std::printf("%ld\n", sum);
  return 0;
}
