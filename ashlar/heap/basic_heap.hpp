// heap/basic_heap.hpp: a general allocator made of fixed-block classes. The address is the header.
// Layer: heap. Includes: core.
//
//   allocate(n):   size -> class (table) -> pop the thread's stack
//   deallocate(p): address -> page -> class (table) -> push on the thread's stack
//   miss:          whole batches to and from the class's central; from there slabs, pages, the
//   system
//
// No block has a header, in use or free, so nothing that a caller writes past its block reaches the
// allocator's own data. No thread_local, no system call and no global is in this layer: the caller
// brings a cache, `Config` brings the system.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <mutex>

#include <ashlar/core/bits.hpp>
#include <ashlar/core/config.hpp>
#include <ashlar/core/fault.hpp>
#include <ashlar/core/size_class.hpp>
#include <ashlar/core/stats.h>
#include <ashlar/heap/cache_set.hpp>
#include <ashlar/heap/central_set.hpp>
#include <ashlar/heap/class_table.hpp>
#include <ashlar/heap/exact_counting.hpp>
#include <ashlar/heap/figures.hpp>
#include <ashlar/heap/heap_bounds.hpp>
#include <ashlar/heap/hit_path.hpp>
#include <ashlar/heap/looks.hpp>
#include <ashlar/heap/page_heap.hpp>
#include <ashlar/heap/settling.hpp>
#include <ashlar/heap/thread_cache.hpp>

namespace ashlar {

/// A heap. `Config` names two types, `space` (address_space.hpp) and `mutex` (a Lockable that is
/// constant-initialised), and may name `classes` (class_table.hpp:
/// classes_in a table, which may have a load() that the heap calls before it starts). Its constructor is constexpr and reserves nothing; the heap starts itself at its first miss.
///
/// Every function that takes a `cache` must be called by the cache's one owner; all others by
/// anyone. None throws; null means out of memory. Sizes are bytes. Requests above PTRDIFF_MAX give
/// null.
template <class Config>
class basic_heap : public detail::hit_path<detail::classes_of<Config>> {
 public:
  using space_type = typename Config::space;
  using mutex_type = typename Config::mutex;
  using classes = detail::classes_of<Config>;
  using cache = detail::thread_cache;
  using hits = detail::hit_path<classes>;

  constexpr basic_heap() noexcept : pages_(space_) {}
  basic_heap(const basic_heap&) = delete;
  basic_heap& operator=(const basic_heap&) = delete;

  // ---- blocks: the misses ---------------------------------------------------------------------

  /// Effects: fills stack `c` and pops one. Requires: c != 0.
  [[nodiscard]] ASHLAR_COLD void* refill(cache& own, class_index c) noexcept {
    keep_to_share(own);
    const bool first_miss = !own.is_open(c);
    if (!open(own, c)) return allocate_uncached(c);
    if (!first_miss) grow(own, c, detail::miss::empty);
    // It need not be empty when counting led here.
    if (own.count(c) != 0) return pop(own, c);
    const std::size_t room = std::max<std::size_t>(own.capacity[c] / 2, 1);
    void** const first = own.first(c);
    const std::size_t got = take(c, first + room, room, &own);
    if (got == 0) return nullptr;
    if (got != room) std::memmove(first, first + (room - got), got * sizeof(void*));
    own.top(c) = first + got;
    own.moved_blocks += got;
    held_.note(static_cast<std::int64_t>(got * classes::block_size(c)));
    void* const block = pop(own, c);
    publish(own, c);
    maintain();
    return block;
  }

  /// Effects: gives `block` back, whatever it is: null, large, or of a class whose stack is full.
  /// Ends in a fault naming `call` when it is nothing of this heap.
  ASHLAR_COLD void deallocate_slow(cache& own, void* block, const char* call) noexcept {
    if (block == nullptr) return;
    const class_index c = pages_.class_anywhere(block);
    if (c == 0) return deallocate_large(block, call);
    keep_to_share(own);
    if (!open(own, c)) return deallocate_uncached(block, call);
    if (own.top(c) == own.limit(c) && !grow(own, c, detail::miss::full)) {
      // The older half leaves; the newer half is likelier to be in a CPU cache.
      void** const first = own.first(c);
      const std::size_t half = (own.capacity[c] + 1u) / 2;
      centrals_[c].give(pages_, first, half, call);
      held_.note(-static_cast<std::int64_t>(half * classes::block_size(c)));
      std::memmove(first, first + half, (own.capacity[c] - half) * sizeof(void*));
      own.top(c) -= half;
      own.moved_blocks += half;
    }
    *own.top(c)++ = block;
    publish(own, c);
    maintain();
  }

