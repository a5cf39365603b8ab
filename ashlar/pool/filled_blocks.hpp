// pool/filled_blocks.hpp: blocks of which every byte is looked at: check::full.
// Layer: pool (freestanding). Not for users: the pool's engine calls it, with its
// lock held.
//
//   in use   | the caller's bytes, filled with fresh_fill before | canary |
//   freed    | freed_fill over the whole stride                           |
//
// A freed block rests in a quarantine before it is free. When it leaves, and when it is handed out,
// its bytes must be as they were left. This file finds; the engine reports, with the lock released.
// Invariant: a carved block is live, in the quarantine, or free; the last two are all freed_fill.
#pragma once

#include <cstddef>

#include <ashlar/core/check_policy.hpp>
#include <ashlar/core/guard_bytes.hpp>
#include <ashlar/core/memory_tools.hpp>
#include <ashlar/pool/plain_blocks.hpp>

namespace ashlar::detail {

template <class Run, std::size_t N>
class filled_blocks : public plain_blocks<Run> {
  using plain = plain_blocks<Run>;
  using list = typename Run::traits::list;

 public:
  struct taken {
    std::byte* block = nullptr;
    bool intact = true;  ///< false: somebody has written to it while it was free
  };
  /// Returns: a live block, filled, with its canary; null when there is none. Free ones first, then
  /// those that were never in use, then the oldest of the quarantine; and then the pool grows.
  [[nodiscard]] taken take(Run& run) noexcept {
    std::byte* p = nullptr;
    bool was_used = true;
    if (const std::size_t n = run.mark().pop(run.links()); n != 0) p = run.at(n);
    if (p == nullptr) p = plain::take_freed_aside(run);
    if (p == nullptr) {
      p = plain::carve(run, false);
      was_used = p == nullptr;
    }
    if (p == nullptr) {
      p = quarantine_.pop();
      if (p != nullptr) set_mark(run, p, list::live);
    }
    if (p == nullptr) {
      p = plain::carve(run, true);
      if (p == nullptr) return {};
      was_used = false;
    }
    if constexpr (tools_present) tell_open(p, run.stride());
    if (was_used && !bytes_are(p, run.stride(), freed_fill)) return {p, false};
    fill_bytes(p, run.block_size(), fresh_fill);
    write_canary(p + run.block_size(), run.stride() - run.block_size());
    return {p, true};
  }

  /// Returns: whether nobody has written behind the live block at `p`. Its canary is open to tools
  /// from then on.
  [[nodiscard]] static bool is_canary_intact(const Run& run, const std::byte* p) noexcept {
    const std::byte* const canary = p + run.block_size();
    const std::size_t bytes = run.stride() - run.block_size();
    if constexpr (tools_present) tell_open(canary, bytes);
    return canary_intact(canary, bytes);
  }
  /// Effects: the live block at `p` is no longer live, and all freed_fill.
  static void fill_freed(Run& run, std::byte* p) noexcept {
    fill_bytes(p, run.stride(), freed_fill);
    set_mark(run, p, list::kept);
  }
  /// Effects: the filled block at `p` is in the quarantine, and the block that leaves it for that
  /// is free. Returns: null; or the block that should leave, if somebody has written to it.
  [[nodiscard]] const std::byte* keep(Run& run, std::byte* p) noexcept {
    std::byte* const leaver = quarantine_.push(p);
    if (leaver == nullptr) return nullptr;
    if constexpr (tools_present) tell_open(leaver, run.stride());
    if (!bytes_are(leaver, run.stride(), freed_fill)) return leaver;
    put_free(run, leaver);
    if constexpr (tools_present) tell_closed(leaver, run.stride());
    return nullptr;
  }

  // ---- figures ----

  [[nodiscard]] std::size_t quarantined() const noexcept { return quarantine_.size(); }
  /// Returns: whether the canary of a live block, or the bytes of another, are as they were left.
  [[nodiscard]] static bool is_intact(const Run& run, const std::byte* p, bool live) noexcept {
    const std::size_t size = live ? run.block_size() : 0, rest = run.stride() - size;
    if constexpr (tools_present) tell_open(p + size, rest);
    const bool intact = live ? canary_intact(p + size, rest) : bytes_are(p, rest, freed_fill);
    if constexpr (tools_present) tell_closed(p + size, rest);
    return intact;
  }

 private:
  /// Requires: `p` is a block that is not free. Effects: its link says `mark`.
  static void set_mark(Run& run, const void* p, typename Run::traits::index_type mark) noexcept {
    if constexpr (Run::grows) {
      if (const auto place = run.find_aside(p); place.of != nullptr) {
        place.of->links[place.number] = mark;
        return;
      }
    }
    (*run.links())[run.index_of(p)] = mark;
  }
  /// Requires: `p` is a block that is not free. Effects: it is free.
  static void put_free(Run& run, const void* p) noexcept {
    if constexpr (Run::grows) {
      if (const auto place = run.find_aside(p); place.of != nullptr) {
        return run.put_free_aside(place);
      }
    }
    run.mark().push(run.links(), run.index_of(p));
  }

  quarantine<N> quarantine_;
};

}  // namespace ashlar::detail
