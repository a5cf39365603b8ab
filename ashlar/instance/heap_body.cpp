// instance/heap_body.cpp: heap instances coming and going, threads coming and going, fork.
// Layer: instance.
//
// The registry's `links` is held for a few instructions, and never during a call into a heap: a
// heap's source is foreign code, and may be another heap.
#include <algorithm>
#include <bit>
#include <cstring>
#include <mutex>
#include <new>
#include <utility>

#include <ashlar/check/heap_leaks.hpp>
#include <ashlar/core/bits.hpp>
#include <ashlar/core/fault.hpp>
#include <ashlar/core/linked_list.hpp>
#include <ashlar/heap/copied_block.hpp>
#include <ashlar/heap/heap_layout.hpp>
#include <ashlar/instance/heap_instance.hpp>
#include <ashlar/os/page_source.hpp>
#include <ashlar/os/process.hpp>
#include <ashlar/runtime/control.hpp>
#include <ashlar/runtime/hit_path.hpp>
#include <ashlar/runtime/process_thread.hpp>

namespace ashlar::runtime {

namespace {

/// Nobody's slots, never written: of a thread that has used no heap yet, and of one that is ending.
constinit const heap_table no_heaps{};
constinit const heap_table ended_heaps{};

heap_hits* constant(const heap_table& table) noexcept { return const_cast<heap_table*>(&table); }

}  // namespace

[[gnu::tls_model("initial-exec")]] constinit thread_local heap_hits* own_heaps =
    const_cast<heap_table*>(&no_heaps);

// ---- which heaps live ---------------------------------------------------------------------------

struct heap_registry {
  /// One heap begins or ends at a time, and none while the process forks.
  detail::ranked<os::told_mutex, detail::lock_rank::heap_lives>::type lives;
  /// The list and the pins.
  detail::ranked<os::told_mutex, detail::lock_rank::heap_links>::type links;
  heap_instance* newest = nullptr;
  std::uint64_t last_id = 0;

  void add(heap_instance* body) noexcept {
    const std::lock_guard one_at_a_time(lives);
    const std::lock_guard guard(links);
    body->id_ = ++last_id;
    detail::link_first(newest, *body);
  }

  /// Effects: takes `body` off the list and waits until nobody pins it.
  void remove(heap_instance* body) noexcept {
    {
      const std::lock_guard one_at_a_time(lives);
      const std::lock_guard guard(links);
      detail::unlink_from(newest, *body);
    }
    body->unpinned_.lock();
  }

  /// Effects: gives a cache of the calling thread's back, if the heap still lives. O(living heaps).
  void detach(const heap_slot& slot) noexcept {
    heap_instance* const body = pin([&](const heap_instance& b) { return b.id_ == slot.id; });
    if (body == nullptr) return;
    body->engine_.detach(&heap_engine::cache::of(*slot.tops));
    unpin(body);
  }

  /// As named_heap_request. O(living heaps).
  [[nodiscard]] bool ask(named_heap& which, const std::uint64_t* budget,
                         ashlar_stats& now) noexcept {
    heap_instance* const body = pin([&which](const heap_instance& b) {
      if (b.id_ >= which.id || b.name() == nullptr) return false;
      return which.wanted != nullptr ? std::string_view(b.name()) == which.wanted
                                     : *b.name() != '\0';
    });
    if (body == nullptr) return false;
    which.id = body->id_;
    std::strncpy(which.name, body->name(), sizeof which.name - 1);
    if (budget != nullptr) body->set_budget(*budget);
    body->collect(now);
    unpin(body);
    return true;
  }

  // ---- fork: the child has the forking thread alone ----

  void lock_all() noexcept {
    const detail::lock_level fork;  // what it takes, its unlock_all opens
    lives.lock();
    for (heap_instance* b = newest; b != nullptr; b = b->next) {
      const detail::lock_level of_heap;
      b->watch_.checks.lock();
      b->engine_.lock_all();
    }
    links.lock();
  }
  void unlock_all() noexcept {
    links.unlock();
    for (heap_instance* b = newest; b != nullptr; b = b->next) {
      b->engine_.unlock_all();
      b->watch_.checks.unlock();
    }
    lives.unlock();
  }
  void keep_own_caches() noexcept {
    for (heap_instance* b = newest; b != nullptr; b = b->next) {
      const heap_slot& slot = own_heaps->slots[b->id_ % heap_slots];
      b->engine_.keep_only(slot.id == b->id_ ? &heap_engine::cache::of(*slot.tops) : nullptr);
      if (b->pins_ != 0) b->unpinned_.unlock();  // those who pinned it are not here
      b->pins_ = 0;
    }
  }

