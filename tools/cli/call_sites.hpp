// tools/cli/call_sites.hpp: whose calls hold the bytes of a trace. Layer: cli.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "tools/report/site_rows.hpp"
#include "tools/trace/call_names.hpp"
#include "tools/trace/reader.hpp"
#include "tools/trace/summary.hpp"

namespace ashlar::cli {

struct call_site {
  trace::stack_figures figures;
  std::vector<trace::named_call> calls;  // from the inside out
};

// Returns: those with some of `by`, the most first, at most `rows`. Stacks whose calls have the same
// names and lines are one call site.
std::vector<call_site> call_sites(
    const trace::trace_reader& reader,
    const std::unordered_map<std::uint32_t, trace::stack_figures>& stacks, trace::call_names& names,
    std::uint64_t trace::stack_figures::* by, std::size_t rows);

// Returns: the line of a call.
report::call_site site_at(const trace::named_call& call);
// Returns: the line that the blocks of a stack are for, or the script's function. Where the C or C++ library keeps them, the
// innermost call.
report::call_site site_for(const std::vector<trace::named_call>& calls);
// Returns: the function that this line calls for them, in short; empty where it allocates itself.
std::string called_by_line(const std::vector<trace::named_call>& calls);

// A line of the program, with what all blocks did that are for it.
struct site_line {
  report::call_site site;
  trace::stack_figures figures;
};
// Returns: the lines of site_for(), the most in memory at its peak first, at most `rows`; behind them those
// that have the most of another figure.
std::vector<site_line> site_lines(
    const trace::trace_reader& reader,
    const std::unordered_map<std::uint32_t, trace::stack_figures>& stacks, trace::call_names& names,
    std::size_t rows);
nlohmann::json site_lines_json(const std::vector<site_line>& lines);

// Returns: the programs and libraries of the calls that asked for these blocks, where no line of
// theirs is known. Each is there once, and its order is that of the sites.
std::vector<std::string> files_without_lines(const std::vector<call_site>& sites);

// A line a call, without types. Of a stack of more than `most` the outermost call stands last, behind how many are
// left out.
std::string render_calls(std::span<const trace::named_call> calls, std::size_t most = SIZE_MAX);
// Of an option --full: without it calls are folded (findings::folded).
inline constexpr const char* all_calls_help =
    "All calls: also the standard library's inner ones, and those around main";
// Which figures say what a site holds, and the word for it.
struct held_figures {
  std::uint64_t trace::stack_figures::* bytes;
  std::uint64_t trace::stack_figures::* blocks;
  const char* word;  // behind the blocks
};
inline constexpr held_figures held_at_end{&trace::stack_figures::live_bytes,
                                          &trace::stack_figures::live_blocks, ""};
inline constexpr held_figures unreachable_figures{&trace::stack_figures::unreachable_bytes,
                                                  &trace::stack_figures::unreachable_blocks,
                                                  " unreachable"};
// What lived at the end, as lines. The calls are folded unless all are wanted.
std::string render_held(const std::vector<call_site>& sites, bool has_all_calls,
                        const held_figures& of = held_at_end);
// The names ("frames") and the "file:line" ("sources") of the calls, as an object.
nlohmann::json calls_json(const std::vector<trace::named_call>& calls);
nlohmann::json figures_json(const trace::stack_figures& figures);
// Figures and calls of each.
nlohmann::json call_sites_json(const std::vector<call_site>& sites);

}  // namespace ashlar::cli
