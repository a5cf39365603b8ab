// pool/refill_lists.hpp: blocks of every small size, from free lists a fixed step apart.
// Layer: pool (freestanding).
//
//   lists     Step, 2 Step, ..., MaxBytes: a request is rounded up to the next list's size
//   rest      memory of the newest chunk that was never a block
//   chunks    pieces of the page source, each at least as large as half of all before it
//
// A request is served by, in this order: its list; the rest, which refills the list with up to
// refill_blocks blocks; a new chunk (as large as the source still has), after the rest was filed;
// the smallest free block of a larger list, split; the exhaustion policy. What is left of a rest or
// of a split is filed completely, under the lists of exactly its sizes. Requests above MaxBytes, or
// aligned to more than `widest_alignment`, go to the source one by one.
//
// A source that can populate (core/page_source.hpp) is asked to before a refill: for an eighth of
// all chunks.
//
// Law: a block whose size is a multiple of widest_alignment is aligned to it, every other to Step.
// Equation (audit() checks it):
//   bytes in use + bytes on lists + rest == bytes of all chunks without their heads
// Memory does not move between lists but by splitting, and goes back to the source with the whole.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>
#include <utility>

#include <ashlar/core/address.hpp>
#include <ashlar/core/bits.hpp>
#include <ashlar/core/check_policy.hpp>
#include <ashlar/core/config.hpp>
#include <ashlar/core/counting.hpp>
#include <ashlar/core/exhaustion.hpp>
#include <ashlar/core/fault.hpp>
#include <ashlar/core/free_list.hpp>
#include <ashlar/core/lock_policy.hpp>
#include <ashlar/core/memory_tools.hpp>
#include <ashlar/core/page_source.hpp>
#include <ashlar/core/policy.hpp>

namespace ashlar {

/// Figures of refill_lists, bytes; blocks count with the size of their list. Large requests, which
/// the source serves, are not in them.
struct refill_stats {
  std::size_t chunk_count = 0;
  std::size_t chunk_bytes = 0;   ///< of all chunks, without their heads
  std::size_t bytes_in_use = 0;  ///< that callers hold; 0 with counting::none
};

namespace at_death {
/// Policy, of refill_lists: the memory is never given back, and the destructor is trivial. For a
/// constinit global: it then serves what static objects free while they are destroyed, and what the
/// process's end takes back anyway.
struct abandon {
  using policy_kind = death_kind;
  static constexpr bool reports = false;
  static constexpr bool stops = false;
  static constexpr bool destroys = false;
};
}  // namespace at_death

/// A sized component over a page source. Policies, in any order: exhaustion (default null), a lock
/// (no_lock; not lock_free), check::none or check::cheap (cheap: an address outside all chunks or
/// misaligned, and the block freed last once more: what can be told in O(1)), counting (exact),
/// at_death (ignore), named. Neither copied nor moved.
/// Requires: with a lock, that the source is thread-safe too: large requests pass the lock by.
template <page_source Source, std::size_t MaxBytes = 128, std::size_t Step = 8, class... Policies>
class refill_lists {
 public:
  using source_type = Source;
  using exhaustion_type = pick_policy<exhaustion_kind, exhaustion::null, Policies...>;
  using lock_type = pick_policy<lock_kind, no_lock, Policies...>;
  using check_type = pick_policy<check_kind, check::cheap, Policies...>;
  using counting_type = pick_policy<counting_kind, counting::exact, Policies...>;
  using death_type = pick_policy<death_kind, at_death::ignore, Policies...>;
  using name_type = pick_policy<name_kind, unnamed, Policies...>;

  static constexpr bool nothrow_allocate = exhaustion_type::nothrow;
  static constexpr std::size_t max_bytes = MaxBytes;
  static constexpr std::size_t step = Step;
  static constexpr std::size_t refill_blocks = 50;
  static constexpr std::size_t widest_alignment = max_of(Step, alignof(std::max_align_t));

