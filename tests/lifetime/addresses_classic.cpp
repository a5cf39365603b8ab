// A program that knows only classic headers limits its own addresses.
#include <tests/lifetime/addresses.hpp>

#include <ashlar/compat/stl_allocator.h>
#include <ashlar/compat/xallocator.h>
#include <ashlar/compat/xlist.h>

namespace {

class widget {
  XALLOCATOR
 public:
  virtual ~widget() = default;
  char room[40] = {};
};

}  // namespace

int main() {
  delete new widget;
  xlist<int> numbers;
  for (int i = 0; i < 1'000; ++i) numbers.push_back(i);
  addresses::live_under_limit();
  delete new widget;
  return 0;
}