  /// Returns: a block whose address is a multiple of `alignment`, a power of two. `zeroed` tells
  /// whether it is known to be zero.
  [[nodiscard]] void* allocate_large(std::size_t size, std::size_t alignment, bool& zeroed,
                                     cache* own = nullptr) noexcept {
    zeroed = false;
    if (size > PTRDIFF_MAX || alignment > PTRDIFF_MAX) return nullptr;
    const std::size_t pages = std::max<std::size_t>(divide_up(size, detail::page_size), 1);
    const std::size_t align_pages = std::max<std::size_t>(alignment / detail::page_size, 1);
    detail::run* r = new_large(pages, align_pages, own);
    if (r == nullptr) return nullptr;
    zeroed = r->zero;
    return pages_.address_of(*r);
  }

  /// Returns: the class that serves `size` bytes at multiples of `alignment`, a power of two; 0
  /// when that is for `allocate_large`.
  [[nodiscard]] static constexpr class_index class_for(std::size_t size,
                                                       std::size_t alignment) noexcept {
    if (!detail::class_table::serves(size, alignment)) return 0;
    return classes::of_aligned_size(size, alignment);
  }

  /// Returns: a block of class `c`, not 0, by the cache.
  [[nodiscard]] void* allocate_class(cache& own, class_index c) noexcept {
    void* const block = pop(own, c);
    return block != nullptr ? block : refill(own, c);
  }

  /// Returns: the class of the slab that holds `block`, any address; 0 if none does. Takes no lock.
  [[nodiscard]] class_index class_of(const void* block) noexcept {
    return pages_.class_anywhere(block);
  }

  /// Returns: the bytes a caller may use of `block`, not null. Ends in a fault when it is not ours.
  [[nodiscard]] std::size_t usable_size(const void* block, const char* call) noexcept {
    const std::size_t bytes = find(block).bytes;
    if (bytes == 0) fail(block, call);
    return bytes;
  }

  /// Effects: makes `block` hold `size` bytes without moving it, if that can be done and is not a
  /// waste (a block is kept while more than half of it is used). Ends in a fault when not ours.
  /// Returns: the block's usable bytes now if it stays, 0 if it has to move.
  [[nodiscard]] std::size_t resize_in_place(void* block, std::size_t size,
                                            const char* call) noexcept {
    if (const class_index c = pages_.class_anywhere(block); c != 0) {
      if (hits::serves_well(c, size)) return classes::block_size(c);
      // It moves, so its bytes are about to be read for the last time: is it a block at all?
      centrals_[c].expect_in_use(pages_, block, call);
      return 0;
    }
    detail::run* r = pages_.large_at(block);
    if (r == nullptr) fail(block, call);
    if (size <= detail::shared_slab_block_max || size > PTRDIFF_MAX) return 0;
    const std::size_t before = r->pages;
    if (!pages_.resize_large(r, divide_up(size, detail::page_size))) return 0;
    held_.note_large(before, r->pages);
    return std::size_t{r->pages} << detail::page_shift;
  }

  /// Effects: moves a large block to where it can hold `size` bytes, with headroom behind it:
  /// by remapping its pages, or by copying. Requires: `block` is a live large block. Returns: the
  /// new block, null if this could not be done so, or is not needed.
  [[nodiscard]] void* move_large(void* block, std::size_t size) noexcept {
    detail::run* from = pages_.large_at(block);
    if (from == nullptr || size > PTRDIFF_MAX) return nullptr;
    const std::size_t pages = divide_up(size, detail::page_size);
    const std::size_t before = from->pages;
    if (pages < before) return nullptr;
    if (before >= remap_pages_min) {
      if (detail::run* to = pages_.move_large(from, pages); to != nullptr) {
        held_.note_large(before, pages);
        maintain();
        return pages_.address_of(*to);
      }
    }
    detail::run* to = pages_.new_large_to_grow(pages, detail::growth::refused);
    if (to == nullptr) {
      settle_before_growth(nullptr, pages);
      to = pages_.new_large_to_grow(pages, detail::growth::allowed);
    }
    if (to == nullptr) return nullptr;
    held_.note_large(0, pages);
    void* const moved = pages_.address_of(*to);
    std::memcpy(moved, block, before << detail::page_shift);
    static_cast<void>(pages_.delete_outgrown(block));
    held_.note_large(before, 0);
    maintain();
    return moved;
  }

