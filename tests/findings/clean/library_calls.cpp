// What the C and C++ libraries allocate for themselves, which no line of the program can change.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <locale>
#include <regex>
#include <vector>

int main() {
  long all = 0;
  for (int i = 0; i < 1500; ++i) {
    std::FILE* const file = std::fopen("/dev/null", "w");
    if (file == nullptr) return 1;
    all += std::fprintf(file, "line %d\n", i);
    std::fclose(file);
  }
  const std::regex code("[A-Z]+-([0-9]+)");
  std::cmatch found;
  for (int i = 0; i < 3000; ++i) all += std::regex_match("ABC-123", found, code) ? 1 : 0;
  std::vector<int> numbers(5000);
  for (int i = 0; i < 1200; ++i) {
    for (std::size_t k = 0; k < numbers.size(); ++k) numbers[k] = static_cast<int>(k * 7919 % 5000);
    std::stable_sort(numbers.begin(), numbers.begin() + 50);
  }
  for (int i = 0; i < 2000; ++i) {
    const std::time_t now = i * 100'000L;
    all += std::localtime(&now)->tm_mday;
  }
  std::printf("%ld\n", all);
  return 0;
}
