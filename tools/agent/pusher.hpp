// tools/agent/pusher.hpp: sends the profiles of all processes to a collector or into a folder.
// Layer: agent.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <string>
#include <thread>

#include "tools/agent/fleet.hpp"
#include "tools/agent/metrics_text.hpp"
#include "tools/agent/otlp_profile.hpp"
#include "tools/agent/process_profiles.hpp"
#include "tools/agent/spool.hpp"

namespace ashlar::agent {

// Where profiles go: pyroscope+http://HOST:PORT, otlp+http://HOST:PORT (both with https, too), or a
// folder that is there.
struct push_target {
  enum class kind { pyroscope, otlp, folder };
  kind how = kind::folder;
  std::string server;  // http://HOST:PORT
  std::string path;    // of the request, or the folder
};

// Throws: command_error that says what is wrong with it.
[[nodiscard]] push_target push_target_of(const std::string& given);

// At each interval a thread makes the profiles of all processes that sample, and sends them, the
// oldest first. What does not arrive waits in memory for the next time (spool.hpp).
class pusher {
 public:
  static constexpr std::size_t spool_bytes_max = std::size_t{64} << 20;
  static constexpr std::chrono::seconds send_time{10};  // of one profile, with its answer

  // Requires: the fleet and the profiles live longer.
  pusher(push_target to, std::chrono::seconds every, fleet& of, process_profiles& from);
  // Effects: ends what is being sent, and waits for the profile that is being made (20 s and the time
  // of its names at most), or for a name that is looked up. What waits is lost.
  ~pusher();
  pusher(const pusher&) = delete;
  pusher& operator=(const pusher&) = delete;

  [[nodiscard]] push_counts counts() const;

 private:
  enum class outcome { arrived, refused, failed };

  void run();
  void collect();
  void send_all();
  [[nodiscard]] pushed_profile packed(const std::string& profile, const process_figures& of) const;
  outcome send(const pushed_profile& one, std::string& why);
  outcome post(const pushed_profile& one, std::string& why);
  outcome store(const pushed_profile& one, std::string& why) const;
  [[nodiscard]] bool must_end() const;

  const push_target to_;
  const std::chrono::seconds every_;
  fleet& fleet_;
  process_profiles& profiles_;
  mutable std::mutex mutex_;  // for all below
  std::condition_variable changed_;
  bool must_end_ = false;
  spool waiting_{spool_bytes_max};
  push_counts counts_;
  std::thread thread_;
};

}  // namespace ashlar::agent
