// check/test_scopes.hpp: the test scopes that are open in one thread, and what they have counted.
// Layer: check.
//
//   allocations of the thread   1   2   3   4   5   6   7 ...
//   scope 1                     |-------------------------->    follows 1, 2, 3, ...
//   scope 2 in it                           |-------------->    follows 4, 5, ...
//
// All scopes share one table of live blocks. Each block has the number of its allocation, so the
// number tells whether a scope follows the block. Every call counts for each open scope.
//
// Invariant, for each scope: live_blocks == allocations - (frees - other_frees) - freed_elsewhere -
// not_followed, and it is the number of blocks in the table that the scope follows; live_bytes is
// the sum of their sizes, and at most peak_bytes. `audit` compares.
// Thread-safety: none; it belongs to its thread. It calls nothing but the system.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <utility>

#include <ashlar/core/test_calls.h>
#include <ashlar/os/page_source.hpp>

namespace ashlar::detail {

// The live blocks that a thread has allocated in test scopes, by
// address.
// A table with open addressing: a block is at the place that its address tells, or behind that,
// with no free place in between. Invariant: at most 3/4 of the places are taken.
// Thread-safety: none. Memory of its own, from the system: the heap is what is counted.

struct followed_block {
  const void* address = nullptr;  ///< null: the place is free
  std::size_t size = 0;           ///< as it was asked for
  std::uint64_t number = 0;       ///< of the allocation; counts from 1
};

class followed_blocks {
 public:
  constexpr followed_blocks() noexcept = default;
  followed_blocks(const followed_blocks&) = delete;
  followed_blocks& operator=(const followed_blocks&) = delete;
  ~followed_blocks() { release(places_, capacity_); }

  /// Effects: adds a block. Returns: false when memory was refused. Requires: none is there at its
  /// address, which is not null. O(1) amortised.
  [[nodiscard]] bool add(const followed_block& block) noexcept {
    if (count_ + 1 > capacity_ / 4 * 3 && !grow()) return false;
    put(block);
    ++count_;
    return true;
  }

  /// Effects: the block at `address` is there no longer. Returns: it; a free place when there was
  /// none. O(1) expected.
  followed_block take(const void* address) noexcept {
    if (count_ == 0) return {};
    std::size_t at = place_of(address);
    while (places_[at].address != address) {
      if (places_[at].address == nullptr) return {};
      at = next(at);
    }
    const followed_block taken = places_[at];
    free_place(at);
    --count_;
    return taken;
  }

  /// Effects: calls visit(block) for each, in no order. O(places).
  template <class Visit>
  void for_each(Visit visit) const noexcept {
    for (std::size_t i = 0; i < capacity_; ++i)
      if (places_[i].address != nullptr) visit(places_[i]);
  }

  /// Effects: takes every block out for which drop(block) is true, once at least. O(places).
  template <class Drop>
  void remove_if(Drop drop) noexcept {
    for (std::size_t i = 0; i < capacity_;) {
      if (places_[i].address != nullptr && drop(places_[i])) {
        free_place(i);  // another block may be here now
        --count_;
      } else {
        ++i;
      }
    }
  }

  [[nodiscard]] std::size_t count() const noexcept { return count_; }

 private:
  static constexpr std::size_t first_capacity =
      2048;  ///< 48 KiB, of which only touched pages cost memory

  [[nodiscard]] std::size_t next(std::size_t at) const noexcept {
    return (at + 1) & (capacity_ - 1);
  }
  [[nodiscard]] std::size_t place_of(const void* address) const noexcept {
    // Fibonacci hashing, as block_records.hpp.
    const auto hash =
        (std::uint64_t{reinterpret_cast<std::uintptr_t>(address)} >> 4) * 0x9e3779b97f4a7c15u;
    return static_cast<std::size_t>(hash >> 32) & (capacity_ - 1);
  }
  void put(const followed_block& block) noexcept {
    std::size_t at = place_of(block.address);
    while (places_[at].address != nullptr) at = next(at);
    places_[at] = block;
  }
  /// Effects: frees a place; blocks behind it that would not be found any more move (Knuth, The Art
  /// of Computer Programming 3, 6.4, algorithm R).
  void free_place(std::size_t at) noexcept {
    for (std::size_t i = next(at); places_[i].address != nullptr; i = next(i)) {
      const std::size_t wanted = place_of(places_[i].address);
      // Whether `wanted` lies in (at, i], around the end of the table.
      if (((i - wanted) & (capacity_ - 1)) < ((i - at) & (capacity_ - 1))) continue;
      places_[at] = places_[i];
      at = i;
    }
    places_[at] = {};
  }

