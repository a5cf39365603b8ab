// core/check_policy.hpp: which misuse an allocator looks for, and what that costs.
// Layer: core (freestanding).
// Law: a check that is off costs no byte and no instruction; one that is on is exact: what it
// reports is a misuse, always.
//
//   policy        finds                                       price
//   check::none   nothing                                     0
//   check::cheap  foreign, interior and never allocated       a link a block (1, 2 or 4 bytes, by
//                 addresses, double free; nobody follows      the pool's capacity; 4 where that is
//                 what is written into a free block           known at run time); 4 instructions
//                                                             more an allocation, 5 to 7 a free
//   check::full   that, bytes written behind a block (seen    16 bytes or more behind a block, the
//                 at its free) and after its free (seen at    quarantine, and writing each block
//                 reuse or by audit())                        twice
// (Instructions on x86-64: tests/pool_calls/pool_calls.txt.)
// A pool records no allocation site: a trace (tools/) has it, with the stack. A heap instance with
// these policies (instance/heap.hpp) is checked by the engine of the process heap: full records
// call stacks.
#pragma once

#include <cstddef>

#include <ashlar/core/policy.hpp>

namespace ashlar {
namespace check {

/// Policy: no check. A misuse is undefined behaviour.
struct none {
  using policy_kind = check_kind;
  static constexpr bool tracks_state = false;
  static constexpr bool guards_bytes = false;
};

/// Policy: range, start of a block, and whether it is in use.
struct cheap {
  using policy_kind = check_kind;
  static constexpr bool tracks_state = true;
  static constexpr bool guards_bytes = false;
};

/// Policy: all of `cheap`, a canary behind each block, fill patterns, and a quarantine: the last
/// `QuarantineBlocks` freed blocks are used again only when nothing else is left.
template <std::size_t QuarantineBlocks = 16>
struct full {
  using policy_kind = check_kind;
  static constexpr bool tracks_state = true;
  static constexpr bool guards_bytes = true;
  static constexpr std::size_t quarantine_blocks = QuarantineBlocks;
};

}  // namespace check
}  // namespace ashlar
