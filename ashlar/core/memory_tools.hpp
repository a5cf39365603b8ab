// core/memory_tools.hpp: what pools and arenas tell AddressSanitizer and Valgrind's memcheck.
// Layer: core (freestanding). The one place where a component speaks to a tool.
//
//   closed   nobody may touch the bytes: free blocks, slack, padding, what was never handed out
//   open     anybody may
//   block    bytes that a caller has, of which a tool's report tells who made and who freed them
//
// Law: a free block is closed from its first to its last byte. Who has to look into one opens it
// before and closes it after. Memory goes back where it came from open. Where no tool listens all
// of this is nothing: tests/tools_absent compares the machine code. For that, words with computed
// arguments stand behind `if constexpr (tools_present)`: computing them first may change what comes
// after.
// Thread-safety: for memory that shares no tool_granule with other memory.
#pragma once

#include <cstddef>
#include <cstdint>

#include <ashlar/core/config.hpp>
#include <ashlar/core/memcheck_requests.hpp>

// The sanitizer's own interface; referred to only where it is linked.
extern "C" void __asan_poison_memory_region(const volatile void* p, std::size_t size);
extern "C" void __asan_unpoison_memory_region(const volatile void* p, std::size_t size);

namespace ashlar {

/// One thing that happened to blocks, for a listener in the same program (adapt/asan_report.hpp).
struct block_event {
  enum class kind_type : std::uint8_t {
    made,     ///< a block of `bytes` at `address`
    freed,    ///< the block at `address`
    resized,  ///< the block at `address` has `bytes` from now on
    moved,    ///< the owner's blocks belong to the owner at `address`, which had none
    cut,      ///< all blocks that begin in the `bytes` at `address` are free
    returned  ///< no blocks of the owner will be in those bytes any more
  };
  kind_type kind;
  const void* owner;  ///< tells components apart whose memory overlaps
  const void* address;
  std::size_t bytes = 0;
  const char* owner_name = nullptr;  ///< with `made`: of the pool or arena; null: it has none
};

}  // namespace ashlar

/// Called with AddressSanitizer if the program has a definition. May be called with a pool's lock
/// held.
extern "C" [[gnu::weak]] void ashlar_block_event(const ashlar::block_event& event) noexcept;

