// tools/cli/verify_command.cpp. Layer: cli.
#include "tools/cli/verify_command.hpp"

#include <new>

#include <fmt/format.h>

#include "tools/cli/error.hpp"
#include "tools/cli/files.hpp"
#include "tools/trace/error.hpp"
#include "tools/verify/verify.hpp"

namespace ashlar::cli {

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
  fmt::print("{} is true\n", options.certificate);
  return 0;
}

}  // namespace ashlar::cli
