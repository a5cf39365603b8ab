// Pages that few bytes keep: the pass against a simple model, groups, the replay, and the finding's
// bounds.
#include "tools/findings/pins.hpp"

#include <map>
#include <random>
#include <tests/support/test_headers.hpp>

#include "tools/findings/finder.hpp"
#include "tools/trace/trace_files_test.hpp"

namespace ashlar::findings {
namespace {

using trace::event;

constexpr std::uint64_t base = 0x100000;

// A run with addresses. Each event is a microsecond behind the one before.
class placed_run {
 public:
  void make(std::uint64_t address, std::uint64_t size, std::uint32_t stack) {
    events_.push_back(trace::test::birth(1, ++time_, address, size));
    events_.back().stack = stack;
  }
  void drop(std::uint64_t address) { events_.push_back(trace::test::death(1, ++time_, address)); }
  // Nothing of interest happens so often.
  void pass(int calls) {
    for (int i = 0; i < calls; ++i) {
      make(0x10, 16, 0);
      drop(0x10);
    }
  }

  [[nodiscard]] std::string bytes() const { return trace::test::written(events_); }
  template <class What>
  void for_each_step(const What& what) const {
    trace::trace_reader reader = trace::test::read(bytes());
    trace::lifetimes steps(reader);
    for (trace::step s; steps.next(s);) what(s);
  }
  [[nodiscard]] run_course course() const {
    trace::trace_reader reader = trace::test::read(bytes());
    return run_course(reader);
  }

 private:
  std::vector<event> events_;
  std::uint64_t time_ = 0;
};

// Stacks are sites of the same number.
stack_sites plain_sites(std::uint32_t count) {
  stack_sites sites;
  for (std::uint32_t i = 1; i <= count; ++i) sites.set(i, i);
  return sites;
}

page_use used(const placed_run& run, const stack_sites& sites) {
  page_use use(sites, run.course());
  run.for_each_step([&](const trace::step& s) { use.count(s); });
  use.close();
  return use;
}

// `pages` pages of 16 blocks of 256 bytes: of each page one block is of `kept`, and of stack 1 the
// others, which go.
placed_run hollow_run(std::uint64_t pages, const std::vector<std::uint32_t>& kept) {
  placed_run run;
  const auto stack_of = [&](std::uint64_t page, std::uint64_t block) {
    return block < kept.size() ? kept[(page + block) % kept.size()] : 1;
  };
  for (std::uint64_t page = 0; page < pages; ++page)
    for (std::uint64_t block = 0; block < 16; ++block)
      run.make(base + page * page_bytes + block * 256, 256, stack_of(page, block));
  for (std::uint64_t page = 0; page < pages; ++page)
    for (std::uint64_t block = kept.size(); block < 16; ++block)
      run.drop(base + page * page_bytes + block * 256);
  return run;
}

// Steps of no trace: only the placement looks at them.
class placed_blocks {
 public:
  std::uint64_t make(std::uint32_t slot, std::uint64_t size, std::uint64_t alignment = 0) {
    trace::step s;
    s.happened = trace::step::what::birth;
    s.slot = slot;
    s.size = size;
    s.alignment = alignment;
    return heap_.placed(s).address;
  }
  void drop(std::uint32_t slot) {
    trace::step s;
    s.happened = trace::step::what::death;
    s.slot = slot;
    heap_.placed(s);
  }

