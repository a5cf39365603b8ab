// tools/cli/pool_statistics.hpp: the statistics that the drop-in library leaves behind, read from
// its JSON form (docs/statistics.md). Layer: cli.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include <sys/types.h>

namespace ashlar::cli {

struct class_figures {
  std::uint64_t block_size = 0;  // 0: large blocks
  std::uint64_t blocks_made = 0;
  std::uint64_t blocks_in_use = 0;
  std::uint64_t peak_in_use = 0;
  std::uint64_t allocations = 0;
  std::uint64_t frees = 0;
  std::uint64_t slack_bytes = 0;
  std::uint64_t slabs = 0;
  std::uint64_t committed_bytes = 0;

  [[nodiscard]] std::uint64_t peak_bytes() const { return peak_in_use * block_size; }
};

struct total_figures {
  std::uint64_t bytes_in_use = 0;
  std::uint64_t peak_bytes_in_use = 0;
  std::uint64_t allocations = 0;
  std::uint64_t frees = 0;
  std::uint64_t slack_bytes = 0;
  std::uint64_t reserved_bytes = 0;
  std::uint64_t committed_bytes = 0;
  std::uint64_t peak_committed_bytes = 0;
  std::uint64_t resident_bytes = 0;
  std::uint64_t given_back_bytes = 0;
  std::uint64_t metadata_bytes = 0;
  std::uint64_t threads = 0;
};

struct pool_statistics {
  std::string version;
  bool exact = false;
  pid_t pid = 0;
  std::string command;
  total_figures total;
  class_figures large;
  std::vector<class_figures> classes;  // by block size, only used ones
  nlohmann::json document;             // as the library wrote it
};

// Throws: command_error that says what is wrong with the text; `origin` names it.
pool_statistics parse_pool_statistics(const std::string& text, const std::string& origin);

}  // namespace ashlar::cli