  /// Effects: makes `block` hold `size` bytes where it is, or by moving a large block that grows.
  /// Returns: the block, wherever it is then; null when its bytes have to be copied to another one, and it is
  /// as it was. Ends in a fault when not ours.
  [[nodiscard]] void* reallocate(void* block, std::size_t size, const char* call) noexcept {
    if (resize_in_place(block, size, call) != 0) return block;
    const std::size_t have = usable_size(block, call);
    return size > have && have > small_size_max ? move_large(block, size) : nullptr;
  }

  // ---- without a cache: threads that are ending, or that can get none -------------------------

  /// As allocation from class `c`, straight from the central. Requires: c != 0.
  [[nodiscard]] ASHLAR_COLD void* allocate_uncached(class_index c) noexcept {
    if (!start()) return nullptr;
    void* block = nullptr;
    if (take(c, &block + 1, 1, nullptr) == 0) return nullptr;
    held_.note(static_cast<std::int64_t>(classes::block_size(c)));
    return block;
  }

  /// As `deallocate_slow`.
  ASHLAR_COLD void deallocate_uncached(void* block, const char* call) noexcept {
    if (block == nullptr) return;
    const class_index c = pages_.class_anywhere(block);
    if (c == 0) return deallocate_large(block, call);
    centrals_[c].give(pages_, &block, 1, call);
    held_.note(-static_cast<std::int64_t>(classes::block_size(c)));
    maintain();
  }

  /// Effects: makes the heap usable; nothing if it is. Returns: false when memory for that was
  /// refused; a later call tries again. Every other function calls it where it has to.
  [[nodiscard]] bool start() noexcept {
    if (has_started()) [[likely]]
      return true;
    const std::lock_guard guard(start_mutex_);
    if (started_.load(std::memory_order_relaxed)) return true;
    if constexpr (requires { classes::load(); }) classes::load();
    if (!pages_.start(classes::table().bit_words_per_page)) return false;
    caches_.set_bytes(bounds_.caches_total(space_.processors()));
    if (!centrals_.start(space_, bounds_.stash_bytes)) return false;
    started_.store(true, std::memory_order_release);
    return true;
  }

  [[nodiscard]] bool has_started() const noexcept {
    return started_.load(std::memory_order_acquire);
  }

  // ---- caches ---------------------------------------------------------------------------------

  /// Returns: an empty cache for a new owner, or null. O(classes).
  [[nodiscard]] cache* attach() noexcept {
    return start() ? caches_.attach(space_, pages_.first_classes()) : nullptr;
  }

  /// Returns: caches that have an owner.
  [[nodiscard]] std::size_t cache_count() const noexcept { return caches_.count(); }

  /// Effects: forgets every cache but `own` (may be null). For the child of a fork: the other
  /// owners do not exist there. What they held cannot be told from what they were just handing out,
  /// so it stays counted as in use.
  void keep_only(cache* own) noexcept { caches_.keep_only(own); }

  /// Effects: all blocks of the cache go back; the cache itself is kept for the next owner.
  void detach(cache* own) noexcept {
    flush(*own);
    settle_after(own->moved_blocks);
    caches_.detach(space_, own, pages_.first_classes());
  }

  /// Effects: gives all blocks of the cache to their centrals. O(blocks).
  void flush(cache& own) noexcept { flush_to(own, &central_type::give); }

  // ---- beforehand -----------------------------------------------------------------------------

  /// Effects: there are `bytes` of free memory in one piece, and empty caches for `owners` more, all of
  /// it in memory, with all that the heap needs beside them to serve blocks of any class from it; and so
  /// much is kept, however long it is free. `own` (may be null) is the caller's cache. Returns: false
  /// when memory was refused; what was got until then stays. O(bytes).
  [[nodiscard]] bool prefault(std::size_t bytes, std::size_t owners, cache* own) noexcept {
    if (!start() || bytes > PTRDIFF_MAX) return false;
    const std::size_t pages = divide_up(bytes, detail::page_size);
    if (pages != 0 && (!pages_.prefault(pages) || !centrals_.populate(space_, bytes))) return false;
    return caches_.prefault(space_, pages_.first_classes(), owners, own);
  }

