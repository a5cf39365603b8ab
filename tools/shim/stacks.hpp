// tools/shim/stacks.hpp: the program's calls, each sequence of them once. Layer: shim.
#pragma once

#include <cstdint>

#include <ashlar/os/loaded_module.hpp>

#include "tools/shim/call_frames.hpp"

namespace ashlar::shim {

/// Which sequences have a number. Lock-free; a fixed table, of which only pages in use are in memory. A sequence is known by
/// a hash of 64 bits: two that have the same one among a million are one chance in forty million.
class stack_table {
 public:
  /// Effects: begins anew, as a forked child does: its definitions go to another trace. Returns: false: no memory.
  bool reset();
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
  std::uint64_t* entries_ = nullptr;
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
