// tools/trace/summary.hpp: what is in a trace, counted in one pass. Layer: trace.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "tools/trace/reader.hpp"
#include "tools/trace/resident_memory.hpp"
#include "tools/trace/step_counts.hpp"

namespace ashlar::trace {

/// Counts for powers of two: place i is for values of i binary digits (0 | 1 | 2..3 | 4..7 | ...).
using log_histogram = std::array<std::uint64_t, 65>;

struct size_figures {
  std::uint64_t births = 0;
  std::uint64_t live = 0;
  std::uint64_t peak = 0;
  std::uint64_t at_peak = 0;  ///< that lived when the trace's live bytes were most
  std::uint64_t temporaries = 0;
};
struct stack_figures {
  std::uint64_t births = 0;
  std::uint64_t bytes = 0;
  std::uint64_t live_blocks = 0;  ///< at the end; so are the bytes
  std::uint64_t live_bytes = 0;
  std::uint64_t at_peak_bytes = 0;  ///< that lived when the trace's live bytes were most
  /// What of these was in memory, as far as is known: without pages that nobody touched, and with what
  /// no other block can use because of the alignment.
  std::uint64_t resident_bytes = 0;
  std::uint64_t temporaries = 0;  ///< of the births: step_counts.hpp
  /// The sum of the ticks for which blocks lived, up to the end of the trace.
  std::uint64_t lifetime_ticks = 0;
  /// Of those that lived at the end; 0 where nobody looked (reachability.hpp).
  std::uint64_t unreachable_blocks = 0;
  std::uint64_t unreachable_bytes = 0;
};
/// Of one stretch of time: the most that lived at once in it.
struct moment_figures {
  std::uint64_t end = 0;  ///< ticks
  std::uint64_t bytes = 0;
  std::uint64_t blocks = 0;
};

struct trace_summary : step_counts {
  std::array<std::uint64_t, 64> events{};  ///< by event_kind
  std::uint64_t first_time = 0;
  std::uint64_t last_time = 0;
  std::uint64_t unknown_deaths = 0;
  std::uint64_t missing_deaths = 0;
  std::uint64_t temporaries = 0;
  std::map<std::uint64_t, size_figures> sizes;
  log_histogram lifetimes{};  ///< in ticks, of blocks that died
  /// The same by time: below 1, 10, 100 us, 1, 10, 100 ms, 1 s, and longer.
  std::array<std::uint64_t, 8> lifetimes_by_decade{};
  std::map<std::uint64_t, std::uint64_t> alignments;
  std::vector<moment_figures> over_time;
  std::unordered_map<std::uint32_t, stack_figures> stacks;  ///< by number
  held_over_time held;
  resident_memory memory;
  std::optional<exit_look> looked_at_exit;  ///< none: nobody did
  /// The trace's, with the words of the program that ran at the peak of memory, and of the last one.
  trace_header of_peak, of_end;
};

/// Returns: all of these together, of no stack.
[[nodiscard]] lost_blocks sum_of(const std::vector<lost_blocks>& all);

/// Effects: reads the trace to its end. `moments`: how many stretches of time there are to be, at most.
/// `also` is told each step, too. Throws: trace_error.
trace_summary summarise(trace_reader& from, std::size_t moments,
                        const std::function<void(const step&)>& also = {});

}  // namespace ashlar::trace
