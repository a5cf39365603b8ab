// tools/agent/recordings.hpp: records what a process allocates, for some seconds. Layer: agent.
//
//   start -> the process writes PID.atrace beside its socket -> stop -> read here, and removed
//
// This process has a lock on PID.atrace.owner meanwhile. Where it is killed, the system lets go of the
// lock, and whatever writes the trace (cli's attached_program) ends the recording.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <set>
#include <string>

#include "tools/agent/fleet.hpp"
#include "tools/control/request.hpp"

namespace ashlar::agent {

// Behind a trace's name: the file on which whoever asked for the recording has a lock.
inline constexpr char owner_end[] = ".owner";

// The folder is one that only the process's user may enter, on the process's file system. That user
// may have put anything there: what is read is a file of the folder's owner, and no link. Thread-safe.
class recordings {
 public:
  static constexpr std::size_t at_once_max = 2;
  static constexpr std::uint64_t seconds_max = 15;
  static constexpr std::uint64_t enough_bytes = std::uint64_t{32} << 20;  // it ends before its time
  static constexpr std::uint64_t bytes_max = std::uint64_t{64} << 20;

  // `library` is libashlar-record.so, as the processes find it.
  explicit recordings(std::string library) : library_(std::move(library)) {}

  // Returns: the process's answer, whose text is the trace if it is done. None: too many are being
  // made. Takes `duration`, or until `must_end`, and the time that the process takes to begin and
  // to end it.
  [[nodiscard]] std::optional<control::answer> make(const process_figures& of,
                                                    std::chrono::seconds duration,
                                                    const std::atomic<bool>& must_end);

 private:
  std::string library_;
  std::mutex mutex_;  // for `now_`
  std::set<pid_t> now_;
};

}  // namespace ashlar::agent
