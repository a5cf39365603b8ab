// pool/blocks.hpp: how the classes of a pool set are written down.
// Layer: pool (freestanding).
//
//   static_pool_set<blocks<32, 200>, blocks<396, 20>, blocks<768, 10>, spill::never>
#pragma once

#include <cstddef>

#include <ashlar/core/bits.hpp>

namespace ashlar {

struct blocks_kind {};
struct spill_kind {};

/// One class of a pool set: `Count` blocks, of which a caller may use `Size` bytes each. Every
/// block is a multiple of `Alignment`, so a block takes `Size` bytes rounded up to it (and to a
/// pointer's, unless the set is lock_free). The default is right for any object that is not
/// over-aligned: 396 bytes take 400 on 64 bits, and no block is at 4 modulo 8. A smaller one saves
/// memory where requests tell their alignment: blocks<8, 1000, 8> takes 8,000 bytes, blocks<8,
/// 1000> 16,000.
template <std::size_t Size, std::size_t Count, std::size_t Alignment = alignof(std::max_align_t)>
struct blocks {
  static_assert(Size != 0, "blocks<Size, Count>: a block has at least one byte");
  static_assert(Count != 0, "blocks<Size, Count>: a class without blocks: leave it out");
  static_assert(is_power_of_two(Alignment),
                "blocks<Size, Count, Alignment>: an alignment is a power of two");

  // A kind, as policies have, so that a set finds its classes among its arguments.
  using policy_kind = blocks_kind;
  static constexpr std::size_t size_bytes = Size;
  static constexpr std::size_t count = Count;
  static constexpr std::size_t alignment = Alignment;
};

/// What a pool set does when the class of a request has no block left.
namespace spill {
/// Policy: the next larger class that has one serves. More requests succeed; the classes' peaks
/// then depend on each other.
struct take_larger {
  using policy_kind = spill_kind;
  static constexpr bool to_larger = true;
};
/// Policy: only the smallest class that fits serves. A set whose capacities are at least the peaks
/// of its classes then never fails, whatever the order of calls.
struct never {
  using policy_kind = spill_kind;
  static constexpr bool to_larger = false;
};
}  // namespace spill

}  // namespace ashlar
