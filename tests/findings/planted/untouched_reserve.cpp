// A log in memory that reserves what the longest day may need, and a day is short.
#include <cstdio>
#include <string>

int main() {
  std::string log;
  log.reserve(32u << 20);  // planted: untouched
  for (int i = 0; i < 20'000; ++i) {
    log += "a line of the log of some length\n";
  }
  std::printf("%zu\n", log.size());
  return 0;
}
