// qsort takes its buffer from malloc, stable_sort from operator new, and both work on less;
// comparisons allocate, throw and jump out.
#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

#include "outside.h"

static jmp_buf back;
static int comparisons;
extern "C" int by_text(const void* a, const void* b) {
  char* text[2];
  CHECK(asprintf(&text[0], "%010u", *static_cast<const unsigned*>(a)) == 10);
  CHECK(asprintf(&text[1], "%010u", *static_cast<const unsigned*>(b)) == 10);
  const int order = strcmp(text[0], text[1]);
  std::free(text[0]);
  std::free(text[1]);
  if (++comparisons == 6000) longjmp(back, 1);
  return order;
}
extern "C" int by_number(const void* a, const void* b) {
  const unsigned x = *static_cast<const unsigned*>(a), y = *static_cast<const unsigned*>(b);
  return x < y ? -1 : x > y;
}

int main() {
  std::vector<unsigned> numbers(200000);
  unsigned seed = 1;
  const auto shuffle = [&] {
    for (unsigned& n : numbers) n = seed = seed * 1664525 + 1013904223;
  };
  shuffle();
  std::qsort(numbers.data(), numbers.size(), sizeof(unsigned), by_number);
  CHECK(std::is_sorted(numbers.begin(), numbers.end()));
  shuffle();
  if (setjmp(back) == 0) std::qsort(numbers.data(), 2000, sizeof(unsigned), by_text);
  shuffle();
  std::stable_sort(numbers.begin(), numbers.end());
  std::inplace_merge(numbers.begin(), numbers.begin() + 90000, numbers.end());
  std::vector<std::string> words;
  for (int i = 0; i < 5000; ++i)
    words.push_back(std::to_string(i * 7919 % 5000) + std::string(20, 'w'));
  int count = 0;
  try {
    std::stable_sort(words.begin(), words.end(), [&](const std::string& a, const std::string& b) {
      if (++count == 20000) throw std::runtime_error("enough");
      return a < b;
    });
  } catch (const std::runtime_error& e) {
    std::puts(e.what());
  }
  std::stable_sort(words.begin(), words.end());
  printf("%u %s %d\n", numbers[1000], words[500].c_str(), comparisons);
}
