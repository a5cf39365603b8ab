// Destructors of thread_local objects make further thread_local objects, and hand blocks to objects
// of other threads.
#include <atomic>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "outside.h"

static std::mutex lock;
static std::vector<std::string> wills;
static std::atomic<int> ends = 0;

struct last {
  std::map<int, std::string> pages;
  ~last() {
    for (int i = 0; i < 20; ++i) pages[i] = std::string(static_cast<std::size_t>(i * 37), 'x');
    const std::lock_guard held(lock);
    wills.push_back(std::move(pages[19]));
    ++ends;
  }
};
struct first {
  std::vector<std::string> names;
  ~first() {
    thread_local last made_at_the_end;
    made_at_the_end.pages[1] = names.empty() ? "none" : names.back();
    names.resize(300, std::string(50, 'n'));
  }
};
static thread_local first mine;

int main() {
  for (int round = 0; round < 10; ++round) {
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; ++i)
      threads.emplace_back(
          [i] { mine.names.assign(static_cast<std::size_t>(i), std::string(100, 't')); });
    for (std::thread& t : threads) t.join();
    const std::lock_guard held(lock);
    CHECK(wills.size() == 8 && wills[3].size() == 19 * 37);
    wills.clear();
  }
  std::printf("ends: %d\n", ends.load());
}
