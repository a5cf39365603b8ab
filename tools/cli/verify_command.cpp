// tools/cli/verify_command.cpp. Layer: cli.
#include "tools/cli/verify_command.hpp"

#include <fmt/format.h>

#include "tools/cli/error.hpp"
#include "tools/cli/files.hpp"
#include "tools/verify/verify.hpp"

namespace ashlar::cli {

int verify_command(const std::string& certificate, const std::vector<std::string>& traces) {
  const std::string text = read_input(certificate);
  try {
    verify::verify(text, traces,
                   [](std::string_view found) { fmt::print("  right: {}\n", found); });
  } catch (const verify::refused& error) {
    throw command_error(status_failed, fmt::format("{}: refused: {}", certificate, error.what()));
  }
  fmt::print("{} is true\n", certificate);
  return 0;
}

}  // namespace ashlar::cli
