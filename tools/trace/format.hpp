// tools/trace/format.hpp: how a trace lies in a file. docs/trace-format.md tells it in words.
// Layer: trace.
//
//   [ magic | version | header length | header: key, value, key, value ... | checksum ]
//   [ frame ] [ frame ] ... [ end frame ]
//   frame: [ fixed header with a checksum of its own | payload ]
//
// A frame stands alone: what one thread did, its columns compressed one by one; nothing in it refers to another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ashlar::trace {

/// The first byte is no text, and the last ones are what a transfer as text would change.
inline constexpr std::string_view magic{
    "\x89"
    "ATR\r\n\x1a\n",
    8};
inline constexpr std::uint32_t version = 1;
inline constexpr std::size_t preamble_bytes = 16;  // magic, version, header length
inline constexpr std::uint32_t header_bytes_max = 16u << 20;

/// What was recorded, by name; a reader keeps names that it does not know. All numbers are decimal.
class trace_header {
 public:
  using pair = std::pair<std::string, std::string>;
  /// Returns: empty where there is no such name.
  [[nodiscard]] std::string_view get(std::string_view name) const;
  /// Returns: `otherwise` where there is no such name, or no number there.
  [[nodiscard]] std::uint64_t number(std::string_view name, std::uint64_t otherwise) const;
  void set(std::string_view name, std::string_view value);
  void set(std::string_view name, std::uint64_t value) { set(name, std::to_string(value)); }
  [[nodiscard]] const std::vector<pair>& all() const { return pairs_; }
  friend bool operator==(const trace_header&, const trace_header&) = default;

 private:
  std::vector<pair> pairs_;
};

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
}  // namespace header_name

enum class frame_kind : std::uint32_t {
  events = 1,   // of one thread, in its order
  stacks = 2,   // definitions: number, frames, addresses from the inside out
  modules = 3,  // definitions: where a file was mapped
  end = 4,      // the last frame: how many events there were
};

struct frame_header {
  frame_kind kind{};
  std::uint32_t thread = 0;
  std::uint32_t count = 0;  // events or definitions
  std::uint64_t first_time = 0;
  std::uint64_t last_time = 0;
  std::uint32_t payload_bytes = 0;
  std::uint32_t payload_checksum = 0;
};
inline constexpr std::uint32_t frame_marker = 0x4d524641;  // "AFRM"
inline constexpr std::size_t frame_header_bytes = 44;
inline constexpr std::uint32_t frame_events_max = 1u << 16;
inline constexpr std::uint32_t frame_payload_max = 64u << 20;
inline constexpr std::size_t mark_bytes_max = 1u << 20;

/// The columns of a frame of events, in their order. Each is a varint of its length, a varint of its length compressed
/// (0: it is not compressed), and its bytes.
enum column : std::size_t {
  column_kinds,       // a byte an event: event_kind, with the flags below
  column_times,       // varint: ticks since the event before
  column_sizes,       // varint for each birth and other
  column_addresses,   // varint for each birth and death: see frame.cpp
  column_alignments,  // a byte for each birth with flag_aligned: its logarithm
  column_stacks,      // varint for each birth with flag_stack
  column_texts,       // varint of the length and the bytes for each image and mark
  column_count
};
inline constexpr std::uint8_t kind_mask = 0x3f;
inline constexpr std::uint8_t flag_aligned = 0x40;  // of a birth
inline constexpr std::uint8_t flag_stack = 0x80;    // of a birth
inline constexpr std::uint8_t flag_near =
    0x40;  // of a death: its address is how many births of this frame ago

/// The frames of a call, by number; `frames` from the inside out.
struct stack_definition {
  std::uint32_t number = 0;
  std::vector<std::uint64_t> frames;
  friend bool operator==(const stack_definition&, const stack_definition&) = default;
};
/// A file that was mapped: an address a belongs to it where begin <= a < end, and is a - bias in the file's own numbers.
struct module_definition {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::uint64_t bias = 0;
  std::string path;
  friend bool operator==(const module_definition&, const module_definition&) = default;
};

}  // namespace ashlar::trace
