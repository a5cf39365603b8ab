// os/thread_fence_windows.cpp: os/thread_fence.hpp by the system's flush of all processors'
// buffers.
// Layer: os.
#include <ashlar/os/thread_fence.hpp>
#include <ashlar/os/windows.hpp>

namespace ashlar::os {

void prepare_thread_fence() noexcept {}

bool may_fence_all_threads() noexcept {
  return true;
}

bool fence_all_threads() noexcept {
  ::FlushProcessWriteBuffers();
  return true;
}

}  // namespace ashlar::os
