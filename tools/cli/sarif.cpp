// tools/cli/sarif.cpp. Layer: cli.
#include "tools/cli/sarif.hpp"

#include <charconv>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>

namespace ashlar::cli {
namespace {

namespace fs = std::filesystem;

// As a reference of RFC 3986.
std::string uri_of(std::string_view file) {
  std::error_code none;
  fs::path path(file);
  const fs::path near = path.lexically_proximate(fs::current_path(none));
  const bool is_below = path.is_absolute() && !near.empty() && *near.begin() != "..";
  if (is_below) path = near;
  constexpr std::string_view plain =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/";
  std::string uri = path.is_absolute() ? "file://" : "";
  for (const char c : path.string())
    uri += plain.find(c) != std::string_view::npos
               ? std::string(1, c)
               : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  return uri;
}

nlohmann::json location_of(std::string_view source) {
  const std::size_t colon = source.rfind(':');
  std::uint32_t line = 0;
  if (colon != std::string_view::npos)
    std::from_chars(source.data() + colon + 1, source.data() + source.size(), line);
  nlohmann::json place = {{"artifactLocation", {{"uri", uri_of(source.substr(0, colon))}}}};
  if (line != 0) place["region"] = {{"startLine", line}};
  return {{"physicalLocation", std::move(place)}};
}

}  // namespace

nlohmann::json sarif_log(const std::vector<sarif_result>& results) {
  std::set<std::string> names;
  nlohmann::json list = nlohmann::json::array();
  for (const sarif_result& each : results) {
    names.insert(each.rule);
    nlohmann::json result = {
        {"ruleId", each.rule}, {"level", each.level}, {"message", {{"text", each.message}}}};
    if (!each.source.empty())
      result["locations"] = nlohmann::json::array({location_of(each.source)});
    list.push_back(std::move(result));
  }
  nlohmann::json rules = nlohmann::json::array();
  for (const std::string& name : names) rules.push_back({{"id", name}});
  // `ashlar` says who wrote the file, so that it is replaced as any other output.
  const nlohmann::json driver = {{"name", "ashlar"},
                                 {"version", ASHLAR_CLI_VERSION},
                                 {"rules", std::move(rules)},
                                 {"properties", {{"ashlar", ASHLAR_CLI_VERSION}}}};
  const nlohmann::json run = {{"tool", {{"driver", driver}}}, {"results", std::move(list)}};
  return {{"$schema", "https://json.schemastore.org/sarif-2.1.0.json"},
          {"version", "2.1.0"},
          {"runs", nlohmann::json::array({run})}};
}

}  // namespace ashlar::cli
