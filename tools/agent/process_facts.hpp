// tools/agent/process_facts.hpp: what the system says of a process. Layer: agent.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <sys/types.h>

namespace ashlar::agent {

struct process_facts {
  std::string comm;     // the program's name
  std::string service;  // OTEL_SERVICE_NAME; else the unit of systemd, else `comm`
  std::string version;  // service.version of OTEL_RESOURCE_ATTRIBUTES; or nothing
  std::string cgroup;   // the path of its control group (version 2, else that of memory)
  std::uint64_t started =
      0;  // ticks since the system's start: tells two processes of one number apart
  std::uint64_t minor_faults = 0, major_faults = 0;  // pages that were not there
};

// Returns: these. What cannot be read, as of a process that has ended, is empty. All texts are
// UTF-8 of at most label_bytes_max bytes.
[[nodiscard]] process_facts facts_of(pid_t pid);

// Returns: the name of this machine.
[[nodiscard]] std::string host_name();

inline constexpr std::size_t label_bytes_max = 200;

// Returns: the text as a label may have it: UTF-8, of which each wrong byte is U+FFFD, cut at
// `bytes_max` bytes.
[[nodiscard]] std::string label_value(std::string_view bytes,
                                      std::size_t bytes_max = label_bytes_max);

// Returns: the value of a name in "a=1,b=2", as OTEL_RESOURCE_ATTRIBUTES has them: a %2C is a
// comma. Empty: there is none.
[[nodiscard]] std::string attribute(std::string_view list, std::string_view name);

// Returns: the service whose unit a control group is: web of /system.slice/web.service, or nothing.
[[nodiscard]] std::string unit_of(std::string_view cgroup);

}  // namespace ashlar::agent
