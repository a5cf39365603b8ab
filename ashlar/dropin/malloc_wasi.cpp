// dropin/malloc_wasi.cpp: the malloc family of WebAssembly programs with WASI, one thread each.
// Layer: dropin. libashlar-malloc.a of such a program has this, the memory
// (os/system_space_wasi.cpp) and nothing else.
//
// The heap is the engine alone: no runtime, no checks but its own, no settings. The faults that it
// finds end the program with a line. Names and rules are those of malloc_family.cpp.
#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <unistd.h>

#include <ashlar/core/bits.hpp>
#include <ashlar/core/fault.hpp>
#include <ashlar/core/line_writer.hpp>
#include <ashlar/dropin/export.hpp>
#include <ashlar/heap/basic_heap.hpp>
#include <ashlar/heap/copied_block.hpp>
#include <ashlar/heap/interface_hits.hpp>
#include <ashlar/os/system_space.hpp>

using namespace ashlar;

namespace {

/// Memory that is reserved is taken from the program's limit, whether it is used or not.
class space : public os::system_space {
 public:
  static constexpr std::size_t range_bytes_min = 64 * 1024;

  [[nodiscard]] static void* reserve(std::size_t bytes) noexcept {
    return noted(system_space::reserve(bytes), bytes);
  }
  [[nodiscard]] static void* reserve_zeros(std::size_t bytes) noexcept {
    return noted(system_space::reserve_zeros(bytes), bytes);
  }
  static void release(void* p, std::size_t bytes) noexcept {
    taken_ -= bytes;
    system_space::release(p, bytes);
  }
  /// The first range takes a quarter of this, a later one an eighth (range_set.hpp): 16 MiB, since
  /// frees hit in the first one alone, and then half of what there is.
  [[nodiscard]] static std::size_t limit() noexcept {
    constexpr std::size_t most = SIZE_MAX / 4;
    return std::max(std::size_t{64} << 20, 4 * std::min(taken_, most));
  }

 private:
  static void* noted(void* p, std::size_t bytes) noexcept {
    if (p != nullptr) taken_ += bytes;
    return p;
  }
  static constinit std::size_t taken_;
};
constinit std::size_t space::taken_ = 0;

struct one_thread {
  constexpr void lock() noexcept {}
  constexpr bool try_lock() noexcept { return true; }
  constexpr void unlock() noexcept {}
};

struct config {
  using space = ::space;
  using mutex = one_thread;
};
using heap = basic_heap<config>;
using classes = heap::classes;
using hits = detail::interface_hits<classes>;

constinit heap the_heap;
constinit heap::cache* own = nullptr;
constinit const detail::cache_tops no_tops = detail::tops_without_room();
constinit detail::cache_tops* tops = const_cast<detail::cache_tops*>(&no_tops);

/// Returns: whether the heap is there, with its cache if there is memory for one.
bool start() noexcept {
  if (own != nullptr) return true;
  if (!the_heap.has_started()) {
    heap_bounds bounds;
    // What is reserved counts, and no other thread refills from a stash.
    bounds.stash_bytes = heap_bounds::stash_bytes_min;
    the_heap.set_bounds(bounds);
    the_heap.set_purge_policy({.delay_ms = -1});
  }
  own = the_heap.attach();
  if (own != nullptr) tops = &own->tops;
  return own != nullptr || the_heap.start();
}

/// Returns: a block, zero if it is to be `zeroed`; null when out of memory.
ASHLAR_COLD void* take(std::size_t size, std::size_t alignment, bool zeroed = false) noexcept {
  const bool as_run = zeroed && size > detail::shared_slab_block_max;
  detail::new_block made;
  if (start()) {
    const class_index c = as_run ? class_index{0} : classes::class_for(size, alignment);
    made = c == 0 ? the_heap.allocate_large(size, alignment, false, own)
                  : detail::new_block{own != nullptr ? the_heap.allocate_class(*own, c)
                                                     : the_heap.allocate_uncached(c)};
  }
  if (made.address == nullptr) errno = ENOMEM;
  return zeroed ? made.cleared(size) : made.address;
}

ASHLAR_COLD void give(void* block, const char* call) noexcept {
  if (block == nullptr) return;
  if (own != nullptr)
    the_heap.deallocate_slow(*own, block, call);
  else
    the_heap.deallocate_uncached(block, call);
}

ASHLAR_COLD void* take_at_least_aligned(std::size_t alignment, std::size_t size) noexcept {
  if (!is_power_of_two(alignment)) {
    if (alignment > ~(SIZE_MAX >> 1)) {
      errno = EINVAL;
      return nullptr;
    }
    alignment = std::bit_ceil(alignment);
  }
  return take(size, alignment);
}

}  // namespace

