// XALLOCATOR in a base class: every widget, whatever its size, comes from fixed blocks. Nothing has to be
// initialised, and a static object may allocate before main and free after it.
#include "xallocator.h"

#include <cstdio>
#include <memory>
#include <vector>

namespace {

class widget {
  XALLOCATOR
 public:
  virtual ~widget() = default;
  virtual const char* name() const { return "widget"; }
};
class button : public widget {
 public:
  const char* name() const override { return "button"; }

 private:
  [[maybe_unused]] char label_[40] = {};
};
class image : public widget {
 public:
  const char* name() const override { return "image"; }

 private:
  // Over-aligned members are aligned, too.
  [[maybe_unused]] alignas(64) unsigned char pixels_[1024] = {};
};

// Made before main, gone after it.
const std::unique_ptr<widget> desktop = std::make_unique<image>();

}  // namespace

int main() {
  std::vector<std::unique_ptr<widget>> window;
  for (int i = 0; i < 3; ++i) window.push_back(std::make_unique<button>());
  window.push_back(std::make_unique<image>());
  for (const auto& w : window)
    std::printf("%s: %zu bytes usable\n", w->name(), xusable_size(w.get()));
  window.clear();  // each is freed as what it is, through its base
  xalloc_stats();
  return 0;
}
