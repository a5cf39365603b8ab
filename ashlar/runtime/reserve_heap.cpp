// runtime/reserve_heap.cpp: the reserve's heaps, and what waits for the end of a fork.
// Layer: runtime.
#include <mutex>
#include <new>

#include <ashlar/core/bits.hpp>
#include <ashlar/core/stats_fields.hpp>
#include <ashlar/os/page_source.hpp>
#include <ashlar/runtime/process_thread.hpp>
#include <ashlar/runtime/reserve_heap.hpp>

namespace ashlar::runtime {

/// The calling thread inside one of the heaps: a fork's child sees that somebody was.
class reserve_heap::visit {
 public:
  explicit visit(generation& g) noexcept : visited_(g) {
    ++self.in_reserve;
    g.visitors.fetch_add(1, std::memory_order_acquire);
  }
  ~visit() {
    visited_.visitors.fetch_sub(1, std::memory_order_release);
    --self.in_reserve;
  }
  visit(const visit&) = delete;
  visit& operator=(const visit&) = delete;

 private:
  generation& visited_;
};

reserve_heap::generation* reserve_heap::find(const void* block) noexcept {
  for (generation* g = newest_.load(std::memory_order_acquire); g != nullptr; g = g->older) {
    const visit in(*g);
    if (g->heap.owns(block)) return g;
  }
  return nullptr;
}

reserve_heap::generation* reserve_heap::serving() noexcept {
  generation* newest = newest_.load(std::memory_order_acquire);
  if (newest != nullptr && !newest->given_up) return newest;
  void* const memory = os::page_source::allocate(sizeof(generation), alignof(generation));
  if (memory == nullptr) return nullptr;
  auto* const made = ::new (memory) generation;
  // It serves few blocks for a short time: they need not rest before they go back to their slabs.
  heap_bounds bounds;
  bounds.stash_bytes = heap_bounds::stash_bytes_min;
  made->heap.set_bounds(bounds);
  made->older = newest;
  // Started first: others may ask it whose a block is as soon as they see it.
  const bool started = made->heap.start();
  if (started && newest_.compare_exchange_strong(newest, made, std::memory_order_acq_rel))
    return made;
  made->heap.release_all();
  os::page_source::deallocate(memory, sizeof(generation), alignof(generation));
  return started ? newest : nullptr;  // another thread was first
}

void* reserve_heap::allocate(std::size_t size, std::size_t alignment, bool zeroed) noexcept {
  generation* const g = serving();
  if (g == nullptr) return nullptr;
  const visit in(*g);
  const class_index c = process_classes::class_for(size, alignment);
  const detail::new_block made = c != 0 ? detail::new_block{g->heap.allocate_uncached(c)}
                                        : g->heap.allocate_large(size, alignment, zeroed);
  return zeroed ? made.cleared(size) : made.address;
}

void reserve_heap::free(void* block, const char* call) noexcept {
  generation* const g = find(block);
  if (g == nullptr || g->given_up) return;
  const visit in(*g);
  g->heap.deallocate_uncached(block, call);
}

std::size_t reserve_heap::usable_size(const void* block, const char* call) noexcept {
  generation* const g = find(block);
  if (g == nullptr) return 0;
  const visit in(*g);
  return g->heap.usable_size(block, call);
}

bool reserve_heap::is_live(const void* block) noexcept {
  generation* const g = find(block);
  if (g == nullptr) return false;
  const visit in(*g);
  return g->heap.is_live(block);
}

void reserve_heap::note(void* what, const char* call) noexcept {
  void* const memory = allocate(sizeof(later), alignof(later));
  if (memory == nullptr) return;
  auto* const n = ::new (memory) later{noted_.load(std::memory_order_relaxed), what, call};
  while (!noted_.compare_exchange_weak(n->next, n, std::memory_order_release,
                                       std::memory_order_relaxed)) {
  }
}

bool reserve_heap::is_in_use_here() noexcept { return self.in_reserve != 0; }

void reserve_heap::give_up_what_was_in_use() noexcept {
  for (generation* g = newest_.load(std::memory_order_relaxed); g != nullptr; g = g->older) {
    if (g->visitors.exchange(0, std::memory_order_relaxed) == 0) continue;
    g->given_up = true;
    g->figures_mutex.unlock();
    g->heap.unlock_all();  // what is known of a block in use can be read still
  }
}

std::size_t reserve_heap::trim() noexcept {
  generation* const g = newest_.load(std::memory_order_acquire);
  if (g == nullptr || g->given_up) return 0;
  const visit in(*g);
  return g->heap.trim();
}

void reserve_heap::add_to(ashlar_stats& stats) noexcept {
  for (generation* g = newest_.load(std::memory_order_acquire); g != nullptr; g = g->older) {
    const visit in(*g);
    const std::lock_guard guard(g->figures_mutex);
    ashlar_stats& own = g->figures;
    g->heap.collect(own, nullptr);
    own.total.metadata_bytes += align_up(sizeof(generation), detail::page_size);
    for (std::uint32_t c = 0; c < own.class_count; ++c)
      add_figures(stats.classes[c], own.classes[c], class_stats_fields);
    add_figures(stats.large, own.large, class_stats_fields);
    add_figures(stats.total, own.total, total_stats_fields);
  }
}

}  // namespace ashlar::runtime
