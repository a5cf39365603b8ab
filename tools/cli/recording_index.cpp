// tools/cli/recording_index.cpp. Layer: cli.
#include "tools/cli/recording_index.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "tools/cli/error.hpp"
#include "tools/cli/text.hpp"
#include "tools/files/files.hpp"
#include "tools/files/json.hpp"
#include "tools/trace/error.hpp"
#include "tools/trace/lifetimes.hpp"
#include "tools/trace/resident_memory.hpp"
#include "tools/trace/step_counts.hpp"

namespace ashlar::cli {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t stretches = 200;
constexpr unsigned index_schema = 1;

std::string file_name_of(const std::string& path) { return fs::path(path).filename().string(); }

bool is_trace(const fs::path& path) {
  try {
    trace::read_header(*trace::open_file_source(path.string()));
    return true;
  } catch (const trace::trace_error&) {
    return false;
  }
}

// Effects: counts the events of one process, and adds what lived to the stretches.
void count_process(recorded_process& of, const std::string& folder, double seconds,
                   std::vector<std::uint64_t>& sums) {
  trace::trace_reader reader(trace::open_file_source((fs::path(folder) / of.trace).string()));
  const double each =
      static_cast<double>(reader.ticks_per_second()) * seconds / static_cast<double>(sums.size());
  const auto stretch_at = [&](double ticks) {
    const double at = each > 0 ? ticks / each : 0;
    return std::min(static_cast<std::size_t>(std::max(at, 0.0)), sums.size() - 1);
  };
  of.events = reader.events();
  std::vector<std::uint64_t> most(sums.size(), 0);
  std::size_t now = 0;
  trace::step_counts counts;
  const auto go_to = [&](std::size_t stretch) {
    while (now < stretch) most[++now] = counts.live_bytes;
  };
  trace::lifetimes steps(reader);
  for (trace::step s; steps.next(s);) {
    go_to(stretch_at(static_cast<double>(s.time)));
    counts.count(s);
    most[now] = std::max(most[now], counts.live_bytes);
  }
  const double end = of.end_seconds.value_or(seconds);
  go_to(stretch_at(end * static_cast<double>(reader.ticks_per_second())));
  for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += most[i];
  of.births = counts.births;
  of.allocated_bytes = counts.birth_bytes;
  of.peak_bytes = counts.peak_bytes;
  of.held_bytes = counts.live_bytes;
  of.resident_bytes = trace::most_in_memory(reader);
}

template <class Value>
nlohmann::json json_of(const std::optional<Value>& value) {
  return value ? nlohmann::json(*value) : nlohmann::json();
}

nlohmann::json process_index_json(const recorded_process& p) {
  nlohmann::json before = nlohmann::json::array();
  for (std::size_t i = 0; i + 1 < p.images.size(); ++i)
    before.push_back({{"program", p.images[i].program}, {"arguments", p.images[i].arguments}});
  return {{"pid", p.pid},
          {"parent", p.parent},
          {"program", p.images.back().program},
          {"arguments", p.images.back().arguments},
          {"executed_before", before},
          {"begin_seconds", p.begin_seconds},
          {"end_seconds", json_of(p.end_seconds)},
          {"exit_status", json_of(p.exit_status)},
          {"signal", json_of(p.signal)},
          {"recorded", p.is_recorded},
          {"trace", p.trace.empty() ? nlohmann::json() : nlohmann::json(p.trace)},
          {"events", p.events},
          {"births", p.births},
          {"allocated_bytes", p.allocated_bytes},
          {"peak_bytes", p.peak_bytes},
          {"held_bytes", p.held_bytes},
          {"resident_bytes", p.resident_bytes},
          {"proportional_bytes", p.proportional_bytes}};
}

std::optional<int> small_number_at(const nlohmann::json& object, const char* name) {
  if (object.at(name).is_null()) return std::nullopt;
  return static_cast<int>(std::min<std::uint64_t>(files::count_at(object, name), 255));
}

recorded_process process_from(const nlohmann::json& json) {
  recorded_process p;
  p.pid = static_cast<std::uint32_t>(files::count_at(json, "pid"));
  p.parent = static_cast<std::uint32_t>(files::count_at(json, "parent"));
  const auto image_from = [](const nlohmann::json& image) {
    return recorded_process::image{image.at("program").get<std::string>(),
                                   image.at("arguments").get<std::vector<std::string>>()};
  };
  for (const nlohmann::json& image : json.at("executed_before"))
    p.images.push_back(image_from(image));
  p.images.push_back(image_from(json));
  p.begin_seconds = json.at("begin_seconds").get<double>();
  if (!json.at("end_seconds").is_null()) p.end_seconds = json.at("end_seconds").get<double>();
  p.exit_status = small_number_at(json, "exit_status");
  p.signal = small_number_at(json, "signal");
  p.is_recorded = json.at("recorded").get<bool>();
  if (!json.at("trace").is_null()) p.trace = json.at("trace").get<std::string>();
  // A trace lies in the folder itself: an index from elsewhere names no other file.
  if (p.trace != file_name_of(p.trace)) throw input_error("a trace is outside of the folder");
  p.events = files::count_at(json, "events");
  p.births = files::count_at(json, "births");
  p.allocated_bytes = files::count_at(json, "allocated_bytes");
  p.peak_bytes = files::count_at(json, "peak_bytes");
  p.held_bytes = files::count_at(json, "held_bytes");
  for (const auto& [name, to] : {std::pair("resident_bytes", &p.resident_bytes),
                                 std::pair("proportional_bytes", &p.proportional_bytes)})
    if (json.contains(name)) *to = files::count_at(json, name);
  return p;
}

recording_index index_from(const nlohmann::json& json) {
  if (files::count_at(json, "schema") > index_schema)
    throw input_error("it is of a newer ashlar, which is needed to read it");
  recording_index index;
  index.ashlar = json.at("ashlar").get<std::string>();
  index.recording = json.at("recording").get<std::string>();
  index.started = files::count_at(json, "started");
  index.command = json.at("command").get<std::vector<std::string>>();
  index.seconds = json.at("seconds").get<double>();
  for (const nlohmann::json& sum : json.at("bytes_over_time"))
    index.bytes_over_time.push_back(sum.get_ref<const nlohmann::json::number_unsigned_t&>());
  if (const auto found = json.find("memory_together"); found != json.end()) {
    index.memory = {found->at("seconds").get<double>(),
                    files::count_at(*found, "processes"),
                    files::count_at(*found, "resident_bytes"),
                    files::count_at(*found, "proportional_bytes"),
                    found->value("at_seconds", std::vector<double>()),
                    found->value("proportional_over_time", std::vector<std::uint64_t>())};
  }
  for (const nlohmann::json& process : json.at("processes"))
    index.processes.push_back(process_from(process));
  return index;
}

// Returns: the most that a process of that name has allocated; none: there is no such process.
std::optional<std::uint64_t> most_allocated(const recording_index& index,
                                            const std::string& called) {
  std::optional<std::uint64_t> most;
  for (const recorded_process& p : index.processes)
    if (called.empty() || p.is_called(called)) most = std::max(most.value_or(0), p.allocated_bytes);
  return most;
}

// Returns: what the traces themselves say: of several recordings, the one with the process that
// allocated most of those that are called so. Throws: input_error where there is none.
recording_index index_of_traces(const std::string& folder, const std::string& called) {
  std::map<std::string, recording_index> recordings;
  bool was_killed = false;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (!entry.is_regular_file() || !is_trace(entry.path())) continue;
    const trace::trace_reader reader(trace::open_file_source(entry.path().string()));
    const trace::trace_header& header = reader.header();
    was_killed = was_killed || entry.path().extension() == ".part";
    // Old traces do not say which recording they are of: each stands alone.
    const std::string_view recording = header.get(trace::header_name::recording);
    const std::string file = file_name_of(entry.path().string());
    recording_index& index = recordings[std::string(recording.empty() ? file : recording)];
    recorded_process p;
    p.pid = static_cast<std::uint32_t>(header.number(trace::header_name::pid, 0));
    p.parent = static_cast<std::uint32_t>(header.number(trace::header_name::parent, 0));
    p.images.push_back({std::string(header.get(trace::header_name::program)),
                        words_of_arguments(header.get(trace::header_name::arguments))});
    const auto ticks = static_cast<double>(header.ticks_per_second());
    p.begin_seconds = static_cast<double>(reader.times().first) / ticks;
    index.seconds = std::max(index.seconds, static_cast<double>(reader.times().second) / ticks);
    // A whole trace ends with its process, but one that was attached to.
    if (reader.warning().empty() && header.get(trace::header_name::attached).empty())
      p.end_seconds = static_cast<double>(reader.times().second) / ticks;
    p.is_recorded = true;
    p.trace = file;
    index.started = header.number(trace::header_name::started, 0);
    index.recording = recording;
    index.processes.push_back(std::move(p));
  }
  if (recordings.empty())
    throw input_error(fmt::format(
        "'{}' is a folder without a recording: 'ashlar record -o NAME.atree' writes one", folder));
  recording_index* chosen = nullptr;
  for (auto& [recording, index] : recordings) {
    std::ranges::sort(index.processes, [](const auto& a, const auto& b) {
      return std::pair(a.begin_seconds, a.pid) < std::pair(b.begin_seconds, b.pid);
    });
    count_processes(index, folder);
    if (chosen == nullptr || most_allocated(*chosen, called) < most_allocated(index, called))
      chosen = &index;
  }
  const char* const killed = was_killed ? ", since the recorder was killed" : "";
  if (recordings.size() == 1)
    chosen->warning = fmt::format(
        "'{}' has no {}{}: the table is what its traces tell{}", folder, index_file_name, killed,
        was_killed ? ", which lack at most the last second before that, and all after it" : "");
  else
    chosen->warning = fmt::format(
        "'{}' has no {}{}, and traces of {} recordings: the table is that of one of them; "
        "--process, or a file's name, chooses another",
        folder, index_file_name, killed, recordings.size());
  return std::move(*chosen);
}

}  // namespace

