// tools/agent/fleet.hpp: what all processes with a control socket have, now and in the last hour.
// Layer: agent.
//
//   look()   finds the sockets anew, and asks each process for its statistics
//   hour     one point each 15 s for each process, in a ring: bounded memory
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <ashlar/core/stats_fields.hpp>

#include "tools/agent/process_facts.hpp"
#include "tools/control/process_socket.hpp"

namespace ashlar::agent {

// A figure that the library of a process, which is of an older release, does not know.
inline constexpr std::uint64_t not_told = UINT64_MAX;

struct process_figures {
  control::process_socket socket;  // its number is the one that the system says
  process_facts facts;
  std::string library;  // ashlar's version in the process
  ashlar_total_stats total{};
  // By name, as a label may have it.
  std::map<std::string, tag_stats> tags;
  std::map<std::string, named_heap_stats> heaps;
};

// All of them at one moment.
struct fleet_look {
  std::chrono::steady_clock::time_point time;
  std::vector<process_figures> processes;  // by number, each once
  std::size_t silent = 0;                  // gave no answer in time
  std::size_t wrong = 0;                   // answered what is no answer
  std::size_t left_out = 0;                // sockets above the bound
  double seconds = 0;                      // that the look took

  [[nodiscard]] const process_figures* find(pid_t pid) const;
};

// The last hour of one process. A point is missing where the process was not there.
struct process_hour {
  static constexpr std::size_t points = 240;
  static constexpr std::uint32_t missing = UINT32_MAX;
  std::array<std::uint32_t, points> live_kib, resident_kib;
  std::uint64_t last_step = 0;
  std::uint64_t allocations = 0;  // at the last step, and how many a second since the one before
  double calls_per_second = 0;
};

class fleet {
 public:
  static constexpr std::size_t processes_max = 4096;
  static constexpr std::chrono::seconds step{15};

  // Returns: what all have now; what they had where somebody looked less than half a second ago.
  // Threads that come meanwhile wait for the one that looks. Takes five seconds at most.
  [[nodiscard]] std::shared_ptr<const fleet_look> look();

  // Effects: looks, and keeps a point of each process. To be called each `step`.
  void remember();

  // Returns: the hour of a process up to now, the oldest first; empty: nothing is known.
  struct trend {
    std::vector<std::uint32_t> live_kib, resident_kib;
    double calls_per_second = 0;
    double growth_per_minute = 0;  // bytes, over the last minute
  };
  [[nodiscard]] trend trend_of(const process_figures& of) const;

 private:
  using key = std::pair<pid_t, std::uint64_t>;  // a number, and when that process began

  [[nodiscard]] static std::uint64_t step_now();
  [[nodiscard]] std::shared_ptr<const fleet_look> look_anew();

  std::mutex looking_;
  std::shared_ptr<const fleet_look> last_;
  std::map<std::string, bool> was_silent_;  // sockets that are asked last
  mutable std::mutex hours_mutex_;
  std::map<key, process_hour> hours_;
};

}  // namespace ashlar::agent
