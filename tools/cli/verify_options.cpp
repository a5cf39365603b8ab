// tools/cli/verify_options.cpp: the words of `ashlar verify`. Layer: cli.
#include <memory>

#include "tools/cli/commands.hpp"
#include "tools/cli/verify_command.hpp"

namespace ashlar::cli {

namespace {

constexpr const char* verify_footer =
    R"(Works everything out again from the traces, by code of its own, and replays them on pools of
these sizes.

Examples:
  ashlar verify pools.json
  ashlar verify pools.json moved/run.atrace

Exit status: 0 it is true; 1 it is refused; 2 something cannot be read.)";

}  // namespace

void add_verify(command_parser& to) {
  command& verify = to.add(
      {"verify", "Is what ashlar tune claims true?", "CERTIFICATE [TRACE...]", verify_footer});
  const auto with = std::make_shared<verify_options>();
  verify.argument("CERTIFICATE", with->certificate, "The JSON that tune wrote");
  verify.further_arguments("TRACE", with->traces,
                           "The traces and profiles in the same order, where they were moved");
  verify.does([with] { return verify_command(*with); });
}

}  // namespace ashlar::cli
