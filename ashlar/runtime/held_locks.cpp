// runtime/held_locks.cpp: what each thread holds, in builds that check the order of locks.
// Layer: runtime. Compiled with CMake's ASHLAR_CHECK_LOCKS only.
#include <ashlar/core/lock_order.hpp>

namespace ashlar::detail {
namespace {
[[gnu::tls_model("initial-exec")]] constinit thread_local held_locks own;
}  // namespace

held_locks& own_held_locks() noexcept { return own; }

}  // namespace ashlar::detail
