// pool/inline_run.hpp: blocks inside of the pool that has them: a static_pool's.
// Layer: pool (freestanding). Not for users: the pools are built of these.
//
// Law: all but `carved`, the links and the states is a constant, so a pool whose every byte is zero
// is in .bss and ready before main. Invariant: that of every run (run_traits.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <ashlar/core/address.hpp>
#include <ashlar/core/bits.hpp>
#include <ashlar/core/check_policy.hpp>
#include <ashlar/core/config.hpp>
#include <ashlar/core/exact_divisor.hpp>
#include <ashlar/core/guard_bytes.hpp>
#include <ashlar/core/memory_tools.hpp>
#include <ashlar/core/policy.hpp>
#include <ashlar/pool/block_layout.hpp>
#include <ashlar/pool/run_traits.hpp>

namespace ashlar::detail {

/// Bytes that nobody initialises: in static storage they are in .bss, elsewhere left as they are.
template <std::size_t Size, std::size_t Alignment>
union raw_bytes {
  constexpr raw_bytes() noexcept : unused() {}
  char unused;
  alignas(Alignment) std::byte bytes[Size];
};

template <std::size_t BlockSize, std::size_t Alignment, std::size_t Count, class Traits>
class inline_run {
 public:
  using traits = Traits;
  static constexpr bool grows = false;
  static constexpr bool is_swappable = false;
  static constexpr slot_shape shape = shape_of({BlockSize, Alignment}, Traits::upkeep);
  static_assert(is_power_of_two(Alignment), "an alignment is a power of two");
  static_assert(Count <= Traits::max_blocks, "more blocks than the lock-free word can number");
  static_assert(run_bytes(shape, Traits::upkeep, Count) < SIZE_MAX / 2, "the storage is too large");

  // Not defaulted: `inline_run()` would then set the whole storage to zero before.
  constexpr inline_run() noexcept {}  // NOLINT(modernize-use-equals-default)
  inline_run(const inline_run&) = delete;
  inline_run& operator=(const inline_run&) = delete;

  // The base is computed from `this`, not stored: a pool whose every byte is zero goes to .bss,
  // while one stored address would put the whole storage into the image.
  [[nodiscard]] std::byte* base() const noexcept {
    return const_cast<std::byte*>(reinterpret_cast<const std::byte*>(&blocks_));
  }
  [[nodiscard]] static constexpr std::size_t block_size() noexcept { return shape.block_size; }
  [[nodiscard]] static constexpr std::size_t alignment() noexcept { return shape.alignment; }
  [[nodiscard]] static constexpr std::size_t stride() noexcept { return shape.stride; }
  [[nodiscard]] static constexpr std::size_t capacity() noexcept { return Count; }
  [[nodiscard]] static constexpr std::size_t limit() noexcept { return Count; }
  [[nodiscard]] std::size_t carved() const noexcept { return mark_.carved(); }
  [[nodiscard]] std::size_t blocks_made() const noexcept { return mark_.carved(); }

  [[nodiscard]] ASHLAR_HOT std::size_t index_of(const void* p) const noexcept {
    return divisor.quotient(reinterpret_cast<std::uintptr_t>(p) - origin());
  }
  [[nodiscard]] ASHLAR_HOT std::byte* at(std::size_t i) const noexcept {
    return base() + (i - Traits::first_index) * shape.stride;
  }
  /// Returns: the one address with index_of() == i, in the run or not.
  [[nodiscard]] void* address_of(std::size_t i) const noexcept {
    return reinterpret_cast<void*>(origin() + divisor.dividend(i, shape.stride));
  }
  [[nodiscard]] ASHLAR_HOT auto* links() const noexcept {
    return const_cast<typename Traits::links_at*>(
        reinterpret_cast<const typename Traits::links_at*>(&links_));
  }
  [[nodiscard]] block_state* states() const noexcept {
    return const_cast<block_state*>(reinterpret_cast<const block_state*>(&states_));
  }
  [[nodiscard]] ASHLAR_HOT auto& mark() noexcept { return mark_; }
  [[nodiscard]] ASHLAR_HOT const auto& mark() const noexcept { return mark_; }
  std::size_t advance() noexcept {
    const std::size_t i = advance_mark(*this, Count);
    // A constant initialiser tells nothing, so the first block tells for all. Not where another
    // thread may have the second already.
    if constexpr (tools_present && !Traits::shared) {
      if (i == Traits::first_index) tell_closed(base(), Count * shape.stride);
    }
    return i;
  }
  /// As advance. (A run of several slabs has a shorter way to a block of the slab in use.)
  std::size_t advance_here() noexcept { return advance(); }

  [[nodiscard]] run_view view() const noexcept {
    return {base(), shape.stride, Count, carved(), marks_of(*this)};
  }
  [[nodiscard]] run_cursor first_run() const noexcept { return {view(), nullptr}; }
  template <class Visit>
  void each_run(Visit visit) const noexcept {
    visit(view());
  }
  template <class Visit>
  void each_list(Visit visit) const noexcept {
    visit(mark_, links());
  }

 private:
  static constexpr exact_divisor<> divisor{shape.stride};
  static constexpr std::size_t room = Count == 0 ? 1 : Count;
  static constexpr std::size_t links_room = room + Traits::upkeep.spare_links;
  using links_type = std::conditional_t<
      Traits::needs_index,
      raw_bytes<links_room * Traits::upkeep.link_bytes + (Traits::needs_index ? 0 : 1),
                alignof(typename Traits::index_type)>,
      nothing<1>>;
  using states_type = std::conditional_t<Traits::keeps_states, raw_bytes<room, 1>, nothing<2>>;

  /// Where a block of index 0 is or would be.
  [[nodiscard]] ASHLAR_HOT std::uintptr_t origin() const noexcept {
    return reinterpret_cast<std::uintptr_t>(&blocks_) - Traits::first_index * shape.stride;
  }

  mark_for<Traits> mark_;
  [[no_unique_address]] links_type links_;
  [[no_unique_address]] states_type states_;
  raw_bytes<room * shape.stride, shape.alignment> blocks_;
};

}  // namespace ashlar::detail
