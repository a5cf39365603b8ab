// Random programs against a model that remembers what each page holds, and the promises of
// page_heap.hpp one by one.
#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <tests/support/extent.hpp>
#include <tests/support/test_space.hpp>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/heap/page_heap.hpp>

namespace {

using namespace ashlar;
using namespace ashlar::detail;
using test::space_call;
using test::test_space;
using pages = page_heap<test_space, std::mutex>;

/// A page heap and what is live in it. Each page handed out is checked and then filled with a
/// pattern of its own; a run's pattern is checked when it is given back. What a refused renewal
/// takes out of use is remembered as lost: nobody may ever get it.
class modelled {
 public:
  explicit modelled(sealable<test_space>& space)
      : space_(space), heap_(std::make_unique<pages>(space)) {}

  [[nodiscard]] pages& heap() { return *heap_; }
  [[nodiscard]] std::size_t count() const { return live_.size(); }
  [[nodiscard]] std::size_t live_pages() const { return live_pages_; }
  [[nodiscard]] std::size_t lost() const { return lost_.size(); }

  run* new_slab(class_index c, growth g = growth::allowed) {
    if (!heap_->start(standard_classes.bit_words_per_page)) return nullptr;
    run* r = heap_->new_slab(c, standard_classes.shapes[c], g);
    if (r == nullptr) return nullptr;
    EXPECT_EQ(r->pages, standard_classes.shapes[c].pages);
    EXPECT_EQ(r->free_blocks, standard_classes.shapes[c].blocks);
    char* const base = heap_->address_of(*r);
    for (std::uint32_t p = 0; p < r->pages; ++p) {
      char* begin = nullptr;
      EXPECT_EQ(heap_->slab_of(base + p * page_size + 17, c, begin), r);
      EXPECT_EQ(begin, base);
      EXPECT_EQ(heap_->class_anywhere(base + p * page_size), c);
      const class_index fast = heap_->class_of(base + p * page_size);
      EXPECT_TRUE(fast == c || fast == 0);
    }
    EXPECT_EQ(heap_->large_at(base), nullptr);
    admit(r, true);
    return r;
  }

  run* new_large(std::size_t count, std::size_t align_pages, growth g = growth::allowed) {
    if (!heap_->start(standard_classes.bit_words_per_page)) return nullptr;
    run* r = heap_->new_large(count, align_pages, g);
    if (r == nullptr) return nullptr;
    EXPECT_EQ(r->pages, count);
    char* const base = heap_->address_of(*r);
    EXPECT_TRUE(is_aligned(base, align_pages * page_size));
    EXPECT_EQ(heap_->large_at(base), r);
    EXPECT_EQ(heap_->large_at(base + 1), nullptr);
    if (count > 1) {
      EXPECT_EQ(heap_->large_at(base + page_size), nullptr);
    }
    EXPECT_EQ(heap_->class_anywhere(base), 0u);
    EXPECT_EQ(heap_->class_of(base), 0u);
    admit(r, false);
    return r;
  }

  void drop(run* r) {
    const auto found = live_.find(start_of(r));
    ASSERT_NE(found, live_.end());
    check_pattern(found->first, found->second.bytes, found->second.tag);
    const block b = found->second;
    live_.erase(found);
    live_pages_ -= b.bytes / page_size;
    if (b.slab) {
      heap_->delete_slab(r, standard_classes.shapes[r->size_class]);
    } else {
      char* const base = heap_->address_of(*r);
      const std::uint64_t refused = space_.refused(space_call::renew);
      EXPECT_EQ(heap_->delete_large(base), b.bytes);
      if (space_.refused(space_call::renew) != refused)
        lost_.emplace(reinterpret_cast<std::uintptr_t>(base), b.bytes);
      EXPECT_EQ(heap_->delete_large(base), 0u) << "deleted twice";
    }
  }
  void drop_all() {
    while (!live_.empty()) drop(live_.begin()->second.r);
  }

  void resize(run* r, std::size_t count) {
    block& b = live_.at(start_of(r));
    const std::size_t before = b.bytes / page_size;
    if (!heap_->resize_large(r, count)) {
      EXPECT_GT(count, before) << "shrinking cannot fail";
      EXPECT_EQ(r->pages, before);
      return;
    }
    // Without a record for the rest a run stays longer, which holds as many bytes.
    EXPECT_TRUE(r->pages == count || (count < before && r->pages == before));
    check_pattern(start_of(r), std::min(b.bytes, std::size_t{r->pages} << page_shift), b.tag);
    live_pages_ = live_pages_ - before + r->pages;
    b.bytes = std::size_t{r->pages} << page_shift;
    check_neighbours(start_of(r), b.bytes);
    fill(start_of(r), b.bytes, b.tag);
  }

  /// As a realloc that remaps: the contents appear elsewhere.
  void move(run* from, std::size_t count) {
    const block before = live_.at(start_of(from));
    run* to = new_large(std::max<std::size_t>(count, from->pages), 1);
    if (to == nullptr) return;
    const std::uintptr_t target = start_of(to);
    const std::size_t target_bytes = live_.at(target).bytes;
    const bool whole = !from->moved;
    const std::uint64_t moves = space_.calls(space_call::move);
    const std::uint64_t refused = space_.refused(space_call::renew);
    const bool moved = heap_->move_pages(from, to);
    EXPECT_EQ(space_.calls(space_call::move), moves + (whole ? 1u : 0u)) << "moved twice";
    if (!moved) {  // the heap has disposed of the target
      live_pages_ -= target_bytes / page_size;
      live_.erase(target);
      if (space_.refused(space_call::renew) != refused) {
        lost_.emplace(target, target_bytes);
      }
      check_pattern(start_of(from), before.bytes, before.tag);
      return;
    }
    check_pattern(start_of(to), before.bytes, before.tag);
    expect_zero(start_of(from), before.bytes);
    fill(start_of(from), before.bytes, before.tag);
    fill(start_of(to), live_.at(start_of(to)).bytes, live_.at(start_of(to)).tag);
  }

  [[nodiscard]] run* any(std::mt19937_64& random, bool large_only) {
    if (live_.empty()) return nullptr;
    const auto it = std::next(live_.begin(), static_cast<long>(random() % live_.size()));
    return large_only && it->second.slab ? nullptr : it->second.r;
  }

