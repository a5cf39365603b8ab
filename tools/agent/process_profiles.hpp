// tools/agent/process_profiles.hpp: profiles of processes, with names. Layer: agent.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>

#include "tools/agent/fleet.hpp"
#include "tools/control/request.hpp"
#include "tools/trace/known_places.hpp"

namespace ashlar::agent {

inline constexpr std::chrono::seconds profile_time(10);

// One is made at a time: names take memory. What was found of a build's call is kept for the next
// profile. Thread-safe.
class process_profiles {
 public:
  static constexpr std::size_t known_bytes_max = std::size_t{32} << 20;

  // Returns: the process's answer, whose text is the profile with names if it is done. `first` is
  // the value that readers show first. None: others were being made for all of profile_time. Takes
  // twice that at most, and the time of the names.
  [[nodiscard]] std::optional<control::answer> make(const process_figures& of, const char* first);

 private:
  std::timed_mutex making_;  // for all below
  trace::known_places known_{known_bytes_max};
};

}  // namespace ashlar::agent
