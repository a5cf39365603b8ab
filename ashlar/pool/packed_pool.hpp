// pool/packed_pool.hpp: blocks of exactly their size, side by side in a caller's bytes.
// Layer: pool (freestanding).
//
//   | lost to alignment | block 1 | block 2 | ... | block count |
//
// For memory that somebody else has measured as count * size, as classic code does. fixed_pool
// makes its blocks a multiple of a pointer's size, and so finds room for fewer there.
// Law: a free block's first bytes are the address of the next free one, and null in the last;
// copied in and out, since a block of 12 bytes is aligned for nothing larger than 4. In blocks that
// are narrow, smaller than an address, it is the number: their list is one of its own, and the
// hits, which know of addresses alone, miss each time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <ashlar/core/address.hpp>
#include <ashlar/core/bits.hpp>
#include <ashlar/core/config.hpp>
#include <ashlar/core/exact_divisor.hpp>
#include <ashlar/core/exhaustion.hpp>
#include <ashlar/core/fault.hpp>
#include <ashlar/core/memory_tools.hpp>
#include <ashlar/core/policy.hpp>
#include <ashlar/pool/block_layout.hpp>
#include <ashlar/pool/pool_engine.hpp>
#include <ashlar/pool/run_traits.hpp>

namespace ashlar {

/// A block component. One caller at a time. What a misuse costs to find without a note on each
/// block is found: foreign and interior addresses, blocks never handed out, a double free of the
/// block that was freed last or when none is in use.
template <exhaustion_policy Exhaustion = exhaustion::null>
class packed_pool {
  using link = std::uint32_t;

 public:
  using exhaustion_type = Exhaustion;
  static constexpr bool nothrow_allocate = Exhaustion::nothrow;
  static constexpr std::size_t min_block_size = sizeof(link);

  /// Effects: as many blocks as fit into `storage`, the first at its first aligned address. Blocks
  /// have at least min_block_size bytes, and a multiple of their alignment. Requires: `storage`
  /// outlives the pool; block.alignment is a power of two, else ashlar_fault(bad_argument). O(1).
  packed_pool(block_layout block, std::span<std::byte> storage) noexcept
      : alignment_(block.alignment) {
    if (!is_power_of_two(block.alignment)) {
      ashlar_fault({fault_kind::bad_argument, "packed_pool", nullptr, block.size_bytes});
    }
    const std::size_t least = block.size_bytes < min_block_size ? min_block_size : block.size_bytes;
    const auto at = reinterpret_cast<std::uintptr_t>(storage.data());
    const std::size_t lost = static_cast<std::size_t>(-at) & (alignment_ - 1);
    if (!align_up_checked(least, alignment_, stride_) || lost >= storage.size()) return;
    origin_ = at + lost - stride_;
    divisor_ = detail::exact_divisor<>(stride_);
    const std::size_t fit = (storage.size() - lost) / stride_;
    capacity_ = fit < UINT32_MAX ? fit : UINT32_MAX;
    if constexpr (detail::tools_present) detail::tell_closed(numbered(1), capacity_ * stride_);
  }
  packed_pool(const packed_pool&) = delete;
  packed_pool& operator=(const packed_pool&) = delete;
  ~packed_pool() {
    detail::tell_ended(this);
    if constexpr (detail::tools_present)
      detail::tell_returned(this, numbered(1), capacity_ * stride_);
  }

  /// Returns: a block, the last freed first; null when there is none. O(1).
  [[nodiscard]] ASHLAR_HOT void* try_allocate() noexcept {
    ++allocations_;
    std::byte* const p = free_;
    if (p == nullptr) [[unlikely]]
      return take_slow();
    detail::tell_open(p, sizeof free_);
    __builtin_memcpy(&free_, p, sizeof free_);
    detail::tell_made({this, nullptr}, p, stride_, stride_);
    return p;
  }
  /// As try_allocate, but an empty pool asks the exhaustion policy.
  [[nodiscard]] ASHLAR_HOT void* allocate() noexcept(nothrow_allocate) {
    static_assert(!Exhaustion::borrows, "a block that was borrowed could not be given back");
    void* const p = try_allocate();
    if (p == nullptr) [[unlikely]]
      return exhausted_slow();
    return p;
  }
  /// Effects: the block is free; null does nothing. Misuse ends in ashlar_fault as said above.
  /// O(1).
  void deallocate(void* p) noexcept { deallocate_as(p, call_name<"deallocate">{}); }
  /// The same; a fault names `call`, a call_name or a text that stays.
  template <class Call>
  ASHLAR_HOT void deallocate_as(void* p, Call call) noexcept {
    if (p == nullptr) return;
    if (number_of(p) - 1 >= made_ || allocations_ == frees_ || free_ == p) [[unlikely]]
      return give_slow(p, call);
    __builtin_memcpy(p, &free_, sizeof free_);
    free_ = static_cast<std::byte*>(p);
    ++frees_;
    detail::tell_freed(this, p, stride_);
  }

