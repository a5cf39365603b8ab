// runtime/process_heap.cpp: the process heap's globals, threads coming and going, fork.
// Layer: runtime.
#include <algorithm>
#include <atomic>
#include <cstring>

#include <pthread.h>

#include <ashlar/runtime/process_heap.hpp>
#include <ashlar/runtime/settings.hpp>

namespace ashlar::runtime {

constinit process_heap the_heap;

namespace {

using cache = process_heap::cache;

/// Empty (the slot below top is null) and full (top == limit) for every class. Never written: a hit
/// path writes only after it has succeeded.
void* const nothing[1] = {nullptr};
constexpr detail::cache_tops make_empty_tops() noexcept {
  detail::cache_tops t{};
  for (std::size_t c = 0; c < class_count; ++c)
    t.top[c] = t.limit[c] = const_cast<void**>(nothing) + 1;
  return t;
}
constinit const detail::cache_tops empty_tops = make_empty_tops();

detail::cache_tops* no_tops() noexcept {
  return const_cast<detail::cache_tops*>(&empty_tops);
}

/// What a thread knows of itself beyond its hit path. A thread whose cache is gone for good works
/// without one: other libraries' thread-exit handlers may still allocate and free.
struct thread_state {
  cache* own = nullptr;
  bool ended = false;
};
[[gnu::tls_model("initial-exec")]] constinit thread_local thread_state self;

constinit std::atomic<bool> counting_exactly{false};

// ---- threads
// --------------------------------------------------------------------------------------

void end_thread(void* own) noexcept {
  tops = no_tops();
  self.own = nullptr;
  self.ended = true;
  the_heap.detach(static_cast<cache*>(own));
}

/// The key whose destructor tells us that a thread ends. Created with the first cache.
struct exit_key {
  pthread_key_t key{};
  bool valid = false;
};
constinit exit_key at_thread_exit;
constinit os::mutex at_thread_exit_mutex;

bool watch_thread_exit(cache* own) noexcept {
  {
    const std::lock_guard guard(at_thread_exit_mutex);
    if (!at_thread_exit.valid)
      at_thread_exit.valid = ::pthread_key_create(&at_thread_exit.key, end_thread) == 0;
    if (!at_thread_exit.valid) return false;
  }
  return ::pthread_setspecific(at_thread_exit.key, own) == 0;
}

/// Returns: this thread's cache, attached now if it has none; null when it has to do without.
cache* own_cache() noexcept {
  if (self.own != nullptr) [[likely]]
    return self.own;
  if (self.ended) return nullptr;
  cache* own = the_heap.attach();
  if (own == nullptr) return nullptr;
  // First usable, then watched: the system's bookkeeping may itself allocate.
  self.own = own;
  if (!counting_exactly.load(std::memory_order_relaxed)) tops = own;
  if (!watch_thread_exit(own)) end_thread(own);
  return self.own;
}

// ---- fork
// -----------------------------------------------------------------------------------------

void before_fork() noexcept {
  at_thread_exit_mutex.lock();
  the_heap.lock_all();
}
void after_fork_in_parent() noexcept {
  the_heap.unlock_all();
  at_thread_exit_mutex.unlock();
}
void after_fork_in_child() noexcept {
  after_fork_in_parent();
  the_heap.keep_only(self.own);
}

// ---- start
// ----------------------------------------------------------------------------------------

/// Runs before any constructor of the program: the environment can be read, no other thread exists.
[[gnu::constructor(101)]] void start_process() noexcept {
  // If memory is refused now, the first allocation tries again and reports it.
  static_cast<void>(the_heap.start());
  const settings s = read_settings();
  the_heap.set_purge_policy(s.purge);
  if (s.exact && the_heap.count_exactly()) {
    counting_exactly.store(true, std::memory_order_relaxed);
    tops = no_tops();
  }
  ::pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

// ---- miss paths
// -----------------------------------------------------------------------------------

void* allocate_uncounted(std::size_t size, class_index c) noexcept {
  if (c == 0) {
    bool zeroed = false;
    return the_heap.allocate_large(size, 1, zeroed);
  }
  cache* own = own_cache();
  return own != nullptr ? the_heap.allocate_class(*own, c) : the_heap.allocate_uncached(c);
}

/// Effects: counts `block`, if counting was asked for and it is not null. Returns: block.
void* counted(void* block, std::size_t size) noexcept {
  if (counting_exactly.load(std::memory_order_relaxed) && block != nullptr)
    the_heap.note_allocation(block, size);
  return block;
}

}  // namespace

[[gnu::tls_model("initial-exec")]] constinit thread_local detail::cache_tops* tops =
    const_cast<detail::cache_tops*>(&empty_tops);

void* allocate_slow(std::size_t size, class_index missed) noexcept {
  return counted(allocate_uncounted(size, missed), size);
}

void deallocate_slow(void* block, const char* call) noexcept {
  if (block == nullptr) return;
  if (counting_exactly.load(std::memory_order_relaxed)) the_heap.note_deallocation(block);
  cache* own = own_cache();
  if (own != nullptr)
    the_heap.deallocate_slow(*own, block, call);
  else
    the_heap.deallocate_uncached(block, call);
}

void* allocate_zeroed(std::size_t size) noexcept {
  if (size <= small_size_max) {
    void* const block = allocate(size);
    return block == nullptr ? nullptr : std::memset(block, 0, size);
  }
  bool zeroed = false;
  void* const block = the_heap.allocate_large(size, 1, zeroed);
  if (block != nullptr && !zeroed) std::memset(block, 0, size);
  return counted(block, size);
}

void* allocate_aligned(std::size_t size, std::size_t alignment) noexcept {
  if (alignment <= block_granule) return allocate(size);
  const class_index c = process_heap::class_for(size, alignment);
  if (c != 0) return allocate_slow(size, c);
  bool zeroed = false;
  return counted(the_heap.allocate_large(size, alignment, zeroed), size);
}

void* reallocate(void* block, std::size_t size, const char* call) noexcept {
  const std::size_t kept = the_heap.resize_in_place(block, size, call);
  if (kept != 0) {
    if (counting_exactly.load(std::memory_order_relaxed)) the_heap.note_resize(block, size);
    return block;
  }
  const std::size_t have = the_heap.usable_size(block, call);
  if (size > have && have > small_size_max && !counting_exactly.load(std::memory_order_relaxed)) {
    if (void* const moved = the_heap.move_large(block, size); moved != nullptr) return moved;
  }
  void* const fresh = allocate(size);
  if (fresh == nullptr) return nullptr;
  std::memcpy(fresh, block, std::min(have, size));
  deallocate(block, call);
  return fresh;
}

std::size_t usable_size(const void* block, const char* call) noexcept {
  return the_heap.usable_size(block, call);
}

std::size_t trim() noexcept {
  if (self.own != nullptr) the_heap.flush(*self.own);
  return the_heap.trim();
}

void collect(ashlar_stats& out) noexcept {
  the_heap.collect(out, self.own);
  out.total.resident_bytes = os::resident_bytes();
  out.total.accuracy = counting_exactly.load(std::memory_order_relaxed) ? ASHLAR_ACCURACY_EXACT
                                                                        : ASHLAR_ACCURACY_BATCH;
}

}  // namespace ashlar::runtime
