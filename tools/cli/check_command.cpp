// tools/cli/check_command.cpp. Layer: cli.
#include "tools/cli/check_command.hpp"

#include <algorithm>
#include <cstdio>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "tools/cli/error.hpp"
#include "tools/cli/files.hpp"
#include "tools/cli/table.hpp"
#include "tools/cli/text.hpp"
#include "tools/tune/pool_check.hpp"
#include "tools/tune/tuning.hpp"

namespace ashlar::cli {

namespace {

std::string render(const tune::pool_use& use, std::uint64_t percent) {
  table classes({{"block"}, {"capacity"}, {"peak"}, {"percent"}, {"", align::left}});
  for (const tune::class_use& c : use.classes) {
    const char* const verdict = c.passes(percent) ? (c.at_most ? "perhaps too many" : "too many")
                                                  : (c.at_most ? "at most" : "");
    classes.add_row(
        {format_count(c.block_size), format_count(c.capacity), format_count(c.peak),
         fmt::format("{:.1f}", 100 * static_cast<double>(c.peak) / static_cast<double>(c.capacity)),
         verdict});
  }
  return classes.render(2);
}

// Whether what passes is nowhere more than a bound.
bool perhaps_enough(const tune::pool_use& use, std::uint64_t percent) {
  const auto passing = [&](bool at_most) {
    return std::any_of(use.classes.begin(), use.classes.end(), [&](const tune::class_use& c) {
      return c.passes(percent) && c.at_most == at_most;
    });
  };
  return passing(true) && !passing(false);
}

tune::pool_use use_of_all(const tune::pool_configuration& pools, const check_options& options) {
  std::vector<tune::pool_use> uses;
  try {
    for (const std::string& file : options.inputs) {
      const tune::input_request request = tune::request_for(pools, tune::kind_of(file));
      uses.push_back(tune::use_of(pools, tune::read_inputs({file}, request).load, options.percent));
    }
  } catch (const tune::impossible& error) {
    throw command_error(status_usage, error.what());
  }
  tune::pool_use all = std::move(uses.front());  // at least one: the option is required
  for (std::size_t u = 1; u < uses.size(); ++u) tune::join(all, uses[u]);
  return all;
}

}  // namespace

int check_command(const check_options& options) {
  tune::pool_configuration pools;
  try {
    pools = tune::read_configuration(read_input(options.against));
  } catch (const tune::no_configuration& error) {
    throw command_error(status_usage,
                        fmt::format("--against {}: {}", options.against, error.what()));
  }
  const tune::pool_use use = use_of_all(pools, options);
  std::fputs(render(use, options.percent).c_str(), stdout);
  if (use.serves) return 0;
  if (use.unserved) {
    fmt::print(stderr, "ashlar: no class serves requests that need {} bytes at alignment {}\n",
               format_count(use.unserved->size), format_count(use.unserved->alignment));
  } else {
    fmt::print(stderr, "ashlar: {} percent of the capacities are not enough{}\n", options.percent,
               perhaps_enough(use, options.percent)
                   ? ", or it cannot be told at a profile's resolution: check traces, or tune "
                     "with --resolution profile"
                   : "");
  }
  return status_failed;
}

}  // namespace ashlar::cli
