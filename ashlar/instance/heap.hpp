// instance/heap.hpp: a heap of one's own, beside the process heap: a budget, a source, an end.
// Layer: instance.
//
//   ashlar::heap tenant({.budget_bytes = 64 << 20, .name = "tenant 7"});
//   void* p = tenant.try_allocate(100);      any thread; null: the budget is used up
//   tenant.deallocate(p, 100);               any thread
//                                            ~heap: everything goes back at once, freed or not
//
//   heap<Policies...>, in any order: a page source (where blocks come from; default the system),
//   exhaustion::* (what allocate does when there is nothing left; default null), check::* (what is
//   looked at; default none) and at_death::ignore, report or stop (what the end says of blocks in
//   use; default ignore)
//
// The same engine as the process heap: one cache for each thread and heap, blocks without headers.
//
//   policy        finds
//   check::none   foreign addresses, double frees and interior addresses, at once
//   check::cheap  that, and other sizes than asked for; leaks by class
//   check::full   that, bytes written beyond either end and after the free, leaks by place; who
//                 made and who freed the block (check/full_check.hpp)
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <ashlar/core/check_policy.hpp>
#include <ashlar/core/config.hpp>
#include <ashlar/core/exhaustion.hpp>
#include <ashlar/core/page_source.hpp>
#include <ashlar/core/policy.hpp>
#include <ashlar/core/size_class.hpp>
#include <ashlar/core/stats.h>
#include <ashlar/instance/heap_body.hpp>
#include <ashlar/os/page_source.hpp>

namespace ashlar {

struct heap_options {
  /// What the heap may hold, bytes. From the system: pages that are in use or that were and still
  /// have their memory; a class in use has whole slabs, mostly of 64 KiB, so budgets of less than a
  /// few hundred KiB serve few sizes. From a source: all that is taken from it at one time. The
  /// heap's own data (stats().total.metadata_bytes) come on top of it, and always from the system.
  std::size_t budget_bytes = SIZE_MAX;
  /// What statistics and faults call the heap; must outlive it.
  const char* name = nullptr;
  /// {drop, &cache} lets drop(bytes, &cache) free blocks: once each time that what the heap holds
  /// comes to 80 % of the budget, after free pages have gone back, and before a request is refused.
  /// It runs in the thread that allocates, with no lock of the heap held; what it asks this heap
  /// for meanwhile is refused at once where there is none.
  runtime::budget_answer on_budget = {};
  /// With check::full: how many frames of each call are kept, up to 12. 0 is ten times as fast.
  unsigned check_stack_depth = 8;
};

/// A general allocator with a budget and statistics of its own, which frees everything when it
/// ends. Every function but the constructor and the destructor may be called by any thread at any
/// time, from thread-exit handlers and, in a child of fork, by the thread that forked. It may be
/// used before main and, if it is never destroyed, after it.
///
/// Neither copyable nor movable: threads know it by its place. With exhaustion::null it is a page
/// source itself: other heaps, pools and arenas may take their memory from it.
template <class... Policies>
class heap {
 public:
  using source_type = pick_policy<source_kind, os::page_source, Policies...>;
  using exhaustion_type = pick_policy<exhaustion_kind, exhaustion::null, Policies...>;
  using check_type = pick_policy<check_kind, check::none, Policies...>;
  using death_type = pick_policy<death_kind, at_death::ignore, Policies...>;
  static constexpr bool nothrow_allocate = exhaustion_type::nothrow;

  /// Effects: none on the source yet: memory is taken when it is needed, with checks the first of
  /// it now. When the system refuses the heap's own data (some 50 KiB), every allocation finds the
  /// heap exhausted. Requires: what `source` refers to outlives the heap; the source is called with
  /// locks of the heap held, by any thread, so it must be callable by any thread, must not call
  /// this heap or ask for statistics as JSON or for Prometheus, and begins and ends no heap.
  /// Throws: nothing. Some system calls, here and at the first allocation; faces_bench.cpp in
  /// bench/ measures what the life of a heap costs.
  explicit heap(const heap_options& options = {}, source_type source = {},
                exhaustion_type exhaustion = {}) noexcept
      : source_(std::move(source)),
        exhaustion_(std::move(exhaustion)),
        body_(make_body(options)),
        id_(body_ != nullptr ? body_->hit_id() : no_id),
        name_(options.name) {}

  /// Effects: gives back all memory, blocks in use included, whose destructors do not run.
  /// Requires: no thread is inside the heap or will be (what a thread still caches of it is no
  /// use). Waits for threads that are ending just now. O(pages) in the system; no walk over blocks
  /// or threads. With check::full, blocks are looked at first, and ends in a fault when one was
  /// written beyond or after its free: O(bytes). Then at_death says what is told of blocks in use.
  ~heap() {
    if (body_ == nullptr) return;
    runtime::heap_body::destroy(body_, leaks());
  }
  heap(const heap&) = delete;
  heap& operator=(const heap&) = delete;

