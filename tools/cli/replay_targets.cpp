// tools/cli/replay_targets.cpp. Layer: cli.
#include "tools/cli/replay_targets.hpp"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "tools/cli/error.hpp"
#include "tools/files/files.hpp"
#include "tools/measure/allocator_list.hpp"

namespace ashlar::cli {

namespace {

namespace fs = std::filesystem;

replay_target read_pools(const std::string& path) {
  try {
    return {path, {}, tune::read_configuration(files::read_input(path))};
  } catch (const tune::no_configuration& error) {
    throw command_error(status_usage, fmt::format("--on {}: {}", path, error.what()));
  }
}

bool names_a_library(const std::string& name) {
  return name.find_first_of("/=") != std::string::npos || name.find(".so") != std::string::npos;
}

replay_target given_library(const std::string& text) {
  if (text.find('=') == std::string::npos)
    return {fs::path(text).stem().string(), measure::find_given_library("--on " + text, text), {}};
  measure::allocator found = measure::parse_allocator("--on", text);
  return {std::move(found.name), std::move(found.library), {}};
}

replay_target installed(const std::string& name) {
  std::string known = "all, system, ashlar";
  for (measure::allocator& each : measure::installed_allocators()) {
    if (each.name == name) return {std::move(each.name), std::move(each.library), {}};
    known += ", " + each.name;
  }
  throw command_error(
      status_usage,
      fmt::format("--on {}: no allocator of that name is installed (there are {}); a library is "
                  "named by its path, or as NAME=LIBRARY, pools by the .json of ashlar tune",
                  name, known));
}

std::vector<replay_target> targets_of(const std::string& name) {
  if (name == "system" || name == "glibc") return {{"system", {}, {}}};
  if (name == "ashlar") return {{"ashlar", measure::find_ashlar_library(), {}}};
  if (name == "all") {
    std::vector<replay_target> all{{"system", {}, {}},
                                   {"ashlar", measure::find_ashlar_library(), {}}};
    for (measure::allocator& each : measure::installed_allocators())
      all.push_back({std::move(each.name), std::move(each.library), {}});
    return all;
  }
  if (name.ends_with(".json")) return {read_pools(name)};
  if (names_a_library(name)) return {given_library(name)};
  return {installed(name)};
}

}  // namespace

std::vector<replay_target> find_replay_targets(const std::vector<std::string>& names,
                                               const measure::signal_watch& watch) {
  std::vector<replay_target> found;
  for (const std::string& name : names) {
    for (replay_target& target : targets_of(name)) {
      if (std::ranges::any_of(found, [&](const replay_target& f) { return f.name == target.name; }))
        continue;
      const std::string complaint = target.library.empty()
                                        ? std::string{}
                                        : measure::preload_complaint(target.library, watch);
      if (!complaint.empty()) {
        throw command_error(status_usage, fmt::format("the loader does not take {} ({}): {}",
                                                      target.name, target.library, complaint));
      }
      found.push_back(std::move(target));
    }
  }
  return found;
}

std::string find_replay_worker(bool for_pools) {
  const fs::path name = for_pools ? "ashlar-replay-pool-worker" : "ashlar-replay-worker";
  const fs::path folder = fs::path(measure::own_executable()).parent_path();
  const fs::path built = folder / name;
  const fs::path placed = folder / ASHLAR_CLI_LIBEXECDIR_FROM_BINDIR / "ashlar" / name;
  for (const fs::path& place : {built, placed}) {
    std::error_code ignored;
    if (fs::is_regular_file(place, ignored)) return place.string();
  }
  throw command_error(status_usage, fmt::format("cannot find {}; looked for\n  {}\n  {}",
                                                name.string(), built.lexically_normal().string(),
                                                placed.lexically_normal().string()));
}

}  // namespace ashlar::cli
