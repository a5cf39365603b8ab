// Static objects of the third file; threads, so that locks are used; and what runs at exit.
#include <tests/xallocator/holder.hpp>
#include <thread>

#include "xallocator.h"

namespace {

const holder first{5}, second{6};

holder& local_static() {
  static holder object{7};
  return object;
}
const holder& third = local_static();

void* for_exit = nullptr;

void churn(unsigned char fill) {
  for (int i = 0; i < 2'000; ++i) {
    const auto size = static_cast<std::size_t>(i % 300 + 1);
    auto* const block = static_cast<unsigned char*>(xmalloc(size));
    REQUIRE(block != nullptr);
    std::memset(block, fill, size);
    for (std::size_t k = 0; k < size; ++k) REQUIRE(block[k] == fill);
    xfree(block);
  }
}

}  // namespace

int main() {
  const int local_statics_and_others = alive;
  REQUIRE(local_statics_and_others == holder_count - 1);
  static holder of_main{8};
  for_exit = xmalloc(100);
  std::atexit([] { xfree(for_exit); });
  std::thread threads[3];
  for (unsigned char t = 0; t < 3; ++t) threads[t] = std::thread(churn, t);
  for (std::thread& thread : threads) thread.join();
  xalloc_stats();
  return 0;
}