  static_assert(
      detail::of_kinds<exhaustion_kind, lock_kind, check_kind, counting_kind, death_kind,
                       name_kind>::template have_all<Policies...>,
      "refill_lists: a page source is the first argument; no policy of this kind is taken");
  static_assert(is_power_of_two(Step) && Step >= sizeof(void*), "a free block holds a link");
  static_assert(MaxBytes >= Step && MaxBytes % Step == 0, "the last list's size is a whole step");
  static_assert(MaxBytes <= SIZE_MAX / 1024, "a refill has to fit std::size_t");
  static_assert(widest_alignment <= 2 * Step, "a larger block, split, has room for the alignment");
  static_assert(!exhaustion_type::borrows, "a borrowed block would be filed as our own");
  static_assert(!check_type::guards_bytes, "check::full needs room that these blocks do not have");
  static_assert(!detail::is_lock_free_policy<lock_type>, "lists of several blocks need a lock");
  static_assert(!death_type::destroys, "what is in a block is not known here");
  static_assert(!death_type::reports || counting_type::counts, "who reports leaks has to count");

  constexpr refill_lists() noexcept = default;
  explicit constexpr refill_lists(Source source, exhaustion_type exhaustion = {}) noexcept
      : source_(std::move(source)), exhaustion_(std::move(exhaustion)) {}
  refill_lists(const refill_lists&) = delete;
  refill_lists& operator=(const refill_lists&) = delete;

  /// Effects: all chunks go back to the source; large blocks that are still in use do not.
  ~refill_lists()
    requires std::is_same_v<death_type, at_death::abandon>
  = default;
  ~refill_lists() {
    if constexpr (death_type::reports) {
      if (in_use_ != 0) leak_slow();
    }
    detail::tell_ended(this);
    while (chunks_ != nullptr) {
      chunk* const c = std::exchange(chunks_, chunks_->older);
      if constexpr (detail::tools_present) detail::tell_returned(this, payload(c), c->bytes);
      source_.deallocate(c, chunk_head + c->bytes, widest_alignment);
    }
  }

  /// Returns: a block of at least `size` bytes (0 counts as 1), or null. Requires: `alignment` is a
  /// power of two, else ashlar_fault(bad_argument). Throws: nothing. Complexity: O(1) where the
  /// list has a block; a refill links up to refill_blocks blocks, and asks the source O(log chunk
  /// bytes) times and looks at every list only when memory runs out. Thread-safety: as the lock
  /// policy says, for all functions.
  [[nodiscard]] ASHLAR_HOT void* try_allocate(
      std::size_t size, std::size_t alignment = alignof(std::max_align_t)) noexcept {
    if (void* const p = hit(size, alignment)) [[likely]]
      return p;
    return miss(size, alignment);
  }

  /// As try_allocate, but asks the exhaustion policy, with no lock held. Throws: what that throws.
  [[nodiscard]] ASHLAR_HOT void* allocate(
      std::size_t size,
      std::size_t alignment = alignof(std::max_align_t)) noexcept(nothrow_allocate) {
    if (void* const p = hit(size, alignment)) [[likely]]
      return p;
    return miss_or_exhausted(size, alignment);
  }

  /// Effects: the block is free; null does nothing. Requires: `p` came from here by a request of
  /// this size and alignment and is in use; else ashlar_fault as far as the check policy sees it.
  /// O(1).
  ASHLAR_HOT void deallocate(void* p, std::size_t size,
                             std::size_t alignment = alignof(std::max_align_t)) noexcept {
    deallocate_as(p, size, alignment, "deallocate");
  }
  /// The same; a fault names `call`, a text that stays. The source is told it if it has a
  /// deallocate_as of its own.
  ASHLAR_HOT void deallocate_as(void* p, std::size_t size, std::size_t alignment,
                                const char* call) noexcept {
    if (p == nullptr) [[unlikely]]
      return;
    const std::size_t bytes = size == 0 ? 0 : list_bytes(size, alignment);
    if (bytes == 0 || !detail::is_alone(lock_)) [[unlikely]]
      return give_elsewhere(p, size, alignment, call);
    if (!is_sound(p, bytes)) [[unlikely]]
      bad_free_slow(p, bytes, call);
    give(p, bytes);
  }

  /// Returns: whether `p` points into a chunk; false for blocks that the source served.
  /// Complexity: O(chunks), which are O(log bytes) unless the source was short of memory.
  [[nodiscard]] bool owns(const void* p) const noexcept {
    detail::scoped_lock guard(lock_);
    return chunk_of(p) != nullptr;
  }

