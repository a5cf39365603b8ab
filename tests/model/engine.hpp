// model/engine.hpp: the heap's engine with three caches, as a runtime uses it, on pages that are refused.
#pragma once

#include <tests/model/requests.hpp>
#include <tests/support/require.hpp>
#include <tests/support/test_space.hpp>

#include <ashlar/heap/basic_heap.hpp>

namespace model {

using namespace ashlar;

template <class Classes>
class engine_face {
  struct config {
    using space = test::test_space;
    using mutex = std::mutex;
    using classes = Classes;
  };

 public:
  using heap = basic_heap<config>;
  static constexpr std::size_t slots = 1500;
  static constexpr std::size_t most_bytes = std::size_t{6} << 20;
  static constexpr bool reallocates = true;
  static constexpr bool may_refuse = true;
  static constexpr bool frees_all_at_end = true;

  /// `plan`, if there is one, says what the space refuses, and `rarely` does not.
  explicit engine_face(draw d, void (*plan)(heap&, std::uint64_t) = nullptr,
                       std::uint64_t number = 0)
      : is_planned_(plan != nullptr) {
    if (is_planned_) {
      plan(heap_, number);
      return;
    }
    heap_.space().set_refused_moves_unmap(d.one_in(2));
    if (d.one_in(4)) heap_.space().set_reserve_max(d.below(std::size_t{1} << 28));
  }
  ~engine_face() {
    heap_.space().fail_nth(0);
    for (cache*& own : owners_)
      if (own != nullptr) heap_.detach(own);
    heap_.audit();
    heap_.release_all();
    REQUIRE(heap_.space().live_reservations() == 0);
  }

  static request choose(draw& d, const style& s) { return heap_request(d, s); }
  static bool refusal(const request&, const totals&) { return true; }

  block allocate(const request& r, draw& d) {
    block b;
    b.size = r.size;
    b.alignment = std::max<std::size_t>(r.alignment, 16);
    b.address = get(r.size, r.alignment, d.below(owners_.size()));
    if (b.address != nullptr) b.usable = heap_.usable_size(b.address, "usable_size");
    return b;
  }
  block reallocate(const block& old, std::size_t size) {
    block b;
    b.size = size;
    b.usable = heap_.resize_in_place(old.address, size, "realloc");
    if (b.usable != 0) {
      b.address = old.address;
      return b;
    }
    const std::size_t owner = size % owners_.size();
    if (size > old.usable) b.address = heap_.move_large(old.address, size);
    if (b.address == nullptr) {
      b.address = get(size, 1, owner);
      if (b.address == nullptr) return b;
      // Their lines are where the old block has them, and nowhere else need it be the same.
      __builtin_memcpy(b.address, old.address, std::min(old.size, size));
      give(old.address, owner);
    }
    b.usable = heap_.usable_size(b.address, "usable_size");
    return b;
  }
  void deallocate(const block& b, draw& d) { give(b.address, d.below(owners_.size())); }
  void look(const block& b) {
    require(heap_.owns(b.address) && heap_.usable_size(b.address, "usable_size") == b.usable,
            [&b] { return "usable size or owner: " + describe(b); });
  }

  void rarely(draw d) {
    test::test_space& space = heap_.space();
    switch (is_planned_ ? 7 + d.below(9) : d.below(16)) {
      case 0:
      case 1:
      case 2:
        return space.fail_nth(1 + d.below(12));
      case 3:
        return space.fail_from(1 + d.below(12));
      case 4:
      case 5:
        for (std::size_t k = 0; k < test::space_call_count; ++k)
          space.fail_always(static_cast<test::space_call>(k), false);
        return space.fail_nth(0);
      case 6:
        return space.fail_always(static_cast<test::space_call>(d.below(test::space_call_count)),
                                 true);
      case 7:
      case 8:
        return space.set_clock(clock_ += d.below(4000));
      case 9:
        heap_.trim();
        return;
      case 10: {
        cache*& own = owners_[d.below(owners_.size())];
        if (own != nullptr) heap_.detach(own);
        own = nullptr;
        return;
      }
      case 11:
        return heap_.set_purge_policy({.delay_ms = static_cast<std::int64_t>(d.below(2000)) - 1,
                                       .keep_bytes = d.below(1 << 22)});
      case 12:
        // One for each class and more: ThreadSanitizer knows 64 held locks of a thread, and stops at the next.
        if (support::thread_sanitizer) return;
        heap_.lock_all();
        return heap_.unlock_all();
      case 13:
        return heap_.seal(true);
      default:
        return heap_.seal(false);
    }
  }

  test::test_space& space() { return heap_.space(); }

  template <class Subject>
  void audit(const totals& all, const Subject& self) {
    static thread_local ashlar_stats s;
    for (cache* own : owners_)
      if (own != nullptr) heap_.collect(s, own);  // each publishes what it holds
    heap_.collect(s, nullptr);
    heap_.audit();
    audit_lines(s);
    expect_in_use(s, all);
    expect_by_class(s, self);
  }

 private:
  using cache = heap::cache;

  cache* owner(std::size_t i) {
    if (owners_[i] == nullptr) owners_[i] = heap_.attach();
    return owners_[i];
  }
  void* get(std::size_t size, std::size_t alignment, std::size_t i) {
    const class_index c = heap::classes::class_for(size, alignment);
    cache* const own = owner(i);
    if (c == 0) {
      const auto [p, is_zero] = heap_.allocate_large(size, alignment, false, own);
      if (is_zero)
        require(support::find_nonzero(p, size) == size,
                [] { return "known to be zero, but it is not"; });
      return p;
    }
    return own == nullptr ? heap_.allocate_uncached(c) : heap_.allocate_class(*own, c);
  }
  void give(void* p, std::size_t i) {
    cache* const own = owner(i);
    if (own == nullptr) return heap_.deallocate_uncached(p, "free");
    if (!heap::try_deallocate(own->tops, p)) heap_.deallocate_slow(*own, p, "free");
  }

  bool is_planned_;
  heap heap_;
  std::array<cache*, 3> owners_{};
  std::uint64_t clock_ = 0;
};

}  // namespace model
