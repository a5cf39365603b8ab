// tools/cli/chosen_trace.cpp. Layer: cli.
#include "tools/cli/chosen_trace.hpp"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>
#include <tuple>

#include <fmt/format.h>

#include "tools/cli/error.hpp"
#include "tools/cli/table.hpp"
#include "tools/measure/child_process.hpp"

namespace ashlar::cli {

namespace fs = std::filesystem;

namespace {

struct processes_together {
  std::size_t count = 0;
  std::uint64_t bytes = 0;  // of memory, each page of several processes divided among them
};

// Returns: by name, what processes had when all had most.
std::map<std::string, processes_together> together(const recording_index& tree) {
  std::map<std::string, processes_together> by_name;
  for (const recorded_process& p : tree.processes) {
    if (p.proportional_bytes == 0) continue;
    processes_together& sum = by_name[p.name()];
    ++sum.count;
    sum.bytes += p.proportional_bytes;
  }
  return by_name;
}

// Returns: the places of the processes that are called so, in the order of places_by_memory(); of an
// empty name, of all.
std::vector<std::size_t> places_of(const recording_index& tree, const std::string& called) {
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < tree.processes.size(); ++i)
    if (called.empty() || tree.processes[i].is_called(called)) places.push_back(i);
  std::ranges::sort(places, [&](std::size_t a, std::size_t b) {
    const recorded_process& first = tree.processes[a];
    const recorded_process& second = tree.processes[b];
    return std::tuple(first.trace.empty(), second.resident_bytes, second.allocated_bytes, a) <
           std::tuple(second.trace.empty(), first.resident_bytes, first.allocated_bytes, b);
  });
  if (places.empty()) return places;
  // Where several of one program had more together than the largest has, the largest of these.
  auto by_name = together(tree);
  const std::uint64_t largest = tree.processes[places.front()].resident_bytes;
  const auto most = std::ranges::max_element(places, {}, [&](std::size_t place) {
    const recorded_process& p = tree.processes[place];
    if (p.trace.empty() || p.proportional_bytes == 0)
      return std::tuple(std::uint64_t{0}, std::uint64_t{0});
    const processes_together& all = by_name[p.name()];
    const bool are_more = all.count > 1 && all.bytes > largest;
    return std::tuple(are_more ? all.bytes : 0, are_more ? p.proportional_bytes : 0);
  });
  std::rotate(places.begin(), most, most + 1);
  return places;
}

// "g++, cc1plus, as and 3 more".
std::string names_in(const recording_index& tree) {
  constexpr std::size_t most = 10;
  std::vector<std::string> names;
  for (const recorded_process& p : tree.processes)
    if (std::ranges::find(names, p.name()) == names.end()) names.push_back(p.name());
  std::string text;
  for (std::size_t i = 0; i < std::min(most, names.size()); ++i)
    text += (i == 0 ? "" : ", ") + printable(names[i]);
  return names.size() > most ? fmt::format("{} and {} more", text, names.size() - most) : text;
}

// "git repack", "python3 work.py": the name, and what it does where the first argument says so.
std::string label_of(const recorded_process& p) {
  constexpr std::size_t longest = 24;
  const std::vector<std::string>& words = p.images.back().arguments;
  if (words.size() < 2 || words[1].empty() || words[1].front() == '-') return printable(p.name());
  const std::string what = fs::path(words[1]).filename().string();
  return printable(what.size() > longest ? p.name() : fmt::format("{} {}", p.name(), what));
}

std::string end_of(const recorded_process& p) {
  if (p.signal) return measure::signal_name(*p.signal);
  return p.exit_status ? fmt::format("{}", *p.exit_status) : "?";
}

}  // namespace

std::vector<std::size_t> places_by_memory(const recording_index& tree) {
  return places_of(tree, "");
}

std::string like_first(const recording_index& tree) {
  const std::string name = tree.processes[places_by_memory(tree).front()].name();
  const processes_together all = together(tree)[name];
  if (all.count < 2) return printable(name);
  return fmt::format("{} ({} processes, {})", printable(name), all.count, format_bytes(all.bytes));
}

