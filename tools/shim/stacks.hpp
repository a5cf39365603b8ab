// tools/shim/stacks.hpp: the program's calls, each sequence of them once. Layer: shim.
#pragma once

#include <cstdint>

#include <ashlar/os/loaded_module.hpp>

namespace ashlar::shim {

// The calls that led out of this library.
// None of it allocates or waits for a lock, so that it may run in a signal's handler and in a forked child.

inline constexpr std::uint32_t stack_depth_max = 64;

struct call_frames {
  const void* frames[stack_depth_max + 1];  // where each returns to, from the inside out
  std::uint32_t depth = 0;
  bool is_cut = false;  // there are more calls than were wanted
};

/// Effects: finds at most `depth` of them: by ashlar/os/frame_walk.hpp, and where its rules end, as below.
void find_frames(call_frames& out, std::uint32_t depth);

/// By the compiler's runtime, which reads a call's tables each time: some hundred nanoseconds a frame.
void unwind_frames(call_frames& out, std::uint32_t depth);

/// Which sequences have a number. Lock-free; a fixed table, of which only pages in use are in memory. A sequence is known by
/// a hash of 64 bits: two that have the same one among a million are one chance in forty million.
class stack_table {
 public:
  /// Effects: begins anew, as a forked child does: its definitions go to another trace.
  void reset();
  struct entry {
    std::uint32_t number;  // 0: the table is full
    bool is_new;
  };
  entry find_or_add(const call_frames& frames);

 private:
  static constexpr std::uint32_t places = 1u << 20;
  /// A place is the stack's number << hash_bits | its hash; 0: empty. The bits that are left out
  /// say where it is looked for.
  static constexpr unsigned hash_bits = 44;
  /// In the library's own data: so the system shows it as the recorder's memory, not the program's.
  alignas(4096) std::uint64_t entries_[places] = {};
  /// Stacks are numbered as they come, so that a trace has small numbers for those that matter.
  std::uint32_t last_number_ = 0;
};

/// Which files the trace has. Lock-free. A file is known as a sequence of calls is.
class defined_files {
 public:
  /// Effects: begins anew, as above.
  void reset();
  /// Calls `use(file, context)` for each file that is new, of the program and of the calls. Behind
  /// thousands each is.
  using user = void (*)(const os::code_segment& file, void* context);
  void for_new(const call_frames& frames, user use, void* context);

 private:
  bool add(const os::code_segment& file);

  static constexpr std::uint32_t places = 1u << 12;
  std::uint64_t hashes_[places] = {};
};

}  // namespace ashlar::shim
