// runtime/process_upkeep.cpp: calls on the process heap as a whole: memory goes back, is looked at,
// is made ready, is counted.
// Layer: runtime.
#include <atomic>
#include <cstddef>
#include <utility>

#include <ashlar/check/hardened_blocks.hpp>
#include <ashlar/core/stats.h>
#include <ashlar/os/call_filter.hpp>
#include <ashlar/os/pause.hpp>
#include <ashlar/os/sanitizer.hpp>
#include <ashlar/os/system_space.hpp>
#include <ashlar/os/thread_words.hpp>
#include <ashlar/runtime/background.hpp>
#include <ashlar/runtime/created_blocks.hpp>
#include <ashlar/runtime/front.hpp>
#include <ashlar/runtime/hardened_pages.hpp>
#include <ashlar/runtime/process_hardened.hpp>
#include <ashlar/runtime/process_heap.hpp>
#include <ashlar/runtime/process_watch.hpp>

namespace ashlar::runtime {
namespace {

constinit std::atomic<os::huge_pages> pages_wanted{os::huge_pages::as_the_system_says};

}  // namespace

void choose_huge_pages(os::huge_pages which) noexcept {
  pages_wanted.store(which, std::memory_order_relaxed);
}
void process_space::choose_pages(void* p, std::size_t bytes) noexcept {
  os::system_space::choose_pages(p, bytes, pages_wanted.load(std::memory_order_relaxed));
}
std::size_t process_space::huge_page_bytes() noexcept {
  // As many pages as a page of the system's tables has entries.
  constexpr std::size_t bytes = detail::page_size / sizeof(void*) * detail::page_size;
  return pages_wanted.load(std::memory_order_relaxed) == os::huge_pages::always ? bytes : 0;
}

std::size_t process_space::resident(const void* p, std::size_t bytes) noexcept {
  return os::own_words.asks_nothing ? 0 : os::system_space::resident(p, bytes);
}

std::size_t trim() noexcept {
  const visit here;
  if (!here.is_inside()) return 0;
  settle_noted();
  empty_quarantine();
  if (self.own != nullptr) the_heap.flush(*self.own);
  return the_heap.trim() + reserve.trim();
}

bool reclaim_step(reclaim_progress& scan) noexcept {
  const visit here;
  if (here.is_inside()) return the_heap.reclaim_step(scan);
  os::pause_us(pause_beside_fork_us);
  return !gate.is_lost();  // after the fork it goes on
}

void use_no_cache() noexcept { self.goes_without_cache = true; }

bool holds(const void* address) noexcept {
  return the_heap.owns(address) || reserve.contains(address) || the_watch.is_guarded(address);
}

bool is_live(const void* block) noexcept {
  if (reserve.contains(block)) return reserve.is_live(block);
  if (!watched_calls().is_live(block)) return false;
  // A freed block that waits in a hardened process is live to the heap. Its last word is zero then.
  const class_index c = is_hardened() ? the_heap.class_of(block) : class_index{0};
  return c == 0 || !detail::block_words::is_zero(block, process_classes::block_size(c));
}

bool set_background(bool on) noexcept {
  const bool was_on = the_background.turn(on);
  // A process that is quiet from now on would not start it.
  if (const visit here; on && here.is_inside()) static_cast<void>(own_cache());
  if (on && self.own != nullptr) the_background.note_allocation();
  return was_on;
}

void populate(void* p, std::size_t bytes) noexcept {
  if (!os::heap_is_the_sanitizers()) the_heap.populate(p, bytes);
}

bool prefault(std::size_t bytes, std::size_t threads) noexcept {
  if (os::heap_is_the_sanitizers()) [[unlikely]]
    return true;
  if constexpr (!is_drop_in) xmalloc_blocks.populate();
  // What another thread's fork refuses comes with its end. Bounded: that thread may wait for this
  // one.
  constexpr int rounds = 10'000;
  for (int round = 0; round < rounds && !gate.is_lost(); ++round) {
    if (const visit here; here.is_inside()) return the_heap.prefault(bytes, threads, own_cache());
    os::pause_us(pause_beside_fork_us);
  }
  return false;
}

void collect(ashlar_stats& out, bool residence) noexcept {
  const look at;
  residence = residence && !os::has_new_call_filter();
  const bool before = std::exchange(os::own_words.asks_nothing, !residence);
  the_heap.collect(out, self.own);
  reserve.add_to(out);
  the_watch.guards->add_to(out);
  out.total.metadata_bytes += the_watch.checks.memory_bytes();
  out.total.guards_refused += closes_refused();
  os::own_words.asks_nothing = before;
  out.total.resident_bytes = residence ? os::resident_bytes() : 0;
  out.total.accuracy = the_watch.counts_exactly() ? ASHLAR_ACCURACY_EXACT : ASHLAR_ACCURACY_BATCH;
}

}  // namespace ashlar::runtime
