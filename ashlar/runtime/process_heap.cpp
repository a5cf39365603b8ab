// runtime/process_heap.cpp: the process heap's miss paths, counted, guarded and filled blocks, the whole.
// Layer: runtime.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <utility>

#include <ashlar/check/checked_blocks.hpp>
#include <ashlar/check/copied_block.hpp>
#include <ashlar/core/bits.hpp>
#include <ashlar/core/fault.hpp>
#include <ashlar/core/memory_tools.hpp>
#include <ashlar/os/pause.hpp>
#include <ashlar/os/sanitizer.hpp>
#include <ashlar/runtime/background.hpp>
#include <ashlar/runtime/process_heap.hpp>
#include <ashlar/runtime/process_thread.hpp>

namespace ashlar::runtime {

constinit process_heap the_heap;
constinit detail::full_check checker;
constinit detail::guarded_blocks guards;

namespace {

using cache = process_heap::cache;

/// What freed blocks are filled with, and new ones with its complement; 0: neither.
constinit std::atomic<unsigned char> fill_byte{0};

/// Returns: whether `block` is the reserve's. Of a block with a class in the first range that is told at once.
bool is_of_reserve(const void* block) noexcept {
  return tops.classes.of(block) == 0 && reserve.contains(block);
}

void* allocate_from_reserve(std::size_t size, std::size_t alignment, bool zeroed) noexcept {
  void* const block = reserve.allocate(size, alignment);
  return block != nullptr && zeroed ? std::memset(block, 0, size) : block;
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
                         before ? detail::closed_side::before : detail::closed_side::behind);
}

// ---- miss paths -------------------------------------------------------------------------------------

/// Effects: the background thread starts if it is its time. No lock of the heap is held, and this thread has a cache,
/// whose end is noticed: only such a thread may start it.
void note_allocation() noexcept {
  if (self.own != nullptr) the_background.note_allocation();
}

/// `zeroed` tells whether the block is known to be zero.
void* allocate_uncounted(std::size_t size, std::size_t alignment, bool& zeroed) noexcept {
  zeroed = false;
  if (!the_heap.start()) return nullptr;  // its classes stand from then on
  const class_index c = process_heap::class_for(size, alignment);
  if (c == 0) return the_heap.allocate_large(size, alignment, zeroed, self.own);
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
  [[nodiscard]] static void* take(std::size_t bytes, std::size_t alignment, bool& zeroed) noexcept {
    return counted(allocate_uncounted(bytes, alignment, zeroed), bytes);
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

/// Effects: fills what is usable of `block`, which may be null, beyond its first `kept` bytes.
/// Returns: block.
void* filled_new(void* block, std::size_t kept) noexcept {
  const unsigned char byte = fill_byte.load(std::memory_order_relaxed);
  if (byte == 0 || block == nullptr) [[likely]]
    return block;
  const std::size_t usable = usable_size(block, "allocate");
  if (usable > kept) std::memset(static_cast<char*>(block) + kept, ~byte, usable - kept);
  return block;
}
/// Effects: fills a block of the heap that is about to be freed. Ends in a fault naming `call` when
/// it is known that none starts there.
void fill_freed(void* block, const char* call) noexcept {
  const unsigned char byte = fill_byte.load(std::memory_order_relaxed);
  if (byte == 0) [[likely]]
    return;
  the_heap.expect_block(block, call);
  std::memset(block, byte, std::min(the_heap.usable_size(block, call), small_size_max));
}

/// Returns: whether nothing looks at this thread's calls: they are not counted, guarded, checked or filled.
bool is_plain() noexcept {
  return !every_call_misses.load(std::memory_order_relaxed);
}

/// Returns: a block without checks, or with full ones if they are on. Requires: the hit path was no
/// use, or must not be used; `zeroed` only with full checks.
void* allocate_missed(std::size_t size, std::size_t alignment, bool zeroed,
                      const char* call) noexcept {
  note_allocation();
  const visit here;
  if (!here.is_inside()) [[unlikely]]
    return allocate_from_reserve(size, alignment, zeroed);
  if (is_plain()) [[likely]] {
    bool is_zero = false;
    return allocate_uncounted(size, alignment, is_zero);
  }
  call = told_as(call);
  if (void* const guarded = try_guarded(size, alignment, zeroed, call); guarded != nullptr)
    return zeroed ? guarded : filled_new(guarded, 0);
  return checker.is_on()
             ? detail::allocate_checked(checker, counted_heap{}, size, alignment, zeroed, call)
             : filled_new(counted_heap::take(size, alignment, zeroed), 0);
}

/// Effects: every call of every thread misses from now on. Returns: false, and nothing changes,
/// when another thread has a cache: its hit paths cannot be reached.
bool stop_hitting() noexcept {
  if (every_call_misses.load()) return true;
  // A thread that gets a cache is counted first and looks at this flag then. So it sees the flag, or
  // it is seen here.
  every_call_misses.store(true);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (the_heap.cache_count() > (self.own != nullptr ? 1 : 0)) {
    every_call_misses.store(false);
    return false;
  }
  if (self.own != nullptr) leave_hit_paths(*self.own);
  return true;
}

/// Returns: how many bytes a block serves that a request for `size` gets: requests that get the same
/// are the same to a sized free.
std::size_t bytes_served(std::size_t size, std::size_t alignment) noexcept {
  const class_index c = process_heap::class_for(size, alignment);
  return c != 0 ? process_heap::classes::block_size(c)
                : align_up(size == 0 ? 1 : size, detail::page_size);
}

[[noreturn]] void wrong_size(const void* block, std::size_t have, const char* call) noexcept {
  ashlar_fault(
      {.kind = fault_kind::wrong_size, .call = call, .address = block, .block_size = have});
}
/// Effects: ends in a fault naming `call` when a request for `size` gets no block of `have` bytes.
void expect_served(std::size_t size, std::size_t alignment, std::size_t have, const void* block,
                   const char* call) noexcept {
  // A run that came zeroed, or was cut to its size in place, has no class, though its size has one.
  const bool is_run =
      size > detail::shared_slab_block_max && have == align_up(size, detail::page_size);
  if (have != bytes_served(size, alignment) && !is_run) wrong_size(block, have, call);
}

constexpr std::size_t unknown_size = detail::full_check::unknown;

/// Returns: the size that the caller of `block` asked for, where that is known. Ends in a fault naming `call` when it
/// is known that no live block starts there.
std::size_t size_asked(const void* block, const char* call) noexcept {
  if (guards.contains(block)) return guards.size_of(block, call);
  return checker.is_on() ? checker.size_of(block, call) : unknown_size;
}

}  // namespace

// Beside a sanitizer no thread ever has a cache: every call misses, and the sanitizer's malloc
// serves it.

void* allocate_slow(std::size_t size, const char* call) noexcept {
  if (os::heap_is_the_sanitizers()) [[unlikely]]
    return os::sanitizer_heap::allocate(size);
  return allocate_missed(size, 1, false, call);
}

void deallocate_slow(void* block, const char* call) noexcept {
  if (block == nullptr) return;
  if (os::heap_is_the_sanitizers()) [[unlikely]]
    return os::sanitizer_heap::deallocate(block);
  if (is_of_reserve(block)) [[unlikely]]
    return reserve.free(block, told_as(call));
  const visit here;
  if (!here.is_inside()) [[unlikely]] {
    // In a child whose heap is lost there will be no later.
    if (!gate.is_lost()) reserve.free_later(block, told_as(call));
    return;
  }
  if (is_plain()) [[likely]]
    return free_uncounted(block, call);
  call = told_as(call);
  if (guards.contains(block)) return guards.free(block, call);
  // What they do not know was made before there were checks.
  if (checker.is_on() && detail::deallocate_checked(checker, counted_heap{}, block, call)) return;
  fill_freed(block, call);
  free_block(block, call);
}

void* allocate_aligned_slow(std::size_t size, std::size_t alignment, const char* call) noexcept {
  if (os::heap_is_the_sanitizers()) [[unlikely]]
    return os::sanitizer_heap::allocate_aligned(size, alignment);
  return allocate_missed(size, alignment, false, call);
}

void deallocate_sized_slow(void* block, std::size_t size, std::size_t alignment,
                           const char* call) noexcept {
  if (block == nullptr) return;
  if (os::heap_is_the_sanitizers()) [[unlikely]]
    return os::sanitizer_heap::deallocate(block);
  if (is_of_reserve(block)) {
    expect_served(size, alignment, reserve.usable_size(block, call), block, call);
    return reserve.free(block, call);
  }
  const look at;
  if (const std::size_t asked = size_asked(block, call); asked != unknown_size) {
    if (bytes_served(asked, alignment) != bytes_served(size, alignment))
      wrong_size(block, asked, call);
  } else {
    expect_served(size, alignment, the_heap.usable_size(block, call), block, call);
  }
  deallocate_slow(block, call);
}

void* allocate_zeroed(std::size_t size, const char* call) noexcept {
  if (os::heap_is_the_sanitizers()) [[unlikely]]
    return os::sanitizer_heap::allocate_zeroed(size);
  if (checker.is_on()) return allocate_missed(size, 1, true, call);
  // Above this, a block that is a run of its own and known to be zero is worth more than a cache's.
  if (size <= detail::shared_slab_block_max) {
    void* const block = allocate(size, call);
    return block == nullptr ? nullptr : std::memset(block, 0, size);
  }
  note_allocation();
  const visit here;
  if (!here.is_inside()) return allocate_from_reserve(size, 1, true);
  if (void* const guarded = try_guarded(size, 1, true, call); guarded != nullptr) return guarded;
  bool zeroed = false;
  void* const block = the_heap.allocate_large(size, 1, zeroed, self.own);
  if (block == nullptr) return nullptr;
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

/// Effects: moves a block of `have` bytes. Returns: as reallocate.
void* moved_block(void* block, std::size_t have, std::size_t size, const char* call) noexcept {
  return detail::reallocate_by_copy(
      block, have, size, [&] { return allocate(size, call); },
      [&](void* old) { deallocate(old, call); }, [](void* same) { return same; });
}

/// Effects: moves a block that guards or full checks know, always: what still uses the old one is found then.
/// Returns: as reallocate.
void* moved_known_block(void* block, std::size_t have, std::size_t size,
                        const char* call) noexcept {
  return detail::reallocate_by_copy(
      block, have, size, [&] { return allocate_missed(size, 1, false, call); },
      [&](void* old) { deallocate_slow(old, call); },
      [&](void* same) {
        if (checker.is_on() && !guards.contains(same)) checker.shrunk(same, size);
        return same;
      });
}

/// As reallocate, where nothing looks at the block.
void* reallocate_plain(void* block, std::size_t size, bool inside, const char* call) noexcept {
  if (inside) {
    if (void* const kept = the_heap.reallocate(block, size, call); kept != nullptr) {
      the_background.note_free();  // it may have become shorter
      return kept;
    }
  }
  return moved_block(block, the_heap.usable_size(block, call), size, call);
}

/// As reallocate, where something looks at this thread's calls.
void* reallocate_watched(void* block, std::size_t size, bool inside, const char* call) noexcept {
  if (const std::size_t have = size_asked(block, call); have != unknown_size)
    return moved_known_block(block, have, size, call);
  const bool counts = counting_exactly.load(std::memory_order_relaxed);
  const bool fills = fill_byte.load(std::memory_order_relaxed) != 0;
  if (!inside || (!counts && !fills)) return reallocate_plain(block, size, inside, call);
  if (checker.is_on()) checker.expect_outside(block, call);
  if (counts) the_heap.expect_live(block, call);
  const std::size_t before = the_heap.usable_size(block, call);
  const std::size_t kept = the_heap.resize_in_place(block, size, call);
  if (kept == 0) return moved_block(block, before, size, call);
  if (tells_memcheck() && kept != before) detail::tell_resized(&the_heap, block, before, kept);
  if (counts) the_heap.note_resize(block, size);
  the_background.note_free();  // it may have become shorter
  return filled_new(block, before);
}

}  // namespace

void* reallocate(void* block, std::size_t size, const char* call) noexcept {
  if (os::heap_is_the_sanitizers()) [[unlikely]]
    return os::sanitizer_heap::reallocate(block, size);
  if (is_of_reserve(block)) return moved_block(block, reserve.usable_size(block, call), size, call);
  const look at;
  return is_plain() ? reallocate_plain(block, size, at.is_inside(), call)
                    : reallocate_watched(block, size, at.is_inside(), call);
}

std::size_t usable_size(const void* block, const char* call) noexcept {
  if (os::heap_is_the_sanitizers()) [[unlikely]]
    return os::sanitizer_heap::usable_size(block);
  if (is_of_reserve(block)) return reserve.usable_size(block, call);
  const look at;
  if (const std::size_t size = size_asked(block, call); size != unknown_size) return size;
  if (checker.is_on()) checker.expect_outside(block, call);
  if (counting_exactly.load(std::memory_order_relaxed) && at.is_inside())
    the_heap.expect_live(block, call);
  return the_heap.usable_size(block, call);
}

std::size_t trim() noexcept {
  const visit here;
  if (!here.is_inside()) return 0;
  settle_noted();
  if (self.own != nullptr) the_heap.flush(*self.own);
  return the_heap.trim() + reserve.trim();
}

bool look_step(look_progress& look) noexcept {
  const visit here;
  if (here.is_inside()) return the_heap.look_step(look);
  os::pause_us(pause_beside_fork_us);
  return !gate.is_lost();  // after the fork it goes on
}

void use_no_cache() noexcept {
  self.ended = true;
}

bool set_background(bool on) noexcept {
  const bool was_on = the_background.turn(on);
  // A process that is quiet from now on would not start it.
  if (const visit here; on && here.is_inside()) static_cast<void>(own_cache());
  if (on) note_allocation();
  return was_on;
}

void populate(void* p, std::size_t bytes) noexcept {
  if (!os::heap_is_the_sanitizers()) the_heap.populate(p, bytes);
}

bool prefault(std::size_t bytes, std::size_t threads) noexcept {
  if (os::heap_is_the_sanitizers()) [[unlikely]]
    return true;
  // What another thread's fork refuses comes with its end. Bounded: that thread may wait for this one.
  constexpr int rounds = 10'000;
  for (int round = 0; round < rounds && !gate.is_lost(); ++round) {
    if (const visit here; here.is_inside()) return the_heap.prefault(bytes, threads, own_cache());
    os::pause_us(pause_beside_fork_us);
  }
  return false;
}

bool fill_blocks(unsigned char byte) noexcept {
  if (byte != 0 && (checker.is_on() || tells_memcheck() || !stop_hitting())) return false;
  fill_byte.store(byte, std::memory_order_relaxed);
  return true;
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
  const look at;
  const std::size_t guarded = guards.is_on() ? guards.look(call) : 0;
  return guarded + (checker.is_on() ? checker.look(call) : 0);
}

void collect(ashlar_stats& out) noexcept {
  const look at;
  the_heap.collect(out, self.own);
  reserve.add_to(out);
  guards.add_to(out);
  out.total.metadata_bytes += checker.memory_bytes();
  out.total.resident_bytes = os::resident_bytes();
  out.total.accuracy = counting_exactly.load(std::memory_order_relaxed) ? ASHLAR_ACCURACY_EXACT
                                                                        : ASHLAR_ACCURACY_BATCH;
}

}  // namespace ashlar::runtime
