// tools/cli/commands/tune_verify.cpp: `ashlar tune verify`: is a certificate of `ashlar tune` true?
// Layer: cli.
#include <memory>
#include <new>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "tools/cli/commands/commands.hpp"
#include "tools/cli/error.hpp"
#include "tools/cli/text.hpp"
#include "tools/files/files.hpp"
#include "tools/files/json.hpp"
#include "tools/trace/error.hpp"
#include "tools/tune/inputs.hpp"
#include "tools/verify/verify.hpp"

namespace ashlar::cli {
namespace {

struct verify_options {
  std::string certificate;
  std::vector<std::string> traces;  // where they are not where they were; else none
};

constexpr const char* verify_footer =
    R"(Works everything out again from the traces, by code of its own, and replays them on pools of
these sizes.

Examples:
  ashlar tune verify pools.json
  ashlar tune verify pools.json moved/run.atrace

Exit status: 0 it is true; 1 it is refused; 2 something cannot be read.)";

// Of a certificate that is true: of which inputs not all was recorded, a line each.
std::string render_gaps(const std::string& certificate) {
  std::string lines;
  const auto all = nlohmann::json::parse(certificate);
  for (const auto& input : all.at("inputs")) {
    const tune::recording_gaps gaps{.unfinished_runs = files::count_at(input, "unfinished_runs"),
                                    .lost_events = files::count_at(input, "lost_events"),
                                    .refused_requests = files::count_at(input, "refused_requests")};
    if (const std::string found = tune::text_of(gaps); !found.empty())
      lines += fmt::format("  of what was recorded: {}: {}\n",
                           printable(input.at("file").get<std::string>()), found);
  }
  return lines;
}

// Effects: prints what was found right. Returns: 0. Throws: command_error, of status_failed where
// it is refused and only there: of status_usage where something cannot be read, or there is no
// memory for what it says.
int verify_command(const verify_options& options) {
  const std::string text = files::read_input(options.certificate);
  try {
    verify::verify(text, options.traces,
                   [](std::string_view found) { fmt::print("  right: {}\n", found); });
  } catch (const verify::refused& error) {
    throw command_error(status_failed,
                        fmt::format("{}: refused: {}", options.certificate, error.what()));
  } catch (const std::bad_alloc&) {
    throw input_error(fmt::format("{}: too little memory to work it out", options.certificate));
  } catch (const trace::trace_error& error) {  // names its file
    throw input_error(error.what());
  } catch (const std::runtime_error& error) {
    throw input_error(fmt::format("{}: {}", options.certificate, error.what()));
  }
  fmt::print("{}{} is true\n", render_gaps(text), options.certificate);
  return 0;
}

}  // namespace

void add_tune_verify(command_parser& to) {
  command& verify = to.add(
      {"tune-verify", "Is what ashlar tune claims true?", "CERTIFICATE [TRACE...]", verify_footer});
  const auto with = std::make_shared<verify_options>();
  verify.argument("CERTIFICATE", with->certificate, "The JSON that tune wrote");
  verify.further_arguments("TRACE", with->traces,
                           "The traces and profiles in the same order, where they were moved");
  verify.does([with] { return verify_command(*with); });
}

}  // namespace ashlar::cli