  /// Effects: the whole pages of [p, p + bytes), which are in a block of this heap, are in memory
  /// if the system has them; their contents stay. Nothing while the heap is sealed.
  void populate(void* p, std::size_t bytes) noexcept {
    const auto at = reinterpret_cast<std::uintptr_t>(p);
    const std::uintptr_t begin = align_up(at, detail::page_size);
    const std::uintptr_t end = align_down(at + bytes, detail::page_size);
    if (begin < end)
      static_cast<void>(space_.populate(reinterpret_cast<void*>(begin), end - begin));
  }

  /// Effects: while it is on, no function but collect and release_all makes a system call, except to
  /// wait for a lock that another thread holds: what is free serves, or nothing does.
  void seal(bool on) noexcept { space_.seal(on); }
  [[nodiscard]] bool is_sealed() const noexcept { return space_.is_sealed(); }

  // ---- the whole ------------------------------------------------------------------------------

  /// Effects: from now on the heap keeps to `bounds`. Requires: called before anything else.
  void set_bounds(const heap_bounds& bounds) noexcept {
    bounds_ = bounds;
    pages_.set_pages_max(bounds.budget_bytes >> detail::page_shift);
  }

  /// Returns: whether `address` lies where this heap's blocks do, in use or not.
  [[nodiscard]] bool owns(const void* address) noexcept { return pages_.owns(address); }

  /// Effects: gives all memory back to the space, blocks and caches included. Requires: nobody uses the
  /// heap or a block of it any more, nor ever will. O(ranges + caches), plus what the space takes.
  void release_all() noexcept {
    caches_.release_all(space_);
    centrals_.release(space_);
    pages_.release_all();
  }

  /// Effects: every free block that no cache holds goes back to its slab, every free page to the
  /// system, also those inside slabs. Returns: bytes given to the system. O(slabs + stashed blocks).
  std::size_t trim() noexcept {
    if (!has_started()) return 0;
    centrals_.settle(pages_);
    const std::size_t bytes = looks_.give_back_all(centrals_, pages_);
    return bytes + pages_.purge_all();
  }

  /// Effects: from now on free pages go back as `policy` says.
  void set_purge_policy(const detail::purge_policy& policy) noexcept {
    pages_.set_policy(policy);
    looks_.forget_time();
  }
  /// Returns: milliseconds between two looks; negative when free pages never go back.
  [[nodiscard]] std::int64_t look_interval_ms() const noexcept {
    return detail::look_interval_ms(pages_.delay_ms());
  }

  /// Effects: the next step of a look: one class's stash is sorted back, or some runs are given back, or
  /// the free pages of some slabs. No lock is held afterwards. Any thread may look at any time.
  /// Returns: false when `look` has come to its end.
  bool look_step(look_progress& look) noexcept {
    return has_started() && looks_.step(look, centrals_, pages_, bounds_.slabs_a_look);
  }

  /// Effects: while it is on, misses do not look at what can be given back: the caller does, by look_step.
  void let_misses_look(bool on) noexcept {
    if (on)
      looks_.let_misses_look(space_.now_ms() + static_cast<std::uint64_t>(look_interval_ms() + 1));
    else
      looks_.let_others_look();
  }

  /// Returns: bytes of pages in use or dirty, at some recent moment. Takes no lock.
  [[nodiscard]] std::size_t committed_bytes() const noexcept { return pages_.committed_bytes(); }
  /// Returns: how many of them neither a caller nor a cache holds: free runs, and free blocks in slabs and stashes, also
  /// where a slab's pages have left it. At some recent moment; takes no lock.
  [[nodiscard]] std::size_t idle_bytes() const noexcept {
    const auto held = held_.now();
    const std::size_t committed = committed_bytes();
    return committed - std::min(committed, held);
  }

  [[nodiscard]] detail::purge_policy purge_policy() const noexcept { return pages_.policy(); }

  /// Effects: fills `out`; the resident figure and accuracy are left to the caller. `own` (may be
  /// null) is the caller's cache, whose content is then exact.
  void collect(ashlar_stats& out, cache* own) noexcept {
    detail::begin_figures<classes>(out);
    if (!has_started()) return;
    if (own != nullptr) {
      for (std::size_t c = 1; c < classes::count(); ++c) publish(*own, static_cast<class_index>(c));
    }
    detail::collect_classes<classes>(out, caches_, centrals_, counting_);
    const detail::page_heap_stats pages = pages_.stats();
    detail::collect_pages(out, pages, held_, counting_);
    out.total.metadata_bytes =
        pages.table_bytes + centrals_.resident_bytes(space_) + caches_.resident_bytes(space_);
  }

