// bench/classic/originals/pool_allocator.hpp: the algorithm of "An Allocator with Memory Pool",
// written from that document's description, to measure against.
//
// As described (it follows SGI's): free lists of blocks, 8 bytes apart up to MaxBytes. An empty
// list gets 50 blocks from a rest of memory. When the rest has not even one block, it is filed, and
// malloc gives 80 times as much as was asked for and a sixteenth of all that the heap gave before.
// Larger requests are malloc's. All memory stays. No lock: one caller at a time. Each element type
// has lists of its own, since they are static members of the allocator template.
#pragma once

#include <cstddef>
#include <cstdlib>

namespace originals {

template <class T, std::size_t MaxBytes = 128>
class pool_allocator {
 public:
  using value_type = T;
  template <class U>
  struct rebind {
    using other = pool_allocator<U, MaxBytes>;
  };

  constexpr pool_allocator() noexcept = default;
  template <class U>
  constexpr pool_allocator(const pool_allocator<U, MaxBytes>&) noexcept {}  // NOLINT

  [[nodiscard]] T* allocate(std::size_t n) {
    const std::size_t bytes = n * sizeof(T);
    if (bytes > MaxBytes) return static_cast<T*>(std::malloc(bytes));
    node*& list = list_of(bytes);
    node* const first = list;
    if (first == nullptr) return static_cast<T*>(refill(rounded(bytes)));
    list = first->next;
    return reinterpret_cast<T*>(first);
  }
  void deallocate(T* p, std::size_t n) noexcept {
    const std::size_t bytes = n * sizeof(T);
    if (bytes > MaxBytes) return std::free(p);
    file(p, bytes);
  }

  template <class U>
  friend constexpr bool operator==(const pool_allocator&,
                                   const pool_allocator<U, MaxBytes>&) noexcept {
    return true;
  }

 private:
  static constexpr std::size_t step = 8;
  struct node {
    node* next;
  };
  [[nodiscard]] static constexpr std::size_t rounded(std::size_t bytes) noexcept {
    return (bytes + step - 1) & ~(step - 1);
  }
  [[nodiscard]] static node*& list_of(std::size_t bytes) noexcept {
    return lists[(bytes + step - 1) / step - 1];
  }
  static void file(void* p, std::size_t bytes) noexcept {
    node*& list = list_of(bytes);
    node* const block = static_cast<node*>(p);
    block->next = list;
    list = block;
  }

  /// Returns: a block; the others of its batch are on their list.
  static void* refill(std::size_t bytes) noexcept {
    std::size_t count = 50;
    char* const batch = carve(bytes, count);
    if (batch == nullptr || count == 1) return batch;
    node** link = &list_of(bytes);
    for (std::size_t i = 1; i < count; ++i) {
      node* const block = reinterpret_cast<node*>(batch + i * bytes);
      *link = block;
      link = &block->next;
    }
    *link = nullptr;
    return batch;
  }
  /// Returns: `count` blocks side by side; `count` is what the rest had room for, at least one.
  static char* carve(std::size_t bytes, std::size_t& count) noexcept {
    const auto left = static_cast<std::size_t>(rest_end - rest);
    if (left < bytes) {
      const std::size_t wanted = 80 * bytes * count + rounded(heap_bytes >> 4);
      if (left != 0) file(rest, left);
      rest = static_cast<char*>(std::malloc(wanted));
      if (rest == nullptr) return carve_from_larger(bytes, count);
      heap_bytes += wanted;
      rest_end = rest + wanted;
      return carve(bytes, count);
    }
    if (left < bytes * count) count = left / bytes;
    char* const first = rest;
    rest += bytes * count;
    return first;
  }
  static char* carve_from_larger(std::size_t bytes, std::size_t& count) noexcept {
    for (std::size_t size = bytes; size < MaxBytes; size += step) {
      node*& list = list_of(size);
      if (list == nullptr) continue;
      rest = reinterpret_cast<char*>(list);
      list = list->next;
      rest_end = rest + size;
      return carve(bytes, count);
    }
    rest_end = nullptr;
    return nullptr;
  }

  static inline node* lists[MaxBytes / step];
  static inline char* rest = nullptr;
  static inline char* rest_end = nullptr;
  static inline std::size_t heap_bytes = 0;
};

}  // namespace originals
