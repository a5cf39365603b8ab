// tools/trace/exported_profile.hpp: a trace's call stacks with their figures, for other tools. Layer: trace.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "tools/trace/call_names.hpp"
#include "tools/trace/reader.hpp"
#include "tools/trace/summary.hpp"
#include "tools/trace/writer.hpp"

namespace ashlar::trace {

/// What a profile has of each call stack. They have pprof's names (figure_named).
enum class profile_figure : std::uint8_t {
  alloc_objects,
  alloc_space,
  inuse_objects,  ///< at the end of the trace
  inuse_space,
  lifetime,    ///< nanoseconds, summed up over all blocks
  peak_space,  ///< that lived when the trace's live bytes were most
};
inline constexpr std::string_view profile_figure_names[] = {
    "alloc_objects", "alloc_space", "inuse_objects", "inuse_space", "lifetime", "peak_space"};

/// Returns: the figure with that name, or none.
[[nodiscard]] std::optional<profile_figure> figure_named(std::string_view name);

/// Effects: writes a profile that pprof reads: every figure of each stack, and the names and lines of
/// its calls, so that nobody needs the program's files. `first` is shown first. Requires: `of` was
/// summarised from `reader`. Throws: what `to` throws.
void write_pprof(const trace_reader& reader, const trace_summary& of, call_names& names,
                 profile_figure first, const byte_sink& to);

/// Effects: writes folded stacks: a line for each sequence of calls, the outermost call first, with
/// semicolons between them, and the figure behind a space. Stacks with a figure of 0 are left out. The
/// lines are sorted. Requires and throws: as above.
void write_folded(const trace_reader& reader, const trace_summary& of, call_names& names,
                  profile_figure figure, const byte_sink& to);

}  // namespace ashlar::trace
