// Answers of many sizes in a bounded cache: blocks live as long as they are of use, in no order.
#include <cstdio>
#include <memory>
#include <random>
#include <vector>

struct answer {
  std::unique_ptr<char[]> bytes;
  std::size_t size = 0;
};

int main() {
  std::mt19937 random(6);
  std::vector<answer> cache(1000);
  std::size_t held = 0;
  for (int i = 0; i < 40'000; ++i) {
    answer& slot = cache[random() % cache.size()];
    if (slot.size != 0 && random() % 3 != 0) continue;  // it is there
    held -= slot.size;
    slot.bytes.reset();
    slot.size = 20 + random() % 3000;
    slot.bytes = std::make_unique<char[]>(slot.size);
    slot.bytes[0] = 1;
    held += slot.size;
  }
  std::printf("%s\n", held != 0 ? "held" : "none");
  return 0;
}