  [[nodiscard]] bool grow() noexcept {
    const std::size_t wider = capacity_ == 0 ? first_capacity : capacity_ * 2;
    auto* const fresh = static_cast<followed_block*>(
        os::page_source::allocate(wider * sizeof(followed_block), alignof(followed_block)));
    if (fresh == nullptr) return false;
    followed_block* const old = places_;
    const std::size_t old_capacity = capacity_;
    places_ = fresh;
    capacity_ = wider;
    for (std::size_t i = 0; i < old_capacity; ++i)
      if (old[i].address != nullptr) put(old[i]);
    release(old, old_capacity);
    return true;
  }
  static void release(followed_block* places, std::size_t capacity) noexcept {
    os::page_source::deallocate(places, capacity * sizeof(followed_block), alignof(followed_block));
  }

  followed_block* places_ = nullptr;
  std::size_t capacity_ = 0;  ///< 0 or a power of two
  std::size_t count_ = 0;
};

class test_scopes {
 public:
  static constexpr unsigned depth_max = 16;

  /// Whether the blocks of allocations are followed, which takes memory.
  enum class follow : bool { nothing, blocks };
  constexpr explicit test_scopes(follow f = follow::blocks) noexcept : follow_(f) {}
  test_scopes(const test_scopes&) = delete;
  test_scopes& operator=(const test_scopes&) = delete;

  /// Returns: the number of the innermost scope; 0 when none is open.
  [[nodiscard]] unsigned depth() const noexcept { return depth_; }
  [[nodiscard]] bool is_open(unsigned scope) const noexcept { return scope - 1 < depth_; }

  /// Effects: opens a scope. Returns: its number, from 1 on; 0 when too many are open.
  [[nodiscard]] unsigned begin(const ashlar_test_rules& rules) noexcept {
    if (depth_ == depth_max) return 0;
    scopes_[depth_] = {.rules = rules, .before = last_, .figures = {}};
    return ++depth_;
  }
  /// Effects: ends the scope and those in it. Requires: it is open.
  void end(unsigned scope) noexcept { depth_ = scope - 1; }

  /// Effects: for each scope, from the innermost, that forbids one of `kinds` and has not told so
  /// yet: it has now, and tell(rules). `kinds`: ASHLAR_TEST_ALLOCATIONS, ASHLAR_TEST_FREES, added.
  template <class Tell>
  void for_each_forbidding(unsigned kinds, Tell tell) noexcept {
    for (unsigned i = depth_; i-- != 0;) {
      if ((scopes_[i].rules.forbidden & kinds) == 0) continue;
      const ashlar_test_rules rules = scopes_[i].rules;
      scopes_[i].rules.forbidden = 0;
      tell(rules);
    }
  }

