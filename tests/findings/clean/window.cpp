// A window of the last measurements slides: each block dies as many steps after its birth, so pages
// empty in turn.
#include <array>
#include <cstdio>
#include <memory>

struct measurement {
  std::unique_ptr<char[]> bytes;
};

int main() {
  static std::array<measurement, 20'000> window;
  long sum = 0;
  for (std::size_t i = 0; i < 70'000; ++i) {
    measurement& slot = window[i % window.size()];
    slot.bytes = std::make_unique<char[]>(64 + i * 31 % 400);
    slot.bytes[0] = 1;
    sum += slot.bytes[0];
  }
  std::printf("%ld\n", sum);
  return 0;
}
