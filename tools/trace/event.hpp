// tools/trace/event.hpp: what a trace says happened, one thing at a time. Layer: trace.
#pragma once

#include <cstdint>
#include <string_view>

namespace ashlar::trace {

/// What happened. The numbers are part of the file format: none is ever used again for something else.
enum class event_kind : std::uint8_t {
  // Births: `address`, `size`, `alignment` if the program asked for one, `stack` if stacks were recorded.
  by_malloc = 1,
  by_calloc = 2,
  by_realloc = 3,  ///< directly behind its `from_realloc` of the same thread
  by_aligned = 4,  ///< aligned_alloc, posix_memalign, memalign, valloc, pvalloc
  by_new = 5,
  by_new_array = 6,
  by_pool = 7,
  // Deaths: `address`.
  from_free = 16,
  from_realloc = 17,
  from_delete = 18,
  from_delete_array = 19,
  from_pool = 20,
  // Others: `number` and `text` as said here.
  thread_start = 32,  ///< the thread's first event
  thread_exit = 33,
  fork = 34,  ///< number: the child's process number; the child has a trace of its own
  image =
      35,  ///< the process executed another program: no block lives on. text: its arguments, each ended by '\0'
  mark = 36,  ///< text: what the program wanted to be remembered
  lost = 37,  ///< number: how many events of this thread are missing here
};

constexpr bool is_birth(event_kind kind) {
  return kind >= event_kind::by_malloc && kind <= event_kind::by_pool;
}
constexpr bool is_death(event_kind kind) {
  return kind >= event_kind::from_free && kind <= event_kind::from_pool;
}
constexpr bool is_other(event_kind kind) {
  return kind >= event_kind::thread_start && kind <= event_kind::lost;
}

struct event {
  event_kind kind{};
  std::uint32_t thread = 0;  ///< 1, 2, ... in the order of their first events
  std::uint32_t stack = 0;   ///< its number in the table of stacks; 0: none
  std::uint64_t time = 0;    ///< in ticks since the recording began
  std::uint64_t address = 0;
  std::uint64_t size = 0;       ///< bytes that were asked for; of others: the number
  std::uint64_t alignment = 0;  ///< a power of two; 0: the program asked for none
  std::string_view text;

  friend bool operator==(const event&, const event&) = default;
};

}  // namespace ashlar::trace
