// Every order in which the nodes of a short list can leave it.
#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/core/linked_list.hpp>

namespace {

using ashlar::detail::link_first;
using ashlar::detail::unlink_from;

struct node {
  node* next = nullptr;
  node* previous = nullptr;
};

void expect_list(const node* head, const std::vector<node*>& wanted) {
  std::vector<const node*> found;
  const node* before = nullptr;
  for (const node* n = head; n != nullptr && found.size() <= wanted.size(); n = n->next) {
    EXPECT_EQ(n->previous, before);
    found.push_back(n);
    before = n;
  }
  EXPECT_TRUE(std::equal(found.begin(), found.end(), wanted.begin(), wanted.end()));
}

TEST(LinkedList, NodesLeaveItInEveryOrder) {
  std::array<std::size_t, 4> order = {0, 1, 2, 3};
  do {
    std::array<node, 4> nodes;
    node* head = nullptr;
    std::vector<node*> model;
    for (node& n : nodes) {
      link_first(head, n);
      model.insert(model.begin(), &n);
      expect_list(head, model);
    }
    for (const std::size_t i : order) {
      unlink_from(head, nodes[i]);
      model.erase(std::find(model.begin(), model.end(), &nodes[i]));
      expect_list(head, model);
    }
    link_first(head, nodes[order[0]]);  // with the links that it left with
    expect_list(head, {&nodes[order[0]]});
  } while (std::next_permutation(order.begin(), order.end()));
}

}  // namespace
