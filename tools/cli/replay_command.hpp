// tools/cli/replay_command.hpp: `ashlar replay`: a trace again, on any allocator or on pools. Layer: cli.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ashlar::cli {

struct replay_options {
  std::string trace;
  std::vector<std::string> on{"ashlar"};
  std::size_t rounds = 3;
  std::string touch = "ends";
  std::optional<std::uint64_t> seed;
  std::string json_path;
};

// Effects: prints the tables. Returns: 0; 1 where a request got no block, a block was not as written or a worker
// failed; 128 + n when signal n ended it early. Throws: command_error, trace::trace_error.
int replay_command(const replay_options& options);

}  // namespace ashlar::cli
