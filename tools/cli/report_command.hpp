// tools/cli/report_command.hpp: `ashlar report`: one page about one run. Layer: cli.
#pragma once

#include <string>

namespace ashlar::cli {

struct report_options {
  std::string trace;
  std::string pools;    // of `ashlar tune`; empty: none
  std::string compare;  // of `ashlar compare --json`; empty: none
  std::string replay;   // of `ashlar replay --json`; empty: none
  std::string output;   // empty: report.html, but nothing with `json`
  bool json = false;    // print the page's data
};

// Effects: writes the page, the data on standard output. Throws: command_error, status_usage for whatever cannot be read.
int report_command(const report_options& options);

}  // namespace ashlar::cli
