// check/heap_leaks.hpp: what the end of a heap instance tells of blocks in use.
// Layer: check.
#pragma once

#include <ashlar/check/full_check.hpp>
#include <ashlar/core/policy.hpp>
#include <ashlar/core/stats.h>

namespace ashlar::detail {

/// Effects: one line on standard error for all blocks in use, after those of the places that made
/// them; without full checks, one for each class of `stats`. Nothing when no block is in use. Ends
/// in a fault, leak, when `leaks` says stop. `name` is the heap's, or null. O(blocks in use).
void tell_leaks(heap_leaks leaks, full_check& checks, const ashlar_stats& stats,
                const char* name) noexcept;

}  // namespace ashlar::detail
