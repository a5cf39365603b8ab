// tools/trace/format.hpp: how a trace lies in a file. docs/trace-format.md tells it in words,
// ashlar/core/trace_format.hpp has the numbers. Layer: trace.
//
//   [ magic | version | header length | header: key, value, key, value ... | checksum ]
//   [ frame ] [ frame ] ... [ end frame ]
//   frame: [ fixed header with a checksum of its own | payload ]
//
// A frame stands alone: what one thread did, its columns compressed one by one; nothing in it refers to another.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ashlar/core/trace_format.hpp>

namespace ashlar::trace {

/// What was recorded, by name; a reader keeps names that it does not know. All numbers are decimal.
class trace_header {
 public:
  using pair = std::pair<std::string, std::string>;
  /// Returns: empty where there is no such name.
  [[nodiscard]] std::string_view get(std::string_view name) const;
  /// Returns: `otherwise` where there is no such name, or no number there.
  [[nodiscard]] std::uint64_t number(std::string_view name, std::uint64_t otherwise) const;
  /// Returns: what times are counted in: nanoseconds where the header does not say, or says 0.
  [[nodiscard]] std::uint64_t ticks_per_second() const;
  void set(std::string_view name, std::string_view value);
  void set(std::string_view name, std::uint64_t value) { set(name, std::to_string(value)); }
  [[nodiscard]] const std::vector<pair>& all() const { return pairs_; }
  friend bool operator==(const trace_header&, const trace_header&) = default;

 private:
  std::vector<pair> pairs_;
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
  // Its bytes; empty: it has none, or an older recorder did not ask. gcc warns of a list that leaves it out, but for `{}`.
  std::string build_id{};  // NOLINT(readability-redundant-member-init)
  std::uint64_t offset{};  // of `begin` in the file, where a profile tells it
  friend bool operator==(const module_definition&, const module_definition&) = default;
};
/// A place in a source file. What is unknown is empty, or line 0.
struct source_place {
  std::string function;
  std::string file;
  std::uint32_t line = 0;
  friend bool operator==(const source_place&, const source_place&) = default;
};
/// What a call is called, found where the program that ran was at hand: `ashlar export --symbols`.
struct name_definition {
  std::uint64_t address = 0;         // that the call returns to, as in stacks
  std::vector<source_place> places;  // first what is inlined innermost, last the whole function
  friend bool operator==(const name_definition&, const name_definition&) = default;
};
/// A stretch of a process's memory, or several of one kind and name: then begin and end are 0.
struct mapped_memory {
  memory_kind kind{};
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::uint64_t resident = 0;  // bytes
  std::string name{};          // NOLINT(readability-redundant-member-init)
  friend bool operator==(const mapped_memory&, const mapped_memory&) = default;
};
/// A large anonymous mapping that the program made by itself, or took away.
struct own_mapping {
  std::uint64_t time = 0;  // ticks, as an event's
  std::uint64_t begin = 0;
  std::uint64_t bytes = 0;
  std::uint32_t stack = 0;  // that mapped it; 0: it is gone
  friend bool operator==(const own_mapping&, const own_mapping&) = default;
};
/// Blocks that no pointer led to when the process exited.
struct lost_blocks {
  std::uint32_t stack = 0;  // that asked for them; 0: not known
  std::uint64_t blocks = 0;
  std::uint64_t bytes = 0;
  friend bool operator==(const lost_blocks&, const lost_blocks&) = default;
};
/// The search for pointers when the process exited.
struct exit_look {
  std::string failure;  // why nobody knows; empty: it is known
  std::vector<lost_blocks> lost;
  friend bool operator==(const exit_look&, const exit_look&) = default;
};
/// What a process had in memory at one time.
struct memory_look {
  std::uint64_t time = 0;      // ticks, as an event's
  std::uint64_t resident = 0;  // bytes; where there are mappings, their sum
  std::uint64_t peak = 0;      // the most until then, as the system says; 0: it was not asked
  std::vector<mapped_memory> mappings{};  // NOLINT(readability-redundant-member-init)
  friend bool operator==(const memory_look&, const memory_look&) = default;
};

}  // namespace ashlar::trace
