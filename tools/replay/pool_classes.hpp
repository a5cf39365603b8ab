// tools/replay/pool_classes.hpp: pools of sizes and capacities that are known at run time, as one
// allocator. Layer: replay.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <deque>
#include <span>
#include <vector>

#include <ashlar/os/page_source.hpp>
#include <ashlar/pool/fixed_pool.hpp>

#include "tools/replay/run_result.hpp"
#include "tools/trace/serving_class.hpp"

namespace ashlar::replay {

struct class_request {
  std::uint64_t block_size;
  std::uint64_t alignment;
  std::uint64_t capacity;
};

/// What static_pool_set does with classes that are known when it is compiled: the same pools,
/// checks and counters, the same rule. One thread.
class pool_classes {
 public:
  /// `classes`: from small to large.
  pool_classes(std::span<const class_request> classes, std::uint64_t least_alignment)
      : least_alignment_(least_alignment) {
    for (const class_request& c : classes) {
      pools_.emplace_back(block_layout{c.block_size, c.alignment}, heap_pool{c.capacity});
      shapes_.push_back({c.block_size, c.alignment});
      results_.push_back({c.block_size, c.alignment, c.capacity, 0, 0, 0, 0, 0});
    }
  }

  /// Whether there was memory for all pools: without it, one has no block.
  [[nodiscard]] bool has_all_blocks() const {
    for (std::size_t c = 0; c < pools_.size(); ++c)
      if (pools_[c].capacity() != results_[c].capacity) return false;
    return true;
  }

  void* allocate(std::size_t size) { return aligned(size, 1); }
  void* zeroed(std::size_t size) {
    void* const block = allocate(size);
    if (block != nullptr) std::memset(block, 0, size);
    return block;
  }
  void* aligned(std::size_t size, std::size_t alignment) {
    const std::size_t asked = class_of(size, alignment);
    if (asked == pools_.size()) {
      ++unserved_;
      return nullptr;
    }
    ++results_[asked].births;
    results_[asked].requested_bytes += size;
    void* const block = pools_[asked].try_allocate();
    ++(block != nullptr ? results_[asked].served : results_[asked].failures);
    return block;
  }
  /// A script in one sequence has no realloc.
  void* resize(void*, std::size_t, std::size_t) { return nullptr; }
  void release(void* block, std::size_t) { pools_[class_at(block)].deallocate(block); }
  [[nodiscard]] std::size_t usable_size(const void* block) const {
    return shapes_[class_at(block)].block_size;
  }
  [[nodiscard]] static bool knows_usable_size() { return true; }

  /// Requests that no class is large enough for, or aligned enough.
  [[nodiscard]] std::uint64_t unserved() const { return unserved_; }
  [[nodiscard]] bool audit() const {
    return std::ranges::all_of(pools_, [](const pool& p) { return p.audit(); });
  }
  std::span<const class_result> results() {
    for (std::size_t c = 0; c < pools_.size(); ++c) {
      results_[c].peak = pools_[c].stats().peak_in_use;
      results_[c].capacity = pools_[c].capacity();
    }
    return results_;
  }

 private:
  using pool = fixed_pool<os::page_source>;
  struct shape {
    std::uint64_t block_size;
    std::uint64_t alignment;
  };

  [[nodiscard]] std::size_t class_of(std::size_t size, std::size_t alignment) const {
    return trace::serving_class(std::span<const shape>(shapes_), std::max<std::size_t>(size, 1),
                                std::max<std::size_t>(alignment, least_alignment_));
  }
  // Few pieces, and neighbouring blocks die together: as quick as a table.
  [[nodiscard]] std::size_t class_at(const void* block) const {
    std::size_t c = last_;
    if (!pools_[c].owns(block))
      for (c = 0; !pools_[c].owns(block); ++c) {
      }
    last_ = c;
    return c;
  }

  std::uint64_t least_alignment_;
  mutable std::size_t last_ = 0;
  std::deque<pool> pools_;  // a pool is not moved
  std::vector<shape> shapes_;
  std::vector<class_result> results_;
  std::uint64_t unserved_ = 0;
};

}  // namespace ashlar::replay