  /// Returns: the bytes that a request takes from the lists; 0 if it goes to the source.
  [[nodiscard]] static constexpr std::size_t list_bytes(std::size_t size,
                                                        std::size_t alignment) noexcept {
    if (!is_power_of_two(alignment)) [[unlikely]] {
      ashlar_fault({fault_kind::bad_argument, "allocate", nullptr, size, name_type::name()});
    }
    if (size > MaxBytes || alignment > widest_alignment) return 0;
    const std::size_t bytes = align_up(max_of(size, 1), max_of(Step, alignment));
    return bytes <= MaxBytes ? bytes : 0;
  }

  [[nodiscard]] static constexpr const char* name() noexcept { return name_type::name(); }
  [[nodiscard]] exhaustion_type& exhaustion_policy_object() noexcept { return exhaustion_; }

  /// O(1).
  [[nodiscard]] refill_stats stats() const noexcept {
    detail::scoped_lock guard(lock_);
    return {chunk_count_, chunk_bytes_, in_use_};
  }

  /// Returns: whether law and equation at the head of this file hold (with counting::none, whether
  /// they can). Complexity: O(free blocks * chunks).
  [[nodiscard]] bool audit() const noexcept {
    detail::scoped_lock guard(lock_);
    std::size_t free_bytes = static_cast<std::size_t>(rest_end_ - rest_);
    for (std::size_t bytes = Step; bytes <= MaxBytes; bytes += Step) {
      for (const auto* b = lists_[bytes / Step - 1].head(); b != nullptr; b = detail::next_of(b)) {
        free_bytes += bytes;
        const chunk* const c = chunk_of(b);
        if (c == nullptr || !is_aligned(b, alignment_of(bytes)) || free_bytes > chunk_bytes_ ||
            detail::bytes_from(payload(c), b) + bytes > c->bytes) {
          return false;
        }
      }
    }
    return !counting_type::counts || in_use_ + free_bytes == chunk_bytes_;
  }

 private:
  struct chunk {
    chunk* older;
    std::size_t bytes;  ///< without this head
  };
  static constexpr std::size_t chunk_head = align_up(sizeof(chunk), widest_alignment);

  [[nodiscard]] static constexpr std::size_t alignment_of(std::size_t bytes) noexcept {
    if constexpr (widest_alignment == Step) return Step;
    return widest_alignment - (bytes & Step);  // that is two steps, less one where they are odd
  }
  /// Returns: the bytes from `p` to where a block of `bytes` bytes may start.
  [[nodiscard]] static std::size_t gap(const std::byte* p, std::size_t bytes) noexcept {
    return -reinterpret_cast<std::uintptr_t>(p) & (alignment_of(bytes) - 1);
  }
  [[nodiscard]] static std::byte* payload(const chunk* c) noexcept {
    return const_cast<std::byte*>(reinterpret_cast<const std::byte*>(c)) + chunk_head;
  }
  [[nodiscard]] const chunk* chunk_of(const void* p) const noexcept {
    const chunk* c = chunks_;
    while (c != nullptr && detail::bytes_from(payload(c), p) >= c->bytes) c = c->older;
    return c;
  }
  [[nodiscard]] ASHLAR_HOT detail::free_list& list_of(std::size_t bytes) noexcept {
    return lists_[bytes / Step - 1];
  }

