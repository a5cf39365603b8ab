// runtime/process_hardened.hpp: the process heap's calls in the hardened edition, and by
// ASHLAR_HARDEN=1.
// Layer: runtime. For the process heap's own source files.
//
//   a call --> no hit path: the thread's tops stay empty
//          --> this file: the block's word and canary, zeros, the quarantine
//          --> the hits of the thread's cache, which only this file uses
//          --> the heap's misses, inside the gate
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include <ashlar/check/hardened_blocks.hpp>
#include <ashlar/check/live_look.hpp>
#include <ashlar/core/config.hpp>
#include <ashlar/runtime/process_thread.hpp>

namespace ashlar::runtime {

/// What the words of all blocks depend on, and each thread's random numbers. Written once, with the
/// first block.
extern constinit detail::block_words hardened_words;
extern constinit std::uint64_t hardened_seed;
[[nodiscard]] bool has_secrets() noexcept;
/// Effects: there are secrets. Requires: no other thread yet.
void draw_secrets() noexcept;
/// The thread that looks at live blocks, while there is one.
extern constinit detail::live_look hardened_looker;

/// Whether it is known that the process stays hardened: until then no block waits.
extern constinit bool stays_hardened;

/// Effects: the process stays hardened, or is watched from now on; new blocks come in random order
/// if `shuffles`. Requires: no other thread yet.
void decide_hardening(bool on, bool shuffles) noexcept;

// Each function below requires is_hardened(), of no block of the reserve, and is as that of the
// same name in hit_path.hpp.

[[nodiscard]] void* hardened_allocate(std::size_t size, std::size_t alignment, bool zeroed,
                                      const char* call) noexcept;
void hardened_deallocate(void* block, const char* call) noexcept;
[[nodiscard]] void* hardened_reallocate(void* block, std::size_t size, const char* call) noexcept;

/// Returns: the size that the live block was asked for with. Ends in a fault naming `call` when
/// none starts there, or bytes behind it were written to.
[[nodiscard]] std::size_t hardened_size(const void* block, const char* call) noexcept;

/// Effects: ends in a fault naming `call`, wrong_size, when `block` came from new and was not asked
/// for with `size`.
void hardened_expect_size(const void* block, std::size_t size, const char* call) noexcept;

// ---- looks at live blocks (hardened_look.cpp) ---------------------------------------------------

/// Effects: looks at word and canary of every live block, and at the zeros of free ones while the
/// process never had a second thread; ends in a fault naming `call` at the first that was written
/// to. Returns: live blocks. Other threads may go on meanwhile. O(the heap's pages and blocks).
std::size_t hardened_look(const char* call) noexcept;
/// Of so many allocations, one looks at some blocks; beside other threads more seldom, at more.
inline constexpr std::uint32_t look_gap = 8192;
/// Effects: counts that many allocations. With those of a gap, looks at the next blocks of a class,
/// and ends in a fault naming `call` when one was written to. So every block has its turn.
/// Requires: the thread holds no lock.
void look_at_some(std::size_t allocations, const char* call) noexcept;

/// Effects: the calling thread's quarantine is empty.
void empty_quarantine() noexcept;
/// Effects: the same, and its memory goes back. For a thread that ends.
void end_quarantine() noexcept;

/// Returns: whether `block` lies where blocks of no bytes do: no access to them is possible.
[[nodiscard]] bool is_of_no_bytes(const void* block) noexcept;
/// Returns: whether a block that was noted under this name was cleared already, and is the heap's.
[[nodiscard]] bool is_cleared_call(const char* call) noexcept;

}  // namespace ashlar::runtime
