// os/service_thread_windows.cpp: os/service_thread.hpp by CreateThread and WaitOnAddress.
// Layer: os.
#include <cstddef>

#include <ashlar/os/service_thread.hpp>
#include <ashlar/os/windows.hpp>

namespace ashlar::os {
namespace {

HANDLE thread_of(std::uintptr_t handle) noexcept { return reinterpret_cast<HANDLE>(handle); }

DWORD WINAPI run(void* work) noexcept {
  reinterpret_cast<void (*)() noexcept>(work)();
  return 0;
}

}  // namespace

bool service_thread::start(void (*work)() noexcept, std::size_t stack_bytes) noexcept {
  const error_keeper keeper;
  const HANDLE thread = ::CreateThread(nullptr, stack_bytes, run, reinterpret_cast<void*>(work),
                                       STACK_SIZE_PARAM_IS_A_RESERVATION, nullptr);
  if (thread == nullptr) return false;
  handle_ = reinterpret_cast<std::uintptr_t>(thread);
  return true;
}

bool service_thread::join_within(unsigned ms) noexcept {
  const error_keeper keeper;
  const bool ended = ::WaitForSingleObject(thread_of(handle_), ms) == WAIT_OBJECT_0;
  ::CloseHandle(thread_of(handle_));
  return ended;
}

bool program_thread::start() noexcept { return false; }

void bell::wait(std::int64_t ms) noexcept {
  const error_keeper keeper;
  if (rung_.exchange(0, std::memory_order_acquire) != 0) return;
  std::uint32_t silent = 0;
  ::WaitOnAddress(&rung_, &silent, sizeof silent, ms < 0 ? INFINITE : static_cast<DWORD>(ms));
  rung_.exchange(0, std::memory_order_acquire);
}

void bell::ring() noexcept {
  if (rung_.exchange(1, std::memory_order_release) == 0) ::WakeByAddressSingle(&rung_);
}

}  // namespace ashlar::os
