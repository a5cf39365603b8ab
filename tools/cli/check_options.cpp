// tools/cli/check_options.cpp: the words of `ashlar check`. Layer: cli.
#include <memory>

#include "tools/cli/check_command.hpp"
#include "tools/cli/commands.hpp"

namespace ashlar::cli {

namespace {

constexpr const char* check_footer =
    R"(For continuous integration: record a test run, and find out when it comes near the pools.

Example:
  ashlar check --against pools.json --percent 90 run.atrace

Exit status: 0 it fits; 1 a class passes that part of its capacity, a request fits no class,
or it cannot be told, as of a trace without its end; 2 something cannot be read.)";

}  // namespace

void add_check(command_parser& to) {
  command& check = to.add({"check", "Do pools still serve a new trace?",
                           "--against POOLS.json [OPTIONS] TRACE...", check_footer});
  const auto with = std::make_shared<check_options>();
  check.arguments("TRACE", with->inputs, "What ashlar record or profile wrote");
  check.file("--against", with->against, "The JSON that tune wrote").required();
  check.value("--percent", "N", with->percent, "Of a capacity that may be used (default 100)")
      .within(1, 100'000);
  check.does([with] { return check_command(*with); });
}

}  // namespace ashlar::cli