extern "C" {

ASHLAR_EXPORT void* malloc(std::size_t size) {
  void* const block = hits::try_allocate(*tops, size);
  return block != nullptr ? block : take(size, 1);
}
ASHLAR_EXPORT void free(void* block) {
  if (!hits::try_deallocate(*tops, block)) give(block, "free");
}
ASHLAR_EXPORT void* calloc(std::size_t count, std::size_t size) {
  std::size_t bytes = 0;
  if (__builtin_mul_overflow(count, size, &bytes)) {
    errno = ENOMEM;
    return nullptr;
  }
  if (bytes <= detail::shared_slab_block_max)
    if (void* const block = hits::try_allocate(*tops, bytes); block != nullptr)
      return std::memset(block, 0, bytes);
  return take(bytes, 1, true);
}
ASHLAR_EXPORT void* realloc(void* block, std::size_t size) {
  if (hits::stays(*tops, block, size)) return block;
  if (void* const moved = hits::try_move(*tops, block, size); moved != nullptr) return moved;
  if (block == nullptr) return malloc(size);
  if (size == 0) {
    free(block);
    return nullptr;
  }
  if (void* const now = the_heap.reallocate(block, size, "realloc"); now != nullptr) return now;
  return detail::reallocate_by_copy(
      block, the_heap.usable_size(block, "realloc"), size, [=] { return malloc(size); },
      [](void* old) { free(old); });
}
ASHLAR_EXPORT void* reallocarray(void* block, std::size_t count, std::size_t size) {
  std::size_t bytes = 0;
  if (!__builtin_mul_overflow(count, size, &bytes)) return realloc(block, bytes);
  errno = ENOMEM;
  return nullptr;
}
ASHLAR_EXPORT void* aligned_alloc(std::size_t alignment, std::size_t size) {
  void* const block = hits::try_allocate_aligned(*tops, size, alignment);
  return block != nullptr ? block : take_at_least_aligned(alignment, size);
}
ASHLAR_EXPORT void* memalign(std::size_t alignment, std::size_t size) {
  return aligned_alloc(alignment, size);
}
ASHLAR_EXPORT int posix_memalign(void** result, std::size_t alignment, std::size_t size) {
  if (!is_power_of_two(alignment) || alignment % sizeof(void*) != 0) return EINVAL;
  const int saved = errno;
  void* const block = aligned_alloc(alignment, size);
  errno = saved;
  if (block == nullptr) return ENOMEM;
  *result = block;
  return 0;
}
ASHLAR_EXPORT std::size_t malloc_usable_size(void* block) {
  return block == nullptr ? 0 : the_heap.usable_size(block, "malloc_usable_size");
}

void ashlar_fault(const fault& what) noexcept {
  line_writer<256> line;
  line << "ashlar: " << (what.call != nullptr ? what.call : "?") << ": " << describe(what.kind)
       << " (address " << what.address << ")";
  line.end_line();
  static_cast<void>(::write(STDERR_FILENO, line.data(), line.size()));
  __builtin_trap();
}
void ashlar_misuse(const fault& what) noexcept { ashlar_fault(what); }

}  // extern "C"
