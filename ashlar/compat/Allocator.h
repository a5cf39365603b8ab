// Allocator.h: the classic Allocator: blocks of one size in one of three modes.
// Layer: compat. Forwards to pool/fixed_pool.hpp and, for a caller's bytes, pool/packed_pool.hpp.
//
//   Allocator(size)                 heap blocks  grows by slabs of the process heap, no limit
//   Allocator(size, n)              heap pool    n blocks in one piece, taken by the constructor
//   Allocator(size, n, memory)      static pool  the caller's bytes, no heap
//   AllocatorPool<T, n>             static pool  whose bytes are inside the object
//
// As in the classic: one caller at a time (no lock: who shares one holds his own); blocks are
// recycled, last freed first, and go back where they came from with the Allocator.
// Unlike it:
//   - Blocks are a multiple of a pointer's size apart. In a caller's memory they are `size` itself,
//     but at least 4: objects * size bytes are all that is ever touched, whatever the size (below 4
//     they hold fewer objects). Memory that is less aligned than its blocks have to be costs one
//     block: declare it alignas(std::max_align_t).
//   - Heap blocks come from operator new in the classic, and follow its protocol here: the
//     new-handler is called until it has helped or is gone, then std::bad_alloc is thrown. An empty
//     pool, of the heap or static, calls the new-handler once, as there, and tries again once; then
//     Allocate returns null. A class with DECLARE_ALLOCATOR throws std::bad_alloc in place of null.
//   - A request for more than the block's size ends in ashlar_fault(wrong_size): also that of a
//     derived class that inherits DECLARE_ALLOCATOR from a smaller base.
//   - GetBlockCount() counts in every mode.
//   - What Deallocate finds, by mode: an address from elsewhere and the inside of a block in all;
//     a double free in all but the static pool, whose memory has no room for a note (there: only
//     of the block that was freed last, or when no block is in use).
//
// One name, two documents: memory_pool_allocator.h's Allocator<T> is a template, so a program uses
// one of the two headers.
#pragma once

#define ASHLAR_ALLOCATOR_CLASS
#ifdef ASHLAR_ALLOCATOR_TEMPLATE
#error "Allocator.h and memory_pool_allocator.h both define Allocator: a source file includes one"
#include "one of both"  // is not there: the compiler stops
#endif

#if __cplusplus < 202002L
#error "Allocator.h needs C++20: compile with -std=c++20"
#include "-std=c++20"  // is not there: the compiler stops, and that sentence is its last
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <new>
#include <span>
#include <utility>
#include <variant>

#include <ashlar/adapt/cxx_rules.hpp>
#include <ashlar/adapt/process_source.hpp>
#include <ashlar/core/bits.hpp>
#include <ashlar/core/config.hpp>
#include <ashlar/core/exhaustion.hpp>
#include <ashlar/core/fault.hpp>
#include <ashlar/core/policy.hpp>
#include <ashlar/pool/fixed_pool.hpp>
#include <ashlar/pool/packed_pool.hpp>

#include "DataTypes.h"

namespace ashlar::compat {

/// Exhaustion policy: operator new's protocol where blocks come from the heap one by one, else the
/// new-handler once, and then null.
struct as_the_classic {
  using policy_kind = exhaustion_kind;
  static constexpr bool nothrow = false;
  static constexpr bool may_return_null = true;
  static constexpr bool borrows = false;

  bool heap_blocks = false;

  template <class Retry>
  void* exhausted(const exhaustion_request& request, Retry&& retry) {
    if (heap_blocks) {
      exhaustion::handler_and_retry<exhaustion::throw_bad_alloc> protocol;
      return protocol.exhausted(request, retry);
    }
    exhaustion::handler_once<> once;
    return once.exhausted(request, retry);
  }
};

}  // namespace ashlar::compat

class Allocator {
 public:
  /// Effects: a pool of `objects` blocks for requests of up to `size` bytes, in the mode that the
  /// table above gives; `name` is kept, not copied. Blocks are aligned to `alignment` or more: at
  /// least to the largest power of two that divides the block size, where that is at most
  /// std::max_align_t's. Requires: `alignment` is a power of two, and the memory's size fits
  /// std::size_t, else ashlar_fault(bad_argument); `memory` outlives the Allocator. Throws:
  /// std::bad_alloc if the piece of a heap pool cannot be had. O(1).
  explicit Allocator(std::size_t size, UINT objects = 0, CHAR* memory = nullptr,
                     const CHAR* name = nullptr, std::size_t alignment = 1)
      : name_(name), size_(size), pool_(open(size, alignment, objects, memory)) {
    if (memory == nullptr && with_pool(pool_, [](auto& p) { return p.capacity(); }) < objects) {
      ASHLAR_THROW(std::bad_alloc());
      if constexpr (!ashlar::has_exceptions) fault(ashlar::fault_kind::exhausted, "Allocator");
    }
  }
  Allocator(const Allocator&) = delete;
  Allocator& operator=(const Allocator&) = delete;

