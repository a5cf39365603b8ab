// tools/shim/stacks.hpp: the program's calls, each sequence of them once. Layer: shim.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tools/shim/build_id.hpp"
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

/// A file that is mapped.
struct mapped_module {
  std::uint64_t begin;
  std::uint64_t end;
  std::uint64_t bias;
  build_id id;
  const char* path;
  std::size_t path_bytes;
};

/// Calls `use(module, context)` for each file that is mapped, if any was mapped or unmapped since `known`, which it
/// updates.
using module_user = void (*)(const mapped_module& module, void* context);
void for_modules_since(std::uint64_t& known, module_user use, void* context);

}  // namespace ashlar::shim