 private:
  /// Returns: the newest heap that `is_it`, kept alive until `unpin`; null when it has ended.
  template <class IsIt>
  [[nodiscard]] heap_instance* pin(IsIt is_it) noexcept {
    const std::lock_guard guard(links);
    heap_instance* body = newest;
    while (body != nullptr && !is_it(*body)) body = body->next;
    // Free for sure when there are no pins: `remove` locks it only after the heap has left the
    // list.
    if (body != nullptr && body->pins_++ == 0) body->unpinned_.lock();
    return body;
  }
  void unpin(heap_instance* body) noexcept {
    const std::lock_guard guard(links);
    if (--body->pins_ == 0) body->unpinned_.unlock();
  }
};

namespace {

constinit heap_registry registry;

}  // namespace

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winvalid-offsetof"
/// For who reads a core file: where the living heaps are.
struct instances_layout {
  [[nodiscard]] static constexpr detail::heap_layout::heaps heaps() noexcept {
    return {.list = &registry.newest,
            .classes = &detail::standard::table(),
            .list_next = ASHLAR_PART(heap_instance, next),
            .list_heap = ASHLAR_PART(heap_instance, engine_)};
  }
};
#pragma GCC diagnostic pop

}  // namespace ashlar::runtime

extern "C" {
[[gnu::visibility("hidden")]] extern const ashlar::detail::heap_image ashlar_instances_image;
[[gnu::used]] constinit const ashlar::detail::heap_image ashlar_instances_image =
    ashlar::detail::heap_layout::of<ashlar::runtime::heap_engine>(
        ashlar::runtime::instances_layout::heaps());
}
ASHLAR_ELF_NOTE_TO(ASHLAR_NOTE_HEAP, "ashlar_instances_image");

namespace ashlar::runtime {
namespace {

void before_fork() noexcept { registry.lock_all(); }
void after_fork_in_parent() noexcept { registry.unlock_all(); }
void after_fork_in_child() noexcept {
  registry.unlock_all();
  registry.keep_own_caches();
}

// ---- threads ------------------------------------------------------------------------------------

void end_thread(void* table) noexcept {
  auto* const own = static_cast<heap_table*>(table);
  // From here on this thread has no caches: giving one back may call a source that is a heap
  // itself.
  own_heaps = constant(ended_heaps);
  for (const heap_slot& slot : own->slots)
    if (slot.id != 0) registry.detach(slot);
  deallocate(own, "free");
}

constinit os::thread_end thread_exit;

/// Effects: makes fork safe for heap instances and watches threads' ends, once. Handlers that
/// prepare a fork run in the reverse order of their registration, and a heap's source may allocate
/// from the process heap: so the process heap's handlers, which its first use registers, come
/// first.
/// Requires: no other thread yet, which holds until constructors have run. Later, a fork could copy
/// a program in which another thread has done half of this, or holds the lock for it.
void start_instances() noexcept {
  static constinit bool started = false;
  if (started) return;
  started = true;
  deallocate(allocate(1), "free");
  os::at_fork(before_fork, after_fork_in_parent, after_fork_in_child);
  thread_exit.start(end_thread);
  ask_named_heap.store([](named_heap& which, const std::uint64_t* budget,
                          ashlar_stats& now) noexcept { return registry.ask(which, budget, now); });
}

/// The first heap may begin before this, in an earlier constructor.
[[gnu::constructor(102)]] void start_instances_early() noexcept { start_instances(); }

/// Returns: this thread's table, null when it has none.
heap_table* made_table() noexcept {
  return own_heaps == &no_heaps || own_heaps == &ended_heaps ? nullptr
                                                             : static_cast<heap_table*>(own_heaps);
}

/// Returns: this thread's table, made now if it has none; null when it has to do without.
heap_table* own_table() noexcept {
  if (own_heaps != &no_heaps) [[likely]]
    return made_table();
  void* const memory = allocate(sizeof(heap_table));
  if (memory == nullptr) return nullptr;
  auto* const table = ::new (memory) heap_table{};
  if (!thread_exit.watch(table)) {
    deallocate(memory, "free");
    return nullptr;
  }
  own_heaps = table;
  return table;
}

}  // namespace

// ---- a thread inside a heap ---------------------------------------------------------------------

/// The calling thread's way into a heap's miss paths: finds or attaches its cache, and keeps the
/// slot. The heap's source runs inside; when that is a heap, too, its misses may want the same
/// slot, and then do without a cache.
class heap_instance::visit {
 public:
  enum class need : bool { a_cache, what_is_there };

