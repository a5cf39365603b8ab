// tools/tune/input_json.hpp: what something was chosen from, as JSON. Layer: tune.
#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "tools/tune/input_file.hpp"

namespace ashlar::tune {

[[nodiscard]] inline nlohmann::json inputs_json(const std::vector<input_identity>& inputs) {
  nlohmann::json list = nlohmann::json::array();
  for (const input_identity& input : inputs) {
    list.push_back({{"kind", input.kind == input_kind::trace ? "trace" : "profile"},
                    {"file", input.file},
                    {"sha256", input.sha256},
                    {"births", input.births},
                    {"deaths", input.deaths},
                    {"left_out", input.left_out},
                    {"unknown_deaths", input.unknown_deaths},
                    {"unfinished_runs", input.gaps.unfinished_runs},
                    {"lost_events", input.gaps.lost_events},
                    {"refused_requests", input.gaps.refused_requests}});
  }
  return list;
}

}  // namespace ashlar::tune