  /// Effects: counts a new block, which is not null. O(depth).
  void allocated(const void* block, std::size_t size) noexcept {
    freed_unseen(block);
    ++last_;
    const bool is_followed = follow_ == follow::blocks && blocks_.add({block, size, last_});
    for_each_open([&](open_scope& s) {
      ++s.figures.allocations;
      s.figures.bytes_allocated += size;
      if (is_followed) {
        ++s.figures.live_blocks;
        s.figures.live_bytes += size;
        s.figures.peak_bytes = std::max(s.figures.peak_bytes, s.figures.live_bytes);
      } else {
        ++s.figures.not_followed;
      }
    });
  }
  /// Effects: counts a block that was given back. O(depth).
  void freed(const void* block) noexcept {
    const followed_block was = blocks_.take(block);
    for_each_open([&](open_scope& s) {
      ++s.figures.frees;
      if (s.follows(was))
        s.lives_no_more(was);
      else
        ++s.figures.other_frees;
    });
  }
  /// Effects: counts that `block` was resized and is at `now` afterwards. O(depth).
  void resized(const void* block, const void* now, std::size_t size) noexcept {
    freed(block);
    allocated(now, size);
    for_each_open([](open_scope& s) { ++s.figures.reallocations; });
  }
  /// Effects: no scope follows a block any more for which is_live(address) is false: another thread
  /// has freed it. O(live blocks).
  template <class IsLive>
  void forget_freed(IsLive is_live) noexcept {
    blocks_.remove_if([&](const followed_block& b) {
      if (is_live(b.address)) return false;
      for_each_open([&](open_scope& s) { s.was_freed_elsewhere(b); });
      return true;
    });
  }

  /// Effects: `out` has the figures of the scope. Requires: it is open. O(live blocks).
  void figures(unsigned scope, ashlar_test_figures& out) const noexcept {
    const open_scope& s = scopes_[scope - 1];
    out = s.figures;
    followed_block first[ASHLAR_TEST_FIRST_SIZES];
    std::size_t count = 0;
    const auto is_earlier = [](const followed_block& a, const followed_block& b) {
      return a.number < b.number;
    };
    blocks_.for_each([&](const followed_block& b) {
      if (!s.follows(b) || (count == std::size(first) && !is_earlier(b, first[count - 1]))) return;
      count =
          std::min(count + 1, std::size(first));  // the last one leaves when all places are taken
      first[count - 1] = b;
      for (std::size_t i = count - 1; i != 0 && is_earlier(first[i], first[i - 1]); --i)
        std::swap(first[i], first[i - 1]);
    });
    for (std::size_t i = 0; i < count; ++i) out.first_sizes[i] = first[i].size;
  }

  /// Returns: whether the invariant holds. O(depth * live blocks).
  [[nodiscard]] bool audit() const noexcept {
    return std::all_of(scopes_, scopes_ + depth_, [this](const open_scope& s) {
      std::uint64_t blocks = 0, bytes = 0;
      blocks_.for_each([&](const followed_block& b) {
        blocks += s.follows(b) ? 1 : 0;
        bytes += s.follows(b) ? b.size : 0;
      });
      const ashlar_test_figures& f = s.figures;
      return f.live_blocks == blocks && f.live_bytes == bytes && bytes <= f.peak_bytes &&
             f.live_blocks ==
                 f.allocations - (f.frees - f.other_frees) - f.freed_elsewhere - f.not_followed;
    });
  }

 private:
  struct open_scope {
    ashlar_test_rules rules{};
    std::uint64_t before = 0;  ///< number of the last allocation before it
    ashlar_test_figures figures{};

    [[nodiscard]] bool follows(const followed_block& b) const noexcept { return b.number > before; }
    /// Requires: follows(b).
    void lives_no_more(const followed_block& b) noexcept {
      --figures.live_blocks;
      figures.live_bytes -= b.size;
    }
    void was_freed_elsewhere(const followed_block& b) noexcept {
      if (!follows(b)) return;
      lives_no_more(b);
      ++figures.freed_elsewhere;
    }
  };

  template <class Visit>
  void for_each_open(Visit visit) noexcept {
    std::for_each(scopes_, scopes_ + depth_, visit);
  }

  /// Effects: if a block is followed at the address of a new one, another thread has freed it.
  void freed_unseen(const void* block) noexcept {
    const followed_block was = blocks_.take(block);
    if (was.address != nullptr) for_each_open([&](open_scope& s) { s.was_freed_elsewhere(was); });
  }

  follow follow_;
  followed_blocks blocks_;
  std::uint64_t last_ = 0;  ///< number of the last allocation
  unsigned depth_ = 0;
  open_scope scopes_[depth_max];
};

}  // namespace ashlar::detail
