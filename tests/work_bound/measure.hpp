// tests/work_bound/measure.hpp: what the call of a program takes that does most.
#pragma once

#include <memory>
#include <tests/support/single_step.hpp>
#include <tests/work_bound/programs.hpp>

#include <ashlar/heap/basic_heap.hpp>
#include <ashlar/os/mutex.hpp>
#include <ashlar/os/system_space.hpp>

// A heap whose calls are stepped through, instruction by instruction.
// x86-64 Linux.
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

namespace ashlar::work_bound {

using turns = std::array<std::size_t, detail::turns_max>;

/// Returns: what these turns cost, by their prices.
inline std::size_t price_of(const turns& t) {
  std::size_t sum = 0;
  for (std::size_t i = 0; i < t.size(); ++i)
    sum += t[i] * detail::price_of(static_cast<detail::turn>(i));
  return sum;
}

struct measured {
  std::size_t call = 0;  ///< its number in the program; 0: none
  turns of_call{};
  std::uint64_t instructions = 0;
};

/// Effects: runs the program on a heap of its own, twice if the call is to be stepped through. Returns: the
/// call for which score(turns) is most.
template <class Score>
measured heaviest(const program& p, const heap_bounds& bounds, Score score, bool steps = true) {
  measured found;
  std::size_t best = 0;
  for (const bool stepping : {false, true}) {
    if (stepping && !steps) break;
    const auto h = std::make_unique<stepped::heap>();
    stepped::space::clock_ms = 1;
    h->set_bounds(bounds);
    std::size_t number = 0;
    {
      runner<stepped::heap> run(*h, [](std::uint64_t ms) { stepped::space::clock_ms = ms; });
      run.run(p, [&](auto call) {
        ++number;
        if (stepping && number == found.call) {
          found.instructions = stepped::instructions_of(call);
          found.of_call = stepped::space::turns;
          return;
        }
        stepped::space::turns = {};
        call();
        if (const std::size_t s = score(stepped::space::turns); !stepping && s > best) {
          best = s;
          found.call = number;
          found.of_call = stepped::space::turns;
        }
      });
    }
    h->release_all();
  }
  return found;
}

}  // namespace ashlar::work_bound
