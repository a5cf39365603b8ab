// check/sample_profile.hpp: sampled blocks as a profile that pprof reads.
// Layer: check.
#pragma once

#include <cstddef>
#include <cstdint>

#include <ashlar/check/sampled_blocks.hpp>

namespace ashlar::detail {

/// Takes a whole profile. Returns: 0, or the error's number. It may use the heap.
using profile_taker = int (*)(const char* bytes, std::size_t count, void* to);

/// Effects: take(bytes, count, to) gets a profile of what the samples say now: each call stack's
/// estimates (pprof::heap_values), with its tag as a label, and the mapped files with their build
/// ids, from which pprof finds the functions. One of `every_bytes` was sampled, since `begun_ns`.
/// Waits for the samples' lock and for the loader's, not for both at once. Allocates nothing from
/// the heap; keeps errno.
/// Returns: 0, or the error's number: ENOMEM, what take returned.
[[nodiscard]] int write_sample_profile(sampled_blocks& samples, profile_taker take, void* to,
                                       std::uint64_t every_bytes, std::uint64_t begun_ns) noexcept;

/// Effects: the same into the file at `path`, whole or not at all (os::replace_file).
[[nodiscard]] int write_sample_profile(sampled_blocks& samples, const char* path,
                                       std::uint64_t every_bytes, std::uint64_t begun_ns) noexcept;

}  // namespace ashlar::detail
