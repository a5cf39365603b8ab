// pool/block_run.hpp: blocks side by side in bytes of a caller: a fixed_pool's.
// Layer: pool (freestanding). Not for users: the pools are built of these.
// Invariant: that of every run (run_traits.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>

#include <ashlar/core/bits.hpp>
#include <ashlar/core/check_policy.hpp>
#include <ashlar/core/config.hpp>
#include <ashlar/core/exact_divisor.hpp>
#include <ashlar/core/fault.hpp>
#include <ashlar/core/guard_bytes.hpp>
#include <ashlar/core/memory_tools.hpp>
#include <ashlar/core/policy.hpp>
#include <ashlar/pool/block_layout.hpp>
#include <ashlar/pool/run_traits.hpp>

namespace ashlar::detail {

/// The shape of blocks whose size is known at run time.
template <class Traits>
class run_time_shape {
 public:
  constexpr explicit run_time_shape(block_layout block) noexcept
      : slot_(shape_of(block, Traits::upkeep)) {
    if constexpr (Traits::needs_index) {
      if (slot_.stride != 0) divisor_ = exact_divisor<>(slot_.stride);
    }
  }
  [[nodiscard]] ASHLAR_HOT constexpr const slot_shape& slot() const noexcept { return slot_; }
  [[nodiscard]] ASHLAR_HOT auto divisor() const noexcept { return divisor_; }

 private:
  slot_shape slot_;
  [[no_unique_address]] std::conditional_t<Traits::needs_index, exact_divisor<>, nothing<3>>
      divisor_{};
};

/// The same where the program's text says it: no load, and a shift where it is a power of two.
template <class Traits, block_layout Block>
class constant_shape {
 public:
  constexpr explicit constant_shape(block_layout) noexcept {}
  [[nodiscard]] static constexpr const slot_shape& slot() noexcept { return the_slot; }
  [[nodiscard]] static constexpr exact_divisor<> divisor() noexcept {
    return exact_divisor<>(the_slot.stride);
  }

 private:
  static constexpr slot_shape the_slot = shape_of(Block, Traits::upkeep);
};

template <class Traits, class Shape = run_time_shape<Traits>>
class block_run {
 public:
  using traits = Traits;
  static constexpr bool grows = false;
  static constexpr bool is_swappable = !Traits::shared;
  using index_type = typename Traits::index_type;

  /// Requires: block.alignment is a power of two, else ashlar_fault(bad_argument).
  constexpr explicit block_run(block_layout block) noexcept : shape_(checked(block)) {}
  block_run(block_layout block, std::span<std::byte> storage) noexcept : block_run(block) {
    const std::size_t skip = -reinterpret_cast<std::uintptr_t>(storage.data()) &
                             (base_alignment(slot(), Traits::upkeep) - 1);
    if (storage.size() > skip) {
      set_run(storage.data() + skip, blocks_in(slot(), Traits::upkeep, storage.size() - skip));
    }
  }
  block_run(block_run&& other) noexcept
    requires(!Traits::shared)
      : mark_(std::exchange(other.mark_, {})),
        origin_(std::exchange(other.origin_, 0)),
        capacity_(std::exchange(other.capacity_, 0)),
        shape_(other.shape_),
        links_(other.links_) {}
  block_run& operator=(block_run&&) = delete;
  friend void swap(block_run& a, block_run& b) noexcept
    requires(!Traits::shared)
  {
    using std::swap;
    swap(a.mark_, b.mark_);
    swap(a.origin_, b.origin_);
    swap(a.capacity_, b.capacity_);
    swap(a.shape_, b.shape_);
    swap(a.links_, b.links_);
  }