 private:
  heap_placement heap_;
};

TEST(HeapPlacement, BlocksOfAClassLieSideBySideAndTheLowestPlaceIsNext) {
  placed_blocks heap;
  const std::uint64_t first = heap.make(0, 60);
  EXPECT_EQ(heap.make(1, 50), first + 64);
  const std::uint64_t other = heap.make(2, 200);
  EXPECT_GE(other, first + 64 * 1024);
  EXPECT_EQ(heap.make(3, 64), first + 128);
  heap.drop(1);
  heap.drop(0);
  EXPECT_EQ(heap.make(4, 64), first);
  EXPECT_EQ(heap.make(5, 64), first + 64);
  EXPECT_EQ(heap.make(6, 64), first + 192);
}

TEST(HeapPlacement, NoTwoBlocksOverlapWhateverIsAskedFor) {
  placed_blocks heap;
  std::mt19937_64 random(3);
  std::map<std::uint64_t, std::uint64_t> ends;  // by begin
  for (std::uint32_t slot = 0; slot < 2000; ++slot) {
    const std::uint64_t size = random() % (std::uint64_t{1} << random() % 20) + 1;
    const std::uint64_t alignment = std::uint64_t{1} << random() % 13;
    const std::uint64_t at = heap.make(slot, size, alignment);
    EXPECT_EQ(at % alignment, 0u);
    const auto [place, is_new] = ends.emplace(at, at + size);
    ASSERT_TRUE(is_new);
    if (place != ends.begin()) {
      EXPECT_LE(std::prev(place)->second, at);
    }
    if (std::next(place) != ends.end()) {
      EXPECT_LE(at + size, std::next(place)->first);
    }
  }
  // A damaged trace.
  EXPECT_NE(heap.make(2000, UINT64_MAX, 3), heap.make(2001, 0, UINT64_MAX));
}

TEST(PageTable, ABlockIsInThePagesThatItTouches) {
  page_table table;
  std::map<std::uint64_t, std::uint64_t> bytes;  // by page
  const auto note = [&](std::uint32_t page, std::uint32_t count) {
    bytes[table.number(page)] += count;
  };
  table.for_each_page(0x1ff0, 0x20, note);
  EXPECT_EQ(bytes, (std::map<std::uint64_t, std::uint64_t>{{1, 16}, {2, 16}}));
  EXPECT_EQ(page_table::inner_pages(0x1ff0, 0x20), 0u);
  bytes.clear();
  table.for_each_page(0x5010, 1 << 20, note);  // a large block: its ends alone
  EXPECT_EQ(bytes, (std::map<std::uint64_t, std::uint64_t>{{5, 4080}, {0x105, 16}}));
  EXPECT_EQ(page_table::inner_pages(0x5010, 1 << 20), 0xffu);
  EXPECT_EQ(table.size(), 4u);
}

TEST(PageTable, ABlockTakesWhatGlibcGivesIt) {
  EXPECT_EQ(bytes_taken(0), 16u);
  EXPECT_EQ(bytes_taken(16), 16u);
  EXPECT_EQ(bytes_taken(17), 32u);
  EXPECT_EQ(bytes_taken(UINT64_MAX), std::uint64_t{1} << 47);  // of a damaged trace
  EXPECT_LT(plain_address(UINT64_MAX) + bytes_taken(UINT64_MAX), std::uint64_t{1} << 58);
}

TEST(RunCourse, IsHalfByTimeAndHalfByCalls) {
  run_course course({0, 1000}, 100);
  EXPECT_EQ(course.next(0), 0u);
  for (int i = 1; i < 50; ++i) course.next(0);
  EXPECT_EQ(course.next(0), 12u);     // half of the calls, and no time
  EXPECT_EQ(course.next(500), 25u);   // and half of the time
  EXPECT_EQ(course.next(400), 25u);   // never back
  EXPECT_EQ(course.next(1000), 38u);  // all of the time
  run_course at_once({7, 7}, 10);
  for (std::size_t i = 0; i < 10; ++i) EXPECT_EQ(at_once.next(7), 5 * i);
}

TEST(PageUse, AHollowPageWasHalfFullAndIsLessThanAQuarter) {
  placed_run run;
  for (std::uint64_t i = 0; i < 8; ++i) run.make(base + i * 256, 256, 1);  // half
  for (std::uint64_t i = 0; i < 7; ++i) run.make(base + page_bytes + i * 256, 256, 1);
  for (std::uint64_t i = 1; i < 8; ++i) run.drop(base + i * 256);
  for (std::uint64_t i = 1; i < 7; ++i) run.drop(base + page_bytes + i * 256);
  const stack_sites sites = plain_sites(1);
  const page_use use = used(run, sites);
  EXPECT_EQ(use.at_end().figures.held_pages, 2u);
  EXPECT_EQ(use.at_end().figures.hollow_pages, 1u);
  EXPECT_EQ(use.at_end().figures.pinned_bytes, page_bytes - 256);
  placed_run quarter = hollow_run(10, {2, 2, 2, 2});  // 4 blocks of 256 bytes stay: a quarter
  EXPECT_EQ(used(quarter, plain_sites(2)).at_end().figures.hollow_pages, 0u);
  placed_run emptied = hollow_run(1, {2});
  emptied.drop(base);
  emptied.make(base, 16, 2);  // it was empty, so nothing is known of the rest
  EXPECT_EQ(used(emptied, plain_sites(2)).at_end().figures.hollow_pages, 0u);
}

TEST(PageUse, AgreesWithASimpleModelAndSharesAddUp) {
  std::mt19937 random(7);
  for (int round = 0; round < 20; ++round) {
    placed_run run;
    std::map<std::uint64_t, std::pair<std::uint64_t, std::uint32_t>> live;  // size, stack
    std::map<std::uint64_t, std::uint64_t> most;                            // by page
    const auto live_in = [&](std::uint64_t page) {
      std::uint64_t bytes = 0;
      for (const auto& [address, of] : live) {
        const std::uint64_t begin = std::max(address, page * page_bytes);
        const std::uint64_t end =
            std::min(address + bytes_taken(of.first), (page + 1) * page_bytes);
        if (begin < end) bytes += end - begin;
      }
      return bytes;
    };
    constexpr std::uint64_t pages = 12;
    const std::uint64_t first = base / page_bytes;
    for (int i = 0; i < 1500; ++i) {
      const std::uint64_t address = base + random() % (pages * 16 - 2) * 256;
      const auto found = live.find(address);
      if (found != live.end()) {
        run.drop(address);
        live.erase(found);
      } else if (!live.contains(address + 256) && !live.contains(address - 256) &&
                 (i < 800 || i % 8 == 0)) {
        const std::uint64_t size = random() % 2 == 0 ? 1 + random() % 512 : 1 + random() % 200;
        live[address] = {size, 1 + static_cast<std::uint32_t>(random() % 6)};
        run.make(address, size, live[address].second);
      }
      for (std::uint64_t page = first; page < first + pages; ++page) {
        const std::uint64_t now = live_in(page);
        most[page] = now == 0 ? 0 : std::max(most[page], now);
      }
    }
    std::uint64_t hollow = 0, pinned = 0, held = 0;
    for (std::uint64_t page = first; page < first + pages; ++page) {
      const std::uint64_t now = live_in(page);
      held += now != 0 ? 1 : 0;
      if (now == 0 || now * 4 >= page_bytes || most[page] * 2 < page_bytes) continue;
      ++hollow;
      pinned += page_bytes - now;
    }
    const stack_sites sites = plain_sites(6);
    const page_use use = used(run, sites);
    const hollow_pages& end = use.at_end();
    EXPECT_EQ(
        std::tuple(end.figures.held_pages, end.figures.hollow_pages, end.figures.pinned_bytes),
        std::tuple(held, hollow, pinned));
    std::uint64_t of_stacks = 0;
    for (const auto& [stack, figures] : end.by_stack) of_stacks += figures.pinned_bytes;
    EXPECT_EQ(of_stacks, pinned) << "the shares of the stacks";
    std::uint64_t of_holders = 0, pages_of_holders = 0;
    for (const auto& [who, figures] : end.by_holders) {
      of_holders += figures.pinned_bytes;
      pages_of_holders += figures.pages;
    }
    EXPECT_EQ(of_holders, pinned);
    EXPECT_EQ(pages_of_holders, hollow);
  }
}

TEST(PageUse, TheWorstMomentLasts) {
  placed_run falling = hollow_run(300, {2});
  for (std::uint64_t page = 0; page < 300; ++page) falling.drop(base + page * page_bytes);
  const stack_sites sites = plain_sites(2);
  const page_use fell = used(falling, sites);
  EXPECT_LT(fell.worst() ? fell.worst()->kept_bytes : 0, 20 * page_bytes) << "it was torn down";
  placed_run waiting = hollow_run(300, {2});
  waiting.pass(2000);
  for (std::uint64_t page = 0; page < 300; ++page) waiting.drop(base + page * page_bytes);
  const page_use waited = used(waiting, sites);
  ASSERT_TRUE(waited.worst());
  EXPECT_EQ(waited.worst()->kept_bytes, 300 * (page_bytes - 256));
  EXPECT_FALSE(waited.worst()->is_end);
  EXPECT_EQ(waited.worst()->by_stack.at(2).blocks, 300u);
  ASSERT_EQ(waited.moments().size(), run_course::stretches);
  EXPECT_EQ(waited.moments().back().held_pages, 0u);
  EXPECT_EQ(waited.changes().size(), run_course::stretches);
}

TEST(PageUse, WhatIsNeededAgainIsNotPinned) {
  // The peak has 300 pages. 300 blocks of 256 bytes stay: 18.75 pages. With 206 pages they are not
  // three quarters.
  for (const std::uint64_t again : {206u, 207u}) {
    placed_run run = hollow_run(300, {2});
    run.pass(2000);
    for (std::uint64_t i = 0; i < again; ++i) run.make(0x10000000 + i * 4096, 4096, 1);
    for (std::uint64_t i = 0; i < again; ++i) run.drop(0x10000000 + i * 4096);
    for (std::uint64_t page = 0; page < 300; ++page) run.drop(base + page * page_bytes);
    const stack_sites sites = plain_sites(2);
    const page_use use = used(run, sites);
    const std::uint64_t kept = use.worst() ? use.worst()->kept_bytes : 0;
    EXPECT_EQ(kept == 300 * (page_bytes - 256), again == 206) << kept;
    EXPECT_EQ(kept < 20 * page_bytes, again == 207) << kept;
  }
}

TEST(PinGroups, AreSitesThatLieTogether) {
  hollow_pages at;
  at.by_holders[{{1, 2, 3}}].pages = 1000;
  at.by_holders[{{1, 2}}].pages = 50;
  at.by_holders[{{1, 4}}].pages = 60;  // 4 adds less than a tenth
  at.by_holders[{{5}}].pages = 500;
  at.by_holders[{{5, 6}}].pages = 100;  // 6 adds a fifth
  at.by_holders[{{7}}].pages = 3;
  at.by_holders[{}].pages = 9000;  // of many sites
  const std::vector<pin_group> groups = pin_groups(at, 256);
  ASSERT_EQ(groups.size(), 2u);
  EXPECT_EQ(groups[0].sites, (std::vector<std::uint32_t>{1, 2, 3}));
  EXPECT_EQ(groups[0].pages_alone, 1050u);
  EXPECT_EQ(groups[1].sites, (std::vector<std::uint32_t>{5, 6}));
  EXPECT_EQ(groups[1].pages_alone, 600u);
  EXPECT_TRUE(pin_groups(hollow_pages(), 1).empty());
}

TEST(PoolPages, AreThoseOfSlabsWithALiveBlock) {
  pool_pages pool;
  std::vector<std::uint32_t> slabs;
  for (int i = 0; i < 129; ++i) slabs.push_back(pool.take(32));  // 128 in a page
  EXPECT_EQ(pool.pages(), 2u);
  pool.give(slabs.back());
  EXPECT_EQ(pool.pages(), 1u);
  EXPECT_EQ(pool.take(32), slabs.back()) << "the slab that had a free block last";
  pool_pages large;
  const std::uint32_t slab = large.take(100'000);
  EXPECT_EQ(large.pages(), 25u);
  large.give(slab);
  EXPECT_EQ(large.pages(), 0u);
}

TEST(PinReplay, CountsPagesThatLeaveAndThatCome) {
  const placed_run run = hollow_run(320, {2});
  const stack_sites sites = plain_sites(2);
  pin_replay replay(sites, {{{2}, 0}}, run.course(), run_course::stretches - 1);
  run.for_each_step([&](const trace::step& s) { replay.count(s); });
  ASSERT_EQ(replay.at_end().size(), 1u);
  EXPECT_EQ(replay.at_end()[0].pages, 320 - 20);  // 16 of 256 bytes in a page
  EXPECT_EQ(replay.at_end()[0].held_pages, 320u);
  EXPECT_EQ(replay.figures()[0].births, 320u);
  EXPECT_EQ(replay.figures()[0].most_live, 320u);
  EXPECT_EQ(replay.figures()[0].bytes_at_peak, 320u * 256);
  // Another site in each page: nothing leaves, and the pool comes.
  const placed_run mixed = hollow_run(320, {2, 3});
  const stack_sites three = plain_sites(3);
  pin_replay none(three, {{{2}, 0}}, mixed.course(), run_course::stretches - 1);
  mixed.for_each_step([&](const trace::step& s) { none.count(s); });
  EXPECT_EQ(none.at_end()[0].pages, -20);
}

// The findings of a run whose stack i is called "i".
std::vector<finding> findings_of(const placed_run& run, std::uint32_t stacks) {
  std::vector<trace::stack_definition> definitions;
  for (std::uint32_t i = 1; i <= stacks; ++i) definitions.push_back({i, {i}});
  const names_of_stack names = [](const trace::stack_definition& stack) {
    const auto name = std::string("f").append(std::to_string(stack.number)).append(" in program");
    return std::vector<trace::named_call>{{name, "a.cpp", stack.number, "/bin/program"},
                                          {"main in program", "a.cpp", 1, "/bin/program"}};
  };
  const site_table sites(definitions, names);
  pin_finder finder(definitions, names, sites, run.course());
  run.for_each_step([&](const trace::step& s) { finder.count(s); });
  return finder.findings([&](const pin_finder::each_step& each) { run.for_each_step(each); });
}

TEST(Pins, AreFoundFromOneMebibyteOn) {
  // 256 pages go, and 17 come for 273 blocks of 256 bytes: just enough, and one page too few.
  const std::vector<finding> found = findings_of(hollow_run(274, {2}), 2);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].kind, finding_kind::pins);
  EXPECT_EQ(found[0].calls[found[0].owner].line, 2u);
  EXPECT_EQ(found[0].bytes_saved_after_peak, 256 * page_bytes);
  EXPECT_EQ(std::tuple(found[0].pages_alone, found[0].fitting, found[0].pinned_at),
            std::tuple(274u, 274u, 1));
  EXPECT_TRUE(findings_of(hollow_run(272, {2}), 2).empty());
}

TEST(Pins, OfSeveralSitesAreOneFinding) {
  const std::vector<finding> found = findings_of(hollow_run(400, {2, 3}), 3);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].also.size(), 1u);
  EXPECT_EQ(found[0].bytes_saved_after_peak, (400 - 50) * page_bytes);
}

TEST(Pins, AreNoneWhereTheSiteFillsItsOwnPagesLikewise) {
  // All blocks are of one site: elsewhere they would lie as they do.
  EXPECT_TRUE(findings_of(hollow_run(400, {1}), 1).empty());
}

TEST(Pins, AreATenthOfAllPages) {
  for (const std::uint64_t others : {2400u, 2700u}) {  // beside 300, of which 281 go
    placed_run run = hollow_run(300, {2});
    for (std::uint64_t i = 0; i < others; ++i) run.make(0x10000000 + i * 4096, 4096, 1);
    run.pass(2000);
    EXPECT_EQ(findings_of(run, 2).size(), others == 2400 ? 1u : 0u);
  }
}

}  // namespace
}  // namespace ashlar::findings
