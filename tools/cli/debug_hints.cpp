// tools/cli/debug_hints.cpp. Layer: cli.
#include "tools/cli/debug_hints.hpp"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

#include <fmt/format.h>

#include "tools/cli/text.hpp"
#include "tools/trace/source_lines.hpp"

namespace ashlar::cli {
namespace fs = std::filesystem;
namespace {

bool has_line(const fs::path& file, const std::vector<std::string>& lines) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);)
    if (std::ranges::find(lines, line) != lines.end()) return true;
  return false;
}

// Returns: the Debian package that the file came with; empty: none. The lists may name it by the
// folder from before /lib became a link to /usr/lib.
std::string package_of(const std::string& path) {
  std::error_code none;
  const std::string real = fs::canonical(path, none).string();
  std::vector<std::string> names{path};
  if (!real.empty()) names.push_back(real);
  if (real.starts_with("/usr/")) names.push_back(real.substr(4));
  for (const fs::directory_entry& entry : fs::directory_iterator("/var/lib/dpkg/info", none)) {
    if (entry.path().extension() != ".list" || !has_line(entry.path(), names)) continue;
    const std::string package = entry.path().stem().string();
    return package.substr(0, package.find(':'));  // without the architecture
  }
  return {};
}

}  // namespace

std::string remedy_for(const std::string& path) {
  const std::string package = package_of(path);
  if (package.empty()) return "compile it with -g";
  // The C library's has a name of its own.
  return fmt::format("Debian: {}", package == "libc6" ? "libc6-dbg" : package + "-dbgsym");
}

void tell_missing_names(const std::vector<trace::call_names::lost_file>& lost,
                        const std::vector<std::string>& without_lines) {
  for (const auto& [path, state] : lost) {
    const bool is_gone = state == trace::file_state::gone;
    fmt::print(stderr,
               "ashlar: '{}' is {}, so its calls are offsets: put {} back, or record "
               "again (--symbols keeps the names in the trace)\n",
               printable(path), is_gone ? "gone" : "another build than the one that ran",
               is_gone ? "it" : "that build");
  }
  const bool is_complete = lost.empty() && without_lines.empty();
  if (!is_complete && trace::source_lines::servers() == trace::debug_servers::no_library)
    fmt::print(stderr,
               "ashlar: DEBUGINFOD_URLS is set, but no server is asked without libdebuginfod "
               "(Debian: apt-get install libdebuginfod1)\n");
  std::vector<std::string> paths;
  std::copy_if(without_lines.begin(), without_lines.end(), std::back_inserter(paths),
               [&](const std::string& path) {
                 return std::ranges::none_of(lost, [&](const auto& l) { return l.path == path; });
               });
  if (paths.empty()) return;
  std::string list;
  constexpr std::size_t told = 3;
  for (std::size_t i = 0; i < std::min(told, paths.size()); ++i)
    list += fmt::format("{}{} ({})", i == 0 ? "" : ", ", printable(paths[i]), remedy_for(paths[i]));
  if (paths.size() > told) list += fmt::format(" and {} more", paths.size() - told);
  fmt::print(stderr, "ashlar: no lines, for lack of debug information, of {}\n", list);
}

}  // namespace ashlar::cli
