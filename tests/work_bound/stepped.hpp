// tests/work_bound/stepped.hpp: a heap whose calls are stepped through, instruction by instruction.
// x86-64 Linux.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <tests/support/single_step.hpp>

#include <ashlar/heap/basic_heap.hpp>
#include <ashlar/heap/work_bound.hpp>
#include <ashlar/os/mutex.hpp>
#include <ashlar/os/system_space.hpp>

namespace ashlar::stepped {

/// The system's, with a clock that the test sets, and the turns of the last call.
struct space : os::system_space {
  static inline std::uint64_t clock_ms = 1;
  static inline std::array<std::size_t, detail::turns_max> turns{};

  [[nodiscard]] static std::uint64_t now_ms() noexcept { return clock_ms; }
  static void note_turns(detail::turn t, std::size_t n) noexcept {
    turns[static_cast<std::size_t>(t)] += n;
  }
};
struct config {
  using space = stepped::space;
  using mutex = os::mutex;
};
using heap = basic_heap<config>;

/// As test::instructions_of, with the turns of the call.
template <class Call>
std::uint64_t instructions_of(Call call) {
  space::turns = {};
  return test::instructions_of(call);
}

}  // namespace ashlar::stepped
