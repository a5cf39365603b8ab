// tools/cli/commands/tune_check.cpp: `ashlar tune check`: do pools that were chosen before still serve a
// new trace, or the runs of a profile? Layer: cli.
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
    R"(For continuous integration: record a test run, and find out when it comes near the pools.

Example:
  ashlar tune check --against pools.json --percent 90 run.atrace

Exit status: 0 it fits; 1 a class passes that part of its capacity, a request fits no class, or it cannot
be told, as of a trace without its end; 2 something cannot be read.)";

std::string_view verdict_on(const tune::class_use& c, std::uint64_t percent) {
  if (!c.passes(percent)) return c.at_most ? "at most" : "";
  return c.at_most ? "perhaps too many" : "too many";
}

std::string render(const tune::pool_use& use, std::uint64_t percent) {
  table classes({{"block"}, {"capacity"}, {"peak"}, {"percent"}, {"", align::left}});
  for (const tune::class_use& c : use.classes) {
    classes.add_row(
        {format_count(c.block_size), format_count(c.capacity), format_count(c.peak),
         fmt::format("{:.1f}", 100 * static_cast<double>(c.peak) / static_cast<double>(c.capacity)),
         std::string(verdict_on(c, percent))});
  }
  return classes.render(2);
}

// Whether what passes is nowhere more than a bound.
bool perhaps_enough(const tune::pool_use& use, std::uint64_t percent) {
  return std::ranges::none_of(
      use.classes, [&](const tune::class_use& c) { return c.passes(percent) && !c.at_most; });
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
  std::fputs(render(use, options.percent).c_str(), stdout);
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

void add_tune_check(command_parser& to) {
  command& check = to.add({"tune-check", "Do pools still serve a new trace?",
                           "--against POOLS.json [OPTIONS] TRACE...", check_footer});
  const auto with = std::make_shared<check_options>();
  check.arguments("TRACE", with->inputs, "What ashlar record or tune profile wrote");
  check.file("--against", with->against, "The JSON that tune wrote").required();
  check.value("--percent", "N", with->percent, "So much of a capacity may be used (default 100)")
      .within(1, 100'000);
  check.does([with] { return check_command(*with); });
}

}  // namespace ashlar::cli
