// os/system_call.hpp: a call of the system, past any function `syscall` that the process has.
// Layer: os. For *_linux.cpp, page_calls.hpp and dropin alone.
//
// The heap makes these calls with its locks taken. Another library's `syscall` that allocates, as
// torsocks' does when it is called first, would wait for them for ever. So the drop-in library,
// whose malloc that is, calls the system itself.
#pragma once

#include <sys/syscall.h>
#include <unistd.h>

#include <ashlar/core/config.hpp>

#if defined(__x86_64__) && defined(__LP64__)
#define ASHLAR_HAS_SYSTEM_CALL 1
/// Defined weakly in system_call_linux.cpp: a test that makes calls fail has its own.
extern "C" [[gnu::visibility("hidden")]] long ashlar_system_call(long number, ...) noexcept;
#else
#define ASHLAR_HAS_SYSTEM_CALL 0
#endif

namespace ashlar::os {

/// Effects, returns, errno: as `syscall`.
template <class... Arguments>
inline long system_call(long number, Arguments... arguments) noexcept {
#if ASHLAR_HAS_SYSTEM_CALL
  if constexpr (is_drop_in) return ashlar_system_call(number, arguments...);
#endif
  return ::syscall(number, arguments...);
}

}  // namespace ashlar::os
