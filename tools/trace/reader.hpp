// tools/trace/reader.hpp: the events of a trace, all threads in one order. Layer: trace.
//
// One pass over the frames' headers finds where each thread's frames are; then one frame of each thread that is between
// its first and last event is in memory, no more.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tools/trace/event.hpp"
#include "tools/trace/frame.hpp"
#include "tools/trace/source.hpp"

namespace ashlar::trace {

/// What to do about a file that ends in the middle, as that of a recorder that was killed.
enum class unfinished { refuse, read_what_is_there };

struct trace_begin {
  trace_header header;
  std::uint64_t frames_at = 0;  // the byte where the frames begin
};
/// Returns: the header of a trace, which costs as much for a large one. Throws: trace_error.
trace_begin read_header(byte_source& from);

/// Not thread-safe. Throws: trace_error, which names file and offset.
class trace_reader {
 public:
  explicit trace_reader(std::unique_ptr<byte_source> source,
                        unfinished about = unfinished::read_what_is_there);
  ~trace_reader();
  trace_reader(const trace_reader&) = delete;
  trace_reader& operator=(const trace_reader&) = delete;

  [[nodiscard]] const trace_header& header() const { return header_; }
  /// What is missing at the end; empty: nothing.
  [[nodiscard]] const std::string& warning() const { return warning_; }
  /// How many events there are.
  [[nodiscard]] std::uint64_t events() const { return events_; }
  /// Returns: the times of the first event and of the last one; both 0 where there is none.
  [[nodiscard]] std::pair<std::uint64_t, std::uint64_t> times() const;
  [[nodiscard]] const std::vector<stack_definition>& stacks() const { return stacks_; }
  [[nodiscard]] const std::vector<module_definition>& modules() const { return modules_; }
  /// What `ashlar export --symbols` put into the trace.
  [[nodiscard]] const std::vector<name_definition>& names() const { return names_; }
  /// What was in memory, in the order of the file; empty: nobody looked.
  [[nodiscard]] const std::vector<memory_look>& looks() const { return looks_; }
  /// What the program mapped by itself, as far as it was recorded.
  [[nodiscard]] const std::vector<own_mapping>& mappings() const { return mappings_; }
  /// What no pointer led to when the process exited; none: nobody looked.
  [[nodiscard]] const std::optional<exit_look>& look_at_exit() const { return exit_look_; }

  /// What an event's time is counted in.
  [[nodiscard]] std::uint64_t ticks_per_second() const { return header_.ticks_per_second(); }
  /// Returns: the next event by time, at one time that of the lower thread number first; null at the
  /// end. Valid until the next call of pop().
  const event* peek();
  /// Effects: goes on. Requires: peek() was not null.
  void pop();
  /// Effects: lets other threads' events that are up to `ticks` later than peek()'s go before it.
  /// Returns: false where there is none (peek() is unchanged).
  bool postpone(std::uint64_t ticks);
  /// Effects: tells `to` (null: nobody) of events before they come.
  void tell_ahead(event_preview* to) { preview_ = to; }
  /// Effects: with each frame that it begins, `to` learns which share of the events has come until the
  /// frame's end: 1 with the last one.
  void tell_progress(std::function<void(double share)> to) { progress_ = std::move(to); }

 private:
  struct frame_place {
    frame_header header;
    std::uint64_t payload_at = 0;
  };
  struct open_frame;
  struct cursor;

  void index_frames(std::uint64_t at, unfinished about);
  using frames_by_thread = std::map<std::uint32_t, std::vector<frame_place>>;
  bool index_frame(std::uint64_t at, unfinished about, frames_by_thread& frames,
                   std::uint64_t& next);
  void read_definitions(const frame_place& place);
  void check_times() const;
  [[noreturn]] void fail(std::uint64_t offset, const std::string& fault) const;
  std::string payload_of(const frame_place& place);
  bool begin_next_frame(cursor& of);
  void decode_some(open_frame& from);
  bool advance(cursor& of);
  void schedule(cursor& added);
  cursor* unschedule();

  std::unique_ptr<byte_source> source_;
  trace_header header_;
  std::string warning_;
  std::uint64_t events_ = 0;
  bool ended_ = false;
  std::uint64_t room_;  // bytes of memory that definitions and frames may still unpack to
  std::vector<stack_definition> stacks_;
  std::vector<module_definition> modules_;
  std::vector<name_definition> names_;
  std::vector<memory_look> looks_;
  std::vector<own_mapping> mappings_;
  std::optional<exit_look> exit_look_;
  decompressor decompressor_;
  event_preview* preview_ = nullptr;
  std::function<void(double share)> progress_;
  std::uint64_t begun_ = 0;  // events of the frames that were begun
  std::vector<std::unique_ptr<cursor>> cursors_;
  std::vector<cursor*> waiting_;  // a heap: the first is the one that all others come after
  cursor* current_ = nullptr;     // peek()'s; not among those that wait
};

}  // namespace ashlar::trace
