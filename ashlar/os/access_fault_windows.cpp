// os/access_fault_windows.cpp: os/access_fault.hpp by a vectored exception handler.
// Layer: os.
#include <ashlar/os/access_fault.hpp>
#include <ashlar/os/windows.hpp>

namespace ashlar::os {
namespace {

constinit access_watcher the_watcher = nullptr;

LONG NTAPI on_exception(EXCEPTION_POINTERS* exception) noexcept {
  const EXCEPTION_RECORD& record = *exception->ExceptionRecord;
  if (record.ExceptionCode == EXCEPTION_ACCESS_VIOLATION && record.NumberParameters >= 2) {
    const auto how = record.ExceptionInformation[0];  // 0 read, 1 write, 8 execute
    the_watcher({.address = reinterpret_cast<const void*>(record.ExceptionInformation[1]),
                 .kind = how == 0   ? access_kind::read
                         : how == 1 ? access_kind::write
                                    : access_kind::unknown,
                 .instruction = record.ExceptionAddress});
  }
  return EXCEPTION_CONTINUE_SEARCH;
}

}  // namespace

bool watch_access_faults(access_watcher watcher) noexcept {
  the_watcher = watcher;
  constexpr ULONG first = 1;
  return ::AddVectoredExceptionHandler(first, on_exception) != nullptr;
}

}  // namespace ashlar::os
