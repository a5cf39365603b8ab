// tools/trace/file_recorder.hpp: from the spool of running programs to their traces. Layer: trace.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "tools/trace/chunk_events.hpp"
#include "tools/trace/memory_looks.hpp"
#include "tools/trace/recorder.hpp"
#include "tools/trace/writer.hpp"

namespace ashlar::trace {

struct recording_options {
  std::uint32_t stack_depth = 0;
  std::string ashlar_version;
  std::string options;    // as the header keeps them
  std::string recording;  // what the traces of this recording have in common; empty: nothing
  int memory = -1;        // that a process has for this; -1: the recorder makes it
  std::uint32_t attached_to = 0;  // the process that ran already; 0: none
};

/// Opens where the trace of a process goes; called once for each. Throws when it cannot.
using open_sink = std::function<byte_sink(std::uint32_t pid)>;

/// A process that is about to end: it stands still, and all that it told is in its trace.
struct exiting_process {
  std::uint32_t pid = 0;
  std::uint64_t stack_begin = 0;  ///< of the thread that ends it: the stack is in use from there on
};
/// Looks at it. Calls `sign` every second at least: the process waits no longer than five for one.
using look_at_exit =
    std::function<exit_look(const exiting_process& process, const std::function<void()>& sign)>;

/// One trace for each process; a process that executes another program goes on in the same one. A thread's events are
/// taken when its chunk is full, and twice a second all that there is: so a recorder that is killed loses no more than
/// the last second.
class file_recorder final : public recorder {
 public:
  /// `look`, which does not throw, is called for each process that exits, and its trace has what that
  /// found; what it does behind that is not recorded. Empty: nobody waits. Throws:
  /// std::runtime_error.
  file_recorder(const recording_options& options, open_sink open, look_at_exit look = {});
  ~file_recorder() override;

  std::size_t drain() override;
  /// Effects: takes what is in chunks that are not full yet. Requires: drain() knows their processes; it calls this when
  /// it is due.
  void take_unsealed();
  void finish() override;
  /// Effects: from now on, looks at what all processes have in memory together.
  void look_at_tree() { looks_at_tree_ = true; }
  /// Returns: when that was most.
  [[nodiscard]] const tree_looks& tree() const { return tree_; }

  struct process_result {
    std::uint32_t pid = 0;
    std::uint64_t events = 0;
  };
  /// Of each trace.
  [[nodiscard]] std::vector<process_result> results() const;

 private:
  struct trace;
  /// What was taken of a thread.
  struct thread_progress {
    std::uint32_t chunk = 0;  // the sequence number of the one that comes next, or is being read
    bool is_open = false;     // it is being read
    std::optional<chunk_events> events;
  };
  /// What was taken of an image.
  struct progress {
    bool begun = false;    // its trace knows of it
    bool is_over = false;  // nothing more is taken
    std::unordered_map<std::uint32_t, thread_progress> threads;
    memory_looks memory;
  };
  /// Whether a chunk will get more records.
  enum class chunk_is { whole, written };

  void begin(const process& of);
  void open_trace(const process& of);
  bool take(std::uint32_t index, chunk_is as = chunk_is::whole);
  std::size_t take_sealed();
  void take_abandoned(std::uint32_t end);
  void look_at_exits();
  void take_all_of(const process& of);
  void read_records(const process& of, const chunk& c, thread_progress& so_far);
  static void flush_definitions(trace& of, bool all);
  void flush_memory(bool is_end);
  void look_at_memory();
  void add_lost(const process& of);

  recording_options options_;
  open_sink open_;
  look_at_exit look_;
  unsigned time_bits_;  // of processes with one thread: trace_writer::keep_times_within()
  std::vector<progress> progress_;                                    // by process
  std::unordered_map<std::uint32_t, std::unique_ptr<trace>> traces_;  // by pid
  std::chrono::steady_clock::time_point unsealed_due_;                // when take_unsealed() is
  std::chrono::steady_clock::time_point look_due_;                    // when look_at_memory() is
  bool looks_at_tree_ = false;
  tree_looks tree_;
  bool finished_ = false;
};

}  // namespace ashlar::trace
