// The front of a heap whose calls are looked at: the same random program in every mode. What each
// mode finds: tests/misuse.
#include <tests/support/pattern.hpp>
#include <tests/support/test_headers.hpp>
#include <tests/support/test_heap.hpp>

#include <ashlar/check/watched_heap.hpp>

namespace {

using namespace ashlar;
using detail::heap_watch;
using test::test_heap;

/// A heap of the test's own, with one cache.
struct subject {
  std::unique_ptr<test_heap> heap = std::make_unique<test_heap>();
  test_heap::cache* own = heap->attach();
  detail::guarded_blocks guards;
  detail::guard_turn turn;
  heap_watch watch{guards};
};

struct plain_calls {
  static constexpr bool is_of_process = true;
  subject* of;
  [[nodiscard]] test_heap& engine() const { return *of->heap; }
  [[nodiscard]] detail::guard_turn& guard_turn() const { return of->turn; }
  [[nodiscard]] detail::new_block take(std::size_t size, std::size_t alignment, bool zeroed) const {
    if (const class_index c = test_heap::classes::class_for(size, alignment); c != 0)
      return {of->heap->allocate_class(*of->own, c)};
    return of->heap->allocate_large(size, alignment, zeroed, of->own);
  }
  void give(void* block, const char* call) const {
    of->heap->deallocate_slow(*of->own, block, call);
  }
};
using front = detail::watched_heap<plain_calls>;

struct mode {
  const char* name;
  bool counts = false, full = false, guards = false;
  unsigned char fill = 0;

  void turn_on(subject& s) const {
    if (counts || full) {
      ASSERT_TRUE(s.heap->count_exactly(s.own));
      s.watch.counts = true;
    }
    if (full) s.watch.checks.start({.stack_depth = 0});
    if (guards) {
      ASSERT_TRUE(s.guards.start({.one_of = 3, .slots = 64, .stack_depth = 0, .fills = full}));
    }
    s.watch.fill = fill;
  }
};

struct held {
  std::byte* address;
  std::size_t size;
  std::uint64_t key;
};

bool all_are(const std::byte* p, std::size_t n, unsigned value) {
  return std::all_of(p, p + n, [value](std::byte b) { return b == std::byte(value); });
}

class WatchedHeap : public testing::TestWithParam<mode> {};

TEST_P(WatchedHeap, ServesARandomProgram) {
  subject s;
  GetParam().turn_on(s);
  const front heap(s.watch, plain_calls{&s});
  std::mt19937_64 random(7);
  std::vector<held> live;
  std::uint64_t key = 0;
  const auto intact = [](const held& h, std::size_t n) {
    return support::find_damage(h.address, h.key, n) == n;
  };
  const auto own = [&](void* block, std::size_t size) {
    ASSERT_GE(heap.usable_size(block, "test"), size);
    live.push_back({static_cast<std::byte*>(block), size, ++key * 1'000'003});
    support::fill_pattern(live.back().address, live.back().key, size);
  };
  for (int i = 0; i < 4'000; ++i) {
    const std::size_t size = 1 + random() % (random() % 50 == 0 ? 300'000 : 900);
    const std::uint64_t what = random() % 8;
    if (live.empty() || what < 4) {
      const bool zeroed = what % 2 == 0;
      auto* const block = static_cast<std::byte*>(heap.take(size, 16, zeroed, "malloc"));
      ASSERT_NE(block, nullptr);
      if (zeroed || GetParam().fill != 0) {
        ASSERT_TRUE(all_are(block, size, zeroed ? 0 : 0xffu & ~unsigned{GetParam().fill}));
      }
      own(block, size);
      continue;
    }
    std::swap(live[random() % live.size()], live.back());
    const held h = live.back();
    live.pop_back();
    ASSERT_TRUE(intact(h, h.size));
    if (what == 4) {
      void* const moved = heap.resize(h.address, size, "realloc");
      ASSERT_NE(moved, nullptr);
      ASSERT_TRUE(intact({static_cast<std::byte*>(moved), size, h.key}, std::min(size, h.size)));
      own(moved, size);
    } else {
      heap.give(h.address, "free");
    }
  }
  if (GetParam().full) {
    EXPECT_EQ(s.watch.checks.look("test") + (GetParam().guards ? s.guards.look("test") : 0),
              live.size());
  }
  for (const held& h : live) heap.give(h.address, "free");
  if (GetParam().full) {
    auto* const waited = s.watch.checks.emptied_queue("test");
    for (auto* r = waited; r != nullptr; r = r->next_in_queue) {
      s.heap->note_deallocation(r->block, "free");
      s.heap->deallocate_slow(*s.own, r->block, "free");
    }
    s.watch.checks.forget(waited);
  }
  if (GetParam().counts) {
    EXPECT_EQ(test::stats_of(*s.heap, s.own).total.bytes_in_use, 0u);
  }
  s.heap->audit();
}

INSTANTIATE_TEST_SUITE_P(
    Modes, WatchedHeap,
    testing::Values(mode{.name = "counted", .counts = true},
                    mode{.name = "full", .counts = true, .full = true},
                    mode{.name = "guarded", .guards = true}, mode{.name = "filled", .fill = 0x5a},
                    mode{.name = "counted_and_filled", .counts = true, .fill = 0x5a},
                    mode{.name = "full_and_guarded", .counts = true, .full = true, .guards = true}),
    [](const auto& of) { return of.param.name; });

}  // namespace
