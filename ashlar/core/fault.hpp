// core/fault.hpp: what a misuse looks like when ashlar sees it.
// Layer: core (freestanding). Nothing here prints: who prints is decided by who defines
// ashlar_fault.
#pragma once

#include <cstddef>
#include <cstdint>

#include <ashlar/core/config.hpp>

namespace ashlar {

/// What went wrong. The names are those of the messages.
enum class fault_kind : std::uint8_t {
  foreign_pointer,   ///< the address never came from this allocator
  interior_pointer,  ///< inside a block, but not its start (or misaligned)
  double_free,       ///< the block is free already
  not_in_use,        ///< in our memory, but no block is there
  wrong_size,        ///< a sized delete or a pool was told another size than the block has
  overflow,          ///< bytes behind the block were changed
  underflow,         ///< bytes before the block were changed
  use_after_free,    ///< bytes of a free block were changed
  access_behind,  ///< memory behind a guarded block was read or written, and the system refused it
  access_before,  ///< the same before the block
  access_after_free,  ///< the same of a guarded block that was freed
  mismatched_call,    ///< freed by another family of calls than it was allocated by
  exhausted,          ///< no memory, and the policy is to stop
  bad_argument,       ///< a precondition of the call does not hold
  corrupted,          ///< an invariant of ashlar itself is broken
  leak,               ///< an allocator ended while blocks of it were in use
};

/// One misuse, as far as it is known where it was seen. Strings are static; null or 0 means
/// unknown.
struct fault {
  fault_kind kind;
  const char* call;               ///< the call that was misused, such as "free"
  const void* address = nullptr;  ///< the pointer that was passed
  std::size_t block_size = 0;     ///< of the class or pool the address belongs to, bytes
  const char* pool = nullptr;     ///< name of the pool, if it has one
  std::size_t blocks = 0;         ///< how many blocks it is about, where that is a number
  std::size_t needed = 0;         ///< bytes that the caller needs at least, where they do not fit
};

/// Effects: the sentence that a message gives for `kind`, without address or call. Never null.
[[nodiscard]] constexpr const char* describe(fault_kind kind) noexcept {
  switch (kind) {
    case fault_kind::foreign_pointer:
      return "the address was not allocated here";
    case fault_kind::interior_pointer:
      return "the address is inside a block, not its start";
    case fault_kind::double_free:
      return "the block is free already (double free)";
    case fault_kind::not_in_use:
      return "no block is in use at the address";
    case fault_kind::wrong_size:
      return "the size or alignment is not that of the block";
    case fault_kind::overflow:
      return "bytes behind the block were overwritten";
    case fault_kind::underflow:
      return "bytes before the block were overwritten";
    case fault_kind::access_behind:
      return "memory behind the block was accessed";
    case fault_kind::access_before:
      return "memory before the block was accessed";
    case fault_kind::access_after_free:
      return "the block was accessed after it was freed";
    case fault_kind::mismatched_call:
      return "the block was allocated by another family of calls";
    case fault_kind::use_after_free:
      return "the block was written to after it was freed";
    case fault_kind::exhausted:
      return "out of memory";
    case fault_kind::bad_argument:
      return "an argument is outside what the call allows";
    case fault_kind::corrupted:
      return "an internal invariant does not hold";
    case fault_kind::leak:
      return "the allocator ended with blocks in use";
  }
  return "unknown fault";
}

/// Effects: the name of `kind`, as programs read it: "double_free". Never null.
[[nodiscard]] constexpr const char* name_of(fault_kind kind) noexcept {
  switch (kind) {
    case fault_kind::foreign_pointer:
      return "foreign_pointer";
    case fault_kind::interior_pointer:
      return "interior_pointer";
    case fault_kind::double_free:
      return "double_free";
    case fault_kind::not_in_use:
      return "not_in_use";
    case fault_kind::wrong_size:
      return "wrong_size";
    case fault_kind::overflow:
      return "overflow";
    case fault_kind::underflow:
      return "underflow";
    case fault_kind::use_after_free:
      return "use_after_free";
    case fault_kind::access_behind:
      return "access_behind";
    case fault_kind::access_before:
      return "access_before";
    case fault_kind::access_after_free:
      return "access_after_free";
    case fault_kind::mismatched_call:
      return "mismatched_call";
    case fault_kind::exhausted:
      return "exhausted";
    case fault_kind::bad_argument:
      return "bad_argument";
    case fault_kind::corrupted:
      return "corrupted";
    case fault_kind::leak:
      return "leak";
  }
  return "unknown";
}

}  // namespace ashlar

/// Called with every misuse that ashlar detects; must not return (an allocator that goes on after a
/// double free hands one block to two owners). Hosted programs get the definition in os/, which
/// writes one line to standard error and aborts. Firmware defines its own: a missing definition is
/// a link error on purpose, so that the decision is taken by someone.
extern "C" [[noreturn]] void ashlar_fault(const ashlar::fault& what) noexcept;

/// Called with a misuse of a block of a heap that the heap can survive: its structures are whole,
/// and the request can be dropped. Returns only where the process wants to go on (ASHLAR_FAULT);
/// else ends in ashlar_fault. After it returns, the caller drops the request: it gives back no
/// block, and hands out none. The caller holds no lock. Heaps alone use it, so firmware defines
/// none.
extern "C" void ashlar_misuse(const ashlar::fault& what) noexcept;

/// Called with what is worth a line but is no reason to stop: blocks in use at the end of an
/// allocator that has at_death::report. Returns. Hosted programs get the definition in os/, which
/// writes the same line as ashlar_fault; firmware defines its own only if it uses that policy.
extern "C" void ashlar_report(const ashlar::fault& what) noexcept;
