// tools/trace/reachability.hpp: which of a program's blocks no pointer leads to. Layer: trace.
//
//   roots    words of the program's memory that lie in no block
//   reached  a block that a root points into, or a word of a reached block
//   the rest is unreachable: nobody can free it any more
//
// The search is conservative, as a garbage collector's that knows no types is. A word points into a
// block where its value is an address of the block. So a number that looks like such an address may
// hide a leak. Where malloc is the C library's own, a block's last word may be the begin of what lies
// behind it, to which malloc has a pointer: that is no root. A pointer that the program keeps in
// another form (compressed, in a file, in a register alone) makes a block look unreachable.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <unordered_map>
#include <vector>

#include "tools/trace/event.hpp"

namespace ashlar::trace {

class trace_reader;

struct address_range {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

/// The memory of a program that stands still.
class program_memory {
 public:
  virtual ~program_memory() = default;
  /// Returns: where pointers may lie, blocks included, in the order of addresses. The bounds are
  /// multiples of a word.
  [[nodiscard]] virtual std::vector<address_range> places_of_pointers() = 0;
  /// Returns: where the C library has its data, and in it the pointers of its malloc; empty: nowhere.
  [[nodiscard]] virtual address_range data_of_c_library() { return {}; }
  /// Effects: copies words from `address` on. Returns: how many could be read.
  virtual std::size_t read(std::uint64_t address, std::span<std::uint64_t> to) = 0;
  /// Returns: the words from `address` on that need not be copied; empty: they have to be read.
  virtual std::span<const std::uint64_t> in_place(std::uint64_t address) {
    static_cast<void>(address);
    return {};
  }
};

struct held_block {
  std::uint64_t address = 0;
  std::uint64_t size = 0;
  std::uint32_t stack = 0;
};

/// Which bytes belonged to a small block that has died. What stands there was the program's once,
/// or is a note of the allocator's: it is no root.
class freed_ground {
 public:
  void add(std::uint64_t address, std::uint64_t size);
  [[nodiscard]] bool has(std::uint64_t address) const;

 private:
  static constexpr std::uint64_t granule = 16;
  static constexpr std::uint64_t page = 4096;
  std::unordered_map<std::uint64_t, std::array<std::uint64_t, page / granule / 64>> pages_;
};

/// The blocks of a program at one moment.
struct block_map {
  std::vector<held_block> live;  ///< in the order of addresses; they do not overlap
  freed_ground freed;
};

/// Called now and then while something takes long.
using sign_of_life = std::function<void()>;

/// Effects: reads the events to their end. Returns: the blocks at that time. Throws: trace_error.
[[nodiscard]] block_map blocks_at_end(trace_reader& events, const sign_of_life& sign);

/// Returns: the blocks of `blocks.live` that no pointer leads to, in their order.
/// O(words * log(blocks)).
[[nodiscard]] std::vector<held_block> find_unreachable(const block_map& blocks,
                                                       program_memory& memory,
                                                       const sign_of_life& sign);

}  // namespace ashlar::trace
