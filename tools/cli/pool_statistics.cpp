// tools/cli/pool_statistics.cpp. Layer: cli.
#include "tools/cli/pool_statistics.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <fmt/format.h>

#include <ashlar/core/stats_fields.hpp>

#include "tools/cli/error.hpp"
#include "tools/files/json.hpp"

namespace ashlar::cli {

namespace {

using files::count_at;

constexpr unsigned known_schema = 1;

template <class Figures, std::size_t N>
Figures figures_from(const nlohmann::json& object, const stats_field<Figures> (&fields)[N]) {
  Figures figures{};
  for (const auto& field : fields) figures.*field.value = count_at(object, field.name);
  return figures;
}

template <class Figures, std::size_t N>
nlohmann::json figures_json(const Figures& figures, const stats_field<Figures> (&fields)[N]) {
  nlohmann::json json = nlohmann::json::object();
  for (const auto& field : fields) json[field.name] = figures.*field.value;
  return json;
}

}  // namespace

pool_statistics parse_pool_statistics(const std::string& text, const std::string& origin) {
  pool_statistics statistics;
  try {
    statistics.document = nlohmann::json::parse(text);
    const nlohmann::json& document = statistics.document;
    const std::uint64_t schema = count_at(document, "schema");
    if (schema != known_schema) {
      throw command_error(
          status_failed,
          fmt::format("{} has schema {}, this ashlar reads schema {}: use the ashlar "
                      "command and the library of one build",
                      origin, schema, known_schema));
    }
    document.at("ashlar").get_to(statistics.version);
    statistics.exact = document.at("accuracy").get<std::string>() == "exact";
    statistics.pid = static_cast<pid_t>(count_at(document, "pid"));
    document.at("command").get_to(statistics.command);
    statistics.total = figures_from(document.at("total"), total_stats_fields);
    statistics.large = figures_from(document.at("large"), class_stats_fields);
    for (const nlohmann::json& entry : document.at("classes")) {
      statistics.classes.push_back(figures_from(entry, class_stats_fields));
    }
  } catch (const nlohmann::json::exception& error) {
    throw command_error(status_failed, fmt::format("{} is damaged or incomplete ({})", origin,
                                                   files::reason_of(error)));
  }
  std::ranges::sort(statistics.classes, {}, &class_figures::block_size);
  return statistics;
}

pool_statistics pool_statistics_of(const std::string& bytes, pid_t pid, const std::string& command,
                                   const std::string& origin) {
  ashlar_stats stats{};
  if (bytes.size() != sizeof stats) {
    throw command_error(status_failed,
                        fmt::format("{} has {} bytes and not {}: use the ashlar command and the "
                                    "libraries of one build",
                                    origin, bytes.size(), sizeof stats));
  }
  std::memcpy(&stats, bytes.data(), sizeof stats);
  nlohmann::json classes = nlohmann::json::array();
  for (std::size_t i = 0; i < std::min<std::size_t>(stats.class_count, ASHLAR_MAX_CLASSES); ++i)
    if (stats.classes[i].allocations != 0)  // only those that were used, as the library does
      classes.push_back(figures_json(stats.classes[i], class_stats_fields));
  const nlohmann::json document{
      {"ashlar", ASHLAR_CLI_VERSION},
      {"schema", known_schema},
      {"accuracy", stats.total.accuracy == ASHLAR_ACCURACY_EXACT ? "exact" : "batch"},
      {"pid", static_cast<std::uint64_t>(pid)},
      {"command", command},
      {"total", figures_json(stats.total, total_stats_fields)},
      {"large", figures_json(stats.large, class_stats_fields)},
      {"classes", classes}};
  return parse_pool_statistics(files::json_text(document), origin);
}

}  // namespace ashlar::cli