namespace ashlar::detail {

/// Whether a tool listens: what must be undone at a component's end is then no trivial destructor.
inline constexpr bool tools_present = address_sanitizer || memcheck_requests;

/// AddressSanitizer keeps one byte for this many. A region that ends inside of one is told as far
/// as that goes: it may miss an access to a free byte there, and never accuses one that is right.
inline constexpr std::size_t tool_granule = 8;

/// Who hands blocks out. `id` is the address of an object of the component; no two of these begin
/// at one place, and a component inside a block of another has one of its own.
struct block_owner {
  const void* id;
  const char* name;  ///< null: none
};

/// Returns: whether the program runs under a tool that no call may pass by unheard.
[[nodiscard]] inline bool a_tool_wants_every_call() noexcept {
  if constexpr (memcheck_requests) return memcheck_listens();
  return false;
}

ASHLAR_HOT void tell_listener([[maybe_unused]] const block_event& event) noexcept {
  if constexpr (address_sanitizer) {
    if (ashlar_block_event != nullptr) ashlar_block_event(event);
  }
}

/// Nobody may touch [p, p + n).
ASHLAR_HOT void tell_closed([[maybe_unused]] const void* p,
                            [[maybe_unused]] std::size_t n) noexcept {
  if constexpr (address_sanitizer) __asan_poison_memory_region(p, n);
  if constexpr (memcheck_requests) memcheck_close(p, n);
}
/// The component itself is about to look into [p, p + n).
ASHLAR_HOT void tell_open([[maybe_unused]] const void* p, [[maybe_unused]] std::size_t n) noexcept {
  if constexpr (address_sanitizer) __asan_unpoison_memory_region(p, n);
  if constexpr (memcheck_requests) memcheck_open(p, n);
}

/// Between the two this thread looks into closed bytes; it is no function that AddressSanitizer
/// watches.
ASHLAR_HOT void tell_looking() noexcept {
  if constexpr (memcheck_requests) memcheck_pause();
}
ASHLAR_HOT void tell_looked() noexcept {
  if constexpr (memcheck_requests) memcheck_resume();
}

/// A caller has [p, p + size), its contents unspecified; the rest of the `room` bytes at `p` is
/// closed.
ASHLAR_HOT void tell_made([[maybe_unused]] block_owner owner, [[maybe_unused]] const void* p,
                          [[maybe_unused]] std::size_t size,
                          [[maybe_unused]] std::size_t room) noexcept {
  if constexpr (address_sanitizer) {
    if (room != size) __asan_poison_memory_region(p, room);
    __asan_unpoison_memory_region(p, size);
    tell_listener({block_event::kind_type::made, owner.id, p, size, owner.name});
  }
  if constexpr (memcheck_requests) {
    memcheck_close(p, room);
    memcheck_made(owner.id, p, size);
  }
}
/// The block at `p` came back; all of its `room` is closed.
ASHLAR_HOT void tell_freed([[maybe_unused]] const void* owner, [[maybe_unused]] const void* p,
                           [[maybe_unused]] std::size_t room) noexcept {
  if constexpr (address_sanitizer) {
    __asan_poison_memory_region(p, room);
    tell_listener({block_event::kind_type::freed, owner, p});
  }
  if constexpr (memcheck_requests) {
    memcheck_freed(owner, p);
    memcheck_close(p, room);
  }
}
/// The block at `p` has `size` bytes from now on, open; whoever calls this closes what it lost.
ASHLAR_HOT void tell_resized([[maybe_unused]] const void* owner, [[maybe_unused]] const void* p,
                             [[maybe_unused]] std::size_t old_size,
                             [[maybe_unused]] std::size_t size) noexcept {
  if constexpr (address_sanitizer) {
    __asan_unpoison_memory_region(p, size);
    tell_listener({block_event::kind_type::resized, owner, p, size});
  }
  if constexpr (memcheck_requests) memcheck_resized(owner, p, old_size, size);
}
/// Of the `used` bytes at `base` the first `kept` stay; all blocks of `owner` behind them are free
/// and closed.
/// Requires: all blocks of `owner` are in the `used` bytes at `base`.
ASHLAR_HOT void tell_cut([[maybe_unused]] const void* owner, [[maybe_unused]] const std::byte* base,
                         [[maybe_unused]] std::size_t kept,
                         [[maybe_unused]] std::size_t used) noexcept {
  if constexpr (address_sanitizer) {
    __asan_poison_memory_region(base + kept, used - kept);
    tell_listener({block_event::kind_type::cut, owner, base + kept, used - kept});
  }
  if constexpr (memcheck_requests) {
    memcheck_cut(owner, base, kept);
    memcheck_close(base + kept, used - kept);
  }
}

/// The blocks of `from` belong to `to`, which had none.
ASHLAR_HOT void tell_moved([[maybe_unused]] const void* from,
                           [[maybe_unused]] const void* to) noexcept {
  if constexpr (memcheck_requests) memcheck_moved(from, to);
  tell_listener({block_event::kind_type::moved, from, to});
}
/// `owner` hands out no more blocks. To be told before its memory is returned.
ASHLAR_HOT void tell_ended([[maybe_unused]] const void* owner) noexcept {
  if constexpr (memcheck_requests) memcheck_ended(owner);
}
/// [p, p + n), where blocks of `owner` were, goes back where it came from.
ASHLAR_HOT void tell_returned([[maybe_unused]] const void* owner, [[maybe_unused]] const void* p,
                              [[maybe_unused]] std::size_t n) noexcept {
  tell_open(p, n);
  tell_listener({block_event::kind_type::returned, owner, p, n});
}

}  // namespace ashlar::detail
