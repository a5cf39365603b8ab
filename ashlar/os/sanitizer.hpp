// os/sanitizer.hpp: a sanitizer in the process, of which this library was built without knowing.
// Layer: os. For the library's own source files: the program's are compiled with the sanitizer.
//
// A program built with AddressSanitizer or ThreadSanitizer usually links the library as it was
// installed. Then the process heap is the sanitizer's malloc, which finds overflows, uses after
// free, leaks and races of blocks with its own reports; and ThreadSanitizer is told of the locks
// that it cannot see. All references are weak: without a sanitizer they are null, and each use is a
// compare. In a library that is built with the sanitizer all of this is off, and the heap itself is
// watched.
#pragma once

#include <cstddef>

#include <ashlar/core/config.hpp>
#include <ashlar/os/mutex.hpp>

extern "C" {
// Every sanitizer's runtime that replaces malloc has these names for its own functions.
[[gnu::weak]] void* __interceptor_malloc(std::size_t);
[[gnu::weak]] void* __interceptor_calloc(std::size_t, std::size_t);
[[gnu::weak]] void* __interceptor_realloc(void*, std::size_t);
[[gnu::weak]] void* __interceptor_memalign(std::size_t, std::size_t);
[[gnu::weak]] void __interceptor_free(void*);
[[gnu::weak]] std::size_t __interceptor_malloc_usable_size(void*);
[[gnu::weak]] int __sanitizer_get_ownership(const volatile void*);

[[gnu::weak]] void __tsan_acquire(void*);
[[gnu::weak]] void __tsan_release(void*);
}

namespace ashlar::os {

/// Whether a name that nobody defines is null, if it is weak.
#if defined(__ELF__)
inline constexpr bool has_weak_references = true;
#else
inline constexpr bool has_weak_references = false;
#endif

/// Returns: whether a sanitizer that replaces malloc is in the process, and this library was built
/// without one.
[[nodiscard]] inline bool a_sanitizer_is_there() noexcept {
  if constexpr (is_sanitized || !has_weak_references) return false;
  return &__interceptor_malloc != nullptr;
}

/// Returns: whether the process heap is the sanitizer's malloc. Never in the drop-in library, which
/// is a malloc itself (runtime/drop_in.hpp): what it refers to, the loader looks for at every
/// start.
[[nodiscard]] inline bool heap_is_the_sanitizers() noexcept {
  if constexpr (is_drop_in) return false;
  return a_sanitizer_is_there();
}

/// The sanitizer's malloc. Requires: it is there.
namespace sanitizer_heap {
[[nodiscard]] inline void* allocate([[maybe_unused]] std::size_t size,
                                    [[maybe_unused]] std::size_t alignment,
                                    [[maybe_unused]] bool zeroed) noexcept {
  if constexpr (has_weak_references)
    return zeroed          ? __interceptor_calloc(1, size)
           : alignment > 1 ? __interceptor_memalign(alignment, size)
                           : __interceptor_malloc(size);
  return nullptr;
}
[[nodiscard]] inline void* reallocate([[maybe_unused]] void* block,
                                      [[maybe_unused]] std::size_t size) noexcept {
  if constexpr (has_weak_references) return __interceptor_realloc(block, size);
  return nullptr;
}
inline void deallocate([[maybe_unused]] void* block) noexcept {
  if constexpr (has_weak_references) __interceptor_free(block);
}
[[nodiscard]] inline std::size_t usable_size([[maybe_unused]] const void* block) noexcept {
  if constexpr (has_weak_references)
    return __interceptor_malloc_usable_size(const_cast<void*>(block));
  return 0;
}
/// Returns: whether `block` is in use there. Of another one usable_size ends the process.
[[nodiscard]] inline bool owns([[maybe_unused]] const void* block) noexcept {
  if constexpr (has_weak_references)
    return &__sanitizer_get_ownership == nullptr || __sanitizer_get_ownership(block) != 0;
  return false;
}
}  // namespace sanitizer_heap

/// Effects: what other threads did before they told that they released `what` was before this.
inline void tell_acquired(const void* what) noexcept {
  if constexpr (!is_sanitized && !is_drop_in && has_weak_references)
    if (&__tsan_acquire != nullptr) [[unlikely]]
      __tsan_acquire(const_cast<void*>(what));
}
inline void tell_released(const void* what) noexcept {
  if constexpr (!is_sanitized && !is_drop_in && has_weak_references)
    if (&__tsan_release != nullptr) [[unlikely]]
      __tsan_release(const_cast<void*>(what));
}

/// A mutex that is locked and unlocked in the library's source files only, where ThreadSanitizer
/// does not see it: for data that a program reaches, such as the blocks of its heaps.
class told_mutex {
 public:
  constexpr told_mutex() noexcept = default;

  void lock() noexcept {
    mutex_.lock();
    tell_acquired(this);
  }
  [[nodiscard]] bool try_lock() noexcept {
    const bool locked = mutex_.try_lock();
    if (locked) tell_acquired(this);
    return locked;
  }
  void unlock() noexcept {
    tell_released(this);
    mutex_.unlock();
  }

 private:
  mutex mutex_;
};

}  // namespace ashlar::os
