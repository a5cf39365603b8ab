// tools/trace/perf_map.cpp. Layer: trace.
#include "tools/trace/perf_map.hpp"

#include <charconv>
#include <fstream>
#include <iterator>
#include <string_view>

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

std::string perf_map_path(std::uint64_t pid) {
  return fmt::format("/tmp/perf-{}.map", pid);
}

perf_map::perf_map(const std::string& path) {
  if (!can_be_trusted(path)) return;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::string_view rest = line;
    std::uint64_t begin = 0;
    std::uint64_t bytes = 0;
    if (take_number(rest, begin) && take_number(rest, bytes) && !rest.empty())
      functions_.insert_or_assign(begin, function{begin + bytes, std::string(rest)});
  }
}

source_place perf_map::at(std::uint64_t address) const {
  const auto behind = functions_.upper_bound(address);
  if (behind == functions_.begin() || address >= std::prev(behind)->second.end) return {};
  const std::string_view name = std::prev(behind)->second.name;
  constexpr std::string_view python = "py::";
  const std::size_t colon = name.find(':', python.size());
  if (!name.starts_with(python) || colon == std::string_view::npos)
    return {std::string(name), {}, 0};
  return {std::string(name.substr(python.size(), colon - python.size())),
          std::string(name.substr(colon + 1)), 0};
}

}  // namespace ashlar::trace
