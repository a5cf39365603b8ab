// tools/tune/workload.hpp: what traces and profiles ask of pools: which blocks are needed, and when
// each is born and dies, or how many were alive at most. Layer: tune.
//
// Law: a block that serves a request of `size` bytes at `alignment` is a multiple of the alignment,
// so the request needs as much as one of the size rounded up to it. Requests that need the same are
// one `block_need`; where they differ in alignment, the largest counts.
//
// Law: at a profile's resolution each need is a size of the profile's grid, and a step of the grid
// is of one need: a grid size stays one when it is rounded up to a power of two up to
// largest_alignment (tools/profile/small_parts_test.cpp tries all).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <ashlar/core/bits.hpp>

#include "tools/profile/profile.hpp"
#include "tools/profile/size_grid.hpp"
#include "tools/tune/inputs.hpp"

namespace ashlar::tune {

/// What was asked cannot be done; the message names it and what would do.
struct impossible : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Of blocks: 1 MiB.
inline constexpr std::uint64_t largest_alignment = profiling::pool_grid::largest_alignment;

/// What tells requests apart.
enum class resolution {
  exact,    ///< their sizes
  profile,  ///< their sizes rounded up to those of a profile (profiling::pool_grid)
};

/// Returns: the bytes that a block needs to serve the request; 0 bytes count as 1. Requires:
/// pool_grid::serves(size, alignment); `alignment` is a power of two or 0 (none was told),
/// `least_alignment` one up to largest_alignment.
[[nodiscard]] constexpr std::uint64_t needed_bytes(std::uint64_t size, std::uint64_t alignment,
                                                   std::uint64_t least_alignment,
                                                   resolution sizes) noexcept {
  const std::uint64_t own =
      align_up(std::max<std::uint64_t>(size, 1), std::max<std::uint64_t>(alignment, 1));
  return align_up(sizes == resolution::exact ? own : profiling::pool_grid::round_up(own),
                  least_alignment);
}

/// Larger requests of a profile do not count.
struct profile_limit {
  std::uint64_t largest;  ///< bytes
  /// Pools of exact sizes leave out requests of more bytes, those of a profile's resolution what
  /// needs more.
  bool is_of_exact_sizes = false;
};

struct block_need {
  std::uint64_t size;       ///< bytes, a multiple of `alignment`
  std::uint64_t alignment;  ///< a power of two
  /// A class whose largest need this is, of this alignment or more, would be asked for larger
  /// needs, too: an over-aligned request can be smaller than what it needs.
  std::uint64_t closed_from = UINT64_MAX;
};

/// A trace as the tuner sees it: n stands for the birth of a block for needs[n], ~n for the death
/// of one.
using series = std::vector<std::int32_t>;

[[nodiscard]] constexpr bool is_birth(std::int32_t change) noexcept { return change >= 0; }
[[nodiscard]] constexpr std::int32_t need_of(std::int32_t change) noexcept {
  return change ^ (change >> 31);
}

struct workload {
  std::vector<block_need> needs;  ///< distinct sizes, from small to large
  /// Of each input; none has a death without a birth before it. Of a profile: empty, it has no
  /// order.
  std::vector<series> traces;
  /// Where profiles are among the inputs: how many blocks were alive at most in their runs, for
  /// each interval of needs.
  std::optional<profiling::interval_table> profiled = std::nullopt;
};

/// Reads requests in the order of time, trace after trace, and profiles.
class workload_builder {
 public:
  /// `least_alignment`: what every block is aligned to at least. Requires: it is a power of two.
  explicit workload_builder(std::uint64_t least_alignment, resolution sizes = resolution::exact);

  void begin_trace();
  /// `slot`: what the block is known by until its death. Requires: a trace was begun; no live block
  /// has the slot; `alignment` is a power of two up to largest_alignment or 0 (none was told);
  /// `size` is at most largest_size.
  void birth(std::uint32_t slot, std::uint64_t size, std::uint64_t alignment);
  /// Requires: a live block has the slot.
  void death(std::uint32_t slot);

  /// Effects: adds all runs of a profile, but for what is larger. Of exact sizes a profile has only
  /// the smallest of each over-aligned need: all requests of a need count if one may. Requires:
  /// resolution::profile; runs.peak_blocks() is at most INT32_MAX, as decode() has seen to.
  void add(const profiling::profile& runs, const profile_limit& limit);
  /// Whether the requests of a row are not larger.
  [[nodiscard]] bool counts(const profiling::pool_row& row, const profile_limit& limit) const;
  [[nodiscard]] bool counts(const profiling::aligned_row& row, const profile_limit& limit) const;

  /// Returns: what was read; the builder is empty afterwards.
  [[nodiscard]] workload finish();

  /// 64 GiB: no pool has such blocks, and totals of smaller ones fit 64 bits.
  static constexpr std::uint64_t largest_size = profiling::pool_grid::largest_size;

 private:
  static constexpr std::size_t near_count = 1 << 14;

  [[nodiscard]] std::uint64_t needed_at(std::uint32_t step) const;
  void close_needs(std::vector<block_need>& by_size) const;
  void note_over_aligned(std::uint64_t alignment, std::uint64_t needed, std::uint64_t size);
  std::int32_t number_of(std::uint64_t size, std::uint64_t alignment);

  std::uint64_t least_alignment_;
  resolution sizes_;
  std::optional<profiling::profile> profiled_;  // all profiles in one
  workload read_;                               // needs in the order of their first requests
  std::vector<std::int32_t> need_in_slot_;
  // Of over-aligned requests, by alignment and need: the smallest size.
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint64_t> over_aligned_;
  std::vector<std::int32_t>
      near_;  // need of sizes below near_count * least_alignment: nearly all of them
  std::unordered_map<std::uint64_t, std::int32_t> far_;
};

/// Returns: the option's and the certificate's word for it, and back. Throws: std::out_of_range for
/// another word.
[[nodiscard]] std::string word_of(resolution sizes);
[[nodiscard]] resolution resolution_of(const std::string& word);

struct input_request {
  std::uint64_t least_alignment = 16;
  /// Bytes; larger requests are left out, at a profile's resolution those that need more.
  std::uint64_t largest = workload_builder::largest_size;
  resolution sizes = resolution::exact;
  /// Of a profile: it is compared with exact sizes all the same (profile_limit).
  bool largest_is_of_exact_sizes = false;
};

struct input_workload {
  workload load;
  std::vector<input_identity> inputs;
};

/// Returns: whether a profile is among the files. Throws: trace_error where one cannot be read.
[[nodiscard]] bool has_profile(const std::vector<std::string>& files);

/// Throws: trace_error where a file cannot be read; impossible for a request that no pool can
/// serve, and for a profile where the sizes are to be exact.
[[nodiscard]] input_workload read_inputs(const std::vector<std::string>& files,
                                         const input_request& request, const progress& tell = {});

}  // namespace ashlar::tune