  /// Returns: a block of at least `size` bytes (0 counts as 1) at a multiple of `alignment` and of
  /// 16; null when the budget is used up, the source has no more, or the size is above PTRDIFF_MAX.
  /// Never asks the policy. Before it says null, the calling thread's cache and everything that no
  /// thread holds is used; what other threads' caches hold, an eighth of the budget at most and
  /// rarely that, is given back when they miss next, trim or end. Ends in a fault, bad_argument,
  /// when `alignment` is no power of two. Throws: nothing. O(1) amortised; a failing call costs
  /// some microseconds.
  [[nodiscard]] void* try_allocate(std::size_t size,
                                   std::size_t alignment = alignof(std::max_align_t)) noexcept {
    if (body_ == nullptr) [[unlikely]]
      return nullptr;
    if (is_natural(alignment)) [[likely]]
      return body_->allocate(id_, size);
    return body_->allocate_slow(size, alignment);
  }

  /// Returns: as try_allocate; when that has nothing, what the exhaustion policy says, which is
  /// called with no lock held. Throws: what the policy throws.
  [[nodiscard]] void* allocate(std::size_t size,
                               std::size_t alignment = alignof(std::max_align_t))  //
      noexcept(nothrow_allocate) {
    void* const block = try_allocate(size, alignment);
    if (block != nullptr) [[likely]]
      return block;
    return exhausted_slow(size, alignment);
  }

  /// Effects: gives a block back; null does nothing. Ends in a fault at once when no live block of
  /// this heap starts at `p`.
  /// Requires: size and alignment as allocated. They are not looked at: the address tells the
  /// class. With checks the size is: ends in a fault, wrong_size, when it is not what was asked for
  /// last.
  /// Throws: nothing. O(1) amortised.
  void deallocate(void* p, [[maybe_unused]] std::size_t size,
                  [[maybe_unused]] std::size_t alignment = alignof(std::max_align_t)) noexcept {
    if constexpr (is_checked)
      if (body_ != nullptr && p != nullptr && !body_->expect_size(p, size, "deallocate")) return;
    deallocate(p);
  }
  void deallocate(void* p) noexcept {
    if (body_ == nullptr) [[unlikely]]
      return no_block_of_ours(p, "deallocate");
    body_->deallocate(id_, p, "deallocate");
  }

  /// Effects: `p` (null: nothing yet) gets `size` bytes, in place if that is possible; the contents
  /// are kept up to the lesser of both sizes; alignment above 16 is not. Returns: the block, or
  /// null, and then `p` stays as it was: never asks the policy. Shrinking cannot fail. Ends in a
  /// fault when `p` is nothing of this heap. Throws: nothing.
  [[nodiscard]] void* try_reallocate(void* p, std::size_t size) noexcept {
    if (body_ == nullptr) [[unlikely]] {
      no_block_of_ours(p, "try_reallocate");
      return nullptr;
    }
    return body_->reallocate(p, size, "try_reallocate");
  }

  /// Returns: the bytes a caller may use of the block, with check::full those that were asked for;
  /// 0 for null. Ends in a fault when `p` is nothing of this heap.
  [[nodiscard]] std::size_t usable_size(const void* p) const noexcept {
    if (body_ == nullptr) [[unlikely]] {
      no_block_of_ours(p, "usable_size");
      return 0;
    }
    return p == nullptr ? 0 : body_->usable_size(p, "usable_size");
  }

  /// Returns: whether `p` lies where this heap's blocks do, in use or not. O(ranges), mostly 1.
  [[nodiscard]] bool owns(const void* p) const noexcept {
    return body_ != nullptr && body_->owns(p);
  }

  /// Effects: gives back the calling thread's cached blocks and all free pages; of a source, the
  /// pieces that are free as a whole, but for the first. Returns: bytes given back. O(slabs + free
  /// blocks).
  std::size_t trim() noexcept { return body_ != nullptr ? body_->trim() : 0; }

  /// Effects: makes sure that `bytes` of free memory are there, in one piece and really in memory,
  /// with all that the heap needs beside them to cut them into blocks of any size, and the caches
  /// of `threads` threads beside the calling one. So much is kept from now on. Returns: false when
  /// the budget or the system refuses; what was got until then stays. O(bytes).
  [[nodiscard]] bool prefault(std::size_t bytes, std::size_t threads = 0) noexcept {
    return body_ != nullptr && body_->prefault(bytes, threads);
  }
  /// Effects: from now on, until `unseal`, this heap asks neither its source nor the system for
  /// anything and gives nothing back: what is free serves, else null is returned. A thread's very
  /// first use of any heap instance may still make a system call, for what the thread keeps of all
  /// of them; so may check::full, for what it knows of blocks.
  void seal() noexcept {
    if (body_ != nullptr) body_->seal(true);
  }
  void unseal() noexcept {
    if (body_ != nullptr) body_->seal(false);
  }

