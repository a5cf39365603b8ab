// tools/cli/check_command.cpp. Layer: cli.
#include "tools/cli/check_command.hpp"

#include <cstdio>

#include <fmt/format.h>

#include "tools/cli/error.hpp"
#include "tools/cli/files.hpp"
#include "tools/cli/table.hpp"
#include "tools/cli/text.hpp"
#include "tools/tune/certificate.hpp"
#include "tools/tune/pool_check.hpp"

namespace ashlar::cli {

namespace {

std::string render(const tune::pool_use& use, std::uint64_t percent) {
  table classes({{"block"}, {"capacity"}, {"peak"}, {"percent"}, {"", align::left}});
  for (const tune::class_use& c : use.classes) {
    classes.add_row(
        {format_count(c.block_size), format_count(c.capacity), format_count(c.peak),
         fmt::format("{:.1f}", 100 * static_cast<double>(c.peak) / static_cast<double>(c.capacity)),
         c.passes(percent) ? "too many" : ""});
  }
  return classes.render(2);
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
  tune::pool_use use;
  try {
    use =
        tune::use_of(pools, tune::read_traces(options.traces, pools.read_as).load, options.percent);
  } catch (const tune::impossible& error) {
    throw command_error(status_usage, error.what());
  }
  std::fputs(render(use, options.percent).c_str(), stdout);
  if (use.serves) return 0;
  if (use.unserved) {
    fmt::print(stderr, "ashlar: no class serves requests that need {} bytes at alignment {}\n",
               format_count(use.unserved->size), format_count(use.unserved->alignment));
  } else {
    fmt::print(stderr, "ashlar: {} percent of the capacities are not enough\n", options.percent);
  }
  return status_failed;
}

}  // namespace ashlar::cli
