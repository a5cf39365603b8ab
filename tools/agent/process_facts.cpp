// tools/agent/process_facts.cpp. Layer: agent.
#include "tools/agent/process_facts.hpp"

#include <array>
#include <charconv>
#include <string>
#include <utility>
#include <vector>

#include <unistd.h>

#include <ashlar/core/utf8.hpp>

#include "tools/files/process_status.hpp"
#include "tools/files/text.hpp"

namespace ashlar::agent {
namespace {

// Of each file no more is read: a process may have an environment of megabytes.
constexpr std::size_t file_bytes_max = std::size_t{128} * 1024;

std::string cgroup_of(pid_t pid) {
  std::string found;
  const std::string groups = files::process_file(pid, "cgroup", file_bytes_max);
  for (std::string_view line : files::parts_of(groups, '\n')) {
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string_view::npos || second == std::string_view::npos) continue;
    const std::string_view controllers = line.substr(first + 1, second - first - 1);
    if (controllers.find("memory") != std::string_view::npos ||
        (controllers.empty() && found.empty()))
      found = line.substr(second + 1);
  }
  return found;
}

std::string without_percents(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned char byte = 0;
    const char* const digits = text.data() + i + 1;
    if (text[i] == '%' && i + 2 < text.size() &&
        std::from_chars(digits, digits + 2, byte, 16).ptr == digits + 2) {
      plain += static_cast<char>(byte);
      i += 2;
    } else {
      plain += text[i];
    }
  }
  return plain;
}

}  // namespace

std::string label_value(std::string_view bytes, std::size_t bytes_max) {
  constexpr std::string_view replacement = "\xEF\xBF\xBD";
  std::string text;
  while (!bytes.empty()) {
    const std::size_t length = character_bytes(bytes);
    const std::string_view next = length == 0 ? replacement : bytes.substr(0, length);
    if (text.size() + next.size() > bytes_max) break;
    text += next;
    bytes.remove_prefix(length == 0 ? 1 : length);
  }
  return text;
}

std::string attribute(std::string_view list, std::string_view name) {
  std::string found;
  for (std::string_view part : files::parts_of(list, ',')) {
    const std::size_t equals = part.find('=');
    if (equals != std::string_view::npos && part.substr(0, equals) == name)
      found = without_percents(part.substr(equals + 1));
  }
  return found;
}

std::string unit_of(std::string_view cgroup) {
  std::string found;
  for (std::string_view part : files::parts_of(cgroup, '/')) {
    constexpr std::string_view end = ".service";
    if (!part.ends_with(end) || part.starts_with("user@")) continue;
    part.remove_suffix(end.size());
    found = part;
  }
  return found;
}

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

process_facts facts_of(pid_t pid) {
  process_facts facts;
  std::string comm = files::process_file(pid, "comm", file_bytes_max);
  if (comm.ends_with('\n')) comm.pop_back();
  const std::string cgroup = cgroup_of(pid);
  std::string service, version;
  const std::string environment = files::process_file(pid, "environ", file_bytes_max);
  for (std::string_view line : files::parts_of(environment, '\0')) {
    constexpr std::string_view attributes = "OTEL_RESOURCE_ATTRIBUTES=",
                               name = "OTEL_SERVICE_NAME=";
    if (line.starts_with(attributes)) {
      version = attribute(line.substr(attributes.size()), "service.version");
      if (service.empty()) service = attribute(line.substr(attributes.size()), "service.name");
    }
    if (line.starts_with(name) && line.size() > name.size()) service = line.substr(name.size());
  }
  if (service.empty()) service = unit_of(cgroup);
  facts.comm = label_value(comm);
  facts.service = label_value(service.empty() ? comm : service);
  facts.version = label_value(version);
  facts.cgroup = label_value(cgroup);
  const std::vector<std::string> fields = files::fields_of_stat(pid);
  constexpr std::size_t first = 3;  // as proc(5) counts
  for (const auto& [field, into] :
       {std::pair{10u, &facts.minor_faults}, {12u, &facts.major_faults}, {22u, &facts.started}})
    if (field - first < fields.size()) *into = files::number_in(fields[field - first]).value_or(0);
  return facts;
}

}  // namespace ashlar::agent
