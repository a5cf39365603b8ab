#include "tools/report/call_tree.hpp"

#include <tests/support/test_headers.hpp>

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
  EXPECT_EQ(tree[0].name, "program");
  EXPECT_EQ(tree[0].counts.births, 12u);
  EXPECT_EQ(tree[0].counts.bytes, 104u);
  const call_node* const b = find(tree, "b");
  ASSERT_NE(b, nullptr);
  EXPECT_EQ(b->counts.births, 3u);
  EXPECT_EQ(b->counts.bytes_at_peak, 30u);
  EXPECT_EQ(b->counts.temporaries, 1u);
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
  EXPECT_EQ(tree[1].name, "outer");
  EXPECT_EQ(tree[1].source, "out.cpp:2");
  EXPECT_EQ(tree[2].source, "in.cpp:7");
  EXPECT_EQ(tree[3].source, "out.cpp:1");
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

}  // namespace
}  // namespace ashlar::report
