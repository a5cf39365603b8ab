// os/thread_fence_none.cpp: os/thread_fence.hpp where the system documents no such call.
// Layer: os.
#include <ashlar/os/thread_fence.hpp>

namespace ashlar::os {

void prepare_thread_fence() noexcept {}

bool may_fence_all_threads() noexcept {
  return true;
}

bool fence_all_threads() noexcept {
  return false;
}

}  // namespace ashlar::os
