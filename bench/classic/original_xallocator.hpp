// bench/classic/original_xallocator.hpp: the algorithm of "Replace malloc/free with a Fast Fixed
// Block Memory Allocator", written from that document's description, to measure against. Not for
// programs: the document's faults are in it (docs/classic.md lists them).
//
// As described: an allocator for each block size recycles its blocks on a free list. One mutex
// guards all of them. A block begins with a pointer to its allocator, so a request of n bytes needs
// a block of n + 8. Block sizes are powers of two, and in static pools 396 and 768 as well.
//   heap_blocks   an empty free list takes one block from operator new; at most 15 sizes
//   static_pools  twelve sizes with Blocks blocks each, in static memory
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <new>

namespace originals {

/// The blocks of one size. Not thread-safe, as in the document: xallocator has the lock.
class block_list {
 public:
  constexpr block_list() noexcept = default;
  explicit block_list(std::size_t size) noexcept : size_(size) {}
  /// With `count` blocks at `pool` that are used before anything else would be.
  block_list(std::size_t size, std::byte* pool, std::size_t count) noexcept
      : size_(size), pool_(pool), left_(count), bounded_(true) {}

  [[nodiscard]] std::size_t size() const noexcept { return size_; }

  void* allocate() {
    void* p = head_;
    if (p != nullptr) {
      head_ = head_->next;
    } else {
      ++blocks_made_;
      p = fresh();
    }
    ++in_use_;
    ++allocations_;
    return p;
  }
  void deallocate(void* p) noexcept {
    head_ = ::new (p) link{head_};
    --in_use_;
    ++frees_;
  }

 private:
  struct link {
    link* next;
  };
  void* fresh() {
    if (!bounded_) return ::operator new(size_);
    if (left_ == 0) throw std::bad_alloc();
    --left_;
    void* const p = pool_;
    pool_ += size_;
    return p;
  }

  link* head_ = nullptr;
  std::size_t size_ = 0;
  std::byte* pool_ = nullptr;
  std::size_t left_ = 0;
  bool bounded_ = false;
  std::uint32_t blocks_made_ = 0;
  std::uint32_t in_use_ = 0;
  std::uint32_t allocations_ = 0;
  std::uint32_t frees_ = 0;
};

/// What both modes share: the lock, and the pointer in front of each block.
template <class Lists>
class xallocator {
 public:
  [[nodiscard, gnu::noinline]] void* allocate(std::size_t size) {
    block_list* list = nullptr;
    void* block = nullptr;
    {
      const std::lock_guard guard(lock_);
      list = &lists_.of(size + sizeof(block_list*));
      block = list->allocate();
    }
    return ::new (block) block_list*(list) + 1;
  }
  [[gnu::noinline]] void deallocate(void* p) noexcept {
    if (p == nullptr) return;
    block_list** const head = static_cast<block_list**>(p) - 1;
    block_list* const list = *head;
    const std::lock_guard guard(lock_);
    list->deallocate(head);
  }

 private:
  std::mutex lock_;
  Lists lists_;
};

/// The sizes that were asked for so far, found by a walk.
class heap_blocks {
 public:
  [[nodiscard]] block_list& of(std::size_t bytes) {
    const std::size_t size = std::bit_ceil(bytes);
    for (std::size_t i = 0; i < count_; ++i)
      if (lists_[i].size() == size) return lists_[i];
    if (count_ == lists_.size()) throw std::bad_alloc();
    return lists_[count_++] = block_list(size);
  }

 private:
  std::array<block_list, 15> lists_;
  std::size_t count_ = 0;
};

/// Twelve sizes with `Blocks` blocks each; no heap.
template <std::size_t Blocks>
class static_pools {
 public:
  static_pools() noexcept {
    std::byte* at = memory_;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      lists_[i] = block_list(sizes[i], at, Blocks);
      at += sizes[i] * Blocks;
    }
  }
  [[nodiscard]] block_list& of(std::size_t bytes) {
    const std::size_t size = size_for(bytes);
    for (block_list& list : lists_)
      if (list.size() == size) return list;
    throw std::bad_alloc();
  }

 private:
  static constexpr std::array<std::size_t, 12> sizes{8,   16,  32,  64,   128,  256,
                                                     396, 512, 768, 1024, 2048, 4096};
  static constexpr std::size_t total = [] {
    std::size_t sum = 0;
    for (const std::size_t size : sizes) sum += size;
    return sum;
  }();
  [[nodiscard]] static std::size_t size_for(std::size_t bytes) noexcept {
    if (bytes > 256 && bytes <= 396) return 396;
    if (bytes > 512 && bytes <= 768) return 768;
    return std::bit_ceil(bytes);
  }

  std::array<block_list, sizes.size()> lists_;
  alignas(std::max_align_t) std::byte memory_[total * Blocks];
};

/// The program's allocator in heap-blocks mode, behind functions that are not inlined, as C's are.
inline xallocator<heap_blocks> the_heap_blocks;
[[nodiscard]] inline void* xmalloc(std::size_t size) { return the_heap_blocks.allocate(size); }
inline void xfree(void* p) noexcept { the_heap_blocks.deallocate(p); }

}  // namespace originals