  /// Returns: a block of the list; null where there is none, or the lock is needed first.
  [[nodiscard]] ASHLAR_HOT void* hit(std::size_t size, std::size_t alignment) noexcept {
    const std::size_t bytes = size == 0 ? 0 : list_bytes(size, alignment);
    if (bytes == 0 || !detail::is_alone(lock_)) [[unlikely]]
      return nullptr;
    void* const p = list_of(bytes).pop();
    if (p != nullptr) [[likely]]
      take(p, bytes, size);
    return p;
  }
  ASHLAR_HOT void take([[maybe_unused]] void* p, std::size_t bytes,
                       [[maybe_unused]] std::size_t size) noexcept {
    if constexpr (detail::tools_present)
      detail::tell_made({this, name()}, p, max_of(size, 1), bytes);
    if constexpr (counting_type::counts) in_use_ += bytes;
  }
  ASHLAR_HOT void give(void* p, std::size_t bytes) noexcept {
    detail::tell_freed(this, p, bytes);
    file(static_cast<std::byte*>(p), bytes);
    if constexpr (counting_type::counts) in_use_ -= bytes;
  }
  /// Returns: whether `p` may be a block in use of `bytes` bytes, as far as is checked.
  [[nodiscard]] ASHLAR_HOT bool is_sound(const void* p, std::size_t bytes) noexcept {
    if constexpr (check_type::tracks_state) {
      const auto address = reinterpret_cast<std::uintptr_t>(p);
      return address - lowest_ < reach_ && (address & (alignment_of(bytes) - 1)) == 0 &&
             p != list_of(bytes).head() && (!counting_type::counts || in_use_ >= bytes);
    } else {
      return true;
    }
  }
  // Not inlined and not cold: among threads, and for large requests, each call comes here.
  [[nodiscard, gnu::noinline]] void* miss(std::size_t size, std::size_t alignment) noexcept {
    const std::size_t bytes = list_bytes(size, alignment);
    if (bytes == 0) return source_.allocate(max_of(size, 1), alignment);
    detail::scoped_lock guard(lock_);
    void* p = list_of(bytes).pop();
    if (p == nullptr) [[unlikely]]
      p = refill_slow(bytes);
    if (p != nullptr) take(p, bytes, size);
    return p;
  }
  [[nodiscard, gnu::noinline]] void* miss_or_exhausted(
      std::size_t size, std::size_t alignment) noexcept(nothrow_allocate) {
    void* const p = miss(size, alignment);
    return p != nullptr ? p : exhausted_slow(size, alignment);
  }
  [[gnu::noinline]] void give_elsewhere(void* p, std::size_t size, std::size_t alignment,
                                        const char* call) noexcept {
    const std::size_t bytes = list_bytes(size, alignment);
    if (bytes == 0) {
      if constexpr (requires { source_.deallocate_as(p, size, alignment, call); }) {
        return source_.deallocate_as(p, max_of(size, 1), alignment, call);
      } else {
        return source_.deallocate(p, max_of(size, 1), alignment);
      }
    }
    detail::scoped_lock guard(lock_);
    if (!is_sound(p, bytes)) [[unlikely]] {
      lock_.unlock();
      bad_free_slow(p, bytes, call);
    }
    give(p, bytes);
  }

  /// Effects: one free block.
  ASHLAR_HOT void file(std::byte* p, std::size_t bytes) noexcept {
    list_of(bytes).push(p);
    detail::tell_closed(p, bytes);
  }
  /// Effects: all of [p, p + bytes), whole steps, becomes free blocks: of one list, unless it is
  /// more than the largest or has the size of an aligned block without the alignment.
  void file_all(std::byte* p, std::size_t bytes) noexcept {
    while (bytes != 0) {
      std::size_t piece = min_of(bytes, MaxBytes);
      if (!is_aligned(p, alignment_of(piece))) piece -= Step;
      file(p, piece);
      p += piece;
      bytes -= piece;
    }
  }

  /// Returns: a block that is on no list, or null.
  [[nodiscard]] ASHLAR_COLD void* refill_slow(std::size_t bytes) noexcept {
    void* p = carve(bytes);
    if (p == nullptr && add_chunk(bytes)) p = carve(bytes);
    return p != nullptr ? p : split_larger(bytes);
  }

  /// Effects: up to refill_blocks blocks leave the rest. Returns: the first; the others are on
  /// their list, in the order of their addresses. Null if the rest has not one.
  [[nodiscard]] void* carve(std::size_t bytes) noexcept {
    const std::size_t skip = gap(rest_, bytes);
    const auto left = static_cast<std::size_t>(rest_end_ - rest_);
    if (left < skip + bytes) return nullptr;
    file_all(rest_, skip);
    std::byte* const first = rest_ + skip;
    const std::size_t count = min_of(refill_blocks, (left - skip) / bytes);
    populate_to(first + count * bytes);
    for (std::size_t i = count - 1; i != 0; --i) file(first + i * bytes, bytes);
    rest_ = first + count * bytes;
    return first;
  }