  /// Returns: a block of GetBlockSize() bytes, or null when a pool has none left. Requires: `size`
  /// is at most the constructor's, and `alignment` at most that of the blocks, else
  /// ashlar_fault(wrong_size). Throws: heap blocks: std::bad_alloc; what a new-handler throws.
  /// O(1); heap blocks: plus one call of the heap when a slab is added.
  void* Allocate(std::size_t size, std::size_t alignment = 1) {
    return AllocateAs(size, alignment, ashlar::call_name<"Allocate">{});
  }
  /// As Allocate, but std::bad_alloc in place of null: for an operator new.
  void* AllocateOrThrow(std::size_t size, std::size_t alignment = 1) {
    void* const block = AllocateAs(size, alignment, ashlar::call_name<"operator new">{});
    if (block == nullptr) [[unlikely]]
      ashlar::cxx_rules::throw_bad_alloc("operator new", size);
    return block;
  }
  /// The same, but returns null when there is no block; the new-handler is not asked.
  void* TryAllocate(std::size_t size, std::size_t alignment = 1) noexcept {
    require_fit(size, alignment, ashlar::call_name<"operator new">{});
    return with_pool(pool_, [](auto& pool) noexcept { return pool.try_allocate(); });
  }

  /// Effects: the block is free; null does nothing. O(1); heap blocks: O(log blocks).
  void Deallocate(void* block) noexcept { DeallocateAs(block, ashlar::call_name<"Deallocate">{}); }
  /// The same; a fault names `call`, an ashlar::call_name or a text that stays.
  template <class Call>
  void DeallocateAs(void* block, Call call) noexcept {
    with_pool(pool_, [block, call](auto& pool) noexcept { pool.deallocate_as(block, call); });
  }

  /// Returns: the name given to the constructor, or null.
  const CHAR* GetName() const noexcept { return name_; }
  /// Returns: bytes that a caller may use of a block: the constructor's size, but at least a
  /// pointer's (in a caller's memory 4). Blocks may be further apart.
  std::size_t GetBlockSize() const noexcept {
    return std::holds_alternative<caller_pool>(pool_) ? stats().block_size
                                                      : std::max(size_, sizeof(void*));
  }
  /// Returns: blocks that exist so far: those that were in use at least once.
  UINT GetBlockCount() const noexcept { return static_cast<UINT>(stats().blocks_made); }
  /// Returns: blocks that callers hold.
  UINT GetBlocksInUse() const noexcept { return static_cast<UINT>(stats().blocks_in_use); }
  /// Returns: calls of Allocate that got a block (modulo the width of UINT, as all counts here).
  UINT GetAllocations() const noexcept { return static_cast<UINT>(stats().allocations); }
  /// Returns: calls of Deallocate with a block.
  UINT GetDeallocations() const noexcept { return static_cast<UINT>(stats().frees); }

  /// Returns: how far apart the blocks for `size` are in an Allocator that has memory of its own.
  [[nodiscard]] static constexpr std::size_t BlockSize(std::size_t size) noexcept {
    std::size_t bytes = ashlar::align_down(SIZE_MAX, alignof(void*));  // more than any memory has
    (void)ashlar::align_up_checked(std::max(size, sizeof(void*)), alignof(void*), bytes);
    return bytes;
  }

 protected:
  using on_exhaustion = ashlar::compat::as_the_classic;
  /// Storage with room for a note on each block.
  using inside_pool = ashlar::fixed_pool<on_exhaustion>;

  /// For AllocatorPool.
  Allocator(std::size_t size, std::span<std::byte> storage, std::size_t alignment) noexcept
      : size_(size),
        pool_(std::in_place_type<inside_pool>, layout(BlockSize(size), alignment), storage) {}

  [[nodiscard]] static constexpr ashlar::block_layout layout(std::size_t bytes,
                                                             std::size_t alignment) noexcept {
    if (!ashlar::is_power_of_two(alignment)) {
      ashlar_fault({ashlar::fault_kind::bad_argument, "Allocator", nullptr, bytes});
    }
    const std::size_t lowest_bit = bytes & (~bytes + 1);
    return {bytes, std::max(alignment, std::min(lowest_bit, alignof(std::max_align_t)))};
  }

 private:
  using heap_pool = ashlar::fixed_pool<on_exhaustion, ashlar::process_source>;
  using caller_pool = ashlar::packed_pool<on_exhaustion>;
  using any_pool = std::variant<inside_pool, heap_pool, caller_pool>;

  [[nodiscard]] static any_pool open(std::size_t size, std::size_t alignment, UINT objects,
                                     CHAR* memory) noexcept {
    if (memory == nullptr) {
      const ashlar::block_layout block = layout(BlockSize(size), alignment);
      if (objects == 0)
        return any_pool(std::in_place_type<heap_pool>, block, ashlar::heap_blocks{},
                        ashlar::process_source{}, on_exhaustion{.heap_blocks = true});
      return any_pool(std::in_place_type<heap_pool>, block, ashlar::heap_pool{objects});
    }
    std::size_t bytes = 0;
    if (__builtin_mul_overflow(size, std::size_t{objects}, &bytes)) {
      ashlar_fault({ashlar::fault_kind::bad_argument, "Allocator", memory, size});
    }
    return any_pool(std::in_place_type<caller_pool>, layout(size, alignment),
                    std::span(reinterpret_cast<std::byte*>(memory), bytes));
  }

