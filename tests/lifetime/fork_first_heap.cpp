// fork while another thread uses the program's first heap instance: whatever is set up once must be
// whole in the child, and no lock may stay held there by a thread that it does not have.
#include <tests/support/in_child.hpp>
#include <tests/support/require.hpp>
#include <thread>

#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>

#include <ashlar/instance/heap.hpp>

namespace {
std::atomic<bool> is_slow = false;
std::atomic<bool> is_in = false;
}  // namespace

// In place of the system's: takes its time once main has begun.
extern "C" int pthread_key_create(pthread_key_t* key, void (*end)(void*)) noexcept {
  using function = int (*)(pthread_key_t*, void (*)(void*));
  static const auto next = reinterpret_cast<function>(::dlsym(RTLD_NEXT, "pthread_key_create"));
  if (is_slow) {
    is_in = true;
    ::usleep(500'000);
  }
  return next(key, end);
}

int main() {
  is_slow = true;
  std::atomic<bool> is_through = false;
  ashlar::heap shared;
  std::thread first([&] {
    shared.deallocate(shared.try_allocate(100));
    is_through = true;
  });
  while (!is_in && !is_through) ::usleep(1'000);
  const auto use = [&] {
    void* const block = shared.try_allocate(100);
    REQUIRE(block != nullptr);
    shared.deallocate(block);
    ashlar::heap own;
    REQUIRE(own.try_allocate(100) != nullptr);
    return 0;
  };
  REQUIRE(support::exit_status_of(use, 10) == 0);
  first.join();
}
