// The locks that each thread of the model holds, for the check of their order (core/lock_order.hpp).
#include <tests/interleave/model_std.hpp>
// first of all
#include <cstdint>

#include <ashlar/core/lock_order.hpp>

namespace ashlar::detail {

held_locks& own_held_locks() noexcept {
  static held_locks of[interleave::most_threads + 1];  // the last outside of the threads
  static ::std::uint64_t execution = 0;
  if (execution != interleave::execution()) {  // the last one may have ended in the middle
    execution = interleave::execution();
    for (held_locks& held : of) held = {};
  }
  return of[interleave::in_thread() ? interleave::self() : interleave::most_threads];
}

}  // namespace ashlar::detail