  /// Returns: use(the pool). Not std::visit, which may throw: the pool is never without a value.
  template <class AnyPool, class Use>
  static auto with_pool(AnyPool& pool,
                        Use use) noexcept(noexcept(use(*std::get_if<heap_pool>(&pool))))
      -> decltype(use(*std::get_if<heap_pool>(&pool))) {
    if (auto* const p = std::get_if<heap_pool>(&pool)) return use(*p);
    if (auto* const p = std::get_if<caller_pool>(&pool)) return use(*p);
    return use(*std::get_if<inside_pool>(&pool));
  }
  template <class Call>
  [[nodiscard]] void* AllocateAs(std::size_t size, std::size_t alignment, Call call) {
    require_fit(size, alignment, call);
    return with_pool(pool_, [](auto& pool) { return pool.allocate(); });
  }
  template <class Call>
  void require_fit(std::size_t size, std::size_t alignment, Call call) const noexcept {
    if (size > size_) [[unlikely]]
      fault(ashlar::fault_kind::wrong_size, call, size);
    if (alignment > 1 &&
        alignment > with_pool(pool_, [](auto& p) noexcept { return p.alignment(); })) {
      fault(ashlar::fault_kind::wrong_size, call);
    }
  }
  [[nodiscard]] ashlar::pool_stats stats() const noexcept {
    return with_pool(pool_, [](auto& pool) noexcept { return pool.stats(); });
  }
  [[noreturn]] ASHLAR_COLD void fault(ashlar::fault_kind kind, const char* call,
                                      std::size_t needed = 0) const noexcept {
    ashlar_fault(
        {.kind = kind, .call = call, .block_size = size_, .pool = name_, .needed = needed});
  }

  const CHAR* name_ = nullptr;
  std::size_t size_;
  any_pool pool_;
};

/// An Allocator with room for `Objects` objects of type T inside: bytes, not pointers, and four
/// more for each object, so that a double free is found. Its size:
///   sizeof(AllocatorPool<T, n>) <= n * (BlockSize(sizeof(T)) + 4) + sizeof(Allocator)
///                                  + 3 alignments
template <class T, UINT Objects>
class AllocatorPool : public Allocator {
  static_assert(Objects > 0, "a pool without a block");
  static constexpr ashlar::block_layout block = layout(BlockSize(sizeof(T)), alignof(T));

 public:
  AllocatorPool() noexcept : Allocator(sizeof(T), std::span(storage_), alignof(T)) {}

 private:
  alignas(block.alignment) std::byte storage_[inside_pool::storage_bytes(block, Objects)];
};

// In a class: its objects come from the class's own Allocator. Single objects, nothrow and
// over-aligned ones too (a nothrow new returns null without asking the new-handler); arrays, as in
// the classic, from the global heap. Members that follow are private.
#define DECLARE_ALLOCATOR                                                                       \
 public:                                                                                        \
  static void* operator new(std::size_t size) { return _allocator.AllocateOrThrow(size); }      \
  static void* operator new(std::size_t size, std::align_val_t alignment) {                     \
    return _allocator.AllocateOrThrow(size, static_cast<std::size_t>(alignment));               \
  }                                                                                             \
  static void* operator new(std::size_t size, const std::nothrow_t&) noexcept {                 \
    return _allocator.TryAllocate(size);                                                        \
  }                                                                                             \
  static void* operator new(std::size_t size, std::align_val_t alignment,                       \
                            const std::nothrow_t&) noexcept {                                   \
    return _allocator.TryAllocate(size, static_cast<std::size_t>(alignment));                   \
  }                                                                                             \
  static void* operator new(std::size_t, void* where) noexcept { return where; }                \
  static void operator delete(void* object) noexcept {                                          \
    _allocator.DeallocateAs(object, ::ashlar::call_name<"delete">{});                           \
  }                                                                                             \
  static void operator delete(void* object, std::align_val_t) noexcept {                        \
    _allocator.DeallocateAs(object, ::ashlar::call_name<"delete">{});                           \
  }                                                                                             \
  static void operator delete(void* object, const std::nothrow_t&) noexcept {                   \
    _allocator.DeallocateAs(object, ::ashlar::call_name<"delete">{});                           \
  }                                                                                             \
  static void operator delete(void* object, std::align_val_t, const std::nothrow_t&) noexcept { \
    _allocator.DeallocateAs(object, ::ashlar::call_name<"delete">{});                           \
  }                                                                                             \
  static void operator delete(void*, void*) noexcept {}                                         \
                                                                                                \
 private:                                                                                       \
  static Allocator _allocator;

// In one source file. The mode is chosen as for Allocator's constructor: objects == 0, heap blocks;
// memory == 0, heap pool. The pool is built when static objects are: an object made before by
// another file's static constructor is too early, as in the classic.
#define IMPLEMENT_ALLOCATOR(class_name, objects, memory)                             \
  Allocator class_name::_allocator(sizeof(class_name), objects, memory, #class_name, \
                                   alignof(class_name));
