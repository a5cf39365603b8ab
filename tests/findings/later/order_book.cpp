// Orders by price in a multimap, filled and cancelled at random, and an event for each that is logged and dropped.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <random>

struct order {
  int number;
  int amount;
};

int main() {
  std::mt19937 random(8);
  std::multimap<int, order> book;
  char last[64] = {};
  for (int i = 0; i < 25'000; ++i) {
    const int price = 1000 + static_cast<int>(random() % 200);
    book.emplace(price, order{i, 10});  // planted: nodes
    if (book.size() > 500) book.erase(std::next(book.begin(), static_cast<long>(random() % 20)));
    char* const event = static_cast<char*>(std::malloc(48 + random() % 16));  // planted: temporary
    if (event == nullptr) return 1;
    std::snprintf(event, 48, "order %d at %d", i, price);
    std::memcpy(last, event, 48);
    std::free(event);
  }
  std::printf("%zu %s\n", book.size(), last);
  return 0;
}
