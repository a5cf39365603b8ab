// tools/cli/commands/check.cpp: `ashlar check`: its words, and `--against`: do pools that were chosen
// before still serve a new trace, or the runs of a profile? Layer: cli.
#include "tools/cli/commands/check.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "tools/cli/commands/commands.hpp"
#include "tools/cli/commands/tune.hpp"
#include "tools/cli/error.hpp"
#include "tools/cli/table.hpp"
#include "tools/cli/text.hpp"
#include "tools/files/files.hpp"
#include "tools/tune/pool_check.hpp"
#include "tools/tune/tuning.hpp"

namespace ashlar::cli {
namespace {

struct check_options {
  std::string against;  // what `ashlar tune` wrote as JSON
  std::vector<std::string> inputs;
  std::uint64_t percent = 100;  // of each capacity
};

constexpr const char* check_footer =
    R"(-- PROGRAM runs it with full checks (ASHLAR_CHECK=full), and tells each fault with the function,
file and line of its call stacks, on standard error. --log does the same for what the library
wrote before, on standard output. --against is for continuous integration: record a test run, and
find out when it comes near the pools.

Examples:
  ashlar check -- ./server --once
  ashlar check --continue --json faults.json -- ./server --once
  ashlar check --log server.log
  ashlar check --against pools.json --percent 90 run.atrace

Environment: docs/checks.md has the variables; ASHLAR_CHECK and ASHLAR_FAULT_* are set here.

Exit status: of a program its own, and where a signal killed it, ashlar dies by that signal, too;
1 where it ends with 0 and a fault was found. Of a log: 0 no fault, 1 a fault. Of pools: 0 it fits;
1 a class passes that part of its capacity, a request fits no class, or it cannot be told, as of a
trace without its end. 2 something cannot be read.)";

std::string_view verdict_on(const tune::class_use& c, bool borrow, std::uint64_t percent) {
  if (!c.passes(percent)) return c.at_most ? "at most" : "";
  if (borrow) return "borrows";  // whether it finds enough depends on the order
  return c.at_most ? "perhaps too many" : "too many";
}

std::string render(const tune::pool_use& use, bool borrow, std::uint64_t percent) {
  table classes({{"block"}, {"capacity"}, {"peak"}, {"percent"}, {"", align::left}});
  for (const tune::class_use& c : use.classes) {
    classes.add_row(
        {format_count(c.block_size), format_count(c.capacity), format_count(c.peak),
         fmt::format("{:.1f}", 100 * static_cast<double>(c.peak) / static_cast<double>(c.capacity)),
         std::string(verdict_on(c, borrow, percent))});
  }
  return classes.render(2);
}

// Whether what passes is nowhere more than a bound.
bool perhaps_enough(const tune::pool_use& use, std::uint64_t percent) {
  return std::none_of(use.classes.begin(), use.classes.end(),
                      [&](const tune::class_use& c) { return c.passes(percent) && !c.at_most; });
}

struct found_use {
  tune::pool_use of_all;
  bool inputs_are_whole = true;  // else peaks may have been higher
};

found_use use_of_all(const tune::pool_configuration& pools, const check_options& options) {
  std::vector<tune::pool_use> uses;
  found_use found;
  try {
    for (const std::string& file : options.inputs) {
      const tune::input_request request = tune::request_for(pools, tune::kind_of(file));
      const tune::input_workload read = tune::read_inputs({file}, request);
      warn_of_missing(read.inputs.front());
      found.inputs_are_whole =
          found.inputs_are_whole && read.inputs.front().gaps == tune::recording_gaps{};
      uses.push_back(tune::use_of(pools, read.load, options.percent));
    }
  } catch (const tune::impossible& error) {
    throw command_error(status_usage, error.what());
  }
  found.of_all = std::move(uses.front());  // at least one: the option is required
  for (std::size_t u = 1; u < uses.size(); ++u) tune::join(found.of_all, uses[u]);
  return found;
}

// Effects: prints each class with its new peak. Returns: 0 where no class passes that many percent
// of its capacity, 1 where one does, a request fits no class, or an input is not whole, so that it
// cannot be told. Throws: command_error; what tools/trace throws.
int check_command(const check_options& options) {
  tune::pool_configuration pools;
  try {
    pools = tune::read_configuration(files::read_input(options.against));
  } catch (const tune::no_configuration& error) {
    throw command_error(status_usage,
                        fmt::format("--against {}: {}", options.against, error.what()));
  }
  const found_use found = use_of_all(pools, options);
  const tune::pool_use& use = found.of_all;
  std::fputs(render(use, pools.borrow, options.percent).c_str(), stdout);
  if (use.serves && found.inputs_are_whole) return 0;
  if (use.serves) {
    fmt::print(
        stderr,
        "ashlar: the pools serve what was read; whether they serve what is missing cannot be "
        "told: record again\n");
    return status_failed;
  }
  const char* const perhaps =
      ", or it cannot be told at a profile's resolution: check traces, or tune with --resolution "
      "profile";
  if (use.unserved) {
    fmt::print(stderr, "ashlar: no class serves requests that need {} bytes at alignment {}{}\n",
               format_count(use.unserved->size), format_count(use.unserved->alignment),
               use.unserved->perhaps ? perhaps : "");
  } else {
    fmt::print(stderr, "ashlar: {} percent of the capacities are not enough{}\n", options.percent,
               perhaps_enough(use, options.percent) ? perhaps : "");
  }
  return status_failed;
}

}  // namespace

void add_check(command_parser& to) {
  command& check = to.add({"check", "Find a program's faults; do pools still serve a new trace?",
                           "[OPTIONS] -- PROGRAM [ARGUMENTS...]\n       ashlar check --log FILE\n"
                           "       ashlar check --against POOLS.json [OPTIONS] TRACE...",
                           check_footer});
  const auto pools = std::make_shared<check_options>();
  const auto faults = std::make_shared<fault_options>();
  check.further_arguments("TRACE", pools->inputs, "What ashlar record or profile wrote");
  const option against = check.file("--against", pools->against, "The JSON that tune wrote");
  check.value("--percent", "N", pools->percent, "Of a capacity that may be used (default 100)")
      .within(1, 100'000);
  const option log =
      check.file("--log", faults->log, "What the library wrote of faults, as text or JSON")
          .excludes(against);
  check
      .file("--json", faults->json_path,
            "Write the faults to FILE, too: a JSON object a line, with function, file and line")
      .excludes(against);
  check.flag("--continue", faults->goes_on, "The program goes on after faults that allow it")
      .excludes(against)
      .excludes(log);
  check.ends([&check, pools, faults]() -> command_end {
    if ((!pools->against.empty() || !faults->log.empty()) && check.has_program())
      throw command_error(status_usage,
                          "check: --against and --log run nothing; a program is one too many");
    if (!pools->against.empty()) {
      if (pools->inputs.empty()) throw command_error(status_usage, "check: TRACE is required");
      return {check_command(*pools), {}};
    }
    if (!pools->inputs.empty())
      throw command_error(
          status_usage, "check: a trace needs --against POOLS.json, and a program '--' before it");
    if (!faults->log.empty()) return check_log(*faults);
    faults->command = check.program();
    return check_program(*faults);
  });
}

}  // namespace ashlar::cli