  void audit() {
    heap_->audit();
    const page_heap_stats s = heap_->stats();
    std::size_t large = 0, large_pages = 0;
    for (const auto& [start, b] : live_) {
      if (b.slab) continue;
      ++large;
      large_pages += b.bytes / page_size;
    }
    EXPECT_EQ(s.large_runs, large);
    EXPECT_EQ(s.large_pages, large_pages);
    EXPECT_EQ(s.large_made - s.large_freed, large);
    EXPECT_GE(s.large_runs_peak, large);
    EXPECT_GE(s.large_pages_peak, large_pages);
    EXPECT_GE(s.committed_bytes, live_pages_ << page_shift);
    EXPECT_GE(s.peak_committed_bytes, s.committed_bytes);
    EXPECT_EQ(s.reserved_bytes, space_.live_bytes()) << "a reservation has leaked";
  }

 private:
  struct block {
    run* r;
    std::size_t bytes;
    std::uint64_t tag;
    bool slab;
  };
  static constexpr std::size_t stride = 512;  // a word each so many bytes is written and checked

  [[nodiscard]] std::uintptr_t start_of(const run* r) const {
    return reinterpret_cast<std::uintptr_t>(heap_->address_of(*r));
  }
  static std::uint64_t& word(std::uintptr_t a) { return *reinterpret_cast<std::uint64_t*>(a); }

  void check_neighbours(std::uintptr_t start, std::size_t bytes) {
    const auto own = live_.find(start);
    ASSERT_NE(own, live_.end());
    if (std::next(own) != live_.end()) {
      EXPECT_LE(start + bytes, std::next(own)->first) << "overlap";
    }
    if (own != live_.begin()) {
      EXPECT_LE(std::prev(own)->first + std::prev(own)->second.bytes, start) << "overlap";
    }
    for (const auto& [lost, lost_bytes] : lost_)
      EXPECT_TRUE(start + bytes <= lost || lost + lost_bytes <= start) << "nothing is mapped there";
  }
  void admit(run* r, bool slab) {
    const std::uintptr_t start = start_of(r);
    const std::size_t bytes = std::size_t{r->pages} << page_shift;
    EXPECT_TRUE(live_.emplace(start, block{r, bytes, ++tags_ << 20, slab}).second);
    live_pages_ += r->pages;
    check_neighbours(start, bytes);
    if (r->zero) expect_zero(start, bytes);
    fill(start, bytes, tags_ << 20);
  }
  static void fill(std::uintptr_t start, std::size_t bytes, std::uint64_t tag) {
    for (std::size_t i = 0; i < bytes; i += stride) word(start + i) = tag + i / stride;
  }
  static void check_pattern(std::uintptr_t start, std::size_t bytes, std::uint64_t tag) {
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < bytes; i += stride)
      wrong += word(start + i) != tag + i / stride ? 1u : 0u;
    EXPECT_EQ(wrong, 0u) << "somebody else wrote here";
  }
  static void expect_zero(std::uintptr_t start, std::size_t bytes) {
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < bytes; i += stride) wrong += word(start + i) != 0 ? 1u : 0u;
    EXPECT_EQ(wrong, 0u) << "called zero, but is not";
  }

  sealable<test_space>& space_;
  std::unique_ptr<pages> heap_;
  std::map<std::uintptr_t, block> live_;
  std::map<std::uintptr_t, std::size_t> lost_;
  std::size_t live_pages_ = 0;
  std::uint64_t tags_ = 0;
};

class_index random_class(std::mt19937_64& random) {
  return static_cast<class_index>(1 + random() % (class_count - 1));
}

/// One random step; refusals are allowed.
void step(modelled& m, sealable<test_space>& space, std::mt19937_64& random,
          std::size_t live_pages_max) {
  const bool room = m.live_pages() < live_pages_max;
  switch (random() % 16) {
    case 0:
    case 1:
    case 2:
    case 3:
      if (room) m.new_slab(random_class(random));
      break;
    case 4:
    case 5:
      if (room) m.new_large(1 + random() % 40, 1);
      break;
    case 6:
      if (room) m.new_large(1 + random() % 300, 1);
      break;
    case 7:
      if (room) m.new_large(1 + random() % 20, std::size_t{1} << (random() % 11));  // to 4 MiB
      break;
    case 8:
    case 9:
      if (run* r = m.any(random, true); r != nullptr) m.resize(r, 1 + random() % 150);
      break;
    case 10:
      if (run* r = m.any(random, true); r != nullptr && r->pages < 200)
        m.resize(r, r->pages + 1 + random() % 4);
      break;
    case 11:
      if (run* r = m.any(random, true); r != nullptr && room) m.move(r, random() % 100);
      break;
    case 12:
      space.set_clock(space.now_ms() + random() % 400);
      m.heap().purge_aged();
      break;
    default:
      if (run* r = m.any(random, false); r != nullptr) m.drop(r);
  }
  if (random() % 500 == 0) m.heap().purge_all();
}

TEST(PageHeap, RandomProgramsAgreeWithTheModel) {
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    sealable<test_space> space;
    modelled m(space);
    m.heap().set_policy({.delay_ms = seed == 3 ? 0 : 1000, .keep_bytes = seed == 4 ? 1 << 20 : 0u});
    for (int i = 0; i < 5000; ++i) {
      // Shrinks to nearly nothing now and then, so that everything merges.
      step(m, space, random, i / 800 % 2 == 0 ? 8000 : 500);
      if (i % 250 == 0) m.audit();
      if (HasFailure()) return;
    }
    m.audit();
    m.drop_all();
    m.heap().purge_all();
    m.audit();
    EXPECT_EQ(m.heap().stats().committed_bytes, 0u);
  }
}