std::string recorded_process::name() const {
  const image& last = images.back();
  const std::string word = last.arguments.empty() ? "" : file_name_of(last.arguments.front());
  return word.empty() ? file_name_of(last.program) : word;
}

bool recorded_process::is_called(const std::string& name_or_pid) const {
  if (name_or_pid == std::to_string(pid)) return true;
  return std::ranges::any_of(images, [&](const image& i) {
    return file_name_of(i.program) == name_or_pid ||
           (!i.arguments.empty() && file_name_of(i.arguments.front()) == name_or_pid);
  });
}

std::uint64_t recording_index::peak_bytes() const {
  return bytes_over_time.empty() ? 0 : *std::ranges::max_element(bytes_over_time);
}

double recording_index::peak_seconds() const {
  if (bytes_over_time.empty()) return 0;
  const auto at = std::ranges::max_element(bytes_over_time);
  return seconds * static_cast<double>(at - bytes_over_time.begin() + 1) /
         static_cast<double>(bytes_over_time.size());
}

void count_processes(recording_index& index, const std::string& folder) {
  index.bytes_over_time.assign(stretches, 0);
  for (recorded_process& p : index.processes)
    if (!p.trace.empty()) count_process(p, folder, index.seconds, index.bytes_over_time);
}

nlohmann::json index_json(const recording_index& index) {
  nlohmann::json processes = nlohmann::json::array();
  for (const recorded_process& p : index.processes) processes.push_back(process_index_json(p));
  return {{"ashlar", index.ashlar},
          {"schema", index_schema},
          {"report", "recording"},
          {"recording", index.recording},
          {"started", index.started},
          {"command", index.command},
          {"seconds", index.seconds},
          {"peak_bytes_at_most", index.peak_bytes()},
          {"peak_seconds", index.peak_seconds()},
          {"bytes_over_time", index.bytes_over_time},
          {"memory_together",
           {{"seconds", index.memory.seconds},
            {"processes", index.memory.processes},
            {"resident_bytes", index.memory.resident_bytes},
            {"proportional_bytes", index.memory.proportional_bytes},
            {"at_seconds", index.memory.at_seconds},
            {"proportional_over_time", index.memory.proportional_over_time}}},
          {"processes", processes}};
}

recording_index read_index(const std::string& folder, const std::string& called) {
  const std::string path = (fs::path(folder) / index_file_name).string();
  if (!fs::exists(path)) return index_of_traces(folder, called);
  try {
    return index_from(nlohmann::json::parse(files::read_input(path)));
  } catch (const nlohmann::json::exception& error) {
    throw input_error(fmt::format(
        "'{}' is no index of a recording, or is damaged ({}); without it, the traces beside it are "
        "read",
        path, files::reason_of(error)));
  } catch (const input_error& error) {
    throw input_error(fmt::format("'{}': {}", path, error.what()));
  }
}

bool names_folder(const std::string& output) {
  return output.ends_with('/') || output.ends_with(".atree");
}

}  // namespace ashlar::cli
