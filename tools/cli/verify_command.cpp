// tools/cli/verify_command.cpp. Layer: cli.
#include "tools/cli/verify_command.hpp"

#include <new>
#include <nlohmann/json.hpp>

#include <fmt/format.h>

#include "tools/cli/error.hpp"
#include "tools/cli/files.hpp"
#include "tools/cli/text.hpp"
#include "tools/json/numbers.hpp"
#include "tools/trace/error.hpp"
#include "tools/tune/input_file.hpp"
#include "tools/verify/verify.hpp"

namespace ashlar::cli {

namespace {

// Of a certificate that is true: of which inputs not all was recorded, a line each.
std::string render_gaps(const std::string& certificate) {
  std::string lines;
  const auto all = nlohmann::json::parse(certificate);
  for (const auto& input : all.at("inputs")) {
    const tune::recording_gaps gaps{
        .unfinished_runs = json_files::count_at(input, "unfinished_runs"),
        .lost_events = json_files::count_at(input, "lost_events"),
        .refused_requests = json_files::count_at(input, "refused_requests")};
    if (const std::string found = tune::text_of(gaps); !found.empty())
      lines += fmt::format("  of what was recorded: {}: {}\n",
                           printable(input.at("file").get<std::string>()), found);
  }
  return lines;
}

}  // namespace

int verify_command(const verify_options& options) {
  const std::string text = read_input(options.certificate);
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

}  // namespace ashlar::cli
