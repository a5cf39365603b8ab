// tools/trace/recorder.hpp: what records running programs: the spool, and who writes into it. Layer: trace.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "tools/trace/spool.hpp"

namespace ashlar::trace {

/// A process, from its first event or image to its end.
struct process_history {
  struct image {
    std::string path;
    std::string arguments;  // each ended by '\0'
  };
  std::uint32_t pid = 0;
  /// The process that made it. Where that had ended before, one that is known above it, or 1.
  std::uint32_t parent = 0;
  std::vector<image> images;         ///< what it executed, one after the other; at least one
  bool is_recorded = false;          ///< record_only() named one of the images, or none
  std::uint64_t begin = 0;           ///< ticks since the recording began
  std::optional<std::uint64_t> end;  ///< none: it still ran at the end of the recording
  std::optional<int> exit_status;    ///< none: not known. A signal may have killed it
};

/// Not thread-safe. What becomes of the events, a class says that is derived: file_recorder.
class recorder {
 public:
  virtual ~recorder();
  recorder(const recorder&) = delete;
  recorder& operator=(const recorder&) = delete;

  /// The value of spool_variable for the program.
  [[nodiscard]] const std::string& spool_path() const { return path_; }
  /// Effects: takes what there is. Returns: how many chunks can be used again by that.
  virtual std::size_t drain() = 0;
  /// Effects: what runs is not recorded any further.
  void stop() { spool_->stop.store(1); }
  [[nodiscard]] bool is_stopped() const { return spool_->stop.load() != 0; }
  /// Effects: only programs with one of these names are recorded, of their files or of the word that calls them. Requires:
  /// no program runs yet; all of them and a byte for each are less than only_bytes.
  void record_only(const std::vector<std::string>& names);
  /// Returns: the processes that began, in that order, also those that are not recorded. Requires: finish() was called.
  [[nodiscard]] std::vector<process_history> histories();
  [[nodiscard]] std::uint64_t ticks_per_second() const { return ticks_per_second_; }
  /// Effects: a result comes of this process even if it allocates nothing. Requires: before the first drain().
  void set_program(std::uint32_t pid) { program_ = pid; }
  /// Effects: ends the recording of whatever still runs, takes all there is and ends what is written.
  virtual void finish() = 0;
  /// Effects: tells a process that waits for it that its trace is a file.
  void tell_written() { spool_->written.store(1); }

 protected:
  /// `stack_depth`: 0: no stacks. `memory`: a descriptor of memory that a process has for this, and is empty; -1: there
  /// is none. Throws: std::runtime_error.
  explicit recorder(std::uint32_t stack_depth, int memory = -1);

  /// One image of a process: what it entered into the spool.
  struct process {
    std::uint32_t index = 0;
    std::uint32_t pid = 0;
    std::uint32_t parent = 0;  // index + 1
    std::string path;
    std::string arguments;
    std::uint32_t before = 0;  // index + 1 of the image that the process was until then; 0: none
    bool described = false;
    bool ended = false;
    std::uint64_t ended_at = 0;  // when that was found out, in ticks; 0: it was not
  };

  [[nodiscard]] std::uint32_t program() const { return program_; }
  /// The clock's when the recording began: an event's time is counted from there.
  [[nodiscard]] std::uint64_t start_ticks() const { return spool_->start_ticks; }
  /// The time of an event that happens now.
  [[nodiscard]] std::uint64_t now() const;
  /// Effects: tells programs that there is a recorder. They wait for it when it falls behind, but not for ever.
  void beat() { spool_->heartbeat.fetch_add(1, std::memory_order_relaxed); }

  void learn_processes();
  static void describe(process& of, const chunk& c);
  bool is_described(process& p);
  /// Whether the process has executed another program, and that has entered itself.
  [[nodiscard]] bool was_replaced(const process& p) const { return latest_.at(p.pid) != p.index; }
  /// Returns: whether it is time to find out who has ended: now and then, and when many chunks were taken since.
  bool is_time_to_look_for_the_dead();
  /// Whether record_only() named other programs. Requires: it is described.
  [[nodiscard]] bool is_skipped(const process& p) const {
    return spool_->processes[p.index].is_skipped.load(std::memory_order_relaxed) != 0;
  }
  /// Effects: finds out which processes have ended.
  void look_for_the_dead();

  /// Effects: processes wait when they exit, until go_on(). Requires: none has begun.
  void let_processes_wait() { spool_->looks_at_ends = 1; }
  [[nodiscard]] bool waits_at_exit(const process& p) const {
    return spool_->processes[p.index].end.load(std::memory_order_acquire) == process_end::waits;
  }
  /// Returns: where the stack of its thread that waits is in use.
  [[nodiscard]] std::uint64_t stack_at_exit(const process& p) const {
    return spool_->processes[p.index].stack_at_end.load(std::memory_order_relaxed);
  }
  void go_on(const process& p) {
    spool_->processes[p.index].end.store(process_end::goes_on, std::memory_order_release);
  }
  /// Returns: whether no second thread of the process has told anything yet.
  [[nodiscard]] bool has_one_thread(const process& p) const {
    return spool_->processes[p.index].threads.load(std::memory_order_acquire) <= 1;
  }
  /// What the process knows of the looks at its memory: at its end it does not look again for nothing.
  [[nodiscard]] std::atomic<std::uint64_t>& memory_seen(const process& p) {
    return spool_->processes[p.index].memory_seen;
  }
  [[nodiscard]] std::uint32_t lost_by(const process& p) const {
    return spool_->processes[p.index].lost.load();
  }

  /// Returns: how many chunks there may be; those behind were never taken.
  [[nodiscard]] std::uint32_t chunks() const {
    return spool_->chunks.load(std::memory_order_acquire);
  }
  [[nodiscard]] const chunk& chunk_at(std::uint32_t index) const {
    return *chunk_of(spool_, index);
  }
  [[nodiscard]] chunk_state state_of(std::uint32_t index) const {
    return spool_->states[index].load(std::memory_order_acquire);
  }
  /// Returns: the process whose chunk it is; null where that has not entered itself yet, or is not known yet.
  [[nodiscard]] process* owner_of(std::uint32_t index);
  /// Returns: when it began, or executed this program.
  [[nodiscard]] std::uint64_t begin_of(const process& of) const;
  /// Effects: puts them in the order of processes, threads and numbers. The description of a process has thread 0.
  void sort(std::vector<std::uint32_t>& indices) const;
  /// Returns: whether its thread has ended and left it as it is. Requires: it has an owner.
  [[nodiscard]] bool is_left(std::uint32_t index);
  void free(std::uint32_t index);

  [[nodiscard]] const std::vector<std::unique_ptr<process>>& processes() const {
    return processes_;
  }

 private:
  [[nodiscard]] bool is_gone(const process& p) const;
  [[nodiscard]] std::uint64_t since_start(std::uint64_t ticks) const;

  int file_ = -1;
  bool is_given_ = false;  // the memory is a process's, which keeps it
  spool* spool_ = nullptr;
  std::string path_;
  std::uint64_t ticks_per_second_ = 0;
  std::vector<std::unique_ptr<process>> processes_;
  std::unordered_map<std::uint32_t, std::uint32_t> latest_;  // pid -> index of its last image
  std::uint32_t program_ = 0;                                // set_program()'s
  std::uint64_t calls_ = 0;                                  // of is_time_to_look_for_the_dead()
  std::uint32_t fewest_in_use_ = 0;                          // chunks, since it was last time
};

}  // namespace ashlar::trace
