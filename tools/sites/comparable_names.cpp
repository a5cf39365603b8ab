// tools/sites/comparable_names.cpp. Layer: sites.
#include "tools/sites/comparable_names.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <iterator>
#include <string_view>

#include <fmt/format.h>

namespace ashlar::sites {
namespace {

std::string file_of(const std::string& path) {
  return std::filesystem::path(path).filename().string();
}

// Where the offset begins in "file+0x1234".
std::size_t offset_in(const std::string& name) {
  return name.rfind("+0x");
}

equal_builds builds_of(const trace::trace_reader& reader) {
  equal_builds builds;
  for (const trace::module_definition& module : reader.modules())
    if (!module.build_id.empty()) builds.emplace(file_of(module.path), module.build_id);
  return builds;
}

}  // namespace

equal_builds builds_in_both(const trace::trace_reader& before, const trace::trace_reader& after) {
  const equal_builds a = builds_of(before);
  const equal_builds b = builds_of(after);
  equal_builds both;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::inserter(both, both.end()));
  return both;
}

std::string without_copy_mark(std::string function) {
  static constexpr std::array<std::string_view, 7> marks{
      " [clone ", ".isra.", ".constprop.", ".part.", ".cold", ".lto_priv.", ".llvm."};
  for (const std::string_view mark : marks)
    function.erase(std::min(function.find(mark), function.size()));
  return function;
}

std::string file_without_version(const std::string& path) {
  constexpr std::string_view ending = ".so";
  std::string file = file_of(path);
  const std::size_t at = file.find(".so.");
  if (at != std::string::npos) file.resize(at + ending.size());
  return file;
}

comparable_names::comparable_names(const trace::trace_reader& of, equal_builds builds)
    : program_(of.header().get(trace::header_name::program)), builds_(std::move(builds)) {
  for (const trace::module_definition& module : of.modules())
    build_ids_.emplace(module.path, module.build_id);
}

std::string comparable_names::of(const trace::named_call& call) const {
  // A line end is in no name.
  const std::string file =
      call.module == program_ ? std::string() : '\n' + file_without_version(call.module);
  if (!call.function.empty()) return without_copy_mark(call.function) + file;
  return (counts_offset(call) ? call.name.substr(offset_in(call.name)) : "?") + file;
}

bool comparable_names::counts_offset(const trace::named_call& call) const {
  const auto id = build_ids_.find(call.module);
  return id != build_ids_.end() && builds_.contains({file_of(call.module), id->second}) &&
         offset_in(call.name) != std::string::npos;
}

trace::named_call comparable_names::shown(trace::named_call call) const {
  if (!call.function.empty() || counts_offset(call)) return call;
  call.name = call.module.empty()
                  ? "code that is in no file"
                  : fmt::format("functions without a name in {}", file_of(call.module));
  return call;
}

}  // namespace ashlar::sites