  /// Effects: ends in a fault naming `call` when no block starts at `block`, or it is free in its
  /// slab. A block that rests in a cache or a stash passes. Returns: what was found there.
  detail::found_block expect_block(const void* block, const char* call) noexcept {
    const detail::found_block b = find(block);
    if (b.bytes == 0) fail(block, call);
    if (b.size_class != 0) centrals_[b.size_class].expect_in_use(pages_, block, call);
    return b;
  }

  // ---- exact counting, and checking at once: the caller brings every call here, no hit path does
  // -----------

  /// Effects: statistics come from the note_ functions from now on. Requires: no other thread is
  /// inside the heap; `own` is the caller's cache or null. Returns: false, and nothing has changed, when
  /// memory was refused.
  [[nodiscard]] bool count_exactly(cache* own) noexcept {
    if (!start() || !pages_.keep_slack()) return false;
    ashlar_stats before;
    collect(before, own);
    counting_.begin(pages_, classes::table(), before);
    return true;
  }

  /// Effects: counts the live block that a request for `size` bytes got.
  void note_allocation(const void* block, std::size_t size) noexcept {
    counting_.allocated(pages_, block, find(block), size);
  }
  /// Effects: counts the end of `block`. Ends in a fault naming `call` when no live block starts there.
  void note_deallocation(const void* block, const char* call) noexcept {
    counting_.freed(pages_, block, expect_block(block, call), call);
  }
  /// Effects: counts that `block` stayed and now serves `size` bytes.
  void note_resize(const void* block, std::size_t size) noexcept {
    counting_.resized(pages_, block, find(block), size);
  }
  /// Effects: ends in a fault naming `call`, at once, when no live block starts at `block`.
  void expect_live(const void* block, const char* call) noexcept {
    counting_.expect_live(pages_, block, expect_block(block, call), call);
  }
  /// Effects: as `expect_live`, and ends in a fault, wrong_size, when `block` was not noted with `size`.
  void expect_size(const void* block, std::size_t size, const char* call) noexcept {
    counting_.expect_size(pages_, block, expect_block(block, call), size, call);
  }

  /// Effects: locks everything, in the order of the layers, so that a fork copies a whole heap.
  void lock_all() noexcept {
    start_mutex_.lock();
    caches_.lock();
    looks_.lock();
    centrals_.lock();
    pages_.lock_all();
  }
  void unlock_all() noexcept {
    pages_.unlock_all();
    centrals_.unlock();
    looks_.unlock();
    caches_.unlock();
    start_mutex_.unlock();
  }

  /// Effects: checks the invariants of every structure; ends in a fault if one does not hold.
  /// Requires: no other thread is inside the heap. O(pages + blocks / 64).
  void audit() noexcept {
    if (!has_started()) return;
    pages_.audit();
    centrals_.audit(pages_);
  }

  [[nodiscard]] space_type& space() noexcept { return space_; }

  /// Effects: faults call the heap by this name; null, the beginning: by none. It is not copied.
  /// Requires: called before anything else.
  void set_name(const char* name) noexcept { pages_.set_name(name); }
  [[nodiscard]] const char* name() const noexcept { return pages_.name(); }

 private:
  using pages_type = detail::page_heap<space_type, mutex_type>;
  using centrals_type = detail::central_set<space_type, mutex_type, classes>;
  using central_type = typename centrals_type::central_type;

  /// From this length on, a block that has to move is remapped. For 132 pages that takes 14 us, as
  /// copying to pages in memory does; copying to fresh ones takes 270 us. For 1056 pages: 33, 230
  /// and 2,100 us.
  static constexpr std::size_t remap_pages_min = 512 * 1024 / detail::page_size;

  /// How many stacks a miss looks at to find one whose room it can take.
  static constexpr std::size_t stacks_a_miss = 8;

