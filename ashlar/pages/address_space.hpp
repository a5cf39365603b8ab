// pages/address_space.hpp: what the heap asks of whoever provides its memory.
// Layer: pages. os/ has the implementation for each system; tests
// inject theirs.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>

namespace ashlar {

/// Address space that is reserved first and backed by memory later. All sizes are multiples of the
/// system's page size; nothing throws; every function may be called from any thread.
///
///   reserve(n)         n bytes of addresses, aligned to the system's page, that may not be
///                      touched; null if refused
///   reserve_zeros(n)   the same, but reading gives zeros; writing needs commit
///   commit(p, n)       [p, p+n) may be read and written from now on, contents zero if never used
///   populate(p, n)     committed [p, p+n) is in memory now, contents unchanged; others may use it
///                      meanwhile
///   purge(p, n)        the memory goes back to the system; the addresses stay usable, read as zero
///   renew(p, n)        as purge, by a fresh mapping: heals what `move` has split
///   close(p, n)        committed [p, p+n) holds nothing any more, and no access to it is possible
///                      until it is committed again. False: refused; it may still be as it was
///   move(from, to, n)  the pages of `from` appear at `to` (committed, its contents lost); `from`
///                      stays committed and reads as zero. False: `from` is as it was, and `to`
///                      must be renewed before anybody touches it
///   release(p, n)      gives a reservation back, whole; or any part of what was claimed
///   find_gap(near, n)  finds addresses for n bytes, or for fewer and then sets n, in which nobody
///                      has anything. Nothing is reserved, and nothing counts as used. But no other
///                      user of find_gap gets them until `leave_gap`, and the system puts other
///                      mappings there last. `near` is any reservation. Null: there are none
///   claim(p, n)        [p, p+n) of a gap is the caller's from now on, as if reserved and
///                      committed. False, with nothing changed: refused, or somebody has a part of
///                      it
///   leave_gap(p)       the gap at p may be found again. What was claimed there was released
///                      before
///   resident(p, n)     how many bytes of committed [p, p+n) are in memory; 0 where unknown
///   limit()            bytes of address space this process may use; SIZE_MAX when unlimited
///   physical()         bytes of memory in the machine, 0 if unknown
///   processors()       how many processors this process may use, 1 if unknown
///   now_ms()           a clock that never goes back; coarse is fine
///   choose_pages(p, n) may be left out: blocks will lie in [p, p+n), which was committed; it may
///                      get huge pages
///   huge_page_bytes()  may be left out: how long these are if it asks for them, else 0
///   entropy()          may be left out: a random number that tells where in a gap things lie; 0
///                      for none
///   secret()           may be left out: a random number that nobody outside the process can know;
///                      0 for none
template <class S>
concept address_space = requires(S& s, void* p, std::size_t n) {
  { s.reserve(n) } noexcept -> std::same_as<void*>;
  { s.reserve_zeros(n) } noexcept -> std::same_as<void*>;
  { s.commit(p, n) } noexcept -> std::same_as<bool>;
  { s.populate(p, n) } noexcept -> std::same_as<bool>;
  { s.purge(p, n) } noexcept -> std::same_as<bool>;
  { s.renew(p, n) } noexcept -> std::same_as<bool>;
  { s.close(p, n) } noexcept -> std::same_as<bool>;
  { s.move(p, p, n) } noexcept -> std::same_as<bool>;
  { s.release(p, n) } noexcept;
  { s.find_gap(p, n) } noexcept -> std::same_as<void*>;
  { s.claim(p, n) } noexcept -> std::same_as<bool>;
  { s.leave_gap(p) } noexcept;
  { s.resident(p, n) } noexcept -> std::same_as<std::size_t>;
  { s.limit() } noexcept -> std::same_as<std::size_t>;
  { s.physical() } noexcept -> std::same_as<std::size_t>;
  { s.processors() } noexcept -> std::same_as<std::size_t>;
  { s.now_ms() } noexcept -> std::same_as<std::uint64_t>;
};

namespace detail {

/// Returns: zeroed memory for the heap's own use, null if refused; `release` takes it back.
/// Requires: whole pages.
template <address_space Space>
[[nodiscard]] void* map_zeros(Space& space, std::size_t bytes) noexcept {
  void* const memory = space.reserve_zeros(bytes);
  if (memory == nullptr || space.commit(memory, bytes)) return memory;
  space.release(memory, bytes);
  return nullptr;
}

}  // namespace detail
}  // namespace ashlar
