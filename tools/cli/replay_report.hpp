// tools/cli/replay_report.hpp: what replays found, as text and as JSON. Layer: cli.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "tools/cli/replay_runs.hpp"
#include "tools/cli/text.hpp"

namespace ashlar::cli {

struct replay_report {
  std::string trace;
  replay_plan plan;
  std::vector<replay_outcome> outcomes;
  int stopped_by = 0;
};

std::string render_replay(const replay_report& report, glyphs set);
nlohmann::json replay_json(const replay_report& report);

}  // namespace ashlar::cli