TEST(PageHeap, RandomProgramsOverSeveralRangesAgreeWithTheModel) {
  std::mt19937_64 random(11);
  sealable<test_space> space;
  space.set_limit(4 << 20);  // the first range: 1 MiB
  modelled m(space);
  for (int i = 0; i < 5000; ++i) {
    step(m, space, random, 30'000);
    if (i % 250 == 0) m.audit();
    if (HasFailure()) return;
  }
  EXPECT_GT(space.live_reservations(), 2u) << "the program never left the first range";
  m.drop_all();
  m.heap().purge_all();
  m.audit();
  EXPECT_EQ(space.live_reservations(), 2u) << "the later ranges are empty: they must be gone";
}

// ---- where the pages come from ------------------------------------------------------------------

TEST(PageHeap, FirstRangeFollowsMemoryAndLimit) {
  const auto first_range = [](std::size_t physical, std::size_t limit) {
    sealable<test_space> space;
    space.set_physical(physical);
    space.set_limit(limit);
    const auto heap = std::make_unique<pages>(space);
    EXPECT_TRUE(heap->start(standard_classes.bit_words_per_page));
    run* r = heap->new_large(1, 1, growth::allowed);
    EXPECT_NE(r, nullptr);
    const char* const base = heap->address_of(*r);
    std::size_t bytes = 1 << 12;
    while (heap->owns(base + bytes)) bytes *= 2;
    return bytes;
  };
  constexpr std::size_t gib = std::size_t{1} << 30;
  EXPECT_EQ(first_range(gib, SIZE_MAX), 16 * gib);
  EXPECT_EQ(first_range(0, SIZE_MAX), 16 * gib);
  EXPECT_EQ(first_range(5 * gib, SIZE_MAX), 32 * gib);
  EXPECT_EQ(first_range(gib, gib), gib / 4);
  EXPECT_LE(first_range(gib, gib - 1), gib / 4);
  EXPECT_LE(first_range(gib, 1), std::size_t{1} << 20);
}

TEST(PageHeap, ReservesLessWhereTheSystemRefuses) {
  sealable<test_space> space;
  space.set_limit(SIZE_MAX);
  space.set_reserve_max(std::size_t{100} << 20);
  modelled m(space);
  ASSERT_NE(m.new_large(100, 1), nullptr);
  EXPECT_GE(space.live_bytes(), std::size_t{50} << 20) << "halved more than was needed";
  m.audit();
}

TEST(PageHeap, GoesOnInLaterRanges) {
  sealable<test_space> space;
  space.set_limit(8 << 20);  // the first range: 2 MiB
  modelled m(space);
  std::vector<run*> slabs;
  for (int i = 0; i < 200; ++i) slabs.push_back(m.new_slab(4));  // 12.5 MiB
  ASSERT_NE(slabs.back(), nullptr);
  pages& heap = m.heap();
  const char* const early = heap.address_of(*slabs.front());
  const char* const late = heap.address_of(*slabs.back());
  EXPECT_EQ(heap.class_of(early), 4u);
  EXPECT_EQ(heap.class_of(late), 0u) << "the hot lookup knows the first range only";
  EXPECT_EQ(heap.class_anywhere(late), 4u);
  EXPECT_TRUE(heap.owns(late));
  // One block that no standard range holds gets a range of its own size.
  EXPECT_NE(m.new_large(20'000, 1), nullptr);
  m.audit();
}

TEST(PageHeap, AddressesOutsideOfEveryRangeBelongToNobody) {
  sealable<test_space> space;
  modelled m(space);
  int local = 0;
  const auto ask = [&](const void* p) {
    EXPECT_EQ(m.heap().class_of(p), 0u);
    char* begin = nullptr;
    EXPECT_EQ(m.heap().class_anywhere(p), 0u);
    EXPECT_EQ(m.heap().slab_of(p, 1, begin), nullptr);
    EXPECT_EQ(m.heap().large_at(p), nullptr);
    EXPECT_FALSE(m.heap().owns(p));
    EXPECT_EQ(m.heap().delete_large(const_cast<void*>(p)), 0u);
  };
  for (int started = 0; started < 2; ++started) {
    ask(nullptr);
    ask(&local);
    ask(reinterpret_cast<const void*>(UINTPTR_MAX));
    if (started == 0) m.new_slab(1);
  }
}

TEST(PageHeap, ReusesDirtyMemoryBeforeFresh) {
  sealable<test_space> space;
  modelled m(space);
  run* slab = m.new_slab(1);
  char* const address = m.heap().address_of(*slab);
  ASSERT_NE(m.new_large(3, 1), nullptr);  // keeps the freed run from meeting fresh pages
  const std::uint64_t committed = m.heap().stats().committed_bytes;
  m.drop(slab);
  EXPECT_EQ(m.heap().stats().committed_bytes, committed) << "dirty pages may be resident";
  const std::uint64_t calls = space.calls();
  run* other = m.new_slab(2);
  EXPECT_EQ(m.heap().address_of(*other), address) << "memory moves between classes";
  EXPECT_FALSE(other->zero);
  EXPECT_EQ(space.calls(), calls) << "without a system call";
  EXPECT_EQ(m.heap().stats().committed_bytes, committed);
  m.drop(other);
  run* large = m.new_large(16, 1);
  EXPECT_EQ(m.heap().address_of(*large), address);
  EXPECT_FALSE(large->zero);
}

TEST(PageHeap, PurgedMemoryIsKnownToBeZeroAndMergesAgain) {
  sealable<test_space> space;
  modelled m(space);
  std::vector<run*> runs;
  for (int i = 0; i < 8; ++i) runs.push_back(m.new_large(10, 1));
  ASSERT_NE(m.new_large(1, 1), nullptr);
  char* const address = m.heap().address_of(*runs.front());
  for (run* r : runs) m.drop(r);
  EXPECT_EQ(m.heap().purge_all(), 80 * page_size);
  EXPECT_EQ(m.heap().stats().given_back_bytes, 80 * page_size);
  EXPECT_EQ(m.heap().stats().committed_bytes, page_size);
  run* all = m.new_large(80, 1);
  EXPECT_EQ(m.heap().address_of(*all), address);
  EXPECT_TRUE(all->zero) << "and the model has read it";
}

TEST(PageHeap, MemoryThatTheSystemDidNotTakeBackIsNotCalledZero) {
  sealable<test_space> space;
  space.set_limit(8 << 20);  // one range of 2 MiB
  modelled m(space);
  run* first = m.new_large(200, 1);
  ASSERT_NE(first, nullptr);
  run* second = m.new_large(200, 1);
  ASSERT_NE(second, nullptr);
  space.set_reserve_max(space.live_bytes());
  space.fail_always(space_call::purge, true);
  m.drop(first);
  // Nothing long enough is left, so the heap tries to give back and to merge before it refuses.
  EXPECT_EQ(m.new_large(300, 1), nullptr);
  m.audit();
  run* again = m.new_large(200, 1);  // the model reads it if it is called zero
  ASSERT_NE(again, nullptr);
  m.audit();
  EXPECT_EQ(m.heap().purge_all(), 0u);
}

TEST(PageHeap, GrowsInPlaceOverFreeNeighboursAndFreshPages) {
  sealable<test_space> space;
  modelled m(space);
  run* a = m.new_large(4, 1);
  run* b = m.new_large(4, 1);
  run* c = m.new_large(4, 1);
  m.resize(c, 100);
  EXPECT_EQ(c->pages, 100u) << "the last run grows into fresh pages";
  m.resize(a, 5);
  EXPECT_EQ(a->pages, 4u) << "a neighbour in use is in the way";
  m.drop(b);
  m.resize(a, 6);
  EXPECT_EQ(a->pages, 6u);
  m.resize(a, 9);
  EXPECT_EQ(a->pages, 6u) << "only two pages are left";
  m.resize(a, 8);
  EXPECT_EQ(a->pages, 8u);
  m.resize(a, 1);
  EXPECT_EQ(a->pages, 1u);
  run* d = m.new_large(7, 1);
  EXPECT_EQ(m.heap().address_of(*d), m.heap().address_of(*a) + page_size);
  m.audit();
}

TEST(PageHeap, GrowsInPlaceUpToTheEndOfItsRangeAndNoFurther) {
  sealable<test_space> space;
  space.set_limit(8 << 20);  // the first range: 2 MiB
  constexpr std::size_t all = (2 << 20) / page_size;
  modelled m(space);
  run* const a = m.new_large(4, 1);
  m.resize(a, all + 1);
  EXPECT_EQ(a->pages, 4u) << "one page more than the range has";
  m.resize(a, all);
  EXPECT_EQ(a->pages, all);
  m.resize(a, all + 1);
  EXPECT_EQ(a->pages, all);
  m.audit();
}

TEST(PageHeap, GrowsOverSeveralFreeRunsAndBeyondThem) {
  sealable<test_space> space;
  modelled m(space);
  run* a = m.new_large(4, 1);
  run* clean = m.new_large(4, 1);
  run* dirty = m.new_large(4, 1);
  m.drop(clean);
  EXPECT_GT(m.heap().purge_all(), 0u);
  m.drop(dirty);
  m.audit();
  m.resize(a, 10);
  EXPECT_EQ(a->pages, 10u) << "a clean run and half of a dirty one";
  m.audit();
  m.resize(a, 40);
  EXPECT_EQ(a->pages, 40u) << "the rest, and fresh pages where it ends at the top";
  m.audit();
  run* last = m.new_large(4, 1);
  m.resize(a, 41);
  EXPECT_EQ(a->pages, 40u) << "what is in use is in the way";
  m.drop(last);
  m.audit();
}

TEST(PageHeap, MovedPagesLeaveNothingBehindAndHeal) {
  sealable<test_space> space;
  modelled m(space);
  run* from = m.new_large(200, 1);
  m.move(from, 300);
  EXPECT_TRUE(from->moved);
  m.drop(from);
  EXPECT_EQ(space.calls(space_call::renew), 1u);
  space.fail_always(space_call::renew, true);
  m.drop_all();  // the target is still remapped; without renewal nobody may have it again
  EXPECT_EQ(m.lost(), 1u);
  m.audit();
  EXPECT_NE(m.new_large(400, 1), nullptr);
  m.audit();
}

TEST(PageHeap, ARunThatWasMovedOnceIsNotMovedAgain) {
  sealable<test_space> space;
  modelled m(space);
  run* from = m.new_large(200, 1);
  m.move(from, 300);
  ASSERT_EQ(space.calls(space_call::move), 1u);
  m.move(from, 300);  // the model counts the calls
  EXPECT_EQ(space.calls(space_call::move), 1u);
  EXPECT_EQ(m.count(), 2u) << "the second target must be gone";
  m.drop_all();
  m.heap().purge_all();
  m.audit();
  EXPECT_EQ(m.heap().stats().committed_bytes, 0u);
}

TEST(PageHeap, ATargetThatARefusedMoveTookAwayIsRenewedBeforeAnybodyGetsIt) {
  sealable<test_space> space;
  space.set_refused_moves_unmap(true);
  modelled m(space);
  run* from = m.new_large(200, 1);
  space.fail_always(space_call::move, true);
  for (int i = 0; i < 5; ++i) m.move(from, 300);
  EXPECT_EQ(space.calls(space_call::renew), 5u);
  EXPECT_EQ(m.lost(), 0u);
  EXPECT_EQ(m.heap().stats().large_runs, 1u);
  m.audit();
  // Everything there is is handed out and written to: an access to what is unmapped ends the test.
  for (int i = 0; i < 100; ++i) ASSERT_NE(m.new_large(300, 1), nullptr);
  m.drop_all();
  m.heap().purge_all();
  m.audit();
  EXPECT_EQ(m.heap().stats().committed_bytes, 0u);
}

TEST(PageHeap, ATargetThatCannotBeRenewedIsNeverHandedOut) {
  sealable<test_space> space;
  space.set_limit(32 << 20);  // one range of 2048 pages
  space.set_refused_moves_unmap(true);
  modelled m(space);
  run* from = m.new_large(200, 1);
  space.fail_always(space_call::move, true);
  space.fail_always(space_call::renew, true);
  m.move(from, 300);
  ASSERT_EQ(m.lost(), 1u);
  m.audit();
  EXPECT_EQ(m.heap().stats().committed_bytes, 500 * page_size);
  space.set_reserve_max(space.live_bytes());
  for (int round = 0; round < 3; ++round) {
    // The model sees an overlap with what is lost, and writing there would end the test.
    while (m.new_large(10, 1) != nullptr) {
    }
    EXPECT_GT(m.live_pages(), 1700u);
    EXPECT_LE(m.live_pages(), 1748u);
    m.audit();
    m.drop_all();
    m.heap().purge_all();
    m.audit();
    EXPECT_EQ(m.heap().stats().committed_bytes, 300 * page_size);
  }
}

TEST(PageHeap, RandomProgramsSurviveMovesAndRenewalsThatFail) {
  std::mt19937_64 random(31);
  sealable<test_space> space;
  space.set_refused_moves_unmap(true);
  modelled m(space);
  for (int i = 0; i < 4000; ++i) {
    space.fail_always(space_call::move, random() % 2 == 0);
    space.fail_always(space_call::renew, random() % 8 == 0);
    step(m, space, random, 8000);
    if (i % 250 == 0) m.audit();
    if (HasFailure()) return;
  }
  EXPECT_GT(m.lost(), 0u);
  space.fail_always(space_call::renew, false);
  m.drop_all();
  m.heap().purge_all();
  m.audit();
}

// ---- growth -----------------------------------------------------------------------------------

TEST(PageHeap, RefusedGrowthNeverExtendsARange) {
  sealable<test_space> space;
  modelled m(space);
  ASSERT_TRUE(m.heap().start(standard_classes.bit_words_per_page));
  const std::uint64_t at_start = space.calls();
  for (std::size_t c = 1; c < class_count; ++c)
    EXPECT_EQ(m.new_slab(static_cast<class_index>(c), growth::refused), nullptr);
  EXPECT_EQ(m.new_large(1, 1, growth::refused), nullptr);
  EXPECT_EQ(m.new_large(1000, 16, growth::refused), nullptr);
  EXPECT_EQ(space.calls(), at_start) << "nothing was free, so there was nothing to ask the system";

  run* dirty = m.new_large(64, 1);
  run* between = m.new_large(1, 1);
  run* clean = m.new_large(40, 1);
  run* last = m.new_large(1, 1);
  ASSERT_TRUE(dirty != nullptr && between != nullptr && clean != nullptr && last != nullptr);
  m.drop(clean);
  m.heap().purge_all();
  m.drop(dirty);
  const std::uint64_t calls = space.calls();
  const std::uint64_t reserved = m.heap().stats().reserved_bytes;
  // Served by what is free, dirty before clean, until neither is long enough.
  std::size_t got = 0;
  while (run* r = m.new_large(8, 1, growth::refused)) {
    got += r->pages;
    EXPECT_EQ(r->zero, got > 64);
  }
  EXPECT_EQ(got, 64u + 40u);
  EXPECT_EQ(m.new_slab(4, growth::refused), nullptr);
  EXPECT_EQ(space.calls(), calls);
  EXPECT_EQ(m.heap().stats().reserved_bytes, reserved);
  EXPECT_NE(m.new_slab(4, growth::allowed), nullptr);
  m.audit();
}

TEST(PageHeap, RefusedGrowthPurgesNothing) {
  sealable<test_space> space;
  modelled m(space);
  run* slab = m.new_slab(4);
  ASSERT_NE(m.new_large(1, 1), nullptr);
  m.drop(slab);
  EXPECT_EQ(m.new_large(100, 1, growth::refused), nullptr);
  EXPECT_EQ(space.calls(space_call::purge), 0u);
  EXPECT_EQ(m.heap().stats().given_back_bytes, 0u);
}

// ---- later ranges -----------------------------------------------------------------------------

TEST(PageHeap, AnEmptyLaterRangeGoesAndTheFirstStays) {
  sealable<test_space> space;
  space.set_limit(8 << 20);  // the first range: 2 MiB
  modelled m(space);
  const char* first = nullptr;
  for (int round = 0; round < 5; ++round) {
    std::vector<run*> slabs;
    for (int i = 0; i < 200; ++i) slabs.push_back(m.new_slab(4));  // 12.5 MiB
    run* large = m.new_large(20'000, 1);
    ASSERT_NE(large, nullptr);
    first = m.heap().address_of(*slabs.front());
    const char* const late = m.heap().address_of(*large);
    EXPECT_GT(space.live_reservations(), 4u);
    EXPECT_TRUE(m.heap().owns(late));
    m.drop(large);
    EXPECT_TRUE(m.heap().owns(late)) << "dirty memory is not given back by freeing it";
    m.heap().purge_all();
    EXPECT_FALSE(m.heap().owns(late));
    EXPECT_EQ(m.heap().large_at(late), nullptr);
    EXPECT_EQ(m.heap().class_anywhere(late), 0u);
    EXPECT_EQ(m.heap().delete_large(const_cast<char*>(late)), 0u);
    m.audit();
    m.drop_all();
    m.heap().purge_all();
    EXPECT_EQ(space.live_reservations(), 2u) << "the first range and its tables";
    EXPECT_TRUE(m.heap().owns(first));
    m.audit();
  }
}

TEST(PageHeap, ALaterRangeThatAMovedBlockLeftGoesToo) {
  sealable<test_space> space;
  space.set_limit(8 << 20);
  modelled m(space);
  run* from = m.new_large(20'000, 1);
  ASSERT_NE(from, nullptr);
  m.move(from, 30'000);
  m.drop_all();  // both were remapped, so both are renewed and clean at once
  EXPECT_EQ(space.live_reservations(), 2u);
  m.audit();
}

TEST(PageHeap, FreshPagesMeetTheCleanOnesBeforeThem) {
  sealable<test_space> space;
  space.set_limit(4 << 20);  // the first range: 1 MiB
  modelled m(space);
  run* filling = m.new_large(256, 1);
  ASSERT_NE(filling, nullptr);
  space.set_limit(std::size_t{1} << 30);  // the next: 128 MiB
  run* low = m.new_large(3, 1);
  run* middle = m.new_large(20, 1);
  ASSERT_TRUE(low != nullptr && middle != nullptr && low->range == 1 && middle->range == 1);
  m.drop(middle);
  m.heap().purge_all();
  // Aligned, so that something is left over before it, beside the clean pages.
  run* aligned = m.new_large(40, 64);
  ASSERT_NE(aligned, nullptr);
  ASSERT_EQ(aligned->range, 1);
  m.drop(aligned);
  m.drop(low);
  m.heap().purge_all();
  EXPECT_EQ(space.live_reservations(), 2u) << "the range is empty, but in pieces";
  m.audit();
}

TEST(PageHeap, AHugeRequestThatFailsLeavesNoReservationBehind) {
  for (const space_call kind : {space_call::commit, space_call::reserve_zeros}) {
    sealable<test_space> space;
    space.set_limit(8 << 20);
    modelled m(space);
    ASSERT_NE(m.new_large(10, 1), nullptr);
    const std::size_t reservations = space.live_reservations();
    const std::size_t bytes = space.live_bytes();
    space.fail_always(kind, true);
    EXPECT_EQ(m.new_large(100'000, 1), nullptr);
    EXPECT_EQ(m.new_large(100'000, 512), nullptr);
    EXPECT_EQ(space.live_reservations(), reservations);
    EXPECT_EQ(space.live_bytes(), bytes);
    space.fail_always(kind, false);
    EXPECT_NE(m.new_large(100'000, 1), nullptr);
    m.audit();
  }
}

// ---- giving back --------------------------------------------------------------------------------

/// Frees `count` runs of 16 pages, apart from each other, at the space's present time.
void free_apart(modelled& m, int count) {
  std::vector<run*> runs;
  for (int i = 0; i < count; ++i) {
    runs.push_back(m.new_large(16, 1));
    m.new_large(1, 1);
  }
  for (run* r : runs) m.drop(r);
}

TEST(PageHeap, GivesBackNothingBeforeTheDelayAndEverythingAfter) {
  sealable<test_space> space;
  space.set_clock(5'000);
  modelled m(space);
  m.heap().set_policy({.delay_ms = 1000, .keep_bytes = 0});
  free_apart(m, 5);
  for (std::uint64_t t = 5'000; t < 6'000; t += 37) {
    space.set_clock(t);
    m.heap().purge_aged();
  }
  space.set_clock(5'999);
  m.heap().purge_aged();
  EXPECT_EQ(m.heap().stats().given_back_bytes, 0u);
  EXPECT_EQ(space.calls(space_call::purge), 0u);
  space.set_clock(6'000);
  m.heap().purge_aged();
  EXPECT_EQ(m.heap().stats().given_back_bytes, 5 * 16 * page_size);
  m.audit();
}

TEST(PageHeap, KeepsWhatIsYoungerThanTheDelay) {
  sealable<test_space> space;
  modelled m(space);
  m.heap().set_policy({.delay_ms = 1000, .keep_bytes = 0});
  run* a = m.new_large(16, 1);
  m.new_large(1, 1);
  run* b = m.new_large(24, 1);
  m.new_large(1, 1);
  m.drop(a);
  space.set_clock(900);
  m.drop(b);
  space.set_clock(1'300);
  m.heap().purge_aged();
  EXPECT_EQ(m.heap().stats().given_back_bytes, 16 * page_size);
  space.set_clock(2'400);
  m.heap().purge_aged();
  EXPECT_EQ(m.heap().stats().given_back_bytes, 40 * page_size);
}

TEST(PageHeap, AgesRightlyWhenTheClocksLowBitsWrap) {
  sealable<test_space> space;
  space.set_clock((std::uint64_t{1} << 32) - 500);
  modelled m(space);
  m.heap().set_policy({.delay_ms = 1000, .keep_bytes = 0});
  free_apart(m, 2);
  space.set_clock((std::uint64_t{1} << 32) + 499);
  m.heap().purge_aged();
  EXPECT_EQ(m.heap().stats().given_back_bytes, 0u);
  space.set_clock((std::uint64_t{1} << 32) + 1'000);
  m.heap().purge_aged();
  EXPECT_EQ(m.heap().stats().given_back_bytes, 2 * 16 * page_size);
  // What became free after the wrap is young, though its low bits are less than the clock's.
  free_apart(m, 3);
  space.set_clock((std::uint64_t{1} << 32) + 1'999);
  m.heap().purge_aged();
  EXPECT_EQ(m.heap().stats().given_back_bytes, 2 * 16 * page_size);
  space.set_clock((std::uint64_t{1} << 32) + 2'000);
  m.heap().purge_aged();
  EXPECT_EQ(m.heap().stats().given_back_bytes, 5 * 16 * page_size);
}

TEST(PageHeap, KeepsTheBytesItWasToldToKeep) {
  sealable<test_space> space;
  modelled m(space);
  m.heap().set_policy({.delay_ms = 100, .keep_bytes = 3 * 16 * page_size});
  free_apart(m, 10);
  space.set_clock(1'000'000);
  m.heap().purge_aged();
  EXPECT_EQ(m.heap().stats().given_back_bytes, 7 * 16 * page_size);
  EXPECT_EQ(m.heap().purge_all(), 3 * 16 * page_size) << "to keep is for ageing only";
}

TEST(PageHeap, DelayZeroGivesBackWheneverItLooks) {
  sealable<test_space> space;
  modelled m(space);
  m.heap().set_policy({.delay_ms = 0, .keep_bytes = 0});
  run* slab = m.new_slab(7);
  const std::size_t bytes = slab->pages * page_size;
  m.drop(slab);
  EXPECT_EQ(m.heap().stats().given_back_bytes, 0u) << "who gives back is told to";
  m.heap().purge_aged();
  EXPECT_EQ(m.heap().stats().given_back_bytes, bytes);
  EXPECT_EQ(m.heap().stats().committed_bytes, 0u);
  run* again = m.new_slab(7);
  EXPECT_TRUE(again->zero);
}

TEST(PageHeap, DelayBelowZeroNeverGivesBackByItself) {
  sealable<test_space> space;
  modelled m(space);
  m.heap().set_policy({.delay_ms = -1, .keep_bytes = 0});
  free_apart(m, 3);
  space.set_clock(std::uint64_t{1} << 40);
  m.heap().purge_aged();
  free_apart(m, 3);
  EXPECT_EQ(m.heap().stats().given_back_bytes, 0u);
  EXPECT_GT(m.heap().purge_all(), 0u);
}

TEST(PageHeap, AVeryLongDelayIsNotAShortOne) {
  for (const std::int64_t delay : {std::int64_t{1} << 31, std::int64_t{1} << 32, INT64_MAX}) {
    sealable<test_space> space;
    modelled m(space);
    m.heap().set_policy({.delay_ms = delay, .keep_bytes = 0});
    free_apart(m, 3);
    space.set_clock(space.now_ms() + 60'000);
    m.heap().purge_aged();
    EXPECT_EQ(m.heap().stats().given_back_bytes, 0u) << delay;
  }
}

// ---- when memory runs out -----------------------------------------------------------------------

/// Makes the heap's one range, 2048 pages, a single free run; another range is refused.
void confine_to_one_range(modelled& m, test_space& space) {
  space.set_limit(32 << 20);
  run* whole = m.new_large(2048, 1);
  ASSERT_NE(whole, nullptr);
  space.set_reserve_max(space.live_bytes());
  m.drop(whole);
}

TEST(PageHeap, ExhaustionRefusesAndNothingIsLost) {
  sealable<test_space> space;
  modelled m(space);
  confine_to_one_range(m, space);
  std::mt19937_64 random(5);
  for (int round = 0; round < 4; ++round) {
    int refused = 0;
    while (refused < 50) {
      run* r = random() % 2 == 0 ? m.new_slab(random_class(random))
                                 : m.new_large(1 + random() % 60, 1 + random() % 2);
      refused += r == nullptr ? 1 : 0;
    }
    EXPECT_GT(m.live_pages(), 2000u) << "of 2048";
    m.audit();
    while (run* r = m.any(random, false)) {
      m.drop(r);
      if (round % 2 == 0 && random() % 64 == 0) m.heap().purge_all();
    }
    m.audit();
    run* whole = m.new_large(2048, 1);
    EXPECT_NE(whole, nullptr) << "all is free, so it must be one run again";
    if (whole != nullptr) m.drop(whole);
  }
}

TEST(PageHeap, ARangeServesEveryClassAfterEveryOther) {
  sealable<test_space> space;
  modelled m(space);
  confine_to_one_range(m, space);
  for (std::size_t c = 1; c < class_count; ++c) {
    std::size_t slabs = 0;
    while (m.new_slab(static_cast<class_index>(c)) != nullptr) ++slabs;
    EXPECT_EQ(slabs, 2048 / standard_classes.shapes[c].pages) << "slabs of class " << c;
    m.drop_all();
  }
  m.audit();
}

TEST(PageHeap, HugeRequestsAreRefused) {
  sealable<test_space> space;
  modelled m(space);
  pages& heap = m.heap();
  ASSERT_TRUE(heap.start(standard_classes.bit_words_per_page));
  EXPECT_EQ(heap.new_large(std::size_t{1} << 51, 1, growth::allowed), nullptr);
  EXPECT_EQ(heap.new_large(1, std::size_t{1} << 51, growth::allowed), nullptr);
  EXPECT_EQ(heap.new_large(UINT32_MAX, std::size_t{1} << 31, growth::allowed), nullptr);
  run* r = m.new_large(1, 1);
  EXPECT_FALSE(heap.resize_large(r, std::size_t{1} << 51));
  EXPECT_FALSE(heap.resize_large(r, UINT32_MAX));
  m.audit();
}

/// A program that makes every kind of system call.
void fixed_program(modelled& m, sealable<test_space>& space) {
  std::mt19937_64 random(21);
  m.heap().set_policy({.delay_ms = 200, .keep_bytes = 0});
  bool counted = m.heap().keep_slack();
  for (int i = 0; i < 120; ++i) {
    step(m, space, random, 3000);
    if (i == 60 && !counted) counted = m.heap().keep_slack();
    if (i % 40 == 0) m.heap().purge_all();
  }
  if (run* r = m.new_large(1000, 1); r != nullptr) m.resize(r, 1500);
}

TEST(PageHeap, SurvivesTheFailureOfEverySystemCall) {
  for (const bool all_after : {false, true}) {
    for (std::uint64_t n = 1;; n += support::step(7u)) {
      SCOPED_TRACE(testing::Message() << "call " << n << (all_after ? " and later" : ""));
      sealable<test_space> space;
      space.set_limit(4 << 20);  // the first range: 1 MiB, so that more are added
      modelled m(space);
      all_after ? space.fail_from(n) : space.fail_nth(n);
      fixed_program(m, space);
      m.heap().audit();
      const bool ran_out = space.calls() < n;
      space.fail_nth(0);
      for (const class_index c : {class_index{1}, class_index{9}, class_index{72}})
        EXPECT_NE(m.new_slab(c), nullptr);
      EXPECT_NE(m.new_large(3000, 8), nullptr);
      EXPECT_TRUE(m.heap().keep_slack());
      std::mt19937_64 random(n);
      run* r = m.any(random, false);
      ASSERT_NE(r, nullptr);
      char* const last = m.heap().address_of(*r) + r->pages * page_size - block_granule;
      m.heap().exchange_slack(last, 5);
      EXPECT_EQ(m.heap().exchange_slack(last, 0), 5u) << "a slack entry cannot be written";
      m.audit();
      m.drop_all();
      m.heap().purge_all();
      m.audit();
      // The first range, its tables and its slack; what is lost keeps its range for good.
      if (m.lost() == 0) {
        EXPECT_EQ(space.live_reservations(), 3u);
      }
      if (HasFailure()) return;
      if (ran_out) break;
    }
  }
}

// Records and bitmaps are made for runs of some pages each. Where all are shorter and the system gives no more, a request
// is refused though there are free pages, and these stay free.
TEST(PageHeap, WithoutARecordARequestIsRefusedAndNoPageIsLost) {
  constexpr std::size_t page_count = 3000;
  sealable<test_space> space;
  modelled m(space);
  run* const shrinks = m.new_large(2, 1);
  m.drop(m.new_large(page_count, 1));
  space.fail_always(space_call::commit, true);
  std::size_t served = 0;
  while (m.new_large(1, 1) != nullptr) ++served;
  EXPECT_LT(served, page_count);
  for (const std::size_t align_pages : {2u, 4u, 8u, 16u})
    EXPECT_EQ(m.new_large(1, align_pages), nullptr);
  m.resize(shrinks, 1);
  EXPECT_EQ(shrinks->pages, 2u) << "there was no record for the rest";
  m.audit();
  space.fail_always(space_call::commit, false);
  while (served < page_count && m.new_large(1, 1) != nullptr) ++served;
  EXPECT_EQ(served, page_count);
  m.audit();
  m.drop_all();
  space.fail_always(space_call::commit, true);
  EXPECT_NE(m.new_large(page_count, 1), nullptr) << "they do not merge any more";
  m.audit();
}

TEST(PageHeap, WithoutABitmapASlabIsRefusedAndNoPageIsLost) {
  constexpr std::size_t page_count = 1000;
  sealable<test_space> space;
  modelled m(space);
  for (std::size_t i = 0; i < page_count; ++i) ASSERT_NE(m.new_large(1, 1), nullptr);
  m.drop_all();  // so there are records enough
  space.fail_always(space_call::commit, true);
  // A bitmap serves again only for as many words: each class wants its own.
  std::size_t refused = 0;
  for (std::size_t i = 1; i < class_count; ++i) {
    const auto c = static_cast<class_index>(i);
    std::size_t slabs = 0;
    while (m.new_slab(c) != nullptr) ++slabs;
    refused += (slabs + 1) * standard_classes.shapes[c].pages <= page_count ? 1u : 0u;
    m.drop_all();
    m.audit();
  }
  EXPECT_GT(refused, 0u);
  EXPECT_NE(m.new_large(page_count, 1), nullptr) << "pages were lost";
}

TEST(PageHeap, FreshRunsSurviveARefusalAtEveryCall) {
  for (const bool all_after : {false, true}) {
    for (std::uint64_t n = 1;; ++n) {
      SCOPED_TRACE(testing::Message() << "call " << n << (all_after ? " and later" : ""));
      sealable<test_space> space;
      modelled m(space);
      all_after ? space.fail_from(n) : space.fail_nth(n);
      for (int i = 0; i < 600; ++i) static_cast<void>(m.new_large(1, 1));
      const bool ran_out = space.calls() < n;
      m.audit();
      space.fail_nth(0);
      EXPECT_NE(m.new_large(600, 1), nullptr) << "the range does not grow any more";
      m.audit();
      if (HasFailure()) return;
      if (ran_out) break;
    }
  }
}

TEST(PageHeapDeathTest, AuditSeesWrongRunsAndWrongSums) {
  sealable<test_space> space;
  modelled m(space);
  ASSERT_NE(m.new_large(2, 1), nullptr);
  run* const r = m.new_large(5, 1);  // behind it
  constexpr const char* broken = "audit\\(0x[0-9a-f]+\\): an internal invariant";
  const auto audit_with = [&](auto change) {
    change();
    m.heap().audit();
  };
  m.heap().audit();
  EXPECT_DEATH(audit_with([&] { ++r->first; }), broken);
  EXPECT_DEATH(audit_with([&] { --r->first; }), broken);
  EXPECT_DEATH(audit_with([&] { r->pages = 0; }), broken);
  EXPECT_DEATH(audit_with([&] { r->kind = run_kind::dirty; }), broken);
  EXPECT_DEATH(audit_with([&] { r->kind = run_kind::clean; }), broken);
}

// Who walks over the slabs holds no lock between two of them, so a place may be anything by then.
TEST(PageHeap, SlabsAreFoundByTheirPlaceWhateverCameOfIt) {
  sealable<test_space> space;
  modelled m(space);
  constexpr class_index small = 8, larger = 30;
  run* const first = m.new_slab(small);
  run* const second = m.new_slab(small);
  run* const large = m.new_large(3, 1);
  run* const last = m.new_slab(larger);
  const auto next_is = [&m](slab_place from, const run* r) {
    const slab_place place = m.heap().next_slab(from);
    return place.size_class == r->size_class && m.heap().slab_at(place, r->size_class) == r;
  };
  const std::size_t second_page = second->first, last_page = last->first;
  EXPECT_TRUE(next_is({}, first));
  EXPECT_TRUE(next_is({.page = first->first + first->pages}, second));
  EXPECT_TRUE(next_is({.page = second_page + second->pages}, last)) << "over the large block";
  EXPECT_TRUE(next_is({.page = second_page + 1}, last)) << "from inside of a slab";
  EXPECT_EQ(m.heap().next_slab({.page = last_page + last->pages}).size_class, 0u);
  EXPECT_EQ(m.heap().next_slab({.range = 7}).size_class, 0u);

  EXPECT_EQ(m.heap().slab_at({.page = second_page}, larger), nullptr);
  EXPECT_EQ(m.heap().slab_at({.page = second_page + 1}, small), nullptr);
  EXPECT_EQ(m.heap().slab_at({.page = large->first}, small), nullptr);
  EXPECT_EQ(m.heap().slab_at({.page = last_page + last->pages}, larger), nullptr);
  EXPECT_EQ(m.heap().slab_at({.range = 7}, small), nullptr);

  m.drop(first);
  m.drop(second);  // one run with the first's pages: it has no beginning here any more
  EXPECT_TRUE(next_is({.page = second_page}, last));
  EXPECT_EQ(m.heap().slab_at({.page = second_page}, small), nullptr);
}

TEST(PageHeap, SlackEntriesSurviveARefusedStart) {
  sealable<test_space> space;
  modelled m(space);
  run* r = m.new_large(50, 1);
  char* const last = m.heap().address_of(*r) + 50 * page_size - block_granule;
  space.fail_always(space_call::commit, true);
  EXPECT_FALSE(m.heap().keep_slack());
  space.fail_always(space_call::commit, false);
  ASSERT_TRUE(m.heap().keep_slack());
  EXPECT_EQ(m.heap().exchange_slack(last, 99), 0u);
  EXPECT_EQ(m.heap().exchange_slack(last, UINT16_MAX + std::size_t{1}), 99u);
  EXPECT_EQ(m.heap().exchange_slack(last, 0), UINT16_MAX);
}

}  // namespace
