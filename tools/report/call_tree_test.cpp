#include "tools/report/call_tree.hpp"

#include <tests/support/test_headers.hpp>

#include "tools/report/site_rows.hpp"

namespace ashlar::report {
namespace {

std::vector<trace::named_call> letters(const trace::stack_definition& stack) {
  std::vector<trace::named_call> calls;
  for (const std::uint64_t frame : stack.frames)
    calls.push_back({std::string(1, static_cast<char>(frame)), "", 0, ""});
  return calls;
}

const call_node* find(const std::vector<call_node>& tree, const std::string& name) {
  const auto at = std::ranges::find_if(tree, [&](const auto& n) { return n.name == name; });
  return at == tree.end() ? nullptr : &*at;
}

TEST(CallTree, ANodeHasItsNameWithoutTypesToo) {
  const std::string function = "void std::vector<int>::push_back(int&&)";
  const auto tree = call_tree({{1, {1}}}, {{1, 1, {1, 10, 1, 10, 0, 0, 0}}}, [&](const auto&) {
    return std::vector<trace::named_call>{{function + " in shop", "", 0, "/bin/shop", function}};
  });
  ASSERT_EQ(tree.size(), 2u);
  EXPECT_EQ(tree[0].brief, "program");
  EXPECT_EQ(tree[1].name, function + " in shop");
  EXPECT_EQ(tree[1].brief, "std::vector::push_back in shop");
}

TEST(CallTree, EachNodeCountsWhatIsBelowIt) {
  // Frames from the inside out: c called by b called by a.
  const std::vector<call_node> tree =
      call_tree({{1, {'c', 'b', 'a'}}, {2, {'d', 'b', 'a'}}, {3, {'a'}}, {4, {'x'}}},
                {{1, 1, {1, 10, 1, 10, 0, 0, 0}},
                 {2, 1, {1, 20, 0, 0, 0, 0, 1}},
                 {2, 2, {1, 20, 1, 20, 0, 0, 0}},  // another thread
                 {3, 1, {4, 4, 0, 0, 0, 0, 0}},
                 {0, 1, {2, 20, 0, 0, 2, 20, 0}},
                 {77, 1, {3, 30, 0, 0, 0, 0, 0}}},  // which the trace does not have
                letters);
  EXPECT_EQ(std::tuple(tree[0].name, tree[0].counts.births, tree[0].counts.bytes),
            std::tuple("program", 12u, 104u));
  const call_node* const b = find(tree, "b");
  ASSERT_NE(b, nullptr);
  EXPECT_EQ(std::tuple(b->counts.births, b->counts.bytes_at_peak, b->counts.temporaries),
            std::tuple(3u, 30u, 1u));
  EXPECT_EQ(tree[b->parent].name, "a");
  EXPECT_EQ(tree[b->parent].counts.births, 7u);
  EXPECT_EQ(tree[find(tree, "d")->parent].name, "b");
  EXPECT_LT(find(tree, "d"), find(tree, "c"));  // the larger child first
  EXPECT_EQ(find(tree, "x"), nullptr);          // which never allocated
  EXPECT_EQ(find(tree, "(no stack recorded)")->counts.births, 5u);
  EXPECT_EQ(tree[0].counts.bytes_at_end, 20u);
  for (std::size_t i = 1; i < tree.size(); ++i) EXPECT_LT(tree[i].parent, i);
}

TEST(CallTree, WhatIsSmallIsSummedUp) {
  const std::vector<call_node> tree = call_tree({{1, {'a'}}, {2, {'b'}}, {3, {'c'}}},
                                                {{1, 1, {100000, 100000, 9, 9, 0, 0, 0}},
                                                 {2, 1, {3, 3, 0, 0, 0, 0, 0}},
                                                 {3, 1, {4, 4, 0, 0, 0, 0, 0}}},
                                                letters);
  ASSERT_EQ(tree.size(), 3u);
  const call_node* const smaller = find(tree, "(smaller)");
  ASSERT_NE(smaller, nullptr);
  EXPECT_EQ(smaller->counts.births, 7u);
  EXPECT_EQ(smaller->parent, 0u);
}

TEST(CallTree, ALineIsANodeOfItsOwn) {
  const auto tree = call_tree(
      {{1, {'a'}}, {2, {'b'}}}, {{1, 1, {1, 10, 1, 10, 0, 0, 0}}, {2, 1, {1, 20, 1, 20, 0, 0, 0}}},
      [](const trace::stack_definition& stack) {
        return std::vector<trace::named_call>{{"inner", "in.cpp", 7, ""},
                                              {"outer", "out.cpp", stack.number, ""}};
      });
  ASSERT_EQ(tree.size(), 5u);
  EXPECT_EQ(std::tuple(tree[1].name, tree[1].source, tree[2].source, tree[3].source),
            std::tuple("outer", "out.cpp:2", "in.cpp:7", "out.cpp:1"));
}

TEST(CallTree, ACutStackHasARootOfItsOwn) {
  trace::call_names names({}, {});
  const auto tree = call_tree({{1, {0x10, 0x20, trace::cut_frame}}, {2, {0x10, 0x20}}},
                              {{1, 1, {1, 10, 1, 10, 0, 0, 0}}, {2, 1, {1, 20, 1, 20, 0, 0, 0}}},
                              [&](const auto& stack) { return names.of(stack); });
  const call_node* const cut = find(tree, "[stack cut at 2 frames]");
  ASSERT_NE(cut, nullptr);
  EXPECT_EQ(cut->parent, 0u);
  EXPECT_EQ(cut->counts.bytes, 10u);
  EXPECT_EQ(tree[find(tree, "0x20")->parent].name, "program");
}

// ---- site_rows ----------------------------------------------------------------------------------

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
  std::uint64_t live = 0, most = 0;
  call_counter counter;
  for (std::uint32_t i = 1; i < 5000; ++i) {
    step s;
    s.thread = static_cast<std::uint32_t>(1 + random() % 3);
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
