#include "tools/report/call_tree.hpp"

#include <algorithm>

#include <gtest/gtest.h>

namespace ashlar::report {
namespace {

std::string letter(std::uint64_t address) {
  return {static_cast<char>(address)};
}

const call_node* find(const std::vector<call_node>& tree, const std::string& name) {
  const auto at =
      std::find_if(tree.begin(), tree.end(), [&](const auto& n) { return n.name == name; });
  return at == tree.end() ? nullptr : &*at;
}

TEST(CallTree, EachNodeCountsWhatIsBelowIt) {
  // Frames from the inside out: c called by b called by a.
  const std::vector<call_node> tree = call_tree(
      {{1, {'c', 'b', 'a'}}, {2, {'d', 'b', 'a'}}, {3, {'a'}}, {4, {'x'}}},
      {{1, 10, 1, 10}, {2, 40, 1, 20}, {4, 4, 0, 0}, {0, 0, 0, 0}}, {5, 50, 0, 0}, letter);
  EXPECT_EQ(tree[0].name, "program");
  EXPECT_EQ(tree[0].counts.births, 12u);
  EXPECT_EQ(tree[0].counts.bytes, 104u);
  const call_node* const b = find(tree, "b");
  ASSERT_NE(b, nullptr);
  EXPECT_EQ(b->counts.births, 3u);
  EXPECT_EQ(b->counts.bytes_at_peak, 30u);
  EXPECT_EQ(tree[b->parent].name, "a");
  EXPECT_EQ(tree[b->parent].counts.births, 7u);
  EXPECT_EQ(tree[find(tree, "d")->parent].name, "b");
  EXPECT_LT(find(tree, "d"), find(tree, "c"));  // the larger child first
  EXPECT_EQ(find(tree, "x"), nullptr);          // which never allocated
  EXPECT_EQ(find(tree, "(no stack recorded)")->counts.births, 5u);
  for (std::size_t i = 1; i < tree.size(); ++i) EXPECT_LT(tree[i].parent, i);
}

TEST(CallTree, WhatIsSmallIsSummedUp) {
  const std::vector<call_node> tree =
      call_tree({{1, {'a'}}, {2, {'b'}}, {3, {'c'}}},
                {{100000, 100000, 9, 9}, {3, 3, 0, 0}, {4, 4, 0, 0}}, {}, letter);
  ASSERT_EQ(tree.size(), 3u);
  const call_node* const smaller = find(tree, "(smaller)");
  ASSERT_NE(smaller, nullptr);
  EXPECT_EQ(smaller->counts.births, 7u);
  EXPECT_EQ(smaller->parent, 0u);
}

TEST(NamesByModule, AnAddressIsNamedByItsFile) {
  const name_of_address name = names_by_module({{0x2000, 0x3000, 0x1000, "/lib/libb.so"},
                                                {0x1000, 0x2000, 0, "/bin/a"},
                                                {0x4fff, 0x5001, 0x5000, "messages"}});
  EXPECT_EQ(name(0x1234), "a+0x1234");
  EXPECT_EQ(name(0x2010), "libb.so+0x1010");
  EXPECT_EQ(name(0x3000), "0x3000");
  EXPECT_EQ(name(0xfff), "0xfff");
  EXPECT_EQ(name(0x5000), "messages");  // a pool
}

}  // namespace
}  // namespace ashlar::report
