// runtime/process_heap.cpp: the process heap's miss paths: the rows of the table in front.hpp.
// Layer: runtime.

#include <ashlar/core/address.hpp>
#include <ashlar/core/bits.hpp>
#include <ashlar/core/fault.hpp>
#include <ashlar/heap/copied_block.hpp>
#include <ashlar/runtime/background.hpp>
#include <ashlar/runtime/control.hpp>
#include <ashlar/runtime/front.hpp>
#include <ashlar/runtime/memory_limit.hpp>
#include <ashlar/runtime/process_hardened.hpp>
#include <ashlar/runtime/process_watch.hpp>
#include <ashlar/runtime/test_scopes.hpp>

namespace ashlar::runtime {

constinit std::atomic<front> the_front{front::hardened};

namespace {

/// Returns: how many bytes a block serves that a request for `size` gets: requests that get the
/// same are the same to a sized free.
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

/// Effects: if allocations are sampled, a block that was resized without one is noted. Returns: it,
/// or what reallocate returns in its place.
void* resized(void* block, std::size_t size) noexcept {
  if constexpr (is_drop_in)
    if (is_sampling() && block != nullptr && block != detail::no_block()) note_resized(block, size);
  return block;
}

}  // namespace

void* moved_by_calls(void* block, std::size_t have, std::size_t size, const char* call) noexcept {
  return detail::reallocate_by_copy(
      block, have, size, [&] { return allocate(size, call); },
      [&](void* old) { deallocate(old, call); });
}

namespace {

// ---- the rows of a plain and of a watched process -----------------------------------------------

void* take_inside(std::size_t size, std::size_t alignment, bool zeroed, const char* call,
                  front by) noexcept;

/// As take, of a front that asks the heap, which had nothing: once more if the program makes room.
ASHLAR_COLD void* take_at_limit(std::size_t size, std::size_t alignment, bool zeroed,
                                const char* call, front by) noexcept {
  if (!the_limit.is_set() || self.at_limit) return nullptr;
  if (self.answers) return reserve.allocate(size, alignment, zeroed);
  void* block = nullptr;
  if (the_limit.make_room(size)) {
    self.at_limit = true;  // it is the last try
    block = by == front::hardened ? hardened_allocate(size, alignment, zeroed, call)
                                  : take_inside(size, alignment, zeroed, call, by);
    self.at_limit = false;
  }
  if (block == nullptr) the_limit.refuse(size, call);
  return block;
}

ASHLAR_MISS void* take_inside(std::size_t size, std::size_t alignment, bool zeroed,
                              const char* call, front by) noexcept {
  note_allocation();
  void* block = nullptr;
  {
    const visit here;
    if (!here.is_inside()) [[unlikely]]
      return reserve.allocate(size, alignment, zeroed);
    if (by == front::plain) {
      const detail::new_block made = plain_calls::take(size, alignment, zeroed);
      block = zeroed ? made.cleared(size) : made.address;
    } else {
      block = watched_calls().take(size, alignment, zeroed, alias_of(call));
    }
  }
  return block != nullptr ? block : take_at_limit(size, alignment, zeroed, call, by);
}

ASHLAR_MISS void give_inside(void* block, const char* call, front by) noexcept {
  const visit here;
  if (!here.is_inside()) [[unlikely]]
    free_after_fork(block, alias_of(call));
  else if (by == front::plain) [[likely]]
    plain_calls::give(block, call);
  else
    watched_calls().give(block, alias_of(call));
}

ASHLAR_MISS void* resize_inside(void* block, std::size_t size, const char* call,
                                front by) noexcept {
  the_limit.note_miss();
  if (by == front::hardened) return resized(hardened_reallocate(block, size, call), size);
  if (by == front::reserved) {
    const std::size_t have = reserve.usable_size(block, call);
    return have != 0 ? moved_by_calls(block, have, size, call) : detail::no_block();
  }
  std::size_t have = 0;
  {
    const look at;
    if (at.is_inside()) {
      const bool plain = by == front::plain;
      void* const kept = plain ? the_heap.reallocate(block, size, call)
                               : watched_calls().resize(block, size, call);
      the_background.note_free();  // it may have become shorter
      if (kept != nullptr || !plain) return resized(kept, size);
    }
    have = watched_calls().usable_size(block, call, false);
  }
  return have != detail::full_check::none ? moved_by_calls(block, have, size, call)
                                          : detail::no_block();
}

/// Returns: whether `block` is what a request for `size` at `alignment` gets; false after a fault
/// naming `call`.
bool expect_served(const void* block, std::size_t size, std::size_t alignment,
                   const char* call) noexcept {
  const front by = next_front(front::sampled, block);
  if constexpr (!is_drop_in)
    if (by == front::sanitizer) return true;
  // Before the look: a fault of a hardened block looks by itself.
  const std::size_t hardened = by == front::hardened ? hardened_size(block, call) : 0;
  const look at;
  const std::size_t asked = by == front::hardened   ? hardened
                            : by == front::reserved ? detail::full_check::unknown
                                                    : watched_calls().size_asked(block, call);
  if (asked == detail::full_check::none) return false;
  const bool is_known = asked != detail::full_check::unknown;
  const std::size_t have = is_known                ? asked
                           : by == front::reserved ? reserve.usable_size(block, call)
                                                   : the_heap.usable_size(block, call);
  if (!is_known && have == 0) return false;  // no live block is there, as was told
  const bool is_right = is_known ? bytes_served(have, alignment) == bytes_served(size, alignment)
                                 : is_served_by(size, alignment, have);
  if (!is_right)
    ashlar_misuse(
        {.kind = fault_kind::wrong_size, .call = call, .address = block, .block_size = have});
  return is_right;
}

}  // namespace

detail::new_block plain_calls::take(std::size_t size, std::size_t alignment, bool zeroed) noexcept {
  // Above this size, a run that is known to be zero is worth more than a block of the cache.
  const bool as_run = zeroed && size > detail::shared_slab_block_max;
  if (!the_heap.start()) return {};  // its classes stand from then on
  const class_index c = as_run ? class_index{0} : process_classes::class_for(size, alignment);
  if (c == 0) return the_heap.allocate_large(size, alignment, zeroed, self.own);
  process_heap::cache* const own = own_cache();
  return {own != nullptr ? the_heap.allocate_class(*own, c) : the_heap.allocate_uncached(c)};
}

void plain_calls::give(void* block, const char* call) noexcept {
  process_heap::cache* const own = own_cache_to_free();
  if (own != nullptr) {
    the_heap.deallocate_slow(*own, block, call);
    see_growth();
  } else {
    the_heap.deallocate_uncached(block, call);
  }
  the_background.note_free();
}

void note_allocation() noexcept {
  if (self.own == nullptr) return;
  the_background.note_allocation();
  the_control.note_allocation();
  the_limit.note_miss();
}

// ---- the table ----------------------------------------------------------------------------------

void* take(std::size_t size, std::size_t alignment, bool zeroed, const char* call,
           front by) noexcept {
  if (by <= front::watched) [[likely]]
    return take_inside(size, alignment, zeroed, call, by);
  if (by == front::hardened) {
    void* const block = hardened_allocate(size, alignment, zeroed, call);
    return block != nullptr ? block : take_at_limit(size, alignment, zeroed, call, by);
  }
  if constexpr (is_drop_in) {
    if (by == front::sampled) return allocate_sampling(size, alignment, zeroed, call);
  } else if (by == front::sanitizer) {
    return os::sanitizer_heap::allocate(size, alignment, zeroed);
  }
  return counted_allocation(
      size, call, [=] { return take(size, alignment, zeroed, call, next_front(front::counted)); });
}

void* allocate_slow(std::size_t size, const char* call) noexcept {
  return take(size, 1, false, call, next_front(front::program));
}
void* allocate_aligned_slow(std::size_t size, std::size_t alignment, const char* call) noexcept {
  return take(size, alignment, false, call, next_front(front::program));
}
void* allocate_aligned(std::size_t size, std::size_t alignment, const char* call) noexcept {
  return alignment <= block_granule ? allocate(size, call)
                                    : allocate_aligned_slow(size, alignment, call);
}
void* allocate_zeroed(std::size_t size, const char* call) noexcept {
  return take(size, 1, true, call, next_front(front::program));
}

void give(void* block, const char* call, front by) noexcept {
  if (by <= front::watched) [[likely]]
    return give_inside(block, call, by);
  if (by == front::hardened) return hardened_deallocate(block, call);
  if (by == front::reserved) return reserve.free(block, call);
  if constexpr (is_drop_in) {
    if (by == front::sampled) {
      end_sample(block);
      return give(block, call, next_front(front::sampled, block));
    }
  } else if (by == front::sanitizer) {
    return os::sanitizer_heap::deallocate(block);
  }
  counted_free(block, call, [=] { give(block, call, next_front(front::counted, block)); });
}

void deallocate_slow(void* block, const char* call) noexcept {
  if (block != nullptr) give(block, call, next_front(front::program, block));
}

void deallocate_sized_slow(void* block, std::size_t size, std::size_t alignment,
                           const char* call) noexcept {
  if (block != nullptr && expect_served(block, size, alignment, call)) deallocate_slow(block, call);
}

void* resize(void* block, std::size_t size, const char* call, front by) noexcept {
  if constexpr (is_drop_in) {
    if (by == front::sampled) return reallocate_sampling(block, size, call);
  } else if (by == front::sanitizer) {
    return os::sanitizer_heap::reallocate(block, size);
  }
  if (by == front::counted)
    return counted_resize(block, size, call, [=] {
      return resize(block, size, call, next_front(front::counted, block));
    });
  return resize_inside(block, size, call, by);
}

void* reallocate(void* block, std::size_t size, const char* call) noexcept {
  return resize(block, size, call, next_front(front::program, block));
}

std::size_t usable_size(const void* block, const char* call) noexcept {
  const front by = next_front(front::sampled, block);
  if (by == front::hardened) return hardened_size(block, call);
  if constexpr (!is_drop_in)
    if (by == front::sanitizer) return os::sanitizer_heap::usable_size(block);
  if (by == front::reserved) return reserve.usable_size(block, call);
  const look at;
  if (by == front::plain) return the_heap.usable_size(block, call);
  const std::size_t usable = watched_calls().usable_size(block, call, at.is_inside());
  return usable != detail::full_check::none ? usable : 0;
}

}  // namespace ashlar::runtime
