// tools/trace/event.hpp: what a trace says happened, one thing at a time. Layer: trace.
#pragma once

#include <cstdint>
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

}  // namespace ashlar::trace
