// runtime/created_blocks.cpp: the misses of created_blocks.hpp.
// Layer: runtime.
#include <algorithm>

#include <ashlar/os/sanitizer.hpp>
#include <ashlar/runtime/created_blocks.hpp>

namespace ashlar::runtime {

constinit created_blocks xmalloc_blocks;

namespace {
/// Free blocks of each class that the cache's owner rests on.
std::int8_t* free_of(process_heap::cache& own) noexcept { return owner_part::of(own).created_free; }
}  // namespace

std::int8_t created_blocks::take_free(class_index c, std::int8_t most) noexcept {
  std::atomic<std::uint64_t>& free = figures_[c].free;
  std::uint64_t there = free.load(std::memory_order_relaxed);
  std::uint64_t taken = 0;
  do {
    taken = std::min(there, static_cast<std::uint64_t>(most));
    if (taken == 0) break;
  } while (!free.compare_exchange_weak(there, there - taken, std::memory_order_relaxed));
  return static_cast<std::int8_t>(taken);
}

namespace {
/// Free blocks that go between a thread and all threads at once.
constexpr std::int8_t some = created_blocks::free_max / 2;
}  // namespace

void* created_blocks::take_slow(void* block, std::int8_t& free, class_index c) noexcept {
  if (const std::int8_t taken = take_free(c, some); taken != 0)
    free = static_cast<std::int8_t>(taken - 1);
  else {
    free = 0;
    figures_[c].created.fetch_add(1, std::memory_order_relaxed);
  }
  return block;
}

void created_blocks::give_slow(std::int8_t& free, class_index c) noexcept {
  figures_[c].free.fetch_add(some, std::memory_order_relaxed);
  free = static_cast<std::int8_t>(free_max - some + 1);
}

void created_blocks::allocated(class_index c) noexcept {
  if (c != 0 && self.own != nullptr) {
    std::int8_t& free = free_of(*self.own)[c];
    if (--free < 0) static_cast<void>(take_slow(nullptr, free, c));
  } else if (take_free(c, 1) == 0) {
    figures_[c].created.fetch_add(1, std::memory_order_relaxed);
  }
}

void created_blocks::freed(class_index c) noexcept {
  if (c != 0 && self.own != nullptr) {
    std::int8_t& free = free_of(*self.own)[c];
    if (++free < 0) give_slow(free, c);
  } else {
    figures_[c].free.fetch_add(1, std::memory_order_relaxed);
  }
}

void created_blocks::thread_ends(cache& own) noexcept {
  for (std::size_t c = 0; c < class_count; ++c) {
    if (free_of(own)[c] == 0) continue;
    figures_[c].free.fetch_add(static_cast<std::uint64_t>(free_of(own)[c]),
                               std::memory_order_relaxed);
    free_of(own)[c] = 0;
  }
}

created_count created_blocks::of(class_index c) const noexcept {
  std::uint64_t free = figures_[c].free.load(std::memory_order_relaxed);
  if (c != 0 && self.own != nullptr) free += static_cast<std::uint64_t>(free_of(*self.own)[c]);
  const std::uint64_t created = figures_[c].created.load(std::memory_order_relaxed);
  // Beside threads that count, the two are not of one moment.
  return {.created = created, .in_use = created - std::min(created, free)};
}

class_index counted_class(const void* block) noexcept {
  if (os::heap_is_the_sanitizers()) [[unlikely]] {
    if (!os::sanitizer_heap::owns(block)) return 0;  // its free is what the sanitizer reports
    const std::size_t size = os::sanitizer_heap::usable_size(block);
    return size <= small_size_max ? process_heap::classes::of_size(size) : class_index{0};
  }
  // The reserve's are asked for first: in a signal handler that forked, the heap may be locked.
  const class_index c = tops().tables.class_of(block);
  return c != 0 || reserve.contains(block) ? c : the_heap.class_of(block);
}

std::size_t other_threads() noexcept {
  const std::size_t all = the_heap.cache_count();
  return all - std::min<std::size_t>(all, self.own != nullptr ? 1 : 0);
}

}  // namespace ashlar::runtime
