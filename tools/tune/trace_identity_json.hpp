// tools/tune/trace_identity_json.hpp: which traces something was chosen for, as JSON. Layer: tune.
#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "tools/tune/traced_workload.hpp"

namespace ashlar::tune {

[[nodiscard]] inline nlohmann::json traces_json(const std::vector<trace_identity>& traces) {
  nlohmann::json list = nlohmann::json::array();
  for (const trace_identity& t : traces) {
    list.push_back({{"file", t.file},
                    {"sha256", t.sha256},
                    {"births", t.births},
                    {"deaths", t.deaths},
                    {"left_out", t.left_out},
                    {"unknown_deaths", t.unknown_deaths}});
  }
  return list;
}

}  // namespace ashlar::tune