  /// Effects: closes stacks of the cache that rest, until it may have room for `more` bytes within
  /// `share`. It goes round, and looks at `looks` stacks at most: what is used since the last look
  /// stays. Twice round closes all. Returns: whether there is so much room. Requires: the caller is
  /// done with all stacks but `kept`.
  bool make_room(cache& own, class_index kept, std::size_t more, std::size_t share,
                 std::size_t looks) noexcept {
    for (; own.room_bytes() + more > share && looks != 0; --looks) {
      own.looked_at = static_cast<class_index>((own.looked_at + 1u) % classes::count());
      const class_index c = own.looked_at;
      if (!own.is_open(c) || c == kept) continue;
      if (!is_resting(own, c)) {
        publish(own, c);
        continue;
      }
      flush_class(own, c, &central_type::give);
      own.close(c, classes::block_size(c));
    }
    return own.room_bytes() + more <= share;
  }

  /// Effects: called at a miss: what the cache holds beyond its share, because there are more
  /// caches now, goes back.
  void keep_to_share(cache& own) noexcept {
    if (caches_.is_beyond_share(own.room_bytes())) [[unlikely]]
      static_cast<void>(make_room(own, 0, 0, caches_.share(), 2 * classes::count()));
  }

  /// Effects: opens stack `c`, if it is closed and the cache may hold blocks of that size. Returns:
  /// whether it is open.
  bool open(cache& own, class_index c) noexcept {
    if (own.is_open(c)) [[likely]]
      return true;
    const std::size_t size = classes::block_size(c), share = caches_.share();
    if (size > std::min(bounds_.cached_block_max, heap_bounds::block_max_of_share(share)))
      return false;
    const std::uint16_t blocks = detail::first_capacity(
        size, std::min(bounds_.stack_bytes_first, heap_bounds::stack_bytes_of_share(share)));
    return make_room(own, c, blocks * size, share, stacks_a_miss) && own.open(c, size, blocks);
  }

  [[nodiscard]] static void* pop(cache& own, class_index c) noexcept {
    void* const block = own.top(c)[-1];
    if (block != nullptr) --own.top(c);
    return block;
  }

  /// Effects: more room for class `c`, if this cache may hold more: within its share, and beyond
  /// what its stacks opened with its share of half of what the centrals have handed out. Returns:
  /// whether it got it.
  bool grow(cache& own, class_index c, detail::miss what) noexcept {
    const std::size_t size = classes::block_size(c);
    const std::uint16_t blocks = own.wanted(c, size, what);
    if (blocks == own.capacity[c]) return false;
    const std::size_t more = size * (blocks - own.capacity[c]);
    const auto held = held_.now();
    if (own.capacity_bytes + more > std::max(held / 2 / caches_.count(), bounds_.cache_bytes_min))
      return false;
    return own.room_bytes() + more <= caches_.share() && own.grow(c, size, blocks);
  }

  using giving = void (central_type::*)(pages_type&, void* const*, std::size_t,
                                        const char*) noexcept;
  void flush_class(cache& own, class_index c, giving give) noexcept {
    const std::size_t count = own.count(c);
    if (count != 0) {
      (centrals_[c].*give)(pages_, own.first(c), count, detail::earlier_free);
      held_.note(-static_cast<std::int64_t>(count * classes::block_size(c)));
      own.top(c) = own.first(c);
      own.moved_blocks += count;
    }
    publish(own, c);  // hits may have emptied it since it was published
  }

  void flush_to(cache& own, giving give) noexcept {
    for (std::size_t c = 1; c < classes::count(); ++c)
      flush_class(own, static_cast<class_index>(c), give);
  }

  /// Returns: whether class `c` of the cache is as it was published, by its last miss or by a look at
  /// it since: its owner does not use it, or uses it little.
  [[nodiscard]] static bool is_resting(cache& own, class_index c) noexcept {
    return own.count(c) == own.published[c].load(std::memory_order_relaxed);
  }
  /// Effects: gives back to the slabs what rests, and looks at the rest, so that next time it may.
  void flush_resting(cache& own) noexcept {
    for (std::size_t i = 1; i < classes::count(); ++i) {
      const auto c = static_cast<class_index>(i);
      if (is_resting(own, c))
        flush_class(own, c, &central_type::give_to_slabs);
      else
        publish(own, c);
    }
  }

  static void publish(cache& own, class_index c) noexcept {
    own.published[c].store(static_cast<std::uint32_t>(own.count(c)), std::memory_order_relaxed);
  }

  [[noreturn]] ASHLAR_COLD void fail(const void* block, const char* call) noexcept {
    ashlar_fault({.kind = pages_.owns(block) ? fault_kind::not_in_use : fault_kind::foreign_pointer,
                  .call = call,
                  .address = block,
                  .pool = name()});
  }

