// tools/trace/recorder.hpp: from the spool of a running program to its traces. Layer: trace.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "tools/trace/spool.hpp"
#include "tools/trace/writer.hpp"

namespace ashlar::trace {

struct recording_options {
  std::uint32_t stack_depth = 0;
  std::string ashlar_version;
  std::string options;  // as the header keeps them
};

/// Opens where the trace of a process goes; called once for each. Throws when it cannot.
using open_sink = std::function<byte_sink(std::uint32_t pid)>;

/// Not thread-safe. One trace for each process; a process that executes another program goes on in the same one.
class recorder {
 public:
  recorder(const recording_options& options, open_sink open);  // throws: std::runtime_error
  ~recorder();
  recorder(const recorder&) = delete;
  recorder& operator=(const recorder&) = delete;

  /// The value of spool_variable for the program.
  [[nodiscard]] const std::string& spool_path() const { return path_; }
  /// Effects: takes what is sealed, and what processes that are gone have left. Returns: how many chunks that were.
  std::size_t drain();
  /// Effects: what runs is not recorded any further.
  void stop() { spool_->stop.store(1); }
  /// Effects: ends the recording of whatever still runs, takes all there is and ends the traces.
  void finish();

  struct process_result {
    std::uint32_t pid = 0;
    std::uint64_t events = 0;
  };
  /// Of each trace.
  [[nodiscard]] std::vector<process_result> results() const;

 private:
  struct process;
  struct trace;

  void learn_processes();
  void describe(process& of, const chunk& c);
  bool is_described(process& p);
  [[nodiscard]] bool is_gone(const process& p) const;
  void open_trace(process& of);
  void sort(std::vector<std::uint32_t>& indices) const;
  bool take(std::uint32_t index);
  void free(std::uint32_t index);
  std::size_t take_sealed();
  void take_abandoned();
  void read_records(process& of, const chunk& c, std::uint32_t used);
  void flush_definitions(trace& of, bool all);
  void add_lost(const process& of);

  recording_options options_;
  open_sink open_;
  int file_ = -1;
  spool* spool_ = nullptr;
  std::string path_;
  std::uint64_t ticks_per_second_ = 0;
  std::vector<std::unique_ptr<process>> processes_;
  std::unordered_map<std::uint32_t, std::uint32_t> latest_;  // pid -> index of its last image
  std::unordered_map<std::uint32_t, std::unique_ptr<trace>> traces_;  // by pid
  std::uint64_t drains_ = 0;
  bool finished_ = false;
};

}  // namespace ashlar::trace
