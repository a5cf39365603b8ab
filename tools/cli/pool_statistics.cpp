// tools/cli/pool_statistics.cpp. Layer: cli.
#include "tools/cli/pool_statistics.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "tools/cli/error.hpp"

namespace ashlar::cli {

namespace {

constexpr int known_schema = 1;

class_figures class_from(const nlohmann::json& object) {
  class_figures figures;
  object.at("block_size").get_to(figures.block_size);
  object.at("blocks_made").get_to(figures.blocks_made);
  object.at("blocks_in_use").get_to(figures.blocks_in_use);
  object.at("peak_in_use").get_to(figures.peak_in_use);
  object.at("allocations").get_to(figures.allocations);
  object.at("frees").get_to(figures.frees);
  object.at("slack_bytes").get_to(figures.slack_bytes);
  object.at("slabs").get_to(figures.slabs);
  object.at("committed_bytes").get_to(figures.committed_bytes);
  return figures;
}

total_figures total_from(const nlohmann::json& object) {
  total_figures figures;
  object.at("bytes_in_use").get_to(figures.bytes_in_use);
  object.at("peak_bytes_in_use").get_to(figures.peak_bytes_in_use);
  object.at("allocations").get_to(figures.allocations);
  object.at("frees").get_to(figures.frees);
  object.at("slack_bytes").get_to(figures.slack_bytes);
  object.at("reserved_bytes").get_to(figures.reserved_bytes);
  object.at("committed_bytes").get_to(figures.committed_bytes);
  object.at("peak_committed_bytes").get_to(figures.peak_committed_bytes);
  object.at("resident_bytes").get_to(figures.resident_bytes);
  object.at("given_back_bytes").get_to(figures.given_back_bytes);
  object.at("metadata_bytes").get_to(figures.metadata_bytes);
  object.at("threads").get_to(figures.threads);
  return figures;
}

}  // namespace

pool_statistics parse_pool_statistics(const std::string& text, const std::string& origin) {
  pool_statistics statistics;
  try {
    statistics.document = nlohmann::json::parse(text);
    const nlohmann::json& document = statistics.document;
    const int schema = document.at("schema").get<int>();
    if (schema != known_schema) {
      throw command_error(
          status_failed,
          fmt::format("{} has schema {}, this ashlar reads schema {}: use the ashlar "
                      "command and the library of one build",
                      origin, schema, known_schema));
    }
    document.at("ashlar").get_to(statistics.version);
    statistics.exact = document.at("accuracy").get<std::string>() == "exact";
    document.at("pid").get_to(statistics.pid);
    document.at("command").get_to(statistics.command);
    statistics.total = total_from(document.at("total"));
    statistics.large = class_from(document.at("large"));
    for (const nlohmann::json& entry : document.at("classes")) {
      statistics.classes.push_back(class_from(entry));
    }
  } catch (const nlohmann::json::exception& error) {
    throw command_error(status_failed,
                        fmt::format("{} is damaged or incomplete ({})", origin, error.what()));
  }
  std::sort(
      statistics.classes.begin(), statistics.classes.end(),
      [](const class_figures& a, const class_figures& b) { return a.block_size < b.block_size; });
  return statistics;
}

}  // namespace ashlar::cli
