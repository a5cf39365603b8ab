// tools/tune/workload.hpp: what traces ask of pools: which blocks are needed, and when each is born and dies.
// Layer: tune.
//
// Law: a block that serves a request of `size` bytes at `alignment` is a multiple of the alignment, so the request needs
// as much as one of the size rounded up to it. Requests that need the same are one `block_need`; where they differ in
// alignment, the largest counts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

namespace ashlar::tune {

/// Of blocks: 1 MiB.
inline constexpr std::uint64_t largest_alignment = std::uint64_t{1} << 20;

struct block_need {
  std::uint64_t size;       ///< bytes, a multiple of `alignment`
  std::uint64_t alignment;  ///< a power of two
  /// A class whose largest need this is, of this alignment or more, would be asked for larger needs, too: an over-aligned
  /// request can be smaller than what it needs.
  std::uint64_t closed_from = UINT64_MAX;
};

/// A trace as the tuner sees it: n stands for the birth of a block for needs[n], ~n for the death of one.
using series = std::vector<std::int32_t>;

[[nodiscard]] constexpr bool is_birth(std::int32_t change) noexcept {
  return change >= 0;
}
[[nodiscard]] constexpr std::int32_t need_of(std::int32_t change) noexcept {
  return change ^ (change >> 31);
}

struct workload {
  std::vector<block_need> needs;  ///< distinct sizes, from small to large
  std::vector<series> traces;     ///< none has a death without a birth before it
  /// Of each trace and change, where asked for: a number that its block has from birth to death.
  std::vector<std::vector<std::uint32_t>> slots;
};

/// Reads requests in the order of time, trace after trace.
class workload_builder {
 public:
  enum class keep { needs, needs_and_slots };

  /// `least_alignment`: what every block is aligned to at least. Requires: it is a power of two.
  explicit workload_builder(std::uint64_t least_alignment, keep kept = keep::needs);

  void begin_trace();
  /// `slot`: what the block is known by until its death. Requires: a trace was begun; no live block has the slot;
  /// `alignment` is a power of two up to largest_alignment or 0 (none was told); `size` is at most largest_size.
  void birth(std::uint32_t slot, std::uint64_t size, std::uint64_t alignment);
  /// Requires: a live block has the slot.
  void death(std::uint32_t slot);

  /// Returns: what was read; the builder is empty afterwards.
  [[nodiscard]] workload finish();

  /// 64 GiB: no pool has such blocks, and totals of smaller ones fit 64 bits.
  static constexpr std::uint64_t largest_size = std::uint64_t{1} << 36;

 private:
  static constexpr std::size_t near_count = 1 << 14;

  void close_needs(std::vector<block_need>& by_size) const;
  [[nodiscard]] std::int32_t number_of(std::uint64_t size, std::uint64_t alignment);
  void add(std::int32_t change, std::uint32_t slot);

  std::uint64_t least_alignment_;
  keep kept_;
  workload read_;  // needs in the order of their first requests
  std::vector<std::int32_t> need_in_slot_;
  // Of over-aligned requests, by alignment and need: the smallest size.
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint64_t> over_aligned_;
  std::vector<std::int32_t>
      near_;  // need of sizes below near_count * least_alignment: nearly all of them
  std::unordered_map<std::uint64_t, std::int32_t> far_;
};

}  // namespace ashlar::tune