  /// Effects: the newest chunk is in memory up to `end`, and by an eighth of all chunks further.
  /// Nothing while that eighth is small, or where the source cannot. Requires: rest_ <= end <=
  /// rest_end_.
  void populate_to(std::byte* end) noexcept {
    if constexpr (populating_source<Source>) {
      const auto left = static_cast<std::size_t>(rest_end_ - end);
      const std::size_t ahead = chunk_bytes_ / 8;
      if (end <= populated_ || ahead < least_populated) return;
      std::byte* const from = populated_ < rest_ ? rest_ : populated_;
      populated_ = end + min_of(ahead, left);
      source_.populate(from, static_cast<std::size_t>(populated_ - from));
    }
  }

  /// Effects: the rest is filed, and a new chunk is the rest. Returns: false if the source has not
  /// even one block.
  [[nodiscard]] bool add_chunk(std::size_t bytes) noexcept {
    file_all(rest_, static_cast<std::size_t>(rest_end_ - rest_));
    rest_ = rest_end_ = nullptr;
    std::size_t size = max_of(2 * refill_blocks * bytes, align_down(chunk_bytes_ / 2, Step));
    void* piece = source_.allocate(chunk_head + size, widest_alignment);
    while (piece == nullptr && size > bytes) {
      size = max_of(bytes, align_down(size / 2, Step));
      piece = source_.allocate(chunk_head + size, widest_alignment);
    }
    if (piece == nullptr) return false;
    chunks_ = ::new (piece) chunk{chunks_, size};
    chunk_bytes_ += size;
    ++chunk_count_;
    rest_ = payload(chunks_);
    rest_end_ = rest_ + size;
    populated_ = rest_;
    detail::tell_closed(rest_, size);
    const auto start = reinterpret_cast<std::uintptr_t>(rest_);
    const std::uintptr_t end = max_of(lowest_ + reach_, start + size);
    lowest_ = chunk_count_ == 1 ? start : min_of(lowest_, start);
    reach_ = end - lowest_;
    return true;
  }

  /// Returns: a part of the smallest larger free block, the rest of which is filed; or null.
  [[nodiscard]] void* split_larger(std::size_t bytes) noexcept {
    for (std::size_t larger = bytes + Step; larger <= MaxBytes; larger += Step) {
      auto* const p = static_cast<std::byte*>(list_of(larger).pop());
      if (p == nullptr) continue;
      const std::size_t skip = gap(p, bytes);
      file_all(p, skip);
      file_all(p + skip + bytes, larger - skip - bytes);
      return p + skip;
    }
    return nullptr;
  }

  [[nodiscard]] ASHLAR_COLD void* exhausted_slow(std::size_t size,
                                                 std::size_t alignment) noexcept(nothrow_allocate) {
    return exhaustion_.exhausted(exhaustion_request{size, alignment, name()},
                                 [&]() noexcept { return try_allocate(size, alignment); });
  }
  [[noreturn]] ASHLAR_COLD void report_slow(fault_kind kind, const char* call, const void* p,
                                            std::size_t bytes) const noexcept {
    ashlar_fault({kind, call, p, bytes, name()});
  }
  ASHLAR_COLD void leak_slow() const noexcept {
    const fault what{fault_kind::leak, "~refill_lists", nullptr, 0, name()};
    if constexpr (death_type::stops) {
      ashlar_fault(what);
    } else {
      ashlar_report(what);
    }
  }
  [[noreturn]] ASHLAR_COLD void bad_free_slow(const void* p, std::size_t bytes,
                                              const char* call) const noexcept {
    fault_kind kind = fault_kind::double_free;
    if (chunk_of(p) == nullptr) {
      kind = fault_kind::foreign_pointer;
    } else if (!is_aligned(p, alignment_of(bytes))) {
      kind = fault_kind::interior_pointer;
    }
    report_slow(kind, call, p, bytes);
  }

  detail::free_list lists_[MaxBytes / Step];
  std::byte* rest_ = nullptr;
  std::byte* rest_end_ = nullptr;
  std::byte* populated_ = nullptr;  ///< the rest is in memory up to here
  chunk* chunks_ = nullptr;
  std::size_t chunk_count_ = 0;
  std::size_t chunk_bytes_ = 0;
  std::size_t in_use_ = 0;
  std::uintptr_t lowest_ = 0;  ///< of all chunks' payloads
  std::size_t reach_ = 0;      ///< bytes from there to behind all of them
  [[no_unique_address]] mutable lock_type lock_;
  [[no_unique_address]] Source source_{};
  [[no_unique_address]] exhaustion_type exhaustion_{};
};

}  // namespace ashlar
