// os/thread_fence_linux.cpp: os/thread_fence.hpp by membarrier, which Linux has since 4.14.
// Layer: os.
#include <cerrno>

#include <linux/membarrier.h>

#include <ashlar/core/config.hpp>
#include <ashlar/os/call_filter.hpp>
#include <ashlar/os/single_thread.hpp>
#include <ashlar/os/system_call.hpp>
#include <ashlar/os/thread_fence.hpp>

namespace ashlar::os {

namespace {
bool membarrier(int command) noexcept {
  const int saved = errno;
  const bool done = system_call(SYS_membarrier, command, 0, 0) == 0;
  errno = saved;
  return done;
}
}  // namespace

void prepare_thread_fence() noexcept {
  static_cast<void>(membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED));
}

bool may_fence_all_threads() noexcept { return is_single_threaded() || !has_new_call_filter(); }

bool fence_all_threads() noexcept {
#if ASHLAR_SANITIZED && \
    !ASHLAR_ADDRESS_SANITIZER  // ThreadSanitizer knows no fence of another thread
  return is_single_threaded();
#else
  return is_single_threaded() || membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED);
#endif
}

}  // namespace ashlar::os
