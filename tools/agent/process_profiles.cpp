// tools/agent/process_profiles.cpp. Layer: agent.
#include "tools/agent/process_profiles.hpp"

#include <filesystem>
#include <set>
#include <string>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "tools/trace/named_profile.hpp"
#include "tools/trace/process_memory.hpp"

namespace ashlar::agent {
namespace {

// Returns: the files that the process has mapped. Names are looked for in no other file: the
// process says which ones it has, and might say anything.
std::set<std::string> mapped_files(pid_t pid) {
  std::set<std::string> files;
  for (const trace::process_mapping& each :
       trace::mappings_of(pid).value_or(std::vector<trace::process_mapping>()))
    if (each.path.starts_with('/')) files.insert(each.path);
  return files;
}

}  // namespace

std::optional<control::answer> process_profiles::make(const process_figures& of,
                                                      const char* first) {
  const std::unique_lock guard(making_, profile_time);
  if (!guard.owns_lock()) return std::nullopt;
  control::answer got = std::move(
      control::ask_all({of.socket}, "profile", {.each = profile_time, .all = profile_time})
          .front());
  if (got.how != control::outcome::done) return got;
  // The system says where a file is, and a profile how it was asked for: a link may lead to it.
  const auto may_read = [files = mapped_files(of.socket.pid)](const std::string& path) {
    std::error_code failed;
    return files.contains(std::filesystem::canonical(path, failed).string());
  };
  auto named = trace::with_names(
      got.text, {.may_read = may_read,
                 .shown_first = first,
                 .comments = {"service=" + of.facts.service, "version=" + of.facts.version,
                              "host=" + host_name()},
                 .known = &known_});
  if (!named) return control::answer{.how = control::outcome::not_ashlar, .text = {}, .from = 0};
  got.text = std::move(named->bytes);
  return got;
}

}  // namespace ashlar::agent
