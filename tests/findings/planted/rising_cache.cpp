// A cache without a bound. Entries are dropped at times, and all of it at the end, so it is no leak.
#include <chrono>
#include <cstdio>
#include <map>
#include <string>
#include <thread>

int main() {
  std::map<int, std::string> pages;
  std::size_t sent = 0;
  for (int i = 0; i < 300; ++i) {
    pages.emplace(i, std::string(2000 + static_cast<std::size_t>(i % 9), 'x'));  // planted: rising
    if (i % 10 == 9) pages.erase(i - 5);
    sent += pages.rbegin()->second.size();
    std::this_thread::sleep_for(std::chrono::milliseconds(8));
  }
  std::printf("%zu\n", sent);
  return 0;
}
