// tools/trace/call_names.cpp. Layer: trace.
#include "tools/trace/call_names.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

namespace ashlar::trace {

namespace {

bool can_be_trusted(const std::string& path) {
  struct stat status{};
  return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) &&
         (status.st_uid == 0 || status.st_uid == ::geteuid());
}

/// Effects: takes a hexadecimal number and the space behind it from the line. Returns: false: there
/// is none.
bool take_number(std::string_view& line, std::uint64_t& number) {
  const auto [behind, error] = std::from_chars(line.data(), line.data() + line.size(), number, 16);
  line.remove_prefix(static_cast<std::size_t>(behind - line.data()));
  if (error != std::errc() || !line.starts_with(' ')) return false;
  line.remove_prefix(1);
  return true;
}

}  // namespace

std::string perf_map_path(std::uint64_t pid) { return fmt::format("/tmp/perf-{}.map", pid); }

perf_map::perf_map(const std::string& path) {
  if (!can_be_trusted(path)) return;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::string_view rest = line;
    std::uint64_t begin = 0, bytes = 0;
    if (take_number(rest, begin) && take_number(rest, bytes) && !rest.empty())
      functions_.insert_or_assign(begin, function{begin + bytes, std::string(rest)});
  }
}

// The list has no lines, but most functions of a script have a name of their own.
perf_map::line_numbers perf_map::lines_of(const std::string& script) {
  line_numbers lines;
  std::ifstream file(can_be_trusted(script) ? script : std::string());
  std::uint32_t number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    std::string_view rest = line;
    rest.remove_prefix(std::min(rest.find_first_not_of(" \t"), rest.size()));
    constexpr std::string_view async = "async ";
    constexpr std::string_view begins = "def ";
    if (rest.starts_with(async)) rest.remove_prefix(async.size());
    if (!rest.starts_with(begins)) continue;
    rest.remove_prefix(begins.size());
    const auto [at, is_new] =
        lines.try_emplace(std::string(rest.substr(0, rest.find_first_of("( ["))), number);
    if (!is_new) at->second = 0;
  }
  return lines;
}

source_place perf_map::at(std::uint64_t address) {
  const auto behind = functions_.upper_bound(address);
  if (behind == functions_.begin() || address >= std::prev(behind)->second.end) return {};
  const std::string_view name = std::prev(behind)->second.name;
  constexpr std::string_view python = "py::";
  const std::size_t colon = name.find(':', python.size());
  if (!name.starts_with(python) || colon == std::string_view::npos)
    return {std::string(name), {}, 0};
  source_place place{std::string(name.substr(python.size(), colon - python.size())),
                     std::string(name.substr(colon + 1)), 0};
  const auto [script, is_new] = scripts_.try_emplace(place.file);
  if (is_new) script->second = lines_of(place.file);
  const auto line = script->second.find(place.function.substr(place.function.rfind('.') + 1));
  if (line != script->second.end()) place.line = line->second;
  return place;
}

std::string named_call::place() const {
  return line == 0 ? std::string() : fmt::format("{}:{}", file, line);
}

