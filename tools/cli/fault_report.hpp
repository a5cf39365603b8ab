// tools/cli/fault_report.hpp: what the library wrote of faults (docs/checks.md), with the function,
// file and line of each frame. Layer: cli.
#pragma once

#include <cstddef>
#include <cstdio>
#include <string>

#include "tools/trace/source_lines.hpp"

namespace ashlar::cli {

struct named_faults {
  std::string text;        // for people: the lines that came in, each frame with its place
  std::string json;        // one object a line, with the places: of the objects that came in
  std::size_t faults = 0;  // that were told, as text or as an object
  bool has_frames = false;
  bool has_lines = false;  // of any frame
};

// Returns: a log of faults, text or JSON or both, with the places of its frames. An object whose text
// is there too is one fault; of one alone the fault comes first, then its stacks. All other lines stay
// as they are. The text is for `to`, where a fault is red if that is a terminal.
named_faults name_frames(const std::string& log, trace::source_lines& sources, std::FILE* to);

}  // namespace ashlar::cli
