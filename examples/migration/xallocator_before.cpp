// A window of widgets. Its base class has an allocator, and so have all that derive from it.
#include <cstdio>
#include <ctime>
#include <memory>
#include <vector>

#include "xallocator.h"

namespace {

class widget {
  XALLOCATOR
 public:
  virtual ~widget() = default;
  [[nodiscard]] virtual int height() const { return 1; }
};
class button : public widget {
 public:
  [[nodiscard]] int height() const override { return 2; }

 private:
  [[maybe_unused]] char label_[80] = {};
};

// Made before main, gone after it.
const std::unique_ptr<widget> desktop = std::make_unique<button>();

}  // namespace

// With an argument: tell the time, too.
int main(int argc, char**) {
  const int rounds = argc > 1 ? 20'000 : 10;
  std::vector<std::unique_ptr<widget>> window(1000);
  long heights = 0;
  const std::clock_t start = std::clock();
  for (int round = 0; round < rounds; ++round) {
    for (auto& w : window) w = std::make_unique<button>();
    for (const auto& w : window) heights += w->height();
    for (auto& w : window) w.reset();
  }
  const auto ticks = static_cast<double>(std::clock() - start);
  std::printf("%ld buttons for each round\n", heights / desktop->height() / rounds);
  if (argc > 1) std::printf("%.1f ns\n", 1e6 * ticks / CLOCKS_PER_SEC / rounds);
  return 0;
}