std::string short_name(std::string_view function) {
  if (function.starts_with('<')) return std::string(function);  // Rust: "<Type as Trait>::function"
  constexpr std::string_view anonymous = "(anonymous namespace)";
  constexpr std::string_view abi_tag = "[abi:";
  std::string name;
  int depth = 0;  // of template arguments
  for (std::size_t i = 0; i < function.size(); ++i) {
    const char c = function[i];
    const bool names_operator = name.ends_with("operator") || name.ends_with("operator<");
    if (depth > 0) {
      depth += c == '<' ? 1 : c == '>' ? -1 : 0;
    } else if (c == '<' && !names_operator && !name.ends_with('.')) {
      ++depth;
    } else if (c == '(' && function.substr(i).starts_with(anonymous)) {
      name += "(anonymous)";
      i += anonymous.size() - 1;
    } else if (function.substr(i).starts_with(abi_tag)) {
      i = std::min(function.find(']', i), function.size());
    } else if (c == '(' && (name.empty() || name == "decltype")) {
      int open =
          0;  // a result's type of an expression: "decltype (::new (p) T()) std::construct_at<T>()"
      for (; i < function.size(); ++i) {
        open += function[i] == '(' ? 1 : function[i] == ')' ? -1 : 0;
        if (open == 0) break;
      }
      name.clear();
    } else if (c == ' ' && name == "decltype") {
      continue;
    } else if (c == ' ' && name.find("operator") == std::string::npos) {
      name.clear();  // what was before it is the result's type
    } else if ((c == '(' || c == ' ') && !name.ends_with("operator")) {
      break;
    } else {
      name += c;  // also the parenthesis of "operator()"
    }
  }
  return name.empty() ? std::string(function) : name;
}

std::unordered_set<std::uint64_t> wrappers_of(const std::vector<stack_definition>& stacks) {
  constexpr int most_levels = 3;
  constexpr std::size_t least_callers = 16;
  constexpr std::size_t part_of_stacks = 4;
  struct calls {
    std::size_t stacks = 0;
    std::unordered_set<std::uint64_t> from;
  };
  std::unordered_set<std::uint64_t> wrappers;
  for (int level = 0; level < most_levels; ++level) {
    std::unordered_map<std::uint64_t, calls> innermost;
    for (const stack_definition& stack : stacks) {
      const auto at = std::ranges::find_if(
          stack.frames, [&](std::uint64_t address) { return !wrappers.contains(address); });
      if (stack.frames.end() - at < 2 || *(at + 1) == cut_frame) continue;
      calls& of = innermost[*at];
      ++of.stacks;
      of.from.insert(*(at + 1));
    }
    const std::size_t before = wrappers.size();
    for (const auto& [address, of] : innermost)
      if (of.from.size() >= least_callers && of.stacks * part_of_stacks >= stacks.size())
        wrappers.insert(address);
    if (wrappers.size() == before) break;
  }
  return wrappers;
}

std::string named_call::brief() const {
  if (module.empty() || function.empty() || !name.starts_with(function)) return name;
  return short_name(function) + name.substr(function.size());
}

std::string named_call::text() const {
  return line == 0 ? name : fmt::format("{} at {}", name, place());
}

std::string named_call::brief_text() const {
  return line == 0 ? brief() : fmt::format("{} at {}", brief(), place());
}

namespace {

bool has_line(const std::vector<source_place>& places) {
  return std::ranges::any_of(places, [](const auto& p) { return p.line != 0; });
}

std::string file_name(const std::string& path) {
  return std::filesystem::path(path).filename().string();
}

}  // namespace

call_names::call_names(const trace_reader& of) : call_names(of.modules(), of.names()) {
  wrappers_ = wrappers_of(of.stacks());
  pid_ = of.header().number(header_name::pid, 0);
}

call_names::call_names(std::vector<module_definition> modules,
                       std::span<const name_definition> in_trace, known_places* known)
    : modules_(std::move(modules)), known_before_(known) {
  for (const name_definition& name : in_trace)
    if (!name.places.empty()) in_trace_[name.address] = &name.places;
  // So the system names a file that was replaced while the program ran.
  constexpr std::string_view deleted = " (deleted)";
  for (module_definition& module : modules_)
    if (module.path.ends_with(deleted)) module.path.resize(module.path.size() - deleted.size());
}

std::vector<named_call> call_names::of(const stack_definition& stack) {
  std::vector<named_call> calls;
  for (const std::uint64_t frame : stack.frames) {
    if (frame == cut_frame) {
      calls.push_back({fmt::format("[stack cut at {} frames]", stack.frames.size() - 1),
                       {},
                       0,
                       {},
                       "[stack cut]"});
      continue;
    }
    const auto& some = at(frame);
    calls.insert(calls.end(), some.begin(), some.end());
  }
  return calls;
}

