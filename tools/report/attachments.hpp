// tools/report/attachments.hpp: what other commands wrote, read for the report. Layer: report.
#pragma once

#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

#include "tools/report/class_set.hpp"

namespace ashlar::report {

/// what() names the file, what is wrong in it, and which command writes such a file.
struct attachment_error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct chosen_pools {
  class_set classes;
  nlohmann::json about;  ///< the data's member "pools"
};

/// Reads the JSON of `ashlar tune`. Throws: attachment_error.
[[nodiscard]] chosen_pools read_pools(const std::string& text, const std::string& file);

/// Reads the JSON of `ashlar compare`. Returns: the data's member "compare". Throws: attachment_error.
[[nodiscard]] nlohmann::json read_comparison(const std::string& text, const std::string& file);

/// Reads the JSON of `ashlar replay`. Returns: the data's member "replay". Throws: attachment_error.
[[nodiscard]] nlohmann::json read_replay(const std::string& text, const std::string& file);

}  // namespace ashlar::report
