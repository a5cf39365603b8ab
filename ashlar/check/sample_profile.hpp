// check/sample_profile.hpp: sampled blocks as a profile that pprof reads.
// Layer: check.
#pragma once

#include <cstdint>

#include <ashlar/check/sampled_blocks.hpp>

namespace ashlar::detail {

/// Effects: the file at `path` is a profile of what the samples say now, whole or not at all
/// (os::replace_file): each call stack's estimates (pprof::heap_values), and the mapped files with their build ids, from
/// which pprof finds the functions. One of `every_bytes` was sampled, since `begun_ns`. Waits for the samples' lock
/// and for the loader's, not for both at once. Allocates nothing from the heap; keeps errno.
/// Returns: 0, or the error's number (os::describe_error).
[[nodiscard]] int write_sample_profile(sampled_blocks& samples, const char* path,
                                       std::uint64_t every_bytes, std::uint64_t begun_ns) noexcept;

}  // namespace ashlar::detail
