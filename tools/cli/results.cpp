// tools/cli/results.cpp. Layer: cli.
#include "tools/cli/results.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "tools/cli/error.hpp"
#include "tools/files/json.hpp"
#include "tools/files/text.hpp"

namespace ashlar::cli {
namespace {

namespace fs = std::filesystem;

struct source_place {
  std::string file;
  std::uint32_t line = 0;  // 0: unknown
};

source_place place_of(std::string_view source) {
  const std::size_t colon = source.rfind(':');
  source_place place;
  if (colon != std::string_view::npos)
    std::from_chars(source.data() + colon + 1, source.data() + source.size(), place.line);
  std::error_code none;
  fs::path path(source.substr(0, colon));
  const fs::path near = path.lexically_proximate(fs::current_path(none));
  const bool is_below = path.is_absolute() && !near.empty() && *near.begin() != "..";
  place.file = (is_below ? near : path).string();
  return place;
}

template <class IsPlain>
std::string percent_encoded(std::string_view text, IsPlain is_plain) {
  std::string made;
  for (const char c : text)
    made += is_plain(c) ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  return made;
}

// As a reference of RFC 3986.
std::string uri_of(const std::string& file) {
  constexpr std::string_view plain =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/";
  return (file.starts_with('/') ? "file://" : "") +
         percent_encoded(file, [&](char c) { return plain.find(c) != plain.npos; });
}

nlohmann::json location_of(std::string_view source) {
  const auto [file, line] = place_of(source);
  nlohmann::json place = {{"artifactLocation", {{"uri", uri_of(file)}}}};
  if (line != 0) place["region"] = {{"startLine", line}};
  return {{"physicalLocation", std::move(place)}};
}

nlohmann::json sarif_log(const std::vector<result>& results) {
  std::set<std::string> names;
  nlohmann::json list = nlohmann::json::array();
  for (const result& each : results) {
    names.insert(each.rule);
    nlohmann::json one = {
        {"ruleId", each.rule}, {"level", each.level}, {"message", {{"text", each.message}}}};
    if (!each.source.empty()) one["locations"] = nlohmann::json::array({location_of(each.source)});
    list.push_back(std::move(one));
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

// Text of an XML file, in double quotes, too. Characters that XML cannot have become '?'.
std::string xml_of(const std::string& text) {
  std::string plain = nlohmann::json::parse(files::json_text(text)).get<std::string>();
  std::ranges::replace_if(
      plain, [](unsigned char c) { return c < ' ' && c != '\n' && c != '\t'; }, '?');
  return files::escaped_for_xml(plain);
}

// A test for each result, which fails unless it is a note; one that passes where there is none.
std::string junit_text(const std::string& command, const std::vector<result>& results) {
  const auto failures =
      std::ranges::count_if(results, [](const result& each) { return each.level != "note"; });
  const std::string counts =
      fmt::format(R"(name="ashlar {}" tests="{}" failures="{}" errors="0")", command,
                  std::max<std::size_t>(1, results.size()), failures);
  std::string text = fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites {0}>\n  <testsuite {0}>\n", counts);
  if (results.empty())
    text += fmt::format("    <testcase classname=\"{}\" name=\"nothing was found\"/>\n", command);
  for (const result& each : results) {
    const auto [file, line] = place_of(each.source);
    const std::string where =
        file.empty() ? "" : fmt::format("{}{}", file, line == 0 ? "" : fmt::format(":{}", line));
    text += fmt::format(R"(    <testcase classname="{}" name="{}"{}{}>)", xml_of(each.rule),
                        xml_of(where.empty() ? each.message : where),
                        file.empty() ? "" : fmt::format(R"( file="{}")", xml_of(file)),
                        line == 0 ? "" : fmt::format(R"( line="{}")", line));
    const std::string whole =
        xml_of(each.message) + (where.empty() ? "" : fmt::format(" ({})", xml_of(where)));
    text += each.level == "note"
                ? fmt::format("<system-out>{}</system-out></testcase>\n", whole)
                : fmt::format(R"(<failure type="{}" message="{}">{}</failure></testcase>)",
                              xml_of(each.rule), xml_of(each.message), whole) +
                      "\n";
  }
  return text + "  </testsuite>\n</testsuites>\n";
}

// What would end a value of a workflow command is written as the runner reads it back.
std::string github_value(const std::string& text, std::string_view special) {
  return percent_encoded(text, [&](char c) { return special.find(c) == special.npos; });
}

std::string github_text(const std::vector<result>& results) {
  std::string text;
  for (const result& each : results) {
    constexpr std::string_view of_properties = "%\r\n:,";
    const auto [file, line] = place_of(each.source);
    text += fmt::format("::{} ", each.level == "note" ? "notice" : each.level);
    if (!file.empty()) text += fmt::format("file={},", github_value(file, of_properties));
    if (line != 0) text += fmt::format("line={},", line);
    text += fmt::format("title=ashlar {}::{}\n", github_value(each.rule, of_properties),
                        github_value(each.message, "%\r\n"));
  }
  return text;
}

}  // namespace

void take_format(std::string& format, std::string& path, bool has_benchmark) {
  if (format.empty()) return;
  if (!path.empty())
    throw command_error(status_usage, "--for and --json write the same: take one of them");
  const std::size_t equals = format.find('=');
  path = equals == std::string::npos ? "-" : format.substr(equals + 1);
  format.resize(std::min(equals, format.size()));
  if (format != "sarif" && format != "junit" && format != "github" &&
      (format != "benchmark" || !has_benchmark))
    throw command_error(status_usage,
                        fmt::format("--for '{}': the formats are sarif, junit{} github", format,
                                    has_benchmark ? ", benchmark and" : " and"));
  if (path.empty())
    throw command_error(status_usage, fmt::format("--for {}=: a file's name is missing", format));
}

std::string results_text(const std::string& format, const std::string& command,
                         const std::vector<result>& results) {
  if (format == "junit") return junit_text(command, results);
  if (format == "github") return github_text(results);
  return files::json_text(sarif_log(results), 2) + "\n";
}

std::string benchmark_text(const std::vector<benchmark_value>& values) {
  nlohmann::json list = nlohmann::json::array();
  for (const auto& [name, unit, value] : values)  // `extra` says who wrote the file
    list.push_back({{"extra", "ashlar " ASHLAR_CLI_VERSION},
                    {"name", name},
                    {"unit", unit},
                    {"value", value}});
  return files::json_text(list, 2) + "\n";
}

}  // namespace ashlar::cli
