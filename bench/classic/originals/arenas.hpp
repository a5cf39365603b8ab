// bench/classic/originals/arenas.hpp: the two algorithms of "Arena-Based Memory Management and
// Other Optimizations", written from that chapter's description, to measure against.
//
//   size_based_arena      malloc gives room for N objects; an allocation takes the next room under
//                         a mutex; freeing does nothing. The chapter's faster form: a global
//                         object, so no look at whether it was made
//   chunk_sized_allocator malloc gives N blocks for each size, rounded up to a power of two. A
//                         request takes the next block of the first size that is larger, under one
//                         mutex for all sizes; what has no block is operator new's. Freeing walks
//                         through the sizes to see whose block it is, and uses none of them again
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdlib>
#include <functional>
#include <mutex>
#include <new>

namespace originals {

template <class T, std::size_t N>
class size_based_arena {
 public:
  size_based_arena(const size_based_arena&) = delete;
  size_based_arena& operator=(const size_based_arena&) = delete;
  ~size_based_arena() { std::free(begin_); }

  [[nodiscard]] static size_based_arena& get() noexcept { return singleton; }

  [[nodiscard]] void* allocate_one() {
    const std::lock_guard guard(lock_);
    char* const p = next_;
    next_ += sizeof(T);
    return p;
  }
  static void deallocate_one(void*) noexcept {}

 private:
  size_based_arena() : begin_(static_cast<char*>(std::malloc(N * sizeof(T)))), next_(begin_) {}

  static size_based_arena singleton;
  std::mutex lock_;
  char* begin_;
  char* next_;
};
template <class T, std::size_t N>
size_based_arena<T, N> size_based_arena<T, N>::singleton;

template <std::size_t N, std::size_t... Sizes>
class chunk_sized_allocator {
 public:
  chunk_sized_allocator() {
    for (std::size_t i = 0; i < sizes.size(); ++i)
      blocks_[i] = static_cast<char*>(std::malloc(N * sizes[i]));
  }
  chunk_sized_allocator(const chunk_sized_allocator&) = delete;
  chunk_sized_allocator& operator=(const chunk_sized_allocator&) = delete;
  ~chunk_sized_allocator() {
    for (char* const p : blocks_) std::free(p);
  }

  [[nodiscard]] void* allocate(std::size_t n) {
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      if (n >= sizes[i]) continue;
      const std::lock_guard guard(lock_);
      if (used_[i] < N) return blocks_[i] + used_[i]++ * sizes[i];
    }
    return ::operator new(n);
  }
  void deallocate(void* p) noexcept {
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      if (std::greater_equal<>{}(p, static_cast<void*>(blocks_[i])) &&
          std::less<>{}(p, static_cast<void*>(blocks_[i] + N * sizes[i])))
        return;
    }
    ::operator delete(p);
  }

 private:
  static constexpr std::array<std::size_t, sizeof...(Sizes)> sizes{std::bit_ceil(Sizes)...};

  std::mutex lock_;
  std::array<char*, sizes.size()> blocks_{};
  std::array<std::size_t, sizes.size()> used_{};
};

}  // namespace originals

template <std::size_t N, std::size_t... Sizes>
[[nodiscard]] void* operator new(std::size_t n,
                                 originals::chunk_sized_allocator<N, Sizes...>& chunks) {
  return chunks.allocate(n);
}
template <std::size_t N, std::size_t... Sizes>
void operator delete(void* p, originals::chunk_sized_allocator<N, Sizes...>& chunks) noexcept {
  chunks.deallocate(p);
}