  [[nodiscard]] std::byte* base() const noexcept { return at(Traits::first_index); }
  [[nodiscard]] std::size_t block_size() const noexcept { return slot().block_size; }
  [[nodiscard]] std::size_t alignment() const noexcept { return slot().alignment; }
  [[nodiscard]] std::size_t stride() const noexcept { return slot().stride; }
  [[nodiscard]] std::size_t capacity() const noexcept { return capacity_; }
  [[nodiscard]] std::size_t limit() const noexcept { return capacity_; }
  [[nodiscard]] ASHLAR_HOT std::size_t carved() const noexcept { return mark_.carved(); }
  [[nodiscard]] std::size_t blocks_made() const noexcept { return mark_.carved(); }

  [[nodiscard]] ASHLAR_HOT std::size_t index_of(const void* p) const noexcept {
    return shape_.divisor().quotient(reinterpret_cast<std::uintptr_t>(p) - origin_);
  }
  [[nodiscard]] ASHLAR_HOT std::byte* at(std::size_t i) const noexcept {
    return reinterpret_cast<std::byte*>(origin_ + i * slot().stride);
  }
  /// Returns: the one address with index_of() == i, in the run or not.
  [[nodiscard]] void* address_of(std::size_t i) const noexcept {
    const std::size_t divisor = slot().stride == 0 ? 1 : slot().stride;
    return reinterpret_cast<void*>(origin_ + shape_.divisor().dividend(i, divisor));
  }
  [[nodiscard]] ASHLAR_HOT auto* links() const noexcept {
    return reinterpret_cast<typename Traits::links_at*>(links_);
  }
  [[nodiscard]] ASHLAR_HOT auto states() const noexcept { return states_; }
  [[nodiscard]] ASHLAR_HOT auto& mark() noexcept { return mark_; }
  [[nodiscard]] ASHLAR_HOT const auto& mark() const noexcept { return mark_; }
  std::size_t advance() noexcept { return advance_mark(*this, capacity_); }
  std::size_t advance_here() noexcept { return advance(); }

  [[nodiscard]] run_view view() const noexcept {
    return {base(), slot().stride, capacity_, carved(), marks_of(*this)};
  }
  [[nodiscard]] run_cursor first_run() const noexcept { return {view(), nullptr}; }
  template <class Visit>
  void each_run(Visit visit) const noexcept {
    if (capacity_ != 0) visit(view());
  }
  template <class Visit>
  void each_list(Visit visit) const noexcept {
    if (capacity_ != 0) visit(mark_, links());
  }

 protected:
  [[nodiscard]] ASHLAR_HOT constexpr const slot_shape& slot() const noexcept {
    return shape_.slot();
  }
  /// Effects: `count` fresh blocks in the bytes at `start`, which are aligned and many enough.
  void set_run(std::byte* start, std::size_t count) noexcept {
    if (count > Traits::max_blocks) count = Traits::max_blocks;
    std::byte* const base = start + blocks_offset(slot(), Traits::upkeep, count);
    origin_ = reinterpret_cast<std::uintptr_t>(base) - Traits::first_index * slot().stride;
    capacity_ = count;
    if constexpr (Traits::needs_index) links_ = reinterpret_cast<index_type*>(start);
    if constexpr (Traits::keeps_states) {
      states_ = reinterpret_cast<block_state*>(start + count * sizeof(index_type));
    }
    if constexpr (!Traits::shared) mark_ = {};
    if constexpr (tools_present) {
      if (Traits::may_tell(slot())) tell_closed(base, count * slot().stride);
    }
  }

  [[nodiscard]] static constexpr block_layout checked(block_layout block) noexcept {
    if (!is_power_of_two(block.alignment)) [[unlikely]] {
      ashlar_fault({fault_kind::bad_argument, "fixed_pool", nullptr, block.size_bytes});
    }
    return block;
  }

  mark_for<Traits> mark_;
  std::uintptr_t origin_ = 0;  ///< where a block of index 0 is or would be
  std::size_t capacity_ = 0;
  [[no_unique_address]] Shape shape_;
  [[no_unique_address]] std::conditional_t<Traits::needs_index, index_type*, nothing<4>> links_{};
  [[no_unique_address]] std::conditional_t<Traits::keeps_states, block_state*, nothing<5>>
      states_{};
};

}  // namespace ashlar::detail
