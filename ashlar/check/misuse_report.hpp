// check/misuse_report.hpp: what full checks and guarded blocks have in common: looking at patterns,
// noting who did something, and telling it.
// Layer: check.
#pragma once

#include <cstddef>
#include <cstdint>

#include <ashlar/check/block_records.hpp>
#include <ashlar/core/fault.hpp>
#include <ashlar/core/guard_bytes.hpp>
#include <ashlar/fault/report.hpp>

namespace ashlar::detail {

inline constexpr std::uint8_t guard_fill = 0xe7;

/// Of a stretch of bytes that is longer than two of these, the first and the last so many are
/// filled and looked at, and the rest is left as it is. So a block of gigabytes costs no more than
/// one of two MiB, and pages that nobody has touched stay so.
inline constexpr std::size_t filled_end_bytes = std::size_t{1} << 20;

/// Effects: fills both ends of the `bytes` at `begin`.
void fill_ends(std::byte* begin, std::size_t bytes, std::uint8_t value) noexcept;

/// The first byte around or in a block that is not as it was left; `at` is null when all are.
struct spoilt {
  fault_kind kind = fault_kind::overflow;
  const std::byte* at = nullptr;
};
/// Returns: what was written to around the block, or in it where that `is_filled` with freed_fill:
/// of each stretch, the ends that fill_ends fills. O(their bytes).
[[nodiscard]] spoilt find_spoilt(const block_record& block, bool is_filled) noexcept;

/// Returns: whether `freed_by` may free what `made_by` allocated: malloc and free, new and delete,
/// new[] and delete[]; what is in no family may free all.
[[nodiscard]] bool are_of_one_family(const char* made_by, const char* freed_by) noexcept;

/// Whether this process tells the families of two calls apart; `unknown` until somebody asks.
enum class families : std::uint8_t { unknown, told_apart, not_told_apart };
/// Returns: of two calls that are not of one family: not where one is malloc's and a module has
/// operators of its own. Requires: the caller has no lock, since this takes the loader's.
[[nodiscard]] families families_here(const char* made_by, const char* freed_by) noexcept;

/// Returns: whether `call` is of new or delete, whose sizes the program has to say right when it
/// says them.
[[nodiscard]] bool is_of_cxx(const char* call) noexcept;

/// Returns: that the calling thread does `call` now, from where (up to `stack_depth` frames). Takes
/// no lock of the heap; the unwinder's first use allocates.
[[nodiscard]] deed deed_now(const char* call, unsigned stack_depth) noexcept;

/// Returns: what a report tells of the block, and of the call or access at which the fault was
/// seen. It refers to both.
[[nodiscard]] fault_history history_of(const block_record& block, const char* how,
                                       const deed& found) noexcept;

}  // namespace ashlar::detail
