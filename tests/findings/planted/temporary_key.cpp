// Counts words by a key that is put together anew for each.
#include <cstdio>
#include <string>
#include <unordered_map>

int main() {
  std::unordered_map<std::string, int> counts;
  counts["the table of all the words/number 0"] = 0;
  long found = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::string key = "the table of all the words";  // planted: temporary
    key += "/number " + std::to_string(i % 10);      // planted: temporary
    found += static_cast<long>(counts.count(key));
  }
  std::printf("%ld\n", found);
  return 0;
}