chosen_trace choose_trace(const std::string& path, const std::string& process) {
  chosen_trace chosen;
  std::error_code error;
  if (!fs::is_directory(path, error)) {
    if (!process.empty())
      throw input_error(fmt::format(
          "'{}' is the trace of one process: --process is for a folder, which 'ashlar record -o "
          "NAME.atree' writes",
          path));
    chosen.path = path;
    return chosen;
  }
  chosen.folder = path;
  chosen.tree = read_index(path, process);
  const recording_index& tree = *chosen.tree;
  if (!tree.warning.empty()) fmt::print(stderr, "ashlar: warning: {}\n", tree.warning);
  const std::vector<std::size_t> places = places_of(tree, process);
  if (places.empty() && process.empty())
    throw input_error(fmt::format("'{}': no process was recorded", path));
  if (places.empty())
    throw input_error(fmt::format("'{}' has no process '{}'; it has {}", path, printable(process),
                                  names_in(tree)));
  chosen.place = places.front();
  const recorded_process& p = chosen.process();
  if (p.trace.empty())
    throw input_error(fmt::format(
        "'{}': process {} ({}) has no trace: {}", path, p.pid, printable(p.name()),
        p.is_recorded ? "it allocated nothing" : "'record --only' named other programs"));
  chosen.path = (fs::path(path) / p.trace).string();
  const auto others = std::ranges::count_if(
      places, [&](std::size_t place) { return !tree.processes[place].trace.empty(); });
  std::string which;
  if (others != 1)
    which = fmt::format(", which had most memory of {} {}; --process chooses another", others,
                        process.empty() ? "processes" : "that have the name");
  fmt::print(stderr, "ashlar: {}: process {} ({}){}\n", path, p.pid, printable(p.name()), which);
  return chosen;
}

std::string render_tree(const recording_index& tree, const std::string& folder, std::size_t rows) {
  std::uint64_t events = 0, births = 0, bytes = 0, held = 0;
  std::size_t traces = 0;
  for (const recorded_process& p : tree.processes) {
    events += p.events;
    births += p.births;
    bytes += p.allocated_bytes;
    held += p.held_bytes;
    traces += p.trace.empty() ? 0 : 1;
  }
  std::string text = fmt::format("{}{}{}\n\n", folder, tree.command.empty() ? "" : ": ",
                                 shell_quoted(tree.command));
  const std::size_t all = tree.processes.size();
  text += labelled_line("processes",
                        fmt::format("{} in {} s{}", format_count(all), format_seconds(tree.seconds),
                                    traces == all ? "" : fmt::format("; {} with a trace", traces)));
  text += labelled_line("events", format_count(events));
  text += labelled_line("allocated",
                        fmt::format("{} in {} blocks", format_bytes(bytes), format_count(births)));
  text += labelled_line(
      "peak", fmt::format("at most {} of all together, at {} s", format_bytes(tree.peak_bytes()),
                          format_seconds(tree.peak_seconds())));
  if (tree.memory.processes > 1)
    text += labelled_line(
        "peak RSS",
        fmt::format("{} of {} processes together, at {} s; PSS {} (shared pages divided), "
                    "most by {}",
                    format_bytes(tree.memory.resident_bytes), format_count(tree.memory.processes),
                    format_seconds(tree.memory.seconds),
                    format_bytes(tree.memory.proportional_bytes), like_first(tree)));
  text += labelled_line("at the end", format_bytes(held));
  std::vector<std::size_t> listed = places_by_memory(tree);
  std::erase_if(listed, [&, most = listed.front()](std::size_t place) {
    const recorded_process& p = tree.processes[place];  // a launcher, as a rule
    return p.allocated_bytes < bytes / 100 &&
           p.resident_bytes <= tree.processes[most].resident_bytes / 4;
  });
  listed.resize(std::min(listed.size(), rows));
  table processes({{"process"},
                   {"parent"},
                   {"program", align::left},
                   {"begin, s"},
                   {"end, s"},
                   {"exit"},
                   {"in memory"},
                   {"allocated"},
                   {"peak"},
                   {"at the end"}});
  for (const std::size_t place : listed) {
    const recorded_process& p = tree.processes[place];
    const bool has_trace = !p.trace.empty();
    processes.add_row({std::to_string(p.pid), std::to_string(p.parent), label_of(p),
                       format_seconds(p.begin_seconds),
                       p.end_seconds ? format_seconds(*p.end_seconds) : "runs", end_of(p),
                       p.resident_bytes != 0 ? format_bytes(p.resident_bytes) : "-",
                       has_trace ? format_bytes(p.allocated_bytes) : "-",
                       has_trace ? format_bytes(p.peak_bytes) : "-",
                       has_trace ? format_bytes(p.held_bytes) : "-"});
  }
  text += "\n" + processes.render(2);
  if (listed.size() < all)
    text += fmt::format("  and {} more, smaller ones (--json lists them)\n",
                        format_count(all - listed.size()));
  return text + "\n";
}

}  // namespace ashlar::cli
