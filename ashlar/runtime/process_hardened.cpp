// runtime/process_hardened.cpp: hardened calls, from the block's word down to the heap.
// Layer: runtime.
#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include <ashlar/core/bits.hpp>
#include <ashlar/core/fault.hpp>
#include <ashlar/heap/copied_block.hpp>
#include <ashlar/os/loaded_module.hpp>
#include <ashlar/os/thread_words.hpp>
#include <ashlar/runtime/background.hpp>
#include <ashlar/runtime/drop_in.hpp>
#include <ashlar/runtime/front.hpp>
#include <ashlar/runtime/hardened_pages.hpp>
#include <ashlar/runtime/hardened_quarantine.hpp>
#include <ashlar/runtime/process_hardened.hpp>
#include <ashlar/runtime/process_watch.hpp>
#include <ashlar/runtime/settings.hpp>

namespace ashlar::runtime {

constinit bool stays_hardened = false;
constinit detail::live_look hardened_looker;

namespace {

using cache = process_heap::cache;
using detail::block_family;
using detail::block_label;
using detail::block_words;
using detail::label_bytes;

/// Whether the addresses that a cache gets are shuffled.
constinit bool shuffles_new = false;
/// Whether new and delete are told from malloc and free: not where the program has replaced an
/// operator, which may give what malloc gave, and leave its delete to the library.
constinit bool tells_families = true;

/// The largest request that a cache serves here. Above it a request that is to be zero gets a run
/// of pages.
constexpr std::size_t cached_max = detail::shared_slab_block_max - label_bytes;

constexpr const char* cleared_call = "free, cleared";

/// The blocks of no bytes, once it is known that the process stays hardened.
constinit detail::zero_blocks blocks_of_nothing;

[[nodiscard]] ASHLAR_HOT block_family family_of(const char* call) noexcept {
  if constexpr (!is_drop_in) return block_family::any;  // its faces are named otherwise
  if (call[0] != 'o') [[likely]]
    return block_family::c;
  if (!tells_families) return block_family::any;
  // "operator new", "operator new[]", "operator delete", "operator delete[]"
  constexpr std::size_t name = sizeof "operator " - 1;
  const std::size_t end = name + (call[name] == 'n' ? sizeof "new" : sizeof "delete") - 1;
  return call[end] == '[' ? block_family::cxx_array : block_family::cxx;
}

/// Returns: the name of `call` for a guarded block, which knows families by names: one of no family
/// where new and delete are not told apart.
[[nodiscard]] const char* name_for_guards(const char* call) noexcept {
  return tells_families || call[0] != 'o' ? call : "new or delete";
}

[[noreturn]] ASHLAR_COLD void fail(fault_kind kind, const char* call, const void* address,
                                   std::size_t size) noexcept {
  ashlar_fault({.kind = kind, .call = call, .address = address, .block_size = size});
}

/// Effects: ends in a fault: `block`, of `bytes`, has no word of a live block.
[[noreturn]] ASHLAR_COLD void fail_unlabelled(const void* block, std::size_t bytes,
                                              const char* call) noexcept {
  // An address inside a block, or in no block: the heap knows which, and reports it.
  if (const look at; at.is_inside()) {
    os::own_words.ends_at_fault = true;
    static_cast<void>(the_heap.expect_block(block, call));
    os::own_words.ends_at_fault = false;
  }
  const auto* const begin = static_cast<const std::byte*>(block);
  // A free block is zero. One that was overwritten with zeros has bytes of its caller's, but for
  // few.
  std::uint64_t word;
  std::memcpy(&word, begin + bytes - label_bytes, sizeof word);
  if (word == 0 &&
      detail::first_not_zero(block, std::min(bytes, detail::looked_at_bytes_max)) == nullptr)
    fail(fault_kind::double_free, call, block, bytes);
  fail(fault_kind::overflow, call, begin + bytes - label_bytes, bytes);
}

ASHLAR_HOT void expect_canary(const void* block, std::size_t bytes, std::size_t size,
                              const char* call) noexcept {
  if (const std::byte* const at = hardened_words.first_spoilt(block, bytes, size); at != nullptr)
      [[unlikely]]
    fail(fault_kind::overflow, call, at, size);
}
/// Returns: what the word of the live block says. Ends in a fault naming `call` unless it is one,
/// and nobody wrote to the bytes behind it.
[[nodiscard]] ASHLAR_HOT block_label expect_label(const void* block, std::size_t bytes,
                                                  const char* call) noexcept {
  const block_label label = hardened_words.label_of(block, bytes);
  if (label.family == block_family::none) [[unlikely]]
    fail_unlabelled(block, bytes, call);
  expect_canary(block, bytes, label.size, call);
  return label;
}
ASHLAR_HOT void expect_family(const void* block, block_label label, const char* call) noexcept {
  const block_family family = family_of(call);
  if (detail::are_matching(label.family, family)) [[likely]]
    return;
  const bool is_c = label.family == block_family::c || family == block_family::c;
  if (!is_c || !os::has_foreign_operators())
    fail(fault_kind::mismatched_call, call, block, label.size);
}

/// Returns: what is known of the block of no bytes. Ends in a fault naming `call` when none starts
/// there.
[[nodiscard]] ASHLAR_COLD block_label expect_of_nothing(const void* block,
                                                        const char* call) noexcept {
  const block_family family = blocks_of_nothing.family_of(block);
  if (family == block_family::none)
    fail(is_aligned(block, block_granule) ? fault_kind::double_free : fault_kind::interior_pointer,
         call, block, 0);
  return {0, family};
}

/// Returns: the class of `block`, if it is in the heap's first range and a whole block of its class
/// may be there: its last byte is in a slab of the same class. Else 0.
[[nodiscard]] ASHLAR_HOT class_index class_of(const cache& own, const void* block) noexcept {
  const detail::block_tables& tables = own.tops.tables;
  const class_index c = tables.class_of(block);
  if (c == 0) return 0;  // the page before it is another's
  const auto* const last =
      static_cast<const std::byte*>(block) + process_classes::block_size(c) - 1;
  return tables.class_of(last) == c ? c : class_index{0};
}

/// A live block of the heap.
struct live_block {
  std::size_t bytes = 0;  ///< without the page behind a large one
  block_label label;
  bool has_class = true;
  /// What block_words takes for its bytes: a large block has no word at its end.
  [[nodiscard]] std::size_t bytes_to_word() const noexcept {
    return has_class ? bytes : bytes + label_bytes;
  }
  [[nodiscard]] std::size_t size_max() const noexcept {
    return has_class ? bytes - label_bytes : bytes;
  }
};

/// Returns: the block, anywhere in the heap. Ends in a fault naming `call` unless a live one starts
/// there, and nobody wrote to the bytes behind it.
[[nodiscard]] live_block expect_block(const void* block, const char* call) noexcept {
  live_block found;
  {
    const look at;
    const class_index c = the_heap.class_of(block);
    found.has_class = c != 0;
    if (c == 0) {
      const auto [bytes, note] = the_heap.find_large(block);
      if (note == 0) [[unlikely]]
        fail(the_heap.owns(block) ? fault_kind::not_in_use : fault_kind::foreign_pointer, call,
             block, 0);
      found.bytes = bytes - closed_bytes;
      found.label = block_words::label_of_note(note);
    } else {
      found.bytes = process_classes::block_size(c);
      if (the_heap.class_of(static_cast<const std::byte*>(block) + found.bytes - 1) != c)
          [[unlikely]]
        fail(fault_kind::interior_pointer, call, block, found.bytes);
    }
  }
  if (found.has_class)
    found.label = expect_label(block, found.bytes, call);
  else
    expect_canary(block, found.bytes_to_word(), found.label.size, call);
  return found;
}

/// Effects: a live block has no word any more, and no other thread looks at it.
ASHLAR_HOT void take_word(void* block, std::size_t bytes) noexcept {
  block_words::take_word(block, bytes);
  hardened_looker.await(block, &self);
}
/// Effects: a live block is zero, as a free one is.
ASHLAR_HOT void clear(void* block, std::size_t bytes, block_label label) noexcept {
  take_word(block, bytes);
  block_words::clear(block, bytes, label.size);
}
/// Effects: a block that is zero behind its size is live, as `b` says.
void seal(void* block, const live_block& b) noexcept {
  if (b.has_class) return hardened_words.seal(block, b.bytes, b.label.size, b.label.family);
  hardened_words.seal_end(block, b.bytes_to_word(), b.label.size);
  the_heap.note(block, block_words::note_of(b.label));
}
/// Effects: a live block is not known to be one any more, and is zero behind its size.
void unseal(void* block, const live_block& b) noexcept {
  if (b.has_class)
    take_word(block, b.bytes);
  else
    the_heap.note(block, 0);
  block_words::unseal(block, b.bytes_to_word(), b.label.size);
}

// ---- down to the heap ---------------------------------------------------------------------------

/// Effects: a block that is zero goes to the heap, without the hit path.
ASHLAR_COLD void give_missed(void* block) noexcept {
  const visit here;
  here.is_inside() ? plain_calls::give(block, "free") : free_after_fork(block, cleared_call);
}
ASHLAR_HOT void give(cache& own, class_index c, void* block) noexcept {
  if (!process_hits::try_deallocate_trusted(own.tops, block, c)) [[unlikely]]
    give_missed(block);
}

/// Returns: the quarantine of the calling thread, whose cache this is; null while it can have none.
[[nodiscard]] ASHLAR_COLD detail::freed_blocks* own_quarantine(cache& own) noexcept {
  detail::freed_blocks* const q = quarantine_of(&own);
  return q != nullptr || !stays_hardened ? q : make_quarantine(own);
}

/// A block of the heap that is about to be a caller's.
struct taken {
  void* block = nullptr;
  std::size_t bytes = 0;  ///< 0: it is the reserve's
  bool has_class = true;
};

/// Returns: a block for `label` that the thread's cache has not; a large one is a caller's already.
[[nodiscard]] ASHLAR_COLD taken take_missed(block_label label, std::size_t alignment,
                                            bool zeroed) noexcept {
  const std::size_t bytes = label.size + label_bytes;
  note_allocation();
  const visit here;
  if (!here.is_inside()) return {reserve.allocate(label.size, alignment, zeroed), 0};
  if (!has_secrets()) {
    draw_secrets();
    if (is_hardened_edition) the_heap.close_behind_slabs(closed_slabs_max);
  }
  if (!the_heap.start()) return {};  // its classes stand from then on
  // Where a run of pages serves, it is one page longer than the block.
  const bool as_run = (zeroed && bytes > detail::shared_slab_block_max) ||
                      process_classes::class_for(bytes, alignment) == 0;
  const std::size_t wanted = as_run ? label.size + closed_bytes : bytes;
  detail::new_block made = plain_calls::take(wanted, alignment, zeroed);
  if (made.address == nullptr && quarantine_of(self.own) != nullptr) {
    empty_quarantine();
    made = plain_calls::take(wanted, alignment, zeroed);
  }
  void* const block = made.address;
  if (block == nullptr) return {};
  std::size_t have = the_heap.usable_size(block, "allocate");
  if (shuffles_new && self.own != nullptr)
    if (detail::freed_blocks* const q = own_quarantine(*self.own); q != nullptr)
      shuffle(*self.own, the_heap.class_of(block), q->random);
  const bool has_class = the_heap.class_of(block) != 0;
  if (!has_class) {
    have -= closed_bytes;
    close_first(block, have);
    if (zeroed) made.cleared(have);
    seal(block, {have, label, false});
  }
  return {block, have, has_class};
}

/// Effects: makes what was taken a caller's.
[[nodiscard]] ASHLAR_HOT void* sealed(taken t, std::size_t size, bool zeroed,
                                      const char* call) noexcept {
  const std::size_t looked_at = zeroed ? t.bytes : std::min(t.bytes, detail::looked_at_bytes_max);
  if (const std::byte* const at = detail::first_not_zero(t.block, looked_at); at != nullptr)
      [[unlikely]]
    fail(fault_kind::use_after_free, call, at, t.bytes);
  hardened_words.seal(t.block, t.bytes, size, family_of(call));
  return t.block;
}

/// As hardened_allocate, of what may be guarded, or what the cache does not have.
[[nodiscard]] ASHLAR_COLD void* allocate_uncommon(std::size_t size, std::size_t alignment,
                                                  bool zeroed, const char* call) noexcept {
  if (size > PTRDIFF_MAX - label_bytes) return nullptr;
  if (self.own == nullptr && !stays_hardened) {
    // Behind another allocator's calls, as a recorder's, this may be the process's first: its
    // settings are read with the first cache, and say what serves.
    if (const visit here; here.is_inside()) static_cast<void>(own_cache());
    if (self.own != nullptr) return take(size, alignment, zeroed, call, next_front(front::counted));
  }
  call = alias_of(call);
  if (self.turn.until <= 1) {
    detail::guarded_blocks& guards = *the_watch.guards;
    if (!guards.is_on()) {
      self.turn.until = look_gap;
      look_at_some(look_gap, call);
    } else if (guards.is_turn_of(self.turn) && !the_heap.is_sealed()) {
      look_at_some(guards.one_of(), call);
      void* const block = guards.allocate(size, alignment, zeroed, name_for_guards(call),
                                          guards.side_for(self.turn));
      if (block != nullptr) return block;
    }
  }
  if (size == 0 && stays_hardened)
    if (void* const block = blocks_of_nothing.allocate(alignment, family_of(call));
        block != nullptr)
      return block;
  const taken t = take_missed({size, family_of(call)}, alignment, zeroed);
  return t.bytes == 0 || !t.has_class ? t.block : sealed(t, size, zeroed, call);
}

/// As hardened_deallocate, of what the thread's quarantine does not take at once.
ASHLAR_COLD void deallocate_uncommon(void* block, const char* call) noexcept {
  if (block == nullptr) return;
  call = alias_of(call);
  if (the_watch.is_guarded(block)) return the_watch.guards->free(block, name_for_guards(call));
  if (blocks_of_nothing.contains(block)) {
    expect_family(block, expect_of_nothing(block, call), call);
    if (!blocks_of_nothing.free(block)) fail(fault_kind::double_free, call, block, 0);
    return;
  }
  const live_block found = expect_block(block, call);
  expect_family(block, found.label, call);
  const class_index c = the_heap.class_of(block);
  if (c != 0 && self.own != nullptr) {
    if (detail::freed_blocks* const q = own_quarantine(*self.own); q != nullptr) {
      clear(block, found.bytes, found.label);
      void* const leaving = q->exchange(c, block, found.bytes, share_of_waiting);
      if (leaving != nullptr) give(*self.own, c, leaving);
      return;
    }
  }
  const visit here;
  if (!here.is_inside()) return free_after_fork(block, call);
  if (c != 0) {
    clear(block, found.bytes, found.label);
  } else {
    the_heap.note(block, 0);
    end_closed_block();
    if (!stays_hardened) std::memset(block, 0, found.bytes);  // else the heap closes its pages
  }
  plain_calls::give(block, call);
}

/// Effects: a large block has `size` bytes, if it can where it is or by moving its pages. Returns:
/// it; null, and it is as it was, when not.
[[nodiscard]] void* resize_large(void* block, const live_block& before, std::size_t size,
                                 const char* call) noexcept {
  const visit here;
  if (!here.is_inside() || size > PTRDIFF_MAX - label_bytes || size <= small_size_max ||
      !open_behind(block, before.bytes))
    return nullptr;
  unseal(block, before);
  void* const resized = the_heap.reallocate(block, size + closed_bytes, call);
  if (resized == nullptr) {
    seal(block, before);
    close_behind(block, before.bytes);
    return nullptr;
  }
  const std::size_t have = the_heap.usable_size(resized, call) - closed_bytes;
  close_behind(resized, have);
  // What a smaller block had behind its end may be in its last page.
  if (size < before.label.size) {
    const std::size_t kept = std::min(before.label.size, have);
    std::memset(static_cast<std::byte*>(resized) + size, 0, kept - size);
  }
  seal(resized, {have, {size, before.label.family}, false});
  the_background.note_free();
  return resized;
}

/// Effects: the block has `size` bytes from now on, and stays. Requires: they fit.
void* resize_here(void* block, live_block b, std::size_t size) noexcept {
  const look at;
  unseal(block, b);
  if (size < b.label.size)
    std::memset(static_cast<std::byte*>(block) + size, 0, b.label.size - size);
  b.label.size = size;
  seal(block, b);
  return block;
}

}  // namespace

bool is_of_no_bytes(const void* block) noexcept { return blocks_of_nothing.contains(block); }

bool is_cleared_call(const char* call) noexcept { return call == cleared_call; }

void decide_hardening(bool on, bool shuffles) noexcept {
  if (on && !has_secrets()) draw_secrets();
  stays_hardened = on;
  shuffles_new = shuffles;
  if constexpr (is_drop_in) tells_families = serves_all_operators();
  if (on) os::prepare_thread_fence();
  the_heap.close_freed(on ? detail::closing::always : detail::closing::first);
  close_pages(on);
  the_front.store(on ? front::hardened : front::watched, std::memory_order_relaxed);
}

void* hardened_allocate(std::size_t size, std::size_t alignment, bool zeroed,
                        const char* call) noexcept {
  cache* const own = self.own;
  // A size of 0 is uncommon, too.
  if (size - 1 >= cached_max || alignment > block_granule || own == nullptr ||
      self.alias != nullptr || self.turn.until <= 1) [[unlikely]]
    return allocate_uncommon(size, alignment, zeroed, call);
  --self.turn.until;
  const std::size_t bytes = size + label_bytes;
  void* const block = process_hits::try_allocate(own->tops, bytes);
  if (block == nullptr) [[unlikely]]
    return allocate_uncommon(size, alignment, zeroed, call);
  const std::size_t have = process_classes::block_size(process_classes::of_size(bytes));
  return sealed({block, have}, size, zeroed, call);
}

void hardened_deallocate(void* block, const char* call) noexcept {
  cache* const own = self.own;
  detail::freed_blocks* const q = quarantine_of(own);
  if (q == nullptr || self.alias != nullptr) [[unlikely]]
    return deallocate_uncommon(block, call);
  const class_index c = class_of(*own, block);
  if (c == 0) [[unlikely]]
    return deallocate_uncommon(block, call);
  const std::size_t bytes = process_classes::block_size(c);
  const block_label label = expect_label(block, bytes, call);
  expect_family(block, label, call);
  clear(block, bytes, label);
  if (void* const leaving = q->exchange(c, block, bytes, share_of_waiting); leaving != nullptr)
    give(*own, c, leaving);
}

std::size_t hardened_size(const void* block, const char* call) noexcept {
  // No guarded block is in a slab of the heap's first range.
  if (const class_index c = self.own != nullptr ? class_of(*self.own, block) : class_index{0};
      c != 0) [[likely]]
    return expect_label(block, process_classes::block_size(c), call).size;
  if (the_watch.is_guarded(block)) return the_watch.guards->size_of(block, call);
  if (blocks_of_nothing.contains(block)) return expect_of_nothing(block, call).size;
  return expect_block(block, call).label.size;
}

void hardened_expect_size(const void* block, std::size_t size, const char* call) noexcept {
  if (block == nullptr || !tells_families) return;
  const class_index c = self.own != nullptr ? class_of(*self.own, block) : class_index{0};
  if (c == 0 && the_watch.is_guarded(block))
    return static_cast<void>(the_watch.guards->expect_size(block, size, call));
  const block_label label = c != 0 ? expect_label(block, process_classes::block_size(c), call)
                            : blocks_of_nothing.contains(block) ? expect_of_nothing(block, call)
                                                                : expect_block(block, call).label;
  if (label.size != size &&
      (label.family == block_family::cxx || label.family == block_family::cxx_array)) [[unlikely]]
    fail(fault_kind::wrong_size, call, block, label.size);
}

void* hardened_reallocate(void* block, std::size_t size, const char* call) noexcept {
  live_block before;
  if (the_watch.is_guarded(block)) {
    before.label.size = hardened_size(block, call);
  } else if (blocks_of_nothing.contains(block)) {
    expect_family(block, expect_of_nothing(block, call), alias_of(call));
  } else {
    before = expect_block(block, call);
    expect_family(block, before.label, alias_of(call));
    if (void* const resized = before.has_class ? nullptr : resize_large(block, before, size, call);
        resized != nullptr)
      return resized;
    if (size <= before.size_max() && size > before.size_max() / 2)
      return resize_here(block, before, size);
  }
  void* const resized = detail::reallocate_by_copy(
      block, before.label.size, size, [&] { return take(size, 1, false, call, front::hardened); },
      [&](void* old) { hardened_deallocate(old, call); });
  if (resized != block || before.label.family == block_family::none) return resized;
  return resize_here(block, before, size);
}

void empty_quarantine() noexcept {
  detail::freed_blocks* const q = quarantine_of(self.own);
  if (q == nullptr) return;
  const fork_gate::calls_out to_free(self.pass);
  q->empty([](class_index c, void* block) { give(*self.own, c, block); });
}

void end_quarantine() noexcept {
  if (quarantine_of(self.own) == nullptr) return;
  empty_quarantine();
  put_quarantine(*self.own);
}

}  // namespace ashlar::runtime
