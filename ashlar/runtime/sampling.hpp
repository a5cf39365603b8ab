// runtime/sampling.hpp: one of so many bytes that the process allocates is sampled, with its call
// stack.
// Layer: runtime. In the drop-in library alone: only there hits can be diverted
// (process_classes.hpp).
//
//   a malloc --> its hit finds class 0, and misses
//            --> hit_in_gap: the size leaves the thread's gap, and the true stack is popped
//            --> at the gap's end: a block in no slab, noted with the call stack
//   a free   --> hits as ever; of a sampled block it misses, since its page has no class
//   a realloc -> misses, and counts as a free and an allocation, wherever the block is afterwards
//
// While all calls miss anyway (checks, the hardened edition), any block can be a sampled one: then
// they are served as ever, and noted. Callers ask `is_drop_in` first, so that nothing here is
// needed elsewhere.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include <ashlar/check/sample_gap.hpp>
#include <ashlar/check/sample_profile.hpp>
#include <ashlar/check/sampled_blocks.hpp>
#include <ashlar/core/config.hpp>
#include <ashlar/heap/interface_hits.hpp>
#include <ashlar/runtime/hit_path.hpp>
#include <ashlar/runtime/settings.hpp>

namespace ashlar::runtime {

/// One of so many bytes is sampled; 0: none. And what is known of those that were.
extern constinit std::atomic<std::uint64_t> sampled_every;
extern constinit detail::sampled_blocks samples;

[[nodiscard]] ASHLAR_HOT std::uint64_t sampled_every_now() noexcept {
  return sampled_every.load(std::memory_order_acquire);  // the classes of misses stand
}
[[nodiscard]] ASHLAR_HOT bool is_sampling() noexcept { return sampled_every_now() != 0; }

/// Returns: whether a call about `block`, null for an allocation, may take a sample or end one. One
/// load while nothing was ever sampled.
[[nodiscard]] ASHLAR_HOT bool may_be_sampled(const void* block) noexcept {
  return samples.has_started() && (is_sampling() || samples.may_contain(block));
}

/// Returns: a block of the thread's cache, where a hit would have been one and is not sampled; null
/// where that is for the rest of the miss: always while nothing is sampled, since no gap has room
/// then.
template <class HitState = hit_state>  // only the drop-in library's has a gap
[[nodiscard]] ASHLAR_HOT void* hit_in_gap(std::size_t size, std::size_t alignment = 1) noexcept {
  detail::sample_gap& gap = static_cast<HitState&>(own_hits).gap;
  if (!gap.reaches(size)) [[unlikely]]
    return nullptr;
  static_assert(detail::sample_gap::reach_max <= small_size_max);
  if (size > small_size_max) __builtin_unreachable();
  using hits = detail::interface_hits<classes_of_misses>;
  void* const block = alignment <= block_granule
                          ? hits::try_allocate(tops(), size)
                          : hits::try_allocate_aligned(tops(), size, alignment);
  if (block != nullptr) [[likely]]
    gap.pass(size);
  return block;
}

/// Returns: a block, sampled if the gap ends at it; zero if it is to be `zeroed`; null when there
/// is none. Requires: is_sampling(); no test scope counts.
[[nodiscard]] void* allocate_sampling(std::size_t size, std::size_t alignment, bool zeroed,
                                      const char* call) noexcept;

/// Effects: as reallocate, while sampling or of a block that may be sampled: each such call counts
/// as a free and an allocation of `size`, also where the block stays. Requires: no test scope
/// counts.
[[nodiscard]] void* reallocate_sampling(void* block, std::size_t size, const char* call) noexcept;

/// Effects: `block`, which is about to be freed, is not sampled any more, if it was.
void end_sample(const void* block) noexcept;

/// Effects: `block` was made to hold `size` bytes, where it is or by moving its pages: it counts as
/// allocated anew. Requires: is_sampling(); of a small block where frees hit, that no gap ends.
void note_resized(const void* block, std::size_t size) noexcept;

/// Effects: from now on one of `every` bytes is sampled; 0: none. What was sampled stays known.
/// Returns: 0, or the error's number: ENOMEM, ENOTSUP (a sanitizer's heap serves). Any thread, at
/// any time.
[[nodiscard]] int sample(std::uint64_t every) noexcept;

/// Effects: writes a profile to the file at `path`. Returns: 0, or the error's number: EINVAL where
/// nothing was ever sampled.
[[nodiscard]] int write_samples(const char* path) noexcept;
/// Effects: take(bytes, count, to) gets the profile. Returns: the same, or what take returned.
[[nodiscard]] int write_samples(detail::profile_taker take, void* to) noexcept;

/// Effects: tags have the limits that the text gives: NAME=BYTES, with commas between. Returns:
/// false: a part is none, and the others have their effect.
[[nodiscard]] bool limit_tags(const char* text) noexcept;

/// Effects: does what the environment says. Requires: no other thread yet, and hits are as they
/// stay.
void start_sampling(const sampling_settings& s) noexcept;
/// Effects: the child of a fork has allocated nothing yet, and writes files of its own.
void sample_after_fork() noexcept;
/// Effects: writes the last profile, if the environment names a file.
void end_sampling() noexcept;

}  // namespace ashlar::runtime
