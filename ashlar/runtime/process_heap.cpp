// runtime/process_heap.cpp: the process heap's miss paths.
// Layer: runtime.
//
//   a call --> whose is the block?   a sanitizer's, the reserve's or the heap's
//          --> a test scope?         test_scopes.hpp counts the call, then it comes here again
//          --> sampled?              sampling.hpp: a call that only comes by because of it ends there
//          --> hardened?             process_hardened.hpp has it then, gate and all
//          --> the gate              closed while another thread forks: the reserve serves
//          --> what looks at it      nothing (plain_calls), or whatever is on (watched_calls)
//
// Each question is asked once; what is below does not ask it again.
#include <cstring>

#include <ashlar/core/address.hpp>
#include <ashlar/core/bits.hpp>
#include <ashlar/core/fault.hpp>
#include <ashlar/heap/copied_block.hpp>
#include <ashlar/os/sanitizer.hpp>
#include <ashlar/runtime/background.hpp>
#include <ashlar/runtime/control.hpp>
#include <ashlar/runtime/process_hardened.hpp>
#include <ashlar/runtime/process_heap.hpp>
#include <ashlar/runtime/process_watch.hpp>
#include <ashlar/runtime/sampling.hpp>
#include <ashlar/runtime/test_scopes.hpp>

namespace ashlar::runtime {

namespace {

/// Returns: whether `block` is the reserve's. Of a block with a class in the first range that is told at once.
bool is_of_reserve(const void* block) noexcept {
  return tops().tables.class_of(block) == 0 && reserve.contains(block);
}

/// Returns: a block that no hit path could give; zero if it is to be `zeroed`.
void* allocate_missed(std::size_t size, std::size_t alignment, bool zeroed,
                      const char* call) noexcept {
  if (self.own != nullptr) {  // no lock is held here
    the_background.note_allocation();
    the_control.note_allocation();
  }
  const visit here;
  bool is_zero = zeroed;
  void* block = nullptr;
  if (here.is_inside()) [[likely]] {
    if (!is_plain()) [[unlikely]]
      return watched_calls().take(size, alignment, zeroed, told_as(call));
    block = plain_calls::take(size, alignment, is_zero);
  } else {
    block = reserve.allocate(size, alignment);
    is_zero = false;
  }
  return zeroed && !is_zero && block != nullptr ? std::memset(block, 0, size) : block;
}

/// Effects: takes a block back, not null, that no hit path could take.
ASHLAR_MISS void deallocate_missed(void* block, const char* call) noexcept {
  if (is_of_reserve(block)) [[unlikely]]
    return reserve.free(block, call);
  const visit here;
  if (!here.is_inside()) [[unlikely]] {
    // In a child whose heap is lost there will be no later.
    if (!gate.is_lost()) reserve.free_later(block, told_as(call));
  } else if (is_plain(block)) [[likely]] {
    plain_calls::give(block, call);
  } else {
    watched_calls().give(block, told_as(call));
  }
}

/// Returns: a block that the caller's hit, if there was one, could not give. Requires: no test scope counts.
void* allocate_uncounted(std::size_t size, std::size_t alignment, bool zeroed,
                         const char* call) noexcept {
  // Behind another allocator's calls, as a recorder's, this is the process's first: what follows depends on its
  // settings.
  if (self.own == nullptr) [[unlikely]] {
    const visit here;
    if (here.is_inside()) static_cast<void>(own_cache());
  }
  if constexpr (is_drop_in)
    if (is_sampling()) return allocate_sampling(size, alignment, zeroed, call);
  return take_unsampled(size, alignment, zeroed, call);
}

/// Returns: how many bytes a block serves that a request for `size` gets: requests that get the same
/// are the same to a sized free.
std::size_t bytes_served(std::size_t size, std::size_t alignment) noexcept {
  const class_index c = process_classes::class_for(size, alignment);
  return c != 0 ? process_heap::classes::block_size(c)
                : align_up(size == 0 ? 1 : size, detail::page_size);
}

/// Returns: whether a request for `size` gets a block of `have` bytes.
bool is_served_by(std::size_t size, std::size_t alignment, std::size_t have) noexcept {
  // A run that came zeroed, or was cut to its size in place, has no class, though its size has one.
  const bool is_run =
      size > detail::shared_slab_block_max && have == align_up(size, detail::page_size);
  return is_run || have == bytes_served(size, alignment);
}

/// Effects: if allocations are sampled, a block that was resized without one is noted. Returns: it, or what
/// reallocate returns in its place.
void* resized(void* block, std::size_t size) noexcept {
  if constexpr (is_drop_in)
    if (is_sampling() && block != nullptr && block != detail::no_block()) note_resized(block, size);
  return block;
}

/// As reallocate, by allocating and freeing anew.
void* reallocate_by_calls(void* block, std::size_t have, std::size_t size,
                          const char* call) noexcept {
  return detail::reallocate_by_copy(
      block, have, size, [&] { return allocate(size, call); },
      [&](void* old) { deallocate(old, call); });
}

}  // namespace

void* plain_calls::take(std::size_t size, std::size_t alignment, bool& zeroed) noexcept {
  // Above this size, a run that is known to be zero is worth more than a block of the cache.
  const bool as_run = zeroed && size > detail::shared_slab_block_max;
  if (!the_heap.start()) return nullptr;  // its classes stand from then on
  const class_index c = as_run ? class_index{0} : process_classes::class_for(size, alignment);
  if (c == 0) return the_heap.allocate_large(size, alignment, zeroed, self.own);
  zeroed = false;
  process_heap::cache* const own = own_cache();
  return own != nullptr ? the_heap.allocate_class(*own, c) : the_heap.allocate_uncached(c);
}

void plain_calls::give(void* block, const char* call) noexcept {
  process_heap::cache* const own = own_cache_to_free();
  if (own != nullptr)
    the_heap.deallocate_slow(*own, block, call);
  else
    the_heap.deallocate_uncached(block, call);
  the_background.note_free();
}

void* take_unsampled(std::size_t size, std::size_t alignment, bool zeroed,
                     const char* call) noexcept {
  if (is_hardened()) return hardened_allocate(size, alignment, zeroed, call);
  return allocate_missed(size, alignment, zeroed, call);
}

// Beside a sanitizer no thread ever has a cache: every call misses, and the sanitizer's malloc
// serves it.

void* allocate_slow(std::size_t size, const char* call) noexcept {
  if constexpr (is_drop_in)
    if (void* const block = hit_in_gap(size); block != nullptr) return block;
  if (os::heap_is_the_sanitizers()) [[unlikely]]
    return os::sanitizer_heap::allocate(size);
  if (has_scopes()) [[unlikely]]
    return counted_allocation(size, call, [=] { return allocate_slow(size, call); });
  return allocate_uncounted(size, 1, false, call);
}

void* allocate_aligned_slow(std::size_t size, std::size_t alignment, const char* call) noexcept {
  if constexpr (is_drop_in)
    if (void* const block = hit_in_gap(size, alignment); block != nullptr) return block;
  if (os::heap_is_the_sanitizers()) [[unlikely]]
    return os::sanitizer_heap::allocate_aligned(size, alignment);
  if (has_scopes()) [[unlikely]]
    return counted_allocation(size, call,
                              [=] { return allocate_aligned_slow(size, alignment, call); });
  return allocate_uncounted(size, alignment, false, call);
}

void* allocate_aligned(std::size_t size, std::size_t alignment, const char* call) noexcept {
  return alignment <= block_granule ? allocate(size, call)
                                    : allocate_aligned_slow(size, alignment, call);
}

void* allocate_zeroed(std::size_t size, const char* call) noexcept {
  if (os::heap_is_the_sanitizers()) [[unlikely]]
    return os::sanitizer_heap::allocate_zeroed(size);
  if (has_scopes()) [[unlikely]]
    return counted_allocation(size, call, [=] { return allocate_zeroed(size, call); });
  if (is_hardened() || size > detail::shared_slab_block_max)
    return allocate_uncounted(size, 1, true, call);
  void* const block = allocate_slow(size, call);
  return block == nullptr ? nullptr : std::memset(block, 0, size);
}

void deallocate_slow(void* block, const char* call) noexcept {
  if (block == nullptr) return;
  if (os::heap_is_the_sanitizers()) [[unlikely]]
    return os::sanitizer_heap::deallocate(block);
  if (has_scopes()) [[unlikely]]
    return counted_free(block, call, [=] { deallocate_slow(block, call); });
  if constexpr (is_drop_in)
    if (samples.may_contain(block)) [[unlikely]]
      end_sample(block);
  if (is_hardened()) return hardened_deallocate(block, call);
  deallocate_missed(block, call);
}

void deallocate_sized_slow(void* block, std::size_t size, std::size_t alignment,
                           const char* call) noexcept {
  if (block == nullptr) return;
  if (os::heap_is_the_sanitizers()) [[unlikely]]
    return os::sanitizer_heap::deallocate(block);
  {
    const look at;
    const bool of_reserve =
        is_of_reserve(block);  // asked first: what looks at blocks may be locked
    const std::size_t asked = is_hardened() ? hardened_size(block, call)
                              : of_reserve  ? detail::full_check::unknown
                                            : watched_calls().size_asked(block, call);
    if (asked == detail::full_check::none) return;
    const bool is_known = asked != detail::full_check::unknown;
    const std::size_t have = is_known     ? asked
                             : of_reserve ? reserve.usable_size(block, call)
                                          : the_heap.usable_size(block, call);
    const bool is_right = is_known ? bytes_served(have, alignment) == bytes_served(size, alignment)
                                   : is_served_by(size, alignment, have);
    if (!is_known && have == 0) return;  // no live block is there, as was told
    if (!is_right)
      return ashlar_misuse(
          {.kind = fault_kind::wrong_size, .call = call, .address = block, .block_size = have});
  }
  deallocate_slow(block, call);
}

void* reallocate(void* block, std::size_t size, const char* call) noexcept {
  if constexpr (is_drop_in)
    if (void* const now = resize_hit_in_gap(block, size); now != nullptr) return now;
  if (os::heap_is_the_sanitizers()) [[unlikely]]
    return os::sanitizer_heap::reallocate(block, size);
  if (has_scopes()) [[unlikely]]
    return counted_resize(block, size, call, [=] { return reallocate(block, size, call); });
  if constexpr (is_drop_in)
    if (is_sampling() || samples.may_contain(block)) [[unlikely]]
      return reallocate_sampling(block, size, call);
  return resize_unsampled(block, size, call);
}

void* resize_unsampled(void* block, std::size_t size, const char* call) noexcept {
  if (is_hardened()) return resized(hardened_reallocate(block, size, call), size);
  if (is_of_reserve(block)) {
    const std::size_t have = reserve.usable_size(block, call);
    return have != 0 ? reallocate_by_calls(block, have, size, call) : detail::no_block();
  }
  const look at;
  if (at.is_inside()) {
    const bool plain = is_plain(block);
    void* const now =
        plain ? the_heap.reallocate(block, size, call) : watched_calls().resize(block, size, call);
    the_background.note_free();  // it may have become shorter
    if (now != nullptr || !plain) return resized(now, size);
  }
  const std::size_t have = watched_calls().usable_size(block, call, false);
  return have != detail::full_check::none ? reallocate_by_calls(block, have, size, call)
                                          : detail::no_block();
}

std::size_t usable_size(const void* block, const char* call) noexcept {
  if (os::heap_is_the_sanitizers()) [[unlikely]]
    return os::sanitizer_heap::usable_size(block);
  if (is_hardened()) return hardened_size(block, call);
  if (is_of_reserve(block)) return reserve.usable_size(block, call);
  const look at;
  if (is_plain(block)) return the_heap.usable_size(block, call);
  const std::size_t usable = watched_calls().usable_size(block, call, at.is_inside());
  return usable != detail::full_check::none ? usable : 0;
}

}  // namespace ashlar::runtime
