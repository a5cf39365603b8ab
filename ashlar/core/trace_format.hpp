// core/trace_format.hpp: the numbers of the trace format, for who writes it and who reads it.
// Layer: core (freestanding). docs/trace-format.md tells in words how they lie in a file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace ashlar::trace {

/// What happened. The numbers are part of the file format: none is ever used again for something
/// else.
enum class event_kind : std::uint8_t {
  // Births: `address`, `size`, `alignment` if the program asked for one, `stack` if stacks were
  // recorded.
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
      /// the process executed another program: no block lives on. text: its arguments, each ended
  /// by '\0'
  35,
  mark = 36,  ///< text: what the program wanted to be remembered
  lost = 37,  ///< number: how many events of this thread are missing here
  refused =
      /// number: bytes for which a pool had no block; text: the pool's name, empty where it has
  /// none
  38,
  // Notes on a block that lives: `address`, and `size` as said here.
  untouched =
      /// the block was looked at: at least so many of its bytes have no memory, as nobody touched
  /// them
  48,
};

[[nodiscard]] constexpr bool is_birth(event_kind kind) noexcept {
  return kind >= event_kind::by_malloc && kind <= event_kind::by_pool;
}
[[nodiscard]] constexpr bool is_death(event_kind kind) noexcept {
  return kind >= event_kind::from_free && kind <= event_kind::from_pool;
}
[[nodiscard]] constexpr bool is_other(event_kind kind) noexcept {
  return kind >= event_kind::thread_start && kind <= event_kind::refused;
}
[[nodiscard]] constexpr bool is_note(event_kind kind) noexcept {
  return kind == event_kind::untouched;
}
[[nodiscard]] constexpr bool has_address(event_kind kind) noexcept {
  return is_birth(kind) || is_death(kind) || is_note(kind);
}
[[nodiscard]] constexpr bool has_text(event_kind kind) noexcept {
  return kind == event_kind::image || kind == event_kind::mark || kind == event_kind::refused;
}

/// The first byte is no text, and the last ones are what a transfer as text would change.
inline constexpr std::string_view magic{
    "\x89"
    "ATR\r\n\x1a\n",
    8};
/// 6 had no look at exit, 5 no looks at memory, 4 no notes, 3 no brief_events, 2 no names, 1 no
/// identified_modules; all are read as well.
inline constexpr std::uint32_t version = 7;
inline constexpr std::size_t preamble_bytes = 16;  // magic, version, header length
inline constexpr std::uint32_t header_bytes_max = 16u << 20;
inline constexpr std::size_t header_names_max = 1024;

namespace header_name {
inline constexpr std::string_view ashlar = "ashlar";        // version of what wrote the trace
inline constexpr std::string_view program = "program";      // path
inline constexpr std::string_view arguments = "arguments";  // each ended by '\0'
inline constexpr std::string_view pid = "pid";
inline constexpr std::string_view parent =
    "parent";  // of a forked process: the number of the process it came from
inline constexpr std::string_view page_bytes = "page_bytes";
inline constexpr std::string_view word_bytes = "word_bytes";
inline constexpr std::string_view ticks_per_second = "ticks_per_second";
inline constexpr std::string_view started = "started";  // seconds since 1970
inline constexpr std::string_view options = "options";
// Bytes that the control group of the process may have. Missing: no limit, or not known.
inline constexpr std::string_view memory_limit = "memory_limit";
// The same in each trace of one recording, and in no other: 16 hexadecimal digits.
inline constexpr std::string_view recording = "recording";
// 1: the process ran before the recording began. Blocks that it had then are not in the trace.
inline constexpr std::string_view attached = "attached";
}  // namespace header_name
/// The value of `options` in a trace that pools told (core/trace_recorder.hpp): what stands for
/// stacks there are pools.
inline constexpr std::string_view options_of_pools = "pools";

enum class frame_kind : std::uint32_t {
  events = 1,              // of one thread, in its order
  stacks = 2,              // definitions: number, frames, addresses from the inside out
  modules = 3,             // definitions: where a file was mapped
  end = 4,                 // the last frame: how many events there were
  identified_modules = 5,  // definitions: as modules, with build ids; from version 2 on
  names = 6,               // definitions: what calls are called; from version 3 on
  brief_events = 7,  // as events, with coarse times and births of dead blocks; from version 4 on
  memory = 8,        // definitions: what was resident, and where; from version 6 on
  mappings = 9,      // definitions: what the program mapped by itself; from version 6 on
  exit_look = 10,    // definitions: what no pointer led to at exit; from version 7 on
};

/// Of what a stretch of a process's memory is.
enum class memory_kind : std::uint8_t {
  file = 1,       ///< name: the file's, without its folder
  heap = 2,       ///< what the system calls [heap]
  stack = 3,      ///< of any thread
  anonymous = 4,  ///< name: what the process has given it; empty: none
  shared = 5,     ///< memory that processes can share; name: its file's
  recorder = 6,   ///< without the recorder, it would not be there
  data = 7,       ///< static data, which a program may write; name: its file's
};
/// Stands in a stack behind the outermost frame that was kept, where the stack goes on.
inline constexpr std::uint64_t cut_frame = 0;
inline constexpr std::uint32_t frame_marker = 0x4d524641;  // "AFRM"
inline constexpr std::size_t frame_header_bytes = 44;
inline constexpr std::uint32_t frame_events_max = 1u << 16;
inline constexpr std::uint32_t frame_payload_max = 64u << 20;
inline constexpr std::size_t event_text_max = 1u << 20;  // of one event, in bytes

/// The columns of a frame of events, in their order. Each is a varint of its length, a varint of
/// its length compressed (0: it is not compressed), and its bytes.
enum column : std::size_t {
  column_kinds,  // a byte an event: event_kind, with the flags below
  column_times,  // varint: ticks since the event before
  column_sizes,  // varint for each birth, other and note
  // for each birth, death and note: its difference to what is expected, as the document tells
  column_addresses,
  column_alignments,  // a byte for each birth with flag_aligned: its logarithm
  column_stacks,      // varint for each birth with flag_stack
  column_texts,       // varint of the length and the bytes for each event that has_text
  column_count
};
inline constexpr std::uint8_t kind_mask = 0x3f;
inline constexpr std::uint8_t flag_aligned = 0x40;  // of a birth
inline constexpr std::uint8_t flag_stack = 0x80;    // of a birth
inline constexpr std::uint8_t flag_near =
    0x40;  // of a death or note: its address is how many births of this frame ago

/// Of frames of brief_events alone. Added to the kind of a birth: its address is that of a block of
/// this frame that died, so many deaths ago.
inline constexpr std::uint8_t recycled = 0x08;
/// The payload begins with a byte: times are counted in steps of 2 to that power of ticks.
inline constexpr std::uint8_t time_bits_max = 40;

/// A birth is expected near the last one of a size with the same place.
inline constexpr std::size_t guess_places = 256;
[[nodiscard]] constexpr std::size_t guess_place(std::uint64_t size) noexcept {
  return static_cast<std::size_t>((size + 15) / 16 % guess_places);
}

/// CRC-32C's polynomial (Castagnoli), its bits reversed.
inline constexpr std::uint32_t checksum_polynomial = 0x82f63b78;

}  // namespace ashlar::trace
