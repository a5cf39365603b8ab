// tools/trace/reader.hpp: the events of a trace, all threads in one order. Layer: trace.
//
// One pass over the frames' headers finds where each thread's frames are; then one frame of each thread that is between
// its first and last event is in memory, no more.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tools/trace/frame.hpp"
#include "tools/trace/source.hpp"

namespace ashlar::trace {

/// What to do about a file that ends in the middle, as that of a recorder that was killed.
enum class unfinished { refuse, read_what_is_there };

/// Not thread-safe. Throws: trace_error, which names file and offset.
class trace_reader {
 public:
  explicit trace_reader(std::unique_ptr<byte_source> source,
                        unfinished about = unfinished::read_what_is_there);
  ~trace_reader();

  [[nodiscard]] const trace_header& header() const { return header_; }
  /// What is missing at the end; empty: nothing.
  [[nodiscard]] const std::string& warning() const { return warning_; }
  /// How many events there are.
  [[nodiscard]] std::uint64_t events() const { return events_; }
  [[nodiscard]] const std::vector<stack_definition>& stacks() const { return stacks_; }
  [[nodiscard]] const std::vector<module_definition>& modules() const { return modules_; }

  /// Returns: the next event by time, at one time that of the lower thread number first; null at the end. Valid
  /// until the next call of pop().
  const event* peek();
  /// Effects: goes on. Requires: peek() was not null.
  void pop();
  /// Effects: lets other threads' events that are up to `ticks` later than peek()'s go before it.
  /// Returns: false where there is none (peek() is unchanged).
  bool postpone(std::uint64_t ticks);

 private:
  struct frame_place {
    frame_header header;
    std::uint64_t payload_at = 0;
  };
  struct cursor;

  void read_header();
  void index_frames(unfinished about);
  using frames_by_thread = std::map<std::uint32_t, std::vector<frame_place>>;
  bool index_frame(std::uint64_t at, unfinished about, frames_by_thread& frames,
                   std::uint64_t& next);
  void read_definitions(const frame_place& place);
  void check_times() const;
  [[noreturn]] void fail(std::uint64_t offset, const std::string& fault) const;
  std::string payload_of(const frame_place& place);
  void advance(cursor& of);
  void schedule(std::uint32_t index);
  std::uint32_t unschedule();

  std::unique_ptr<byte_source> source_;
  trace_header header_;
  std::string warning_;
  std::uint64_t events_ = 0;
  bool ended_ = false;
  std::vector<stack_definition> stacks_;
  std::vector<module_definition> modules_;
  decompressor decompressor_;
  std::vector<std::unique_ptr<cursor>> cursors_;  // by thread number, ascending
  std::vector<std::uint32_t> heap_;  // indices of cursors with events, but for `current_`
  cursor* current_ = nullptr;
};

}  // namespace ashlar::trace
