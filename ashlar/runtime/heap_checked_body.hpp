// runtime/heap_checked_body.hpp: a heap instance that looks at every call: check::cheap, and check::full.
// Layer: runtime. Includes: core.
//
//   heap<check::cheap>   every call is counted and checked at once, as by ASHLAR_CHECK=1 in the process heap
//   heap<check::full<>>  and full checks stand between the callers and the heap, as by ASHLAR_CHECK=full
//
// It has a heap's body, of which no caller sees a hit path, so that heaps without checks pay nothing for those with.
#pragma once

#include <cstddef>
#include <cstdint>

#include <ashlar/check/full_check.hpp>
#include <ashlar/core/config.hpp>
#include <ashlar/core/stats.h>
#include <ashlar/runtime/heap_body.hpp>

namespace ashlar::runtime {

/// What a heap instance looks at beyond every call.
struct heap_checks {
  bool full = false;
  std::size_t queue_blocks =
      0;                     ///< freed blocks that wait, as far as full_check's bytes go
  unsigned stack_depth = 0;  ///< frames of each call that are kept
};

/// What the end of a heap says of blocks that are in use.
enum class heap_leaks : std::uint8_t { ignored, reported, stop };

class heap_checked_body {
 public:
  heap_checked_body(const heap_checked_body&) = delete;
  heap_checked_body& operator=(const heap_checked_body&) = delete;

  /// Returns: a heap, or null when the system or the source refuses what it needs to begin.
  [[nodiscard]] static heap_checked_body* create(const any_source& source, std::size_t budget_bytes,
                                                 const char* name,
                                                 const heap_checks& checks) noexcept;
  /// Effects: looks at all blocks, tells of those in use, and gives everything back. Requires: nobody uses the heap any
  /// more.
  static void destroy(heap_checked_body* self, heap_leaks leaks) noexcept;

  [[nodiscard]] std::uint64_t id() const noexcept { return body_->id(); }

  // As those of heap_body.

  [[nodiscard]] void* allocate(std::uint64_t, std::size_t size) noexcept {
    return allocate_slow(size, 1);
  }
  [[nodiscard]] void* allocate_slow(std::size_t size, std::size_t alignment) noexcept;
  void deallocate(std::uint64_t, void* block, const char* call) noexcept;
  [[nodiscard]] void* reallocate(void* block, std::size_t size, const char* call) noexcept;
  [[nodiscard]] std::size_t usable_size(const void* block, const char* call) noexcept;
  [[nodiscard]] bool owns(const void* address) noexcept { return body_->owns(address); }
  std::size_t trim() noexcept { return body_->trim(); }
  [[nodiscard]] bool prefault(std::size_t bytes, std::size_t threads) noexcept {
    return body_->prefault(bytes, threads);
  }
  void seal(bool on) noexcept { body_->seal(on); }
  void collect(ashlar_stats& out) noexcept;
  void audit() noexcept;

  /// Effects: ends in a fault naming `call` when `block`, not null, is not in use or was not asked for with `size`.
  void expect_size(const void* block, std::size_t size, const char* call) noexcept;

 private:
  class counted;

  explicit heap_checked_body(heap_body* body) noexcept : body_(body) {}

  void tell_leaks(heap_leaks leaks) noexcept;
  [[nodiscard]] void* shrunk_in_place(void* block, std::size_t size) noexcept;

  heap_body* body_;
  detail::full_check checks_;
};

}  // namespace ashlar::runtime
