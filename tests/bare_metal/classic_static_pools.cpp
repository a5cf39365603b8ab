// The STATIC_POOLS mode of the classic API in firmware: xmalloc's family and a class with XALLOCATOR, no library.
#include <cerrno>
#include <cstddef>
#include <cstdint>

#include <ashlar/core/fault.hpp>

#include "platform.hpp"
#include "xallocator_static_pools.h"

XALLOCATOR_STATIC_POOLS(ashlar::blocks<16, 4>, ashlar::blocks<64, 4>, ashlar::blocks<396, 2>,
                        ashlar::spill::never, platform::one_core_lock);

namespace {

class reading {
 public:
  explicit reading(std::uint32_t value) : value_(value) {}
  [[nodiscard]] std::uint32_t value() const noexcept { return value_; }

 private:
  std::uint32_t value_;
  [[maybe_unused]] std::uint32_t time_[10] = {};
  XALLOCATOR
};

int stats_lines = 0, error_number = 0;
bool fault_is_awaited = false;

void check_that(bool holds, int step) noexcept {
  if (!holds) platform::leave(step);
}

void run() noexcept {
  void* held[4];
  for (void*& p : held) check_that((p = xmalloc(10)) != nullptr && xusable_size(p) == 16, 1);
  check_that(xmalloc(10) == nullptr && errno != 0, 2);
  for (void* p : held) xfree(p);

  auto* const words = static_cast<std::uint32_t*>(xcalloc(10, 4));
  for (std::uint32_t i = 0; i < 10; ++i) check_that(words[i] == 0, 3);
  words[9] = 9;
  auto* const more = static_cast<std::uint32_t*>(xrealloc(words, 300));
  check_that(more != nullptr && more != words && more[9] == 9 && xusable_size(more) == 396, 4);
  xfree(more);
  volatile std::size_t most = SIZE_MAX;  // unknown to the compiler, which would warn
  check_that(xmalloc(397) == nullptr && xcalloc(most, 2) == nullptr, 5);

  auto* const r = new reading(7);
  check_that(r->value() == 7 && xusable_size(r) == 64, 6);
  delete r;
  xalloc_stats();
  check_that(stats_lines == 3, 7);

  void* const twice = xmalloc(1);
  xfree(twice);
  fault_is_awaited = true;
  xfree(twice);
  platform::leave(8);  // the fault ends the image
}

}  // namespace

extern "C" {

int image_main() {
  run();
  return 9;
}

void ashlar_fault(const ashlar::fault& what) noexcept {
  platform::leave(fault_is_awaited && what.kind == ashlar::fault_kind::double_free ? 0 : 100);
}
void xalloc_stats_line(const char* line, std::size_t length) noexcept {
  check_that(line != nullptr && length > 40, 10);
  ++stats_lines;
}
// What errno is by newlib's headers; a board's image has no C library.
int* __errno() noexcept {  // NOLINT(bugprone-reserved-identifier)
  return &error_number;
}
}
