// RISC-V: compiled, not run (Debian's emulator for it is a package of its own), so nothing is defined.
#pragma once

#include <ashlar/core/lock_policy.hpp>

namespace platform {
[[noreturn]] void leave(int status) noexcept;
using one_core_lock = ashlar::no_lock;
}  // namespace platform
