// tools/cli/sarif.hpp: what was found, for code hosts and editors (SARIF 2.1.0). Layer: cli.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace ashlar::cli {

struct sarif_result {
  std::string rule;     // as "leak"
  std::string level;    // "error", "warning" or "note"
  std::string message;  // a sentence
  std::string source;   // "file:line"; empty: unknown
};

// Returns: a log with one run. A file below the current folder is named from there, as code hosts need
// it; any other one by its whole path.
nlohmann::json sarif_log(const std::vector<sarif_result>& results);

}  // namespace ashlar::cli
