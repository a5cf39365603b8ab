// tools/trace/event.hpp: what a trace says happened, one thing at a time. Layer: trace.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string_view>

#include <ashlar/core/trace_format.hpp>

namespace ashlar::trace {

struct event {
  event_kind kind{};
  std::uint32_t thread = 0;  ///< 1, 2, ... in the order of their first events
  std::uint32_t stack = 0;   ///< its number in the table of stacks; 0: none
  std::uint64_t time = 0;    ///< in ticks since the recording began
  std::uint64_t address = 0;
  std::uint64_t size = 0;       ///< bytes that were asked for; of others and notes: the number
  std::uint64_t alignment = 0;  ///< a power of two; 0: the program asked for none
  std::string_view text;

  friend bool operator==(const event&, const event&) = default;
};

// The events of a program's threads, one after the other.

/// Who can do something useful for an event before it comes: have the memory that it will touch brought near.
class event_preview {
 public:
  /// `events`: of one thread, which come next of that thread.
  virtual void coming(std::span<const event> events) = 0;

 protected:
  event_preview() = default;
  ~event_preview() = default;
};

/// What lies in a file (trace_reader).
class event_source {
 public:
  virtual ~event_source() = default;

  /// What an event's time is counted in.
  [[nodiscard]] virtual std::uint64_t ticks_per_second() const = 0;
  /// Returns: the next event by time, at one time that of the lower thread number first; null where there is none: at the
  /// end, and of a running program while an earlier one may still come. Valid until the next call of pop().
  virtual const event* peek() = 0;
  /// Effects: goes on. Requires: peek() was not null.
  virtual void pop() = 0;
  /// Effects: lets other threads' events that are up to `ticks` later than peek()'s go before it. Of a running program they
  /// are known if `ticks` is at most clock_difference().
  /// Returns: false where there is none (peek() is unchanged).
  virtual bool postpone(std::uint64_t ticks) = 0;
  /// Effects: tells `to` (null: nobody) of events before they come. A source may tell of some only, or of none.
  virtual void tell_ahead(event_preview* /*to*/) {}
};

/// Returns: the ticks by which the clocks of two threads may differ: those of processors agree to far less than that.
constexpr std::uint64_t clock_difference(std::uint64_t ticks_per_second) {
  constexpr std::uint64_t microseconds = 5;
  // A trace may say that its ticks are finer, and two threads that wait for each other do it tick by tick.
  constexpr std::uint64_t finest = 1'000'000'000;
  return std::max<std::uint64_t>(1, std::min(ticks_per_second, finest) / 1'000'000 * microseconds);
}

}  // namespace ashlar::trace
