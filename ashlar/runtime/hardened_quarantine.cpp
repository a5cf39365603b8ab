// runtime/hardened_quarantine.cpp: the memory of threads' quarantines.
// Layer: runtime.
#include <algorithm>
#include <atomic>
#include <cstdint>

#include <ashlar/os/call_stack.hpp>
#include <ashlar/os/page_source.hpp>
#include <ashlar/runtime/hardened_quarantine.hpp>
#include <ashlar/runtime/process_hardened.hpp>

namespace ashlar::runtime {

namespace {
/// The memory of a quarantine whose thread has ended.
constinit std::atomic<detail::freed_blocks*> spare{nullptr};
}  // namespace

detail::freed_blocks* make_quarantine(process_heap::cache& own) noexcept {
  detail::freed_blocks* q = spare.exchange(nullptr);
  if (q == nullptr) {
    void* const p =
        os::page_source::allocate(sizeof(detail::freed_blocks), alignof(detail::freed_blocks));
    if (p == nullptr) return nullptr;
    q = static_cast<detail::freed_blocks*>(p);
    q->start(process_classes::count(),
             [](class_index c) { return process_classes::block_size(c); });
  }
  q->random.seed((hardened_seed + os::thread_number() * 0x9e3779b97f4a7c15u) *
                 (reinterpret_cast<std::uintptr_t>(&self) | 1u));
  owner_part::of(own).quarantine = q;
  return q;
}

void put_quarantine(process_heap::cache& own) noexcept {
  detail::freed_blocks* const old = spare.exchange(quarantine_of(&own));
  owner_part::of(own).quarantine = nullptr;
  if (old != nullptr)
    os::page_source::deallocate(old, sizeof(detail::freed_blocks), alignof(detail::freed_blocks));
}

std::size_t share_of_waiting() noexcept {
  return detail::freed_blocks::bytes_of_all / std::max<std::size_t>(the_heap.cache_count(), 1);
}

void shuffle(process_heap::cache& own, class_index c, detail::random_numbers& random) noexcept {
  void** const first = own.first(c);
  for (auto left = static_cast<std::uint32_t>(own.count(c)); left > 1; --left)
    process_heap::cache::swap_slots(first + left - 1, first + random.below(left));
}

}  // namespace ashlar::runtime
