#include "tools/report/site_rows.hpp"

#include <tests/support/test_headers.hpp>

namespace ashlar::report {
namespace {

using trace::event_kind;
using trace::step;
using entries = std::vector<call_counter::entry>;

const call_site a{"a in program", "a", "a.c:7", "/bin/program"};
const call_site b{"b in program", "b", "b.c:9", "/bin/program"};
const sites_by_stack sites{{1, a}, {2, a}, {3, b}};

TEST(SiteRows, StacksOfOneSiteAreOneRowOfEachThread) {
  const entries counted{{1, 1, {1, 10, 1, 10, 0, 0, 0}}, {2, 1, {2, 20, 1, 5, 1, 5, 1}},
                        {2, 9, {1, 20, 1, 20, 0, 0, 0}}, {3, 1, {1, 50, 1, 50, 1, 50, 0}},
                        {0, 1, {1, 1, 1, 1, 0, 0, 0}},   {8, 1, {1, 2, 0, 0, 0, 0, 0}}};
  const site_figures found = site_rows(counted, sites);
  std::vector<std::tuple<std::string, std::uint32_t, std::uint64_t, std::uint64_t>> rows;
  for (const site_row& row : found.rows)
    rows.emplace_back(found.sites[row.site].name, row.thread, row.counts.bytes_at_peak,
                      row.counts.births);
  const decltype(rows) expected{
      {b.name, 1, 50, 1}, {a.name, 9, 20, 1}, {a.name, 1, 15, 3}, {"(no stack recorded)", 1, 1, 2}};
  EXPECT_EQ(rows, expected);
  EXPECT_EQ(found.sites.size(), 3u);
  EXPECT_EQ(found.sites[found.rows[0].site], b);
}

TEST(SiteRows, TheInnermostCallIsASite) {
  EXPECT_EQ(innermost_site({{"a in program", "a.c", 7, "/bin/program", "a"}, {"main", "", 0, ""}}),
            a);
  EXPECT_EQ(innermost_site({}), call_site());
}

TEST(SiteRows, WhatIsSmallIsOneRowOfEachThread) {
  const entries counted{{1, 1, {100'000, 100'000, 1, 1, 0, 0, 0}},
                        {2, 1, {9, 9, 0, 0, 0, 0, 0}},
                        {3, 1, {8, 8, 0, 0, 0, 0, 0}},
                        {3, 2, {7, 7, 0, 0, 0, 0, 0}}};
  const site_figures found = site_rows(counted, sites);
  std::map<std::pair<std::string, std::uint32_t>, std::uint64_t> births;
  for (const site_row& row : found.rows)
    births[{found.sites[row.site].name, row.thread}] = row.counts.births;
  // Stacks 1 and 2 are one site, which is large.
  const decltype(births) expected{
      {{a.name, 1}, 100'009}, {{"(smaller call sites)", 1}, 8}, {{"(smaller call sites)", 2}, 7}};
  EXPECT_EQ(births, expected);
}

// Against all that lives, looked at after each step.
TEST(CallCounter, RandomStepsAgree) {
  std::mt19937 random(5);
  struct block {
    std::uint32_t stack, thread;
    std::uint64_t size;
  };
  std::map<std::uint32_t, block> alive;  // by slot
  std::map<std::uint32_t, std::uint32_t> newest;
  std::map<std::pair<std::uint32_t, std::uint32_t>, call_counts> expected;
  std::map<std::uint32_t, block> at_peak;
  std::uint64_t live = 0;
  std::uint64_t most = 0;
  call_counter counter;
  for (std::uint32_t i = 1; i < 5000; ++i) {
    step s;
    s.thread = 1 + random() % 3;
    if (alive.empty() || random() % 2 == 0) {
      s.happened = step::what::birth;
      s.kind = event_kind::by_malloc;
      s.slot = i;
      s.stack = static_cast<std::uint32_t>(random() % 4);
      s.size = random() % 1000;
      alive[i] = {s.stack, s.thread, s.size};
      newest[s.thread] = i;
      call_counts& of = expected[{s.stack, s.thread}];
      ++of.births;
      of.bytes += s.size;
      live += s.size;
    } else {
      const auto dies = random() % 2 == 0 ? std::prev(alive.end()) : alive.begin();
      s.happened = step::what::death;
      s.kind = event_kind::from_free;
      s.slot = dies->first;
      s.stack = dies->second.stack;
      s.size = dies->second.size;
      s.born_by = dies->second.thread;
      expected[{s.stack, s.born_by}].temporaries +=
          s.born_by == s.thread && newest[s.thread] == s.slot ? 1 : 0;
      newest[s.thread] = 0;
      live -= s.size;
      alive.erase(dies);
    }
    counter.count(s);
    if (live <= most) continue;
    most = live;
    at_peak = alive;
    counter.mark();
  }
  for (const auto& [slot, block] : at_peak) {
    ++expected[{block.stack, block.thread}].blocks_at_peak;
    expected[{block.stack, block.thread}].bytes_at_peak += block.size;
  }
  for (const auto& [slot, block] : alive) {
    ++expected[{block.stack, block.thread}].blocks_at_end;
    expected[{block.stack, block.thread}].bytes_at_end += block.size;
  }
  const auto counted = counter.counts();
  ASSERT_EQ(counted.size(), expected.size());
  for (const call_counter::entry& entry : counted) {
    const call_counts& of = expected.at({entry.stack, entry.thread});
    EXPECT_EQ(entry.counts.births, of.births);
    EXPECT_EQ(entry.counts.bytes, of.bytes);
    EXPECT_EQ(entry.counts.blocks_at_peak, of.blocks_at_peak);
    EXPECT_EQ(entry.counts.bytes_at_peak, of.bytes_at_peak);
    EXPECT_EQ(entry.counts.blocks_at_end, of.blocks_at_end);
    EXPECT_EQ(entry.counts.bytes_at_end, of.bytes_at_end);
    EXPECT_EQ(entry.counts.temporaries, of.temporaries);
  }
}

}  // namespace
}  // namespace ashlar::report
