// tools/tune/heap_tuning.hpp: the process heap's block sizes for a program: traces and profiles in;
// the sizes with the least slack out, as text that the heap loads, as a header, as JSON.
// Layer: tune.
//
// Model. A request of n bytes that has w blocks alive costs w * (b - n) bytes, b being the smallest
// block size that serves it; and each block size that serves anything costs `heap_class_bytes`, for what
// its slabs and caches hold in reserve. The choice is the one with the least sum of both, exactly:
// block sizes may be taken for ends of intervals of the sizes that occur (a larger one would only
// add slack), and an interval program finds the cheapest cut.
//
// Requests are told apart by profiling::heap_grid, which has every block size that a class can
// have: nothing is lost by it.
//
// Some block sizes are always there: the powers of two, so that a request which no trace has seen
// wastes less than half of its block; and of over-aligned requests those that serve them, since
// only a multiple of the alignment does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tools/profile/profile.hpp"
#include "tools/tune/inputs.hpp"

namespace ashlar::tune {

/// What counts as a request's blocks alive.
enum class weigh { at_peak, over_time, both };

struct heap_class_request {
  std::size_t classes = 88;  ///< at most so many: the most that a heap has
  weigh by = weigh::both;    ///< both: the sum
};

/// What a class in use costs: half of the 4 KiB that a thread's stack of it holds at first, half a page at the end of
/// its blocks, and two pages of the heap's own (stash and slab records). An estimate, not measured.
inline constexpr std::uint64_t heap_class_bytes = 12 * 1024;

/// Slack of a program, in bytes.
struct heap_slack {
  double at_peak = 0;
  double over_time = 0;  ///< mean
};

struct heap_classes {
  std::vector<std::uint32_t>
      sizes;             ///< as a heap takes them (ASHLAR_CONFIG), the last is the largest class
  std::size_t used = 0;  ///< of these: how many serve a request that occurred
  heap_slack slack;      ///< with these classes
  heap_slack standard_slack;  ///< with the heap's standard ones
  std::size_t standard_used = 0;
  heap_slack requested;  ///< bytes that were asked for, of requests that have a class
};

/// The least number of classes: those that are always there, whatever the program.
[[nodiscard]] std::size_t least_heap_classes();

/// Returns: the cheapest classes for the requests. Those above 128 KiB have no class and do not count. Requires:
/// request.classes is between least_heap_classes() and 88. O(sizes^2 * classes), sizes being at most 2,072.
[[nodiscard]] heap_classes choose_heap_classes(std::span<const profiling::heap_row> rows,
                                               const heap_class_request& request);

/// Returns: the slack of the requests with these classes.
[[nodiscard]] heap_slack slack_with(std::span<const profiling::heap_row> rows,
                                    std::span<const std::uint32_t> classes);

struct heap_tuning {
  std::string ashlar_version;
  weigh by = weigh::both;
  std::vector<input_identity> inputs;
  heap_classes made;
};

/// Throws: trace_error where a file cannot be read. Requires: as choose_heap_classes.
[[nodiscard]] heap_tuning tune_heap(const std::vector<std::string>& files,
                                    const heap_class_request& request, const progress& tell = {});

/// Returns: what ASHLAR_CONFIG names (heap/class_file.hpp).
[[nodiscard]] std::string class_file_text(const heap_tuning& tuned);

/// Returns: what a build of the library takes as <ashlar/runtime/tuned_classes.hpp> (runtime/process_classes.hpp).
[[nodiscard]] std::string classes_header(const heap_tuning& tuned);

[[nodiscard]] std::string classes_json(const heap_tuning& tuned);

/// Returns: the option's word for it, and back. Throws: std::out_of_range for another word.
[[nodiscard]] std::string word_of(weigh by);
[[nodiscard]] weigh weigh_of(const std::string& word);

}  // namespace ashlar::tune