  [[nodiscard]] detail::run* new_large(std::size_t pages, std::size_t align_pages,
                                       cache* own) noexcept {
    if (!start()) return nullptr;
    detail::run* r = pages_.new_large(pages, align_pages, detail::growth::refused);
    if (r == nullptr) {
      settle_before_growth(nullptr, pages);  // a cache's few pages would not be what is missing
      r = pages_.new_large(pages, align_pages, detail::growth::allowed);
      if (r == nullptr && settle_all(own))
        r = pages_.new_large(pages, align_pages, detail::growth::allowed);
    }
    if (r != nullptr) held_.note_large(0, r->pages);
    return r;
  }

  /// Requires: `own` is the caller's cache, or null.
  [[nodiscard]] std::size_t take(class_index c, void** out, std::size_t count,
                                 cache* own) noexcept {
    const std::size_t got = centrals_[c].take(pages_, out, count, detail::growth::refused);
    if (got != 0) return got;
    settle_before_growth(own, classes::shape(c).pages);
    const std::size_t grown = centrals_[c].take(pages_, out, count, detail::growth::allowed);
    if (grown != 0 || !settle_all(own)) return grown;
    return centrals_[c].take(pages_, out, count, detail::growth::allowed);
  }

  /// Effects: the heap cannot grow: all that rests in stashes and `own` (may be null) is sorted back,
  /// whatever it costs. Returns: whether there was anything.
  bool settle_all(cache* own) noexcept {
    const auto in_own = [own](class_index c) { return own != nullptr ? own->count(c) : 0; };
    if (centrals_.resting(in_own).blocks == 0) return false;
    if (own != nullptr) flush_to(*own, &central_type::give_to_slabs);
    centrals_.settle(pages_);
    return true;
  }

  /// Effects: called before the heap grows by `pages`: when it pays, what is stashed, or rests in
  /// `own` (may be null), goes back to its slabs, so that those which become empty serve instead.
  /// O(classes), plus the blocks.
  void settle_before_growth(cache* own, std::size_t pages) noexcept {
    const detail::resting_blocks all = centrals_.resting(
        [own](class_index c) { return own != nullptr && is_resting(*own, c) ? own->count(c) : 0; });
    if (!settling_.pays_before_growth(all, pages, bounds_.settle_bytes_min)) return;
    if (own != nullptr) flush_resting(*own);
    centrals_.settle(pages_);
  }

  void deallocate_large(void* block, const char* call) noexcept {
    const std::size_t bytes = pages_.delete_large(block);
    if (bytes == 0) fail(block, call);
    held_.note_large(bytes >> detail::page_shift, 0);
    maintain();
  }

  /// Effects: if it is time to look, gives back what nobody has needed for a while. Called by a
  /// cache's misses, with no lock held: a heap that is not used at all does not look.
  void maintain() noexcept {
    const std::int64_t delay = pages_.delay_ms();
    if (delay >= 0 && looks_.is_time(space_.now_ms(), delay)) [[unlikely]]
      look();
  }
  ASHLAR_COLD void look() noexcept {
    look_progress progress;
    while (look_step(progress)) {
    }
  }

  /// Effects: called when an owner of a cache has ended that moved so many blocks to and from the
  /// centrals: when it pays, sorts the stashes back.
  void settle_after(std::size_t moved_blocks) noexcept {
    const auto all = centrals_.resting([](class_index) { return std::size_t{0}; });
    const auto held = held_.now();
    if (detail::settling::pays_at_end(all, moved_blocks, held, bounds_.settle_bytes_min))
      centrals_.settle(pages_);
  }

  [[nodiscard]] detail::found_block find(const void* block) noexcept {
    if (const class_index c = pages_.class_anywhere(block); c != 0)
      return {classes::block_size(c), c};
    const detail::run* r = pages_.large_at(block);
    return {r == nullptr ? 0 : std::size_t{r->pages} << detail::page_shift, 0};
  }

  detail::sealable<space_type> space_;
  pages_type pages_;
  centrals_type centrals_;
  detail::cache_set<space_type, mutex_type> caches_;
  std::atomic<bool> started_{false};
  mutex_type start_mutex_;
  detail::settling settling_;
  detail::looks<centrals_type, mutex_type, classes> looks_;
  heap_bounds bounds_;
  detail::exact_counting<pages_type> counting_;
  detail::held_bytes held_;
};

}  // namespace ashlar
