// tools/cli/commands/tune.cpp: the words of `ashlar tune`, and which of its two modes they ask for.
// Layer: cli.
#include "tools/cli/commands/tune.hpp"

#include <cstdio>
#include <memory>

#include <fmt/format.h>

#include "tools/cli/commands/commands.hpp"
#include "tools/cli/error.hpp"
#include "tools/cli/text.hpp"

namespace ashlar::cli {
namespace {

constexpr const char* tune_footer =
    R"(The classes are printed; with -o they are written as a C++ header, and beside it, as .json,
their certificate: what is claimed of them, for ashlar tune verify and tune check. Files are
written whole or not at all. With --mode heap: the size classes of the process heap, for
ASHLAR_CONFIG=FILE with the drop-in library, or as a header to build the library with.

More commands for traces and pools, each with a --help of its own:
  ashlar tune profile   what tune needs of traces and profiles, in a small file
  ashlar tune verify    is what tune claims true?
  ashlar tune check     do pools still serve a new trace?

Examples:
  ashlar tune run.atrace
  ashlar tune --mode heap -o program.classes run.atrace
  ashlar tune --classes 6 --margin 10 -o pools.hpp monday.atrace tuesday.atrace
  ashlar tune --budget 256KiB --largest 4096 run.atrace
  ashlar tune -o pools.hpp fleet.aprof

Exit status: 0; 2 where it is impossible, a trace cannot be read or a file not written.)";

struct tune_words {
  std::string mode = "static";  // or heap
  tune_options of_both;
  pool_options pools;
  heap_options heap;
};

// Throws: command_error where an option of the other mode was given.
void require_none_of(const pool_options& pools) {
  const pool_options defaults;
  const char* wrong = nullptr;
  if (pools.margin_percent != defaults.margin_percent) wrong = "--margin";
  if (pools.budget_bytes) wrong = "--budget";
  if (pools.alignment != defaults.alignment) wrong = "--align";
  if (pools.largest) wrong = "--largest";
  if (pools.space != defaults.space) wrong = "--namespace";
  if (wrong != nullptr)
    throw command_error(status_usage,
                        fmt::format("{}: of --mode static alone: a heap has no capacities", wrong));
  if (!pools.resolution.empty()) {
    throw command_error(status_usage,
                        "--resolution: of --mode static alone: a profile has every block size that "
                        "a heap can have");
  }
}

// The same.
void require_none_of(const heap_options& heap) {
  if (heap.weigh != heap_options{}.weigh)
    throw command_error(
        status_usage, "--weigh: of --mode heap alone: static pools are sized for the peak of each");
}

int tune_command(const tune_words& words) {
  if (words.mode == "heap") {
    require_none_of(words.pools);
    return tune_heap(words.of_both, words.heap);
  }
  require_none_of(words.heap);
  return tune_pools(words.of_both, words.pools);
}

}  // namespace

void warn_of_missing(const tune::input_identity& input) {
  if (!input.warning.empty()) fmt::print(stderr, "ashlar: {}\n", input.warning);
  if (input.unknown_deaths > 0) {
    fmt::print(stderr,
               "ashlar: {}: {} blocks died that were born before the recording; what they needed "
               "is not in the pools\n",
               input.file, format_count(input.unknown_deaths));
  }
}

void warn_of(const std::vector<tune::input_identity>& inputs) {
  for (const tune::input_identity& input : inputs) {
    warn_of_missing(input);
    if (input.left_out > 0) {
      fmt::print(stderr, "ashlar: {}: {} larger than --largest, or than any block, left out\n",
                 input.file, counted(input.left_out, "request"));
    }
  }
}

void add_tune(command_parser& to) {
  command& tune =
      to.add({"tune", "Choose pools from traces or profiles: fewest bytes",
              "[OPTIONS] TRACE...\n       ashlar tune profile|verify|check ...", tune_footer});
  const auto with = std::make_shared<tune_words>();
  tune.arguments("TRACE", with->of_both.inputs, "What ashlar record or tune profile wrote");
  tune.value("--classes", "K", with->of_both.classes,
             "At most K classes (block sizes), or auto: the knee of the curve");
  tune.value("--mode", "static|heap", with->mode,
             "static: pools of fixed sizes and capacities; heap: the process heap's size classes");
  tune.value("--weigh", "peak|time|both", with->heap.weigh,
             "heap: least slack at the peak, over time, or both (default)");
  tune.value("--margin", "PERCENT", with->pools.margin_percent,
             "Add so much to the peak of blocks (default 0)");
  tune.value("--budget", "BYTES", with->pools.budget_bytes, "No more bytes than this, 64KiB say")
      .in_bytes();
  tune.value("--align", "BYTES", with->pools.alignment,
             "Align every block to so much at least (default 16)")
      .in_bytes();
  tune.value("--largest", "BYTES", with->pools.largest, "Leave larger requests out").in_bytes();
  tune.value("--resolution", "exact|profile", with->pools.resolution,
             "exact sizes, or profile: what profiles tell apart (default where there is one)");
  tune.output(
      with->of_both.header_path,
      "The C++ header; with --mode heap and another name than *.hpp, what ASHLAR_CONFIG names");
  tune.output_file("--certificate", with->of_both.certificate_path,
                   "The JSON (default: beside the header, if there is one)");
  tune.value("--namespace", "NAME", with->pools.space, "Of the header (default tuned)");
  tune.does([with] { return tune_command(*with); });
}

}  // namespace ashlar::cli
