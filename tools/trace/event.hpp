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

/// Returns: the ticks by which the clocks of two threads may differ: those of processors agree to far less than that.
constexpr std::uint64_t clock_difference(std::uint64_t ticks_per_second) {
  constexpr std::uint64_t microseconds = 5;
  // A trace may say that its ticks are finer, and two threads that wait for each other do it tick by tick.
  constexpr std::uint64_t finest = 1'000'000'000;
  return std::max<std::uint64_t>(1, std::min(ticks_per_second, finest) / 1'000'000 * microseconds);
}

}  // namespace ashlar::trace
