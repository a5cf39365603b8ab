// tools/tune/heap_tuning.cpp. Layer: tune.
#include "tools/tune/heap_tuning.hpp"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include <ashlar/heap/class_file.hpp>

#include "tools/files/json.hpp"
#include "tools/profile/heap_counter.hpp"
#include "tools/profile/size_grid.hpp"
#include "tools/tune/inputs.hpp"

namespace ashlar::tune {
namespace {

using json = nlohmann::json;

constexpr std::array<std::pair<weigh, const char*>, 3> weigh_words = {
    {{weigh::at_peak, "peak"}, {weigh::over_time, "time"}, {weigh::both, "both"}}};

input_identity add_trace(const std::string& file, profiling::profile& into, const progress& tell) {
  profiling::heap_counter counter;
  const auto take = [&counter](const trace::step& s) {
    if (!profiling::pool_grid::serves(s.size, s.alignment)) return false;
    if (s.happened == trace::step::what::birth) {
      counter.birth(s.time, s.size, s.alignment);
    } else {
      counter.death(s.time, s.size, s.alignment);
    }
    return true;
  };
  input_identity read = read_trace(file, take, tell);
  profiling::profile run;
  run.heap = counter.rows();
  profiling::merge(into, run);
  return read;
}

input_identity add_profile(const std::string& file, profiling::profile& into) {
  profile_input read = read_profile(file);
  profiling::merge(into, read.runs);
  return std::move(read.identity);
}

/// Lines of numbers, `width` a line at most.
std::string wrapped(const std::vector<std::uint32_t>& numbers, const char* between,
                    const std::string& indent) {
  constexpr std::size_t width = 100;
  std::string text, line;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const std::string word = fmt::format("{}{}", numbers[i], i + 1 < numbers.size() ? between : "");
    if (line.size() + 1 + word.size() > width) {
      text += indent + line + "\n";
      line.clear();
    }
    line += (line.empty() ? "" : " ") + word;
  }
  return text + indent + line + "\n";
}

std::string comment(const heap_tuning& tuned, const std::string& mark) {
  const auto percent = [](double part, double of) { return of > 0 ? 100 * part / of : 0.0; };
  const heap_classes& made = tuned.made;
  return fmt::format(
      "{0} Chosen by ashlar tune --mode heap {1}, by blocks alive: {2}. Do not edit, tune again.\n"
      "{0} Slack of what was asked for: at the peak {3:.1f} % (standard classes {4:.1f} %), over "
      "time {5:.1f} % ({6:.1f} %).\n"
      "{0} From these files (SHA-256, file):\n"
      "{7}",
      mark, tuned.ashlar_version, word_of(tuned.by),
      percent(made.slack.at_peak, made.requested.at_peak),
      percent(made.standard_slack.at_peak, made.requested.at_peak),
      percent(made.slack.over_time, made.requested.over_time),
      percent(made.standard_slack.over_time, made.requested.over_time),
      inputs_comment(tuned.inputs, mark));
}

json slack_json(const heap_slack& slack) {
  return {{"at_peak", slack.at_peak}, {"over_time", slack.over_time}};
}

}  // namespace

std::string word_of(weigh by) {
  for (const auto& [value, word] : weigh_words)
    if (value == by) return word;
  throw std::out_of_range("weigh");
}
weigh weigh_of(const std::string& word) {
  for (const auto& [value, known] : weigh_words)
    if (word == known) return value;
  throw std::out_of_range(word);
}

heap_tuning tune_heap(const std::vector<std::string>& files, const heap_class_request& request,
                      const progress& tell) {
  heap_tuning tuned;
  tuned.by = request.by;
  profiling::profile all;
  for (const std::string& file : files) {
    tuned.inputs.push_back(kind_of(file) == input_kind::profile ? add_profile(file, all)
                                                                : add_trace(file, all, tell));
  }
  tuned.made = choose_heap_classes(all.heap, request);
  return tuned;
}

std::string class_file_text(const heap_tuning& tuned) {
  return fmt::format("{} {}\n{}{}", ashlar::detail::class_file_mark,
                     ashlar::detail::class_file_version, comment(tuned, "#"),
                     wrapped(tuned.made.sizes, "", ""));
}

std::string classes_header(const heap_tuning& tuned) {
  return comment(tuned, "//") +
         fmt::format(
             "#pragma once\n"
             "\n"
             "#include <cstdint>\n"
             "\n"
             "namespace ashlar::tuned {{\n"
             "\n"
             "/// Bytes; for a build of the library (CMake: -DASHLAR_CLASSES=this file).\n"
             "inline constexpr std::uint32_t block_sizes[{}] = {{\n"
             "{}}};\n"
             "\n"
             "}}  // namespace ashlar::tuned\n",
             tuned.made.sizes.size(), wrapped(tuned.made.sizes, ",", "    "));
}

std::string classes_json(const heap_tuning& tuned) {
  const json all{{"ashlar", tuned.ashlar_version},
                 {"mode", "heap"},
                 {"weigh", word_of(tuned.by)},
                 {"class_bytes", heap_class_bytes},
                 {"block_sizes", tuned.made.sizes},
                 {"classes_used", tuned.made.used},
                 {"standard_classes_used", tuned.made.standard_used},
                 {"requested_bytes", slack_json(tuned.made.requested)},
                 {"slack_bytes", slack_json(tuned.made.slack)},
                 {"standard_slack_bytes", slack_json(tuned.made.standard_slack)},
                 {"inputs", inputs_json(tuned.inputs)}};
  return files::json_text(all, 1) + "\n";
}

}  // namespace ashlar::tune