const std::vector<named_call>& call_names::at(std::uint64_t address) {
  const auto [found, is_new] = known_.try_emplace(address);
  if (is_new) {
    found->second = find(address);
    if (wrappers_.contains(address))
      for (named_call& call : found->second) call.is_wrapper = true;
  }
  return found->second;
}

std::vector<named_call> call_names::find(std::uint64_t address) {
  const std::uint64_t inside = address - 1;  // the call is before the place that it returns to
  // The last one: what was mapped there later.
  const auto module = std::find_if(modules_.rbegin(), modules_.rend(), [&](const auto& m) {
    return m.begin <= inside && inside < m.end;
  });
  if (module == modules_.rend()) {
    if (modules_.empty()) return {{fmt::format("{:#x}", address), {}, 0, {}}};
    return {made_at_run_time(address)};
  }
  const std::string file = file_name(module->path);
  // Nobody returns to a file's first byte: a pool.
  if (address == module->bias) return {{file, {}, 0, {}, file}};
  std::vector<named_call> calls;
  for (source_place& place : places_of(*module, address)) {
    std::string name = place.function.empty()
                           ? fmt::format("{}+{:#x}", file, address - module->bias)
                           : fmt::format("{} in {}", place.function, file);
    calls.push_back({std::move(name), std::move(place.file), place.line, module->path,
                     std::move(place.function)});
  }
  return calls;
}

named_call call_names::made_at_run_time(std::uint64_t address) {
  source_place place;
  if (const auto kept = in_trace_.find(address); kept != in_trace_.end()) {
    place = kept->second->front();
  } else if (pid_ != 0) {
    if (!made_) made_.emplace(perf_map_path(pid_));
    place = made_->at(address - 1);
  }
  std::string name = place.function.empty() ? "[code made at run time]" : place.function;
  if (!place.file.empty()) name += fmt::format(" in {}", file_name(place.file));
  return {std::move(name), place.file, place.line, place.file, std::move(place.function)};
}

std::vector<source_place> call_names::places_of(const module_definition& module,
                                                std::uint64_t address) {
  const std::uint64_t inside = address - 1 - module.bias;
  const auto kept = in_trace_.find(address);
  if (kept == in_trace_.end()) {
    const std::uint64_t in_file = address - 1 - module.begin + module.offset;
    if (known_before_ != nullptr)
      if (const auto* const before = known_before_->find(module, in_file); before != nullptr)
        return *before;
    note_if_lost(module);
    std::vector<source_place> found = sources_.at(module.path, inside, module.build_id);
    if (known_before_ != nullptr && !module.build_id.empty() &&
        sources_.state_of(module.path, module.build_id) == file_state::same)
      known_before_->add(module, in_file, found);
    return found;
  }
  const std::vector<source_place>& places = *kept->second;
  // Without a build id the file may be any other one now.
  if (has_line(places) || module.build_id.empty()) return places;
  std::vector<source_place> found = sources_.at(module.path, inside, module.build_id);
  return has_line(found) ? found : places;
}

static_variable call_names::largest_variable(std::string_view file) {
  const auto module = std::ranges::find_if(modules_, [&](const module_definition& each) {
    return !file.empty() && file_name(each.path).starts_with(file);  // the map cuts long ones
  });
  return module == modules_.end() ? static_variable()
                                  : sources_.largest_variable(module->path, module->build_id);
}

void call_names::note_if_lost(const module_definition& module) {
  if (!module.path.starts_with('/')) return;  // the kernel's code is in no file
  const file_state state = sources_.state_of(module.path, module.build_id);
  if (state == file_state::same) return;
  if (std::ranges::none_of(lost_, [&](const lost_file& l) { return l.path == module.path; }))
    lost_.push_back({module.path, state});
}

}  // namespace ashlar::trace