  /// Returns: whether `p` points into one of the blocks. O(1).
  [[nodiscard]] bool owns(const void* p) const noexcept {
    return detail::bytes_from(numbered(1), p) < capacity_ * stride_;
  }
  [[nodiscard]] std::size_t block_size() const noexcept { return stride_; }
  [[nodiscard]] std::size_t alignment() const noexcept { return alignment_; }
  [[nodiscard]] std::size_t capacity() const noexcept { return capacity_; }
  [[nodiscard]] pool_stats stats() const noexcept {
    return {.block_size = stride_,
            .capacity = capacity_,
            .blocks_made = blocks_made(),
            .blocks_in_use = allocations_ - frees_,
            .peak_in_use = blocks_made(),  // a block is made when all that are there are in use
            .allocations = allocations_,
            .frees = frees_};
  }

 private:
  /// Returns: where block `number` is; they count from 1.
  [[nodiscard]] std::byte* numbered(std::size_t number) const noexcept {
    return reinterpret_cast<std::byte*>(origin_ + number * stride_);
  }
  /// Returns: the number of the block at `p`; of any other address one that no block has.
  [[nodiscard]] ASHLAR_HOT std::size_t number_of(const void* p) const noexcept {
    return divisor_.quotient(reinterpret_cast<std::uintptr_t>(p) - origin_);
  }
  /// Never where an address has as many bytes as a number.
  [[nodiscard]] ASHLAR_HOT bool is_narrow() const noexcept {
    return sizeof free_ > min_block_size && stride_ < sizeof free_;
  }
  [[nodiscard]] ASHLAR_HOT std::size_t blocks_made() const noexcept {
    return is_narrow() ? narrow_made_ : made_;
  }

  /// Returns: a block that was never in use, or a narrow one; null, and not counted, without one.
  [[nodiscard, gnu::noinline]] void* take_slow() noexcept {
    std::byte* p = nullptr;
    if (is_narrow() && narrow_free_ != 0) {
      p = numbered(narrow_free_);
      detail::tell_open(p, sizeof narrow_free_);
      __builtin_memcpy(&narrow_free_, p, sizeof narrow_free_);
    } else if (blocks_made() < capacity_) {
      p = numbered(++(is_narrow() ? narrow_made_ : made_));
    } else {
      --allocations_;
      return nullptr;
    }
    detail::tell_made({this, nullptr}, p, stride_, stride_);
    return p;
  }
  /// Effects: a narrow block is free. Ends in ashlar_fault for what is no block in use.
  [[gnu::noinline]] void give_slow(void* p, const char* call) noexcept {
    const std::size_t number = number_of(p);
    if (!is_narrow() || number - 1 >= narrow_made_ || allocations_ == frees_ ||
        narrow_free_ == number)
      refuse_slow(p, call);
    __builtin_memcpy(p, &narrow_free_, sizeof narrow_free_);
    narrow_free_ = static_cast<link>(number);
    ++frees_;
    detail::tell_freed(this, p, stride_);
  }
  [[nodiscard]] ASHLAR_COLD void* exhausted_slow() noexcept(nothrow_allocate) {
    return Exhaustion{}.exhausted({block_size(), alignment_, nullptr},
                                  [this]() noexcept { return try_allocate(); });
  }
  [[noreturn]] ASHLAR_COLD void refuse_slow(const void* p, const char* call) const noexcept {
    const detail::run_view made{numbered(1), stride_, capacity_, blocks_made(), nullptr};
    const bool is_ours = owns(p);
    ashlar_fault(
        {is_ours ? detail::judge(made, p) : fault_kind::foreign_pointer, call, p, stride_});
  }

  std::uintptr_t origin_ = 0;  ///< a block before the first one
  std::size_t stride_ = 0;
  detail::exact_divisor<> divisor_;
  std::size_t alignment_;
  std::size_t capacity_ = 0;
  std::size_t made_ = 0;  ///< 0 where blocks are narrow
  std::size_t allocations_ = 0;
  std::size_t frees_ = 0;
  std::byte* free_ = nullptr;
  std::size_t narrow_made_ = 0;
  link narrow_free_ = 0;
};

}  // namespace ashlar
