// runtime/process_hardened.cpp: hardened calls, from the block's word down to the heap.
// Layer: runtime.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <new>
#include <utility>

#include <ashlar/check/hardened_blocks.hpp>
#include <ashlar/core/fault.hpp>
#include <ashlar/core/line_writer.hpp>
#include <ashlar/heap/copied_block.hpp>
#include <ashlar/os/call_stack.hpp>
#include <ashlar/os/last_words.hpp>
#include <ashlar/os/page_source.hpp>
#include <ashlar/os/random_bytes.hpp>
#include <ashlar/os/thread_words.hpp>
#include <ashlar/runtime/background.hpp>
#include <ashlar/runtime/drop_in.hpp>
#include <ashlar/runtime/hardened_pages.hpp>
#include <ashlar/runtime/process_hardened.hpp>
#include <ashlar/runtime/process_watch.hpp>
#include <ashlar/runtime/settings.hpp>

namespace ashlar::runtime {

constinit std::atomic<bool> hardened{true};
constinit detail::block_words hardened_words;
constinit detail::live_look hardened_looker;

namespace {

using cache = process_heap::cache;
using detail::block_family;
using detail::block_label;
using detail::block_words;
using detail::label_bytes;

/// Written once, with the first block: the seed of each thread's numbers.
constinit std::uint64_t seed = 0;
constinit std::atomic<bool> has_secrets{false};
/// Whether it is known that the process stays hardened: until then no block waits.
constinit bool is_decided = false;
/// Whether the addresses that a cache gets are shuffled.
constinit bool shuffles_new = false;
/// Whether new and delete are told from malloc and free: not where the program has replaced an operator, which may give
/// what malloc gave, and leave its delete to the library.
constinit bool tells_families = true;
/// The memory of a quarantine whose thread has ended.
constinit std::atomic<detail::freed_blocks*> spare{nullptr};

/// The largest request that a cache serves here. Above it a request that is to be zero gets a run of pages.
constexpr std::size_t cached_max = detail::shared_slab_block_max - label_bytes;

constexpr const char* cleared_call = "free, cleared";

/// Effects: there are secrets. Requires: no other thread yet.
ASHLAR_COLD void draw_secrets() noexcept {
  std::uint64_t drawn[4];
  if (!os::fill_with_random_bytes(drawn, sizeof drawn)) {
    // Time, addresses that the system chose, and a counter.
    const auto bits = [](const void* p) -> std::uint64_t {
      return reinterpret_cast<std::uintptr_t>(p);
    };
    std::uint64_t x = os::system_space::now_ms();
    x ^= bits(&x) ^ bits(&hardened_words) << 20 ^ std::uint64_t{os::thread_number()} << 48;
    for (std::uint64_t& d : drawn) {
      x += 0x9e3779b97f4a7c15u;
      d = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
      d = (d ^ d >> 27) * 0x94d049bb133111ebu;
      d ^= d >> 31;
    }
    line_writer<256> line;
    line << "ashlar: the system gives no random numbers now: time and addresses are mixed instead";
    line.end_line();
    os::write_to_stderr(line.data(), line.size());
  }
  hardened_words = block_words({drawn[0], drawn[1] | 1u, drawn[2] | 1u});
  seed = drawn[3];
  has_secrets.store(true, std::memory_order_release);
}

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

/// Returns: the name of `call` for a guarded block, which knows families by names: one of no family where new and delete
/// are not told apart.
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
  // A free block is zero. One that was overwritten with zeros has bytes of its caller's, but for few.
  std::uint64_t word;
  std::memcpy(&word, begin + bytes - label_bytes, sizeof word);
  if (word == 0 &&
      detail::first_not_zero(block, std::min(bytes, detail::looked_at_bytes_max)) == nullptr)
    fail(fault_kind::double_free, call, block, bytes);
  fail(fault_kind::overflow, call, begin + bytes - label_bytes, bytes);
}

/// Returns: what the word of the live block says. Ends in a fault naming `call` unless it is one, and nobody wrote to
/// the bytes behind it.
[[nodiscard]] ASHLAR_HOT block_label expect_label(const void* block, std::size_t bytes,
                                                  const char* call) noexcept {
  const block_label label = hardened_words.label_of(block, bytes);
  if (label.family == block_family::none) [[unlikely]]
    fail_unlabelled(block, bytes, call);
  if (const std::byte* const at = hardened_words.first_spoilt(block, bytes, label.size);
      at != nullptr) [[unlikely]]
    fail(fault_kind::overflow, call, at, label.size);
  return label;
}
ASHLAR_HOT void expect_family(const void* block, block_label label, const char* call) noexcept {
  if (!detail::are_matching(label.family, family_of(call))) [[unlikely]]
    fail(fault_kind::mismatched_call, call, block, label.size);
}

/// Returns: the class of `block`, if it is in the heap's first range and a whole block of its class may be there: its
/// last byte is in a slab of the same class. Else 0.
[[nodiscard]] ASHLAR_HOT class_index class_of(const cache& own, const void* block) noexcept {
  const detail::block_tables& tables = own.tops.tables;
  const class_index c = tables.class_of(block);
  if (c == 0) return 0;  // the page before it is another's
  const auto* const last =
      static_cast<const std::byte*>(block) + process_classes::block_size(c) - 1;
  return tables.class_of(last) == c ? c : class_index{0};
}

/// Returns: the bytes of `block`, anywhere in the heap. Ends in a fault naming `call` when no block can start there.
[[nodiscard]] std::size_t bytes_of(const void* block, const char* call) noexcept {
  const look at;
  const class_index c = the_heap.class_of(block);
  if (c == 0) {
    const std::size_t bytes = the_heap.find(block).bytes;
    if (bytes != 0) [[likely]]
      return bytes - closed_bytes;
    fail(the_heap.owns(block) ? fault_kind::not_in_use : fault_kind::foreign_pointer, call, block,
         0);
  }
  const std::size_t bytes = process_classes::block_size(c);
  if (the_heap.class_of(static_cast<const std::byte*>(block) + bytes - 1) != c) [[unlikely]]
    fail(fault_kind::interior_pointer, call, block, bytes);
  return bytes;
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
/// Effects: a live block has no word and no canary any more.
void unseal(void* block, std::size_t bytes, block_label label) noexcept {
  take_word(block, bytes);
  block_words::unseal(block, bytes, label.size);
}

// ---- down to the heap -----------------------------------------------------------------------------------------------

/// Effects: a block that is zero goes to the heap, without the hit path.
ASHLAR_COLD void give_missed(void* block) noexcept {
  const visit here;
  if (here.is_inside())
    plain_calls::give(block, "free");
  else if (!gate.is_lost())
    reserve.free_later(block, cleared_call);
}
ASHLAR_HOT void give(cache& own, class_index c, void* block) noexcept {
  if (!process_hits::try_deallocate_believed(own.tops, block, c)) [[unlikely]]
    give_missed(block);
}

/// Returns: the quarantine of the thread that owns the cache; null while it has none.
[[nodiscard]] ASHLAR_HOT detail::freed_blocks* quarantine_of(cache* own) noexcept {
  return own != nullptr ? owner_part::of(*own).quarantine : nullptr;
}
/// Effects: the calling thread, whose cache this is, has a quarantine. Returns: it; null while it can have none.
[[nodiscard]] ASHLAR_COLD detail::freed_blocks* make_quarantine(cache& own) noexcept {
  if (!is_decided) return nullptr;
  detail::freed_blocks* q = spare.exchange(nullptr);
  if (q == nullptr) {
    void* const p =
        os::page_source::allocate(sizeof(detail::freed_blocks), alignof(detail::freed_blocks));
    if (p == nullptr) return nullptr;
    q = static_cast<detail::freed_blocks*>(p);
    q->start(process_classes::count(),
             [](class_index c) { return process_classes::block_size(c); });
  }
  q->random.seed((seed + os::thread_number() * 0x9e3779b97f4a7c15u) *
                 (reinterpret_cast<std::uintptr_t>(&self) | 1u));
  owner_part::of(own).quarantine = q;
  return q;
}

/// Returns: how many bytes may wait in the calling thread's quarantine.
[[nodiscard]] std::size_t share_of_waiting() noexcept {
  return detail::freed_blocks::bytes_of_all / std::max<std::size_t>(the_heap.cache_count(), 1);
}

/// Effects: the addresses on stack `c`, which was just filled, leave it in random order (Durstenfeld's shuffle).
void shuffle(cache& own, class_index c) noexcept {
  detail::freed_blocks* q = quarantine_of(&own);
  if (q == nullptr) q = make_quarantine(own);
  if (q == nullptr) return;
  detail::random_numbers& random = q->random;
  void** const first = own.first(c);
  for (auto left = static_cast<std::uint32_t>(own.count(c)); left > 1; --left)
    cache::swap_slots(first + left - 1, first + random.below(left));
}

/// A block of the heap that is about to be a caller's.
struct taken {
  void* block = nullptr;
  std::size_t bytes = 0;  ///< 0: it is the reserve's
  bool has_class = true;
};

/// Returns: a block of `bytes` that the thread's cache has not.
[[nodiscard]] ASHLAR_COLD taken take_missed(std::size_t bytes, std::size_t alignment,
                                            bool zeroed) noexcept {
  if (self.own != nullptr) the_background.note_allocation();
  const visit here;
  if (!here.is_inside()) {
    void* const block = reserve.allocate(bytes - label_bytes, alignment);
    if (block != nullptr && zeroed) std::memset(block, 0, bytes - label_bytes);
    return {block, 0};
  }
  if (!has_secrets.load(std::memory_order_relaxed)) {
    draw_secrets();
    if (is_hardened_edition) the_heap.close_behind_slabs(closed_slabs_max);
  }
  if (!the_heap.start()) return {};  // its classes stand from then on
  // Where a run of pages serves, it is one page longer than the block.
  const bool as_run = (zeroed && bytes > detail::shared_slab_block_max) ||
                      process_classes::class_for(bytes, alignment) == 0;
  const std::size_t wanted = as_run ? bytes + closed_bytes : bytes;
  bool is_zero = zeroed;
  void* block = plain_calls::take(wanted, alignment, is_zero);
  if (block == nullptr && quarantine_of(self.own) != nullptr) {
    empty_quarantine();
    is_zero = zeroed;
    block = plain_calls::take(wanted, alignment, is_zero);
  }
  if (block == nullptr) return {};
  std::size_t have = the_heap.usable_size(block, "allocate");
  if (shuffles_new && self.own != nullptr) shuffle(*self.own, the_heap.class_of(block));
  const bool has_class = the_heap.class_of(block) != 0;
  if (!has_class) {
    have -= closed_bytes;
    close_first(block, have);
    if (zeroed && !is_zero) std::memset(block, 0, have);
  }
  return {block, have, has_class};
}

/// Effects: makes what was taken a caller's.
[[nodiscard]] ASHLAR_HOT void* sealed(taken t, std::size_t size, bool zeroed,
                                      const char* call) noexcept {
  if (t.has_class) [[likely]] {
    const std::size_t looked_at = zeroed ? t.bytes : std::min(t.bytes, detail::looked_at_bytes_max);
    if (const std::byte* const at = detail::first_not_zero(t.block, looked_at); at != nullptr)
        [[unlikely]]
      fail(fault_kind::use_after_free, call, at, t.bytes);
  }
  hardened_words.seal(t.block, t.bytes, size, family_of(call));
  return t.block;
}

/// As hardened_allocate, of what may be guarded, or what the cache does not have.
[[nodiscard]] ASHLAR_COLD void* allocate_uncommon(std::size_t size, std::size_t alignment,
                                                  bool zeroed, const char* call) noexcept {
  if (size > PTRDIFF_MAX - label_bytes) return nullptr;
  call = told_as(call);
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
  const taken t = take_missed(size + label_bytes, alignment, zeroed);
  return t.bytes == 0 ? t.block : sealed(t, size, zeroed, call);
}

/// As hardened_deallocate, of what the thread's quarantine does not take at once.
ASHLAR_COLD void deallocate_uncommon(void* block, const char* call) noexcept {
  if (block == nullptr) return;
  call = told_as(call);
  if (the_watch.is_guarded(block)) return the_watch.guards->free(block, name_for_guards(call));
  if (reserve.contains(block)) return reserve.free(block, call);
  const std::size_t bytes = bytes_of(block, call);
  const block_label label = expect_label(block, bytes, call);
  expect_family(block, label, call);
  const class_index c = the_heap.class_of(block);
  if (c != 0 && self.own != nullptr) {
    detail::freed_blocks* q = quarantine_of(self.own);
    if (q == nullptr) q = make_quarantine(*self.own);
    if (q != nullptr) {
      clear(block, bytes, label);
      if (void* const leaving = q->exchange(c, block, bytes, share_of_waiting); leaving != nullptr)
        give(*self.own, c, leaving);
      return;
    }
  }
  const visit here;
  if (!here.is_inside()) {
    // In a child whose heap is lost there will be no later.
    if (!gate.is_lost()) reserve.free_later(block, call);
    return;
  }
  if (c != 0) {
    clear(block, bytes, label);
  } else {
    if (!open_for_good(block, bytes)) return;  // lost: its pages can serve nobody
    if (is_decided)
      unseal(block, bytes, label);  // the heap discards its pages
    else
      std::memset(block, 0, bytes);
  }
  plain_calls::give(block, call);
}

/// Effects: a large block has `size` bytes, if it can where it is or by moving its pages. Returns: it; null, and it is as
/// it was, when not.
[[nodiscard]] void* resize_large(void* block, std::size_t bytes, block_label label,
                                 std::size_t size, const char* call) noexcept {
  const visit here;
  if (!here.is_inside() || size > PTRDIFF_MAX - label_bytes || size <= small_size_max ||
      !open_behind(block, bytes))
    return nullptr;
  unseal(block, bytes, label);
  void* const resized = the_heap.reallocate(block, size + label_bytes + closed_bytes, call);
  if (resized == nullptr) {
    hardened_words.seal(block, bytes, label.size, label.family);
    close_behind(block, bytes);
    return nullptr;
  }
  const std::size_t have = the_heap.usable_size(resized, call) - closed_bytes;
  close_behind(resized, have);
  // What a smaller block had behind its end may be in its last page.
  if (size < label.size) {
    const std::size_t kept = std::min(label.size, have);
    std::memset(static_cast<std::byte*>(resized) + size, 0, kept - size);
  }
  hardened_words.seal(resized, have, size, label.family);
  the_background.note_free();
  return resized;
}

/// Effects: the block of `bytes` has `size` bytes from now on, and stays. Requires: they fit.
void* resize_here(void* block, std::size_t bytes, block_label label, std::size_t size) noexcept {
  unseal(block, bytes, label);
  if (size < label.size) std::memset(static_cast<std::byte*>(block) + size, 0, label.size - size);
  hardened_words.seal(block, bytes, size, label.family);
  return block;
}

}  // namespace

bool is_cleared_call(const char* call) noexcept {
  return call == cleared_call;
}

void decide_hardening(bool on, bool shuffles) noexcept {
  if (on && !has_secrets.load(std::memory_order_relaxed)) draw_secrets();
  is_decided = on;
  shuffles_new = shuffles;
  if constexpr (is_drop_in) tells_families = serves_all_operators();
  if (on) os::prepare_thread_fence();
  if (on) the_heap.discard_freed(true);
  close_pages(on);
  hardened.store(on, std::memory_order_relaxed);
}

void* hardened_allocate(std::size_t size, std::size_t alignment, bool zeroed,
                        const char* call) noexcept {
  cache* const own = self.own;
  if (size > cached_max || alignment > block_granule || own == nullptr || self.told != nullptr ||
      self.turn.until <= 1) [[unlikely]]
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
  if (q == nullptr || self.told != nullptr) [[unlikely]]
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
  // No guarded block and none of the reserve is in a slab of the heap's first range.
  if (const class_index c = self.own != nullptr ? class_of(*self.own, block) : class_index{0};
      c != 0) [[likely]]
    return expect_label(block, process_classes::block_size(c), call).size;
  if (the_watch.is_guarded(block)) return the_watch.guards->size_of(block, call);
  if (reserve.contains(block)) return reserve.usable_size(block, call);
  return expect_label(block, bytes_of(block, call), call).size;
}

void hardened_expect_size(const void* block, std::size_t size, const char* call) noexcept {
  if (block == nullptr || !tells_families) return;
  const class_index c = self.own != nullptr ? class_of(*self.own, block) : class_index{0};
  if (c == 0 && the_watch.is_guarded(block))
    return static_cast<void>(the_watch.guards->expect_size(block, size, call));
  if (c == 0 && reserve.contains(block)) return;
  const block_label label =
      expect_label(block, c != 0 ? process_classes::block_size(c) : bytes_of(block, call), call);
  if (label.size != size &&
      (label.family == block_family::cxx || label.family == block_family::cxx_array)) [[unlikely]]
    fail(fault_kind::wrong_size, call, block, label.size);
}

void* hardened_reallocate(void* block, std::size_t size, const char* call) noexcept {
  block_label label;
  if (the_watch.is_guarded(block) || reserve.contains(block)) {
    label.size = hardened_size(block, call);
  } else {
    const std::size_t bytes = bytes_of(block, call);
    label = expect_label(block, bytes, call);
    expect_family(block, label, told_as(call));
    if (bytes > small_size_max) {
      if (void* const resized = resize_large(block, bytes, label, size, call); resized != nullptr)
        return resized;
    } else if (size <= bytes - label_bytes && size > (bytes - label_bytes) / 2) {
      return resize_here(block, bytes, label, size);
    }
  }
  void* const resized = detail::reallocate_by_copy(
      block, label.size, size, [&] { return hardened_allocate(size, 1, false, call); },
      [&](void* old) { hardened_deallocate(old, call); });
  if (resized != block || label.family == block_family::none) return resized;
  return resize_here(block, bytes_of(block, call), label, size);
}

void empty_quarantine() noexcept {
  detail::freed_blocks* const q = quarantine_of(self.own);
  if (q == nullptr) return;
  q->empty([](class_index c, void* block) { give(*self.own, c, block); });
}

void end_quarantine() noexcept {
  detail::freed_blocks* const q = quarantine_of(self.own);
  if (q == nullptr) return;
  empty_quarantine();
  owner_part::of(*self.own).quarantine = nullptr;
  detail::freed_blocks* const old = spare.exchange(q);
  if (old != nullptr)
    os::page_source::deallocate(old, sizeof(detail::freed_blocks), alignof(detail::freed_blocks));
}

}  // namespace ashlar::runtime