  explicit visit(heap_instance& body, need n = need::a_cache) noexcept
      : table_(n == need::a_cache ? own_table() : made_table()), slot_(body.id_ % heap_slots) {
    if (table_ == nullptr || table_->busy[slot_]) return;
    table_->busy[slot_] = true;
    entered_ = true;
    heap_slot& slot = table_->slots[slot_];
    if (slot.id != body.id_ && (n == need::what_is_there || !attach(body, slot))) return;
    cache_ = &heap_engine::cache::of(*slot.tops);
    const std::uint32_t pressure = body.pressure_.load(std::memory_order_relaxed);
    if (std::exchange(table_->pressure_seen[slot_], pressure) != pressure)
      body.engine_.flush(*cache_);
  }
  ~visit() {
    if (entered_) table_->busy[slot_] = false;
  }
  visit(const visit&) = delete;
  visit& operator=(const visit&) = delete;

  /// Null: the thread has to do without.
  [[nodiscard]] heap_engine::cache* cache() const noexcept { return cache_; }

 private:
  [[nodiscard]] bool attach(heap_instance& body, heap_slot& slot) noexcept {
    // Whoever has the slot goes first: it must not be found in a slot that is not its own any more.
    const heap_slot old = std::exchange(slot, {});
    if (old.id != 0) registry.detach(old);
    heap_engine::cache* const own = body.engine_.attach();
    if (own == nullptr) return false;
    slot = {body.id_, &own->tops};
    table_->pressure_seen[slot_] = body.pressure_.load(std::memory_order_relaxed);
    return true;
  }