  /// Returns: this heap's figures (core/stats.h), at batch accuracy, exact with checks;
  /// resident_bytes is 0, unknown. Of a heap with a source, committed and given back say what was
  /// taken from it and returned. O(classes).
  [[nodiscard]] ashlar_stats stats() const noexcept {
    ashlar_stats s{};
    if (body_ != nullptr) body_->collect(s);
    return s;
  }

  [[nodiscard]] const char* name() const noexcept { return name_; }

  /// Effects: checks every structure; ends in a fault, corrupted, if one is broken; with
  /// check::full looks at all blocks as the end does. Requires: no other thread is inside the heap.
  /// O(pages).
  void audit() const noexcept {
    if (body_ != nullptr) body_->audit();
  }

 private:
  static_assert(
      detail::of_kinds<source_kind, exhaustion_kind, check_kind,
                       death_kind>::template have_all<Policies...>,
      "a heap's policies are a page source, an exhaustion policy, check::* and at_death::*");
  static_assert(
      !exhaustion_type::borrows,
      "a heap takes more by its page source: a loan could not be told from its own blocks");

  static_assert(!death_type::destroys,
                "at_death::destroy is for pools of objects: a heap's blocks have no type");

  static constexpr bool is_checked = check_type::tracks_state;
  static_assert(
      !death_type::reports || is_checked,
      "who reports leaks has to count: at_death::report and stop need check::cheap or full");

  static constexpr std::uint64_t no_id = 0;

  [[nodiscard]] static constexpr bool is_natural(std::size_t alignment) noexcept {
    return alignment <= block_granule && (alignment & (alignment - 1)) == 0 && alignment != 0;
  }

  [[nodiscard]] runtime::any_source erased_source() noexcept {
    if constexpr (std::is_same_v<source_type, os::page_source>) {
      return {};
    } else {
      return {.self = &source_,
              .allocate =
                  [](void* self, std::size_t bytes, std::size_t alignment) noexcept {
                    return static_cast<source_type*>(self)->allocate(bytes, alignment);
                  },
              .deallocate =
                  [](void* self, void* p, std::size_t bytes, std::size_t alignment) noexcept {
                    static_cast<source_type*>(self)->deallocate(p, bytes, alignment);
                  }};
    }
  }

  [[nodiscard]] runtime::heap_body* make_body(const heap_options& options) noexcept {
    runtime::heap_checks checks{.cheap = is_checked};
    if constexpr (check_type::guards_bytes) {
      checks.full = true;
      checks.queue_blocks = check_type::quarantine_blocks;
      checks.stack_depth = options.check_stack_depth;
    }
    runtime::heap_body* const body =
        runtime::heap_body::create(erased_source(), options.budget_bytes, options.name, checks);
    if (body != nullptr && options.on_budget.call != nullptr)
      body->call_at_budget(options.on_budget);
    return body;
  }
  [[nodiscard]] static constexpr detail::heap_leaks leaks() noexcept {
    if (death_type::stops) return detail::heap_leaks::stop;
    return death_type::reports ? detail::heap_leaks::reported : detail::heap_leaks::ignored;
  }

  [[nodiscard]] ASHLAR_COLD void* exhausted_slow(std::size_t size,
                                                 std::size_t alignment) noexcept(nothrow_allocate) {
    struct retry {
      heap* own;
      std::size_t size, alignment;
      void* operator()() const noexcept { return own->try_allocate(size, alignment); }
      void end(const exhaustion_request& of) const noexcept {
        if (own->body_ != nullptr) own->body_->end_exhausted(of.size_bytes);
      }
    };
    return exhaustion_.exhausted({size, alignment, name_}, retry{this, size, alignment});
  }

  /// A heap that got no memory for itself has no blocks.
  void no_block_of_ours(const void* p, const char* call) const noexcept {
    if (p != nullptr)
      ashlar_fault(
          {.kind = fault_kind::foreign_pointer, .call = call, .address = p, .pool = name_});
  }

  [[no_unique_address]] source_type source_;
  [[no_unique_address]] exhaustion_type exhaustion_;
  runtime::heap_body* body_;
  std::uint64_t id_;  // a copy: the hit path of allocate then touches nothing of the body
  const char* name_;
};

heap() -> heap<>;
heap(heap_options) -> heap<>;
template <page_source Source>
heap(heap_options, Source) -> heap<Source>;

static_assert(page_source<heap<>>);

}  // namespace ashlar
