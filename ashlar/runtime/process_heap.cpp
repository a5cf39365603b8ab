// runtime/process_heap.cpp: the process heap's globals, threads coming and going, fork.
// Layer: runtime.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <utility>

#include <pthread.h>
#include <unistd.h>

#include <ashlar/core/bits.hpp>
#include <ashlar/core/fault.hpp>
#include <ashlar/core/memory_tools.hpp>
#include <ashlar/runtime/background.hpp>
#include <ashlar/runtime/checked_blocks.hpp>
#include <ashlar/runtime/process_heap.hpp>
#include <ashlar/runtime/settings.hpp>

namespace ashlar::runtime {

constinit process_heap the_heap;
constinit full_check checker;
constinit guarded_blocks guards;

namespace {

using cache = process_heap::cache;

/// A stack without room: the slot below its top is null, and so is the one at it. Never written: a hit
/// path writes only after it has succeeded.
void* const no_room[2] = {};
constexpr detail::cache_tops make_empty_tops() noexcept {
  detail::cache_tops t{};
  for (void**& top : t.top) top = const_cast<void**>(no_room) + 1;
  return t;
}
constinit const detail::cache_tops empty_tops = make_empty_tops();

/// What a thread knows of itself beyond its hit path. A thread whose cache is gone for good works
/// without one: other libraries' thread-exit handlers may still allocate and free.
struct thread_state {
  cache* own = nullptr;
  bool ended = false;
  std::uint32_t until_guarded = 0;  ///< allocations up to the next that is guarded; 0: to be drawn
  std::uint32_t random = 0;         ///< state of the generator; 0: to be seeded
  const char* call = nullptr;       ///< full checks remember calls of this name
  const char* instead = nullptr;    ///< as of this one
};
[[gnu::tls_model("initial-exec")]] constinit thread_local thread_state self;

constinit std::atomic<bool> counting_exactly{false};
/// Whether no thread uses its hit paths: calls are counted, or picked to be guarded.
constinit std::atomic<bool> every_call_misses{false};

// ---- threads
// --------------------------------------------------------------------------------------

/// Effects: from now on every call of this thread misses.
void leave_hit_paths(cache& own) noexcept {
  own.keep_tops_at(own.own_tops);
  tops = empty_tops;
}

void end_thread(void* own) noexcept {
  leave_hit_paths(*static_cast<cache*>(own));
  self.own = nullptr;
  self.ended = true;
  the_heap.detach(static_cast<cache*>(own));
  the_background.note_free();
  // The process ends with its last thread, and that must be one of its own: it runs what is left to do at exit.
  if (the_heap.cache_count() == 0) the_background.stop();
}

/// The key whose destructor tells us that a thread ends; made with the first cache.
struct {
  pthread_key_t key{};
  bool valid = false;
} constinit exit_key;

/// Returns: whether the system will call `end_thread` when this thread ends.
bool watch_thread_exit(cache* own) noexcept {
  return exit_key.valid && ::pthread_setspecific(exit_key.key, own) == 0;
}

// ---- fork -----------------------------------------------------------------------------------------

void before_fork() noexcept {
  checker.lock();
  guards.lock();
  the_heap.lock_all();
}
void after_fork_in_parent() noexcept {
  the_heap.unlock_all();
  guards.unlock();
  checker.unlock();
}
void after_fork_in_child() noexcept {
  the_heap.unlock_all();
  guards.unlock();
  checker.unlock();
  os::forget_thread_number();
  the_heap.keep_only(self.own);
  the_background.forget_thread();
}

// ---- start ----------------------------------------------------------------------------------------

/// Effects: makes fork safe, makes the key and applies the environment's settings, each once. Called with the first
/// cache and by our constructor, whichever comes first: the system runs the handlers that prepare a
/// fork in the reverse order of their registration, and another library's may allocate, so ours, which
/// lock the heap, have to be registered before it.
/// Requires: no other thread yet, which holds until constructors have run. While nobody knows the environment, a later
/// call reads the settings.
void start_process() noexcept {
  static constinit bool started = false;
  static constinit bool configured = false;
  if (!started) {
    started = true;
    ::pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
    exit_key.valid = ::pthread_key_create(&exit_key.key, end_thread) == 0;
  }
  char** const environment = process_environment();
  if (configured || environment == nullptr) return;
  configured = true;
  settings s = read_settings(environment);
  s.exact = s.exact || detail::a_tool_wants_every_call();
  the_heap.set_purge_policy(s.purge);
  if (s.background) static_cast<void>(the_background.turn(true));
  if (s.exact && the_heap.count_exactly(self.own)) {
    counting_exactly.store(true, std::memory_order_relaxed);
    if (s.full) checker.start(s.checks);
  }
  // Without the handler a guarded access still ends the process, though nothing tells of it.
  if (guards.start(s.guards))
    static_cast<void>(
        os::watch_access_faults([](const os::access_fault& f) noexcept { guards.report(f); }));
  if (counting_exactly.load(std::memory_order_relaxed) || guards.is_on()) {
    every_call_misses.store(true, std::memory_order_relaxed);
    if (self.own != nullptr) leave_hit_paths(*self.own);
  }
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
  if (!every_call_misses.load(std::memory_order_relaxed)) own->keep_tops_at(tops);
  if (the_heap.cache_count() == 1) start_process();
  if (!watch_thread_exit(own)) end_thread(own);
  return self.own;
}

/// So that the heap starts while there is one thread. The drop-in library's comes before all others'
/// (-z initfirst), the C library's included, so `environ` may not be set yet: the loader passes it.
[[gnu::constructor(101)]] void start_early(int, char**, char** environment) noexcept {
  note_environment(environment);
  // If memory is refused now, the first allocation tries again and reports it.
  static_cast<void>(own_cache());
  start_process();
}

/// What was spoilt and never freed is found at last. Late: other destructors still free.
[[gnu::destructor(101)]] void look_at_exit() noexcept {
  the_background.stop_for_good();
  check_blocks("exit");
}

// ---- guarded blocks --------------------------------------------------------------------------------

/// Returns: a number at random; what is drawn must not follow from what the program allocates, nor be the same in each
/// process. xorshift (Marsaglia, "Xorshift RNGs", 2003).
std::uint32_t draw() noexcept {
  std::uint32_t x = self.random;
  if (x == 0) {
    const std::uint64_t seed =
        (os::system_space::now_ms() ^ reinterpret_cast<std::uintptr_t>(&self) ^
         (std::uint64_t{os::thread_number()} << 32)) *
        0x9e3779b97f4a7c15u;
    x = static_cast<std::uint32_t>(seed >> 32) | 1u;
  }
  x ^= x << 13;
  x ^= x >> 17;
  x ^= x << 5;
  return self.random = x;
}

/// Returns: whether this thread's allocation is to be guarded: one of `one_of` on average, after 1 to 2 * one_of - 1.
bool is_to_be_guarded() noexcept {
  if (self.until_guarded == 0) {
    const auto n = static_cast<std::uint32_t>(guards.one_of());
    self.until_guarded = n == 1 ? 1 : 1 + draw() % (2 * n - 1);
  }
  return --self.until_guarded == 0;
}

/// Returns: a guarded block, or null: it is another's turn, or this one cannot be.
void* try_guarded(std::size_t size, std::size_t alignment, bool zeroed, const char* call) noexcept {
  if (!guards.is_on() || !is_to_be_guarded() || the_heap.is_sealed()) return nullptr;
  const std::size_t n = guards.before_one_of();
  const bool before = n != 0 && draw() % n == 0;
  return guards.allocate(size, alignment, zeroed, call,
                         before ? closed_side::before : closed_side::behind);
}

// ---- miss paths
// -----------------------------------------------------------------------------------

/// Effects: the background thread starts if it is its time. No lock of the heap is held, and this thread has a cache,
/// whose end is noticed: only such a thread may start it.
void note_allocation() noexcept {
  if (self.own != nullptr) the_background.note_allocation();
}

void* allocate_uncounted(std::size_t size, std::size_t alignment) noexcept {
  if (!the_heap.start()) return nullptr;  // its classes stand from then on
  const class_index c = process_heap::class_for(size, alignment);
  if (c == 0) {
    bool zeroed = false;
    return the_heap.allocate_large(size, alignment, zeroed, self.own);
  }
  cache* own = own_cache();
  return own != nullptr ? the_heap.allocate_class(*own, c) : the_heap.allocate_uncached(c);
}

/// Whether memcheck is told of blocks: while every call comes by here. Not with full checks, which look into free
/// blocks themselves.
bool tells_memcheck() noexcept {
  return memcheck_requests && counting_exactly.load(std::memory_order_relaxed) && !checker.is_on();
}

/// Effects: counts `block`, if counting was asked for and it is not null. Returns: block.
void* counted(void* block, std::size_t size) noexcept {
  if (counting_exactly.load(std::memory_order_relaxed) && block != nullptr)
    the_heap.note_allocation(block, size);
  if (tells_memcheck() && block != nullptr) {
    const std::size_t usable =
        the_heap.usable_size(block, "allocate");  // all of which a caller may ask for and use
    detail::tell_made({&the_heap, nullptr}, block, usable, usable);
  }
  return block;
}

void free_uncounted(void* block, const char* call) noexcept {
  cache* own = own_cache();
  if (own != nullptr)
    the_heap.deallocate_slow(*own, block, call);
  else
    the_heap.deallocate_uncached(block, call);
  the_background.note_free();
}
/// Effects: gives a block of the heap back, counted if that was asked for.
void free_block(void* block, const char* call) noexcept {
  if (counting_exactly.load(std::memory_order_relaxed)) the_heap.note_deallocation(block, call);
  if (tells_memcheck()) detail::tell_freed(&the_heap, block, the_heap.usable_size(block, call));
  free_uncounted(block, call);
}

/// The heap as full checks see it.
struct counted_heap {
  [[nodiscard]] static void* take(std::size_t bytes, std::size_t alignment) noexcept {
    return counted(allocate_uncounted(bytes, alignment), bytes);
  }
  [[nodiscard]] static std::size_t usable_size(const void* block, const char* call) noexcept {
    return the_heap.usable_size(block, call);
  }
  static void give_back(void* block, const char* call) noexcept { free_block(block, call); }
};

/// Returns: the name by which full checks remember `call`.
const char* told_as(const char* call) noexcept {
  return self.call != nullptr && std::strcmp(call, self.call) == 0 ? self.instead : call;
}

/// Returns: a block without checks, or with full ones if they are on. Requires: the hit path was no
/// use, or must not be used.
void* allocate_missed(std::size_t size, std::size_t alignment, bool zeroed,
                      const char* call) noexcept {
  call = told_as(call);
  if (void* const guarded = try_guarded(size, alignment, zeroed, call); guarded != nullptr)
    return guarded;
  note_allocation();
  return checker.is_on() ? allocate_checked(checker, counted_heap{}, size, alignment, zeroed, call)
                         : counted(allocate_uncounted(size, alignment), size);
}

/// Returns: how many bytes a block serves that a request for `size` gets: requests that get the same
/// are the same to a sized free.
std::size_t bytes_served(std::size_t size, std::size_t alignment) noexcept {
  const class_index c = process_heap::class_for(size, alignment);
  return c != 0 ? process_heap::classes::block_size(c)
                : align_up(size == 0 ? 1 : size, detail::page_size);
}

constexpr std::size_t unknown_size = full_check::unknown;

/// Returns: the size that the caller of `block` asked for, where that is known. Ends in a fault naming `call` when it
/// is known that no live block starts there.
std::size_t size_asked(const void* block, const char* call) noexcept {
  if (guards.contains(block)) return guards.size_of(block, call);
  return checker.is_on() ? checker.size_of(block, call) : unknown_size;
}

}  // namespace

[[gnu::tls_model("initial-exec")]] constinit thread_local detail::cache_tops tops =
    make_empty_tops();

void* allocate_slow(std::size_t size, const char* call) noexcept {
  return allocate_missed(size, 1, false, call);
}

void deallocate_slow(void* block, const char* call) noexcept {
  if (block == nullptr) return;
  call = told_as(call);
  if (guards.contains(block)) return guards.free(block, call);
  // What they do not know was made before there were checks.
  if (checker.is_on() && deallocate_checked(checker, counted_heap{}, block, call)) return;
  free_block(block, call);
}

void* allocate_aligned_slow(std::size_t size, std::size_t alignment, const char* call) noexcept {
  return allocate_missed(size, alignment, false, call);
}

void deallocate_sized_slow(void* block, std::size_t size, std::size_t alignment,
                           const char* call) noexcept {
  if (block == nullptr) return;
  const std::size_t due = bytes_served(size, alignment);
  if (const std::size_t asked = size_asked(block, call); asked != unknown_size) {
    if (bytes_served(asked, alignment) != due)
      ashlar_fault(
          {.kind = fault_kind::wrong_size, .call = call, .address = block, .block_size = asked});
    return deallocate_slow(block, call);
  }
  const std::size_t have = the_heap.usable_size(block, call);
  // A run that came zeroed, or was cut to its size in place, has no class, though its size has one.
  const bool is_run =
      size > detail::shared_slab_block_max && have == align_up(size, detail::page_size);
  if (have != due && !is_run)
    ashlar_fault(
        {.kind = fault_kind::wrong_size, .call = call, .address = block, .block_size = have});
  deallocate_slow(block, call);
}

void* allocate_zeroed(std::size_t size, const char* call) noexcept {
  if (checker.is_on()) return allocate_missed(size, 1, true, call);
  // Above this, a block that is a run of its own and known to be zero is worth more than a cache's.
  if (size <= detail::shared_slab_block_max) {
    void* const block = allocate(size, call);
    return block == nullptr ? nullptr : std::memset(block, 0, size);
  }
  if (void* const guarded = try_guarded(size, 1, true, call); guarded != nullptr) return guarded;
  bool zeroed = false;
  void* const block = the_heap.allocate_large(size, 1, zeroed, self.own);
  if (block == nullptr) return nullptr;
  note_allocation();
  static_cast<void>(counted(block, size));
  if (!zeroed) return std::memset(block, 0, size);
  if (tells_memcheck()) detail::tell_open(block, size);  // as written as zeros are
  return block;
}

void* allocate_aligned(std::size_t size, std::size_t alignment, const char* call) noexcept {
  return alignment <= block_granule ? allocate(size, call)
                                    : allocate_aligned_slow(size, alignment, call);
}

namespace {
/// Effects: moves a block whose size is known, always: what still uses the old one is found then.
/// Returns: as reallocate.
void* reallocate_checked(void* block, std::size_t have, std::size_t size,
                         const char* call) noexcept {
  void* const fresh = allocate_missed(size, 1, false, call);
  if (fresh == nullptr) return nullptr;
  std::memcpy(fresh, block, std::min(have, size));
  deallocate_slow(block, call);
  return fresh;
}
}  // namespace

void* reallocate(void* block, std::size_t size, const char* call) noexcept {
  if (const std::size_t have = size_asked(block, call); have != unknown_size)
    return reallocate_checked(block, have, size, call);
  if (checker.is_on()) checker.expect_outside(block, call);
  if (counting_exactly.load(std::memory_order_relaxed)) the_heap.expect_live(block, call);
  const std::size_t before = tells_memcheck() ? the_heap.usable_size(block, call) : 0;
  const std::size_t kept = the_heap.resize_in_place(block, size, call);
  if (kept != 0) {
    if (tells_memcheck()) {
      const std::size_t usable = the_heap.usable_size(block, call);
      if (usable != before) detail::tell_resized(&the_heap, block, before, usable);
    }
    if (counting_exactly.load(std::memory_order_relaxed)) the_heap.note_resize(block, size);
    the_background.note_free();  // it may have become shorter
    return block;
  }
  const std::size_t have = the_heap.usable_size(block, call);
  if (size > have && have > small_size_max && !counting_exactly.load(std::memory_order_relaxed)) {
    if (void* const moved = the_heap.move_large(block, size); moved != nullptr) return moved;
  }
  void* const fresh = allocate(size, call);
  // Shrinking cannot fail: without memory for a better fit, the block stays as it is.
  if (fresh == nullptr) return size <= have ? block : nullptr;
  std::memcpy(fresh, block, std::min(have, size));
  deallocate(block, call);
  return fresh;
}

std::size_t usable_size(const void* block, const char* call) noexcept {
  if (const std::size_t size = size_asked(block, call); size != unknown_size) return size;
  if (checker.is_on()) checker.expect_outside(block, call);
  if (counting_exactly.load(std::memory_order_relaxed)) the_heap.expect_live(block, call);
  return the_heap.usable_size(block, call);
}

std::size_t trim() noexcept {
  if (self.own != nullptr) the_heap.flush(*self.own);
  return the_heap.trim();
}

bool look_step(look_progress& look) noexcept {
  return the_heap.look_step(look);
}

void use_no_cache() noexcept {
  self.ended = true;
}

bool set_background(bool on) noexcept {
  const bool was_on = the_background.turn(on);
  // A process that is quiet from now on would not start it.
  if (on && own_cache() != nullptr) the_background.note_allocation();
  return was_on;
}

bool prefault(std::size_t bytes, std::size_t threads) noexcept {
  return the_heap.prefault(bytes, threads, own_cache());
}

calls_told_as::calls_told_as(const char* call, const char* instead) noexcept
    : call_before_(std::exchange(self.call, call)),
      instead_before_(std::exchange(self.instead, instead)) {}
calls_told_as::~calls_told_as() {
  self.call = call_before_;
  self.instead = instead_before_;
}

void expect_size(const void* block, std::size_t size, const char* call) noexcept {
  if (guards.contains(block))
    guards.expect_size(block, size, call);
  else if (checker.is_on())
    checker.expect_size(block, size, call);
}

std::size_t check_blocks(const char* call) noexcept {
  const std::size_t guarded = guards.is_on() ? guards.look(call) : 0;
  return guarded + (checker.is_on() ? checker.look(call) : 0);
}

void collect(ashlar_stats& out) noexcept {
  the_heap.collect(out, self.own);
  guards.add_to(out);
  out.total.metadata_bytes += checker.memory_bytes();
  out.total.resident_bytes = os::resident_bytes();
  out.total.accuracy = counting_exactly.load(std::memory_order_relaxed) ? ASHLAR_ACCURACY_EXACT
                                                                        : ASHLAR_ACCURACY_BATCH;
}

}  // namespace ashlar::runtime