  heap_table* table_;
  std::size_t slot_;
  bool entered_ = false;
  heap_engine::cache* cache_ = nullptr;
};

// ---- begin and end ------------------------------------------------------------------------------

namespace {
constexpr std::size_t body_bytes() noexcept {
  return align_up(sizeof(heap_instance), detail::page_size);
}
/// Every body is an instance's.
heap_instance* whole(heap_body* body) noexcept { return static_cast<heap_instance*>(body); }
}  // namespace

heap_body* heap_body::create(const any_source& source, std::size_t budget_bytes, const char* name,
                             const heap_checks& checks) noexcept {
  start_instances();
  // Not from the process heap: tens of kilobytes that come and go with each heap would stay there.
  void* const memory = os::page_source::allocate(body_bytes(), detail::page_size);
  if (memory == nullptr) return nullptr;
  auto* const body = ::new (memory) heap_instance;
  body->engine_.set_name(name);
  body->budget_bytes_.store(budget_bytes, std::memory_order_relaxed);
  body->engine_.space().place(source, budget_bytes);
  body->engine_.set_bounds(heap_bounds::of_budget(budget_bytes));
  registry.add(body);
  if (body->start_checks(checks)) {
    body->hit_id_ = body->is_watched() ? heap_instance::never_hit_id : body->id_;
    return body;
  }
  destroy(body, detail::heap_leaks::ignored);
  return nullptr;
}

void heap_body::call_at_budget(const budget_answer& answer) noexcept {
  heap_instance& own = *whole(this);
  own.answer_.set(answer.call, answer.argument);
  const unsigned percent = answer.percent != 0 ? answer.percent : budget_answer{}.percent;
  own.soft_percent_.store(std::min(percent, heap_instance::no_soft_limit),
                          std::memory_order_relaxed);
  own.set_budget(own.budget_bytes_.load(std::memory_order_relaxed));
}

void heap_body::destroy(heap_body* of, detail::heap_leaks leaks) noexcept {
  heap_instance* const body = whole(of);
  detail::full_check& checks = body->watch_.checks;
  if (checks.is_on()) checks.look("~heap");
  if (leaks != detail::heap_leaks::ignored) {
    ashlar_stats stats;
    body->collect(stats);
    detail::tell_leaks(leaks, checks, stats, body->name());
  }
  registry.remove(body);
  body->engine_.release_all();
  checks.end();
  body->~heap_instance();
  os::page_source::deallocate(body, body_bytes(), detail::page_size);
}

void heap_instance::set_budget(std::uint64_t bytes) noexcept {
  const bool is_bound = bytes != 0 && bytes < SIZE_MAX;
  const std::size_t most = is_bound ? static_cast<std::size_t>(bytes) : SIZE_MAX;
  budget_bytes_.store(most, std::memory_order_relaxed);
  engine_.space().set_budget(most);
  engine_.set_limit(most, soft_percent_.load(std::memory_order_relaxed));
  if (engine_.supply().committed_bytes() > most) trim();
}

void heap_instance::cross() noexcept {
  if (is_in_between() || !engine_.supply().take_crossing()) return;
  if (soft_percent_.load(std::memory_order_relaxed) == no_soft_limit) return;
  engine_.supply().purge_aged(true);
  if (const std::size_t above = engine_.supply().bytes_above(); above != 0) make_room(above);
}

bool heap_instance::make_room(std::size_t bytes_to_drop) noexcept {
  if (is_in_between() || !answer_.run(bytes_to_drop)) return false;
  trim();
  return true;
}

bool heap_instance::start_checks(const heap_checks& checks) noexcept {
  if (!checks.cheap) return true;
  if (!engine_.count_exactly(nullptr)) return false;
  watch_.counts.store(true, std::memory_order_relaxed);
  if (!checks.full) return true;
  detail::full_check_options options;
  options.queue_blocks = checks.queue_blocks;
  options.stack_depth = checks.stack_depth;
  options.name = name();
  options.compares_all_sizes = true;
  watch_.checks.start(options);
  return true;
}

// ---- miss paths ---------------------------------------------------------------------------------

void* heap_instance::take_once(std::size_t size, std::size_t alignment) noexcept {
  const visit own(*this);
  const class_index c = heap_engine::classes::class_for(size, alignment);
  if (c == 0) return engine_.allocate_large(size, alignment).address;
  return own.cache() != nullptr ? engine_.allocate_class(*own.cache(), c)
                                : engine_.allocate_uncached(c);
}

void* heap_instance::take(std::size_t size, std::size_t alignment) noexcept {
  if (engine_.supply().has_crossed()) [[unlikely]]
    cross();
  if (void* const block = take_once(size, alignment); block != nullptr) return block;
  const std::size_t budget = budget_bytes_.load(std::memory_order_relaxed);
  self.source_refused = false;
  if (size <= budget && size <= PTRDIFF_MAX && alignment <= PTRDIFF_MAX) {
    trim();
    if (void* const block = take_once(size, alignment); block != nullptr) return block;
    pressure_.fetch_add(1, std::memory_order_relaxed);
    const bool has_room =
        (budget != SIZE_MAX && make_room(std::max(size, engine_.supply().bytes_above()))) ||
        (self.source_refused && the_limit.make_room(size));
    if (has_room)
      if (void* const block = take_once(size, alignment); block != nullptr) return block;
  }
  if (self.source_refused) the_limit.refuse(size, "allocate");
  if (budget != SIZE_MAX) engine_.note_refusal();
  return nullptr;
}

void heap_instance::give(void* block, const char* call) noexcept {
  const visit own(*this);
  if (own.cache() != nullptr)
    engine_.deallocate_slow(*own.cache(), block, call);
  else
    engine_.deallocate_uncached(block, call);
}

// ---- what callers name ------------------------------------------------------------------------

void* heap_body::allocate_slow(std::size_t size, std::size_t alignment) noexcept {
  heap_instance& own = *whole(this);
  if (!std::has_single_bit(alignment))
    ashlar_fault({.kind = fault_kind::bad_argument, .call = "allocate", .pool = own.name()});
  return own.is_watched() ? own.watched_calls().take(size, alignment, false, "allocate")
                          : own.take(size, alignment);
}

void heap_body::deallocate_slow(void* block, const char* call) noexcept {
  if (block == nullptr) return;
  heap_instance& own = *whole(this);
  own.is_watched() ? own.watched_calls().give(block, call) : own.give(block, call);
}

void* heap_body::reallocate(void* block, std::size_t size, const char* call) noexcept {
  heap_instance& own = *whole(this);
  if (block == nullptr) return allocate(hit_id_, size);
  const auto or_null = [](void* resized) {
    return resized != detail::no_block() ? resized : nullptr;
  };
  if (own.is_watched()) return or_null(own.watched_calls().resize(block, size, call));
  heap_engine& engine = own.engine_;
  if (void* const kept = engine.reallocate(block, size, call); kept != nullptr)
    return or_null(kept);
  return detail::reallocate_by_copy(
      block, engine.usable_size(block, call), size, [&] { return allocate(hit_id_, size); },
      [&](void* old) { deallocate(hit_id_, old, call); });
}

std::size_t heap_body::usable_size(const void* block, const char* call) noexcept {
  heap_instance& own = *whole(this);
  if (!own.is_watched()) return own.engine_.usable_size(block, call);
  const std::size_t usable = own.watched_calls().usable_size(block, call);
  return usable != detail::full_check::none ? usable : 0;
}

bool heap_body::expect_size(const void* block, std::size_t size, const char* call) noexcept {
  heap_instance& own = *whole(this);
  // What full checks do not know, `deallocate` finds.
  return own.watch_.checks.is_on() ? own.watch_.checks.expect_size(block, size, call)
                                   : own.engine_.expect_size(block, size, call);
}

bool heap_body::owns(const void* address) noexcept { return whole(this)->engine_.owns(address); }

std::size_t heap_body::trim() noexcept {
  heap_engine& engine = whole(this)->engine_;
  heap_space& space = engine.space();
  const std::uint64_t returned = space.returned_bytes();
  std::size_t purged = 0;
  {
    const heap_instance::visit own(*whole(this), heap_instance::visit::need::what_is_there);
    if (own.cache() != nullptr) engine.flush(*own.cache());
    purged = engine.trim();
  }
  return space.has_source() ? static_cast<std::size_t>(space.returned_bytes() - returned) : purged;
}

bool heap_body::prefault(std::size_t bytes, std::size_t threads) noexcept {
  heap_instance& body = *whole(this);
  const heap_instance::visit own(body);
  return body.engine_.prefault(bytes, threads, own.cache());
}

void heap_body::seal(bool on) noexcept { whole(this)->engine_.seal(on); }

void heap_body::end_exhausted(std::size_t size) noexcept {
  heap_instance& own = *whole(this);
  ashlar_stats now;
  collect(now);
  end_at_limit(size, "allocate", now, own.name(), &own.watch_.checks);
}

void heap_body::collect(ashlar_stats& out) noexcept {
  heap_instance& body = *whole(this);
  {
    const heap_instance::visit own(body, heap_instance::visit::need::what_is_there);
    body.engine_.collect(out, own.cache());
  }
  ashlar_total_stats& t = out.total;
  t.accuracy = body.is_watched() ? ASHLAR_ACCURACY_EXACT : ASHLAR_ACCURACY_BATCH;
  t.resident_bytes = 0;  // the system knows that of processes only
  const std::size_t budget = body.budget_bytes_.load(std::memory_order_relaxed);
  t.limit_bytes = budget == SIZE_MAX ? 0 : budget;  // also of a heap that nobody has used
  t.metadata_bytes += body_bytes() + body.watch_.checks.memory_bytes();
  const heap_space& space = body.engine_.space();
  if (!space.has_source()) return;
  t.committed_bytes = space.taken_bytes();
  t.peak_committed_bytes = space.taken_bytes_peak();
  t.given_back_bytes = space.returned_bytes();
}

void heap_body::audit() noexcept {
  heap_instance& own = *whole(this);
  own.engine_.audit();
  if (own.watch_.checks.is_on()) own.watch_.checks.look("audit");
}

}  // namespace ashlar::runtime
