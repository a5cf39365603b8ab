// core/linked_list.hpp: a list through its nodes' own members, which any node leaves in O(1).
// Layer: core (freestanding).
//
//   head --> first <--> second <--> third --> null
//
// Invariant: head is null or head->previous is; for each node n, n.next is null or
// n.next->previous == n.
// Thread-safety: none; the owner of the list has a lock.
#pragma once

namespace ashlar::detail {

/// Effects: `node` becomes the first of the list at `head`. Requires: it is on no list. O(1).
template <class Node>
constexpr void link_first(Node*& head, Node& node) noexcept {
  node.previous = nullptr;
  node.next = head;
  if (head != nullptr) head->previous = &node;
  head = &node;
}

/// Effects: `node` leaves the list at `head`; its own links stay as they are. Requires: it is on
/// that list. O(1).
template <class Node>
constexpr void unlink_from(Node*& head, Node& node) noexcept {
  (node.previous != nullptr ? node.previous->next : head) = node.next;
  if (node.next != nullptr) node.next->previous = node.previous;
}

}  // namespace ashlar::detail
