// adapt/node_size.hpp: what a standard container allocates for one element, known at compile time.
// Layer: adapt.
//
//   node_bytes<std::map<int, std::string>>      alignas and sizeof of a node
//
// The node types of the standard libraries are named here and nowhere else, because no other way
// knows them without running a program, and a program cannot be run when cross-compiling. Where the
// library says the type itself (node_type, the handle of extract()), that is asked.
// static_pool_for_test.cpp and tests/libcxx compare with what the containers really allocate.
#pragma once

#include <cstddef>
#include <forward_list>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <unordered_map>
#include <unordered_set>

#if !defined(__GLIBCXX__) && !defined(_LIBCPP_VERSION)
#error "ashlar: the nodes of this standard library are not known: libstdc++ and libc++ are"
#endif

namespace ashlar {
namespace detail {

#if defined(__GLIBCXX__)

template <class T>
using list_node = std::_List_node<T>;
template <class T>
using forward_list_node = std::_Fwd_list_node<T>;

template <class Handle>
struct handled;
template <class Key, class Value, class NodeAllocator>
struct handled<std::_Node_handle<Key, Value, NodeAllocator>> {
  using type = typename std::allocator_traits<NodeAllocator>::value_type;
};

#else

template <class T>
using list_node = std::__list_node<T, void*>;
template <class T>
using forward_list_node = std::__forward_list_node<T, void*>;

template <class Handle>
struct handled;
template <class Node, class Allocator, template <class, class> class Specifics>
struct handled<std::__basic_node_handle<Node, Allocator, Specifics>> {
  using type = Node;
};

#endif

/// What is known of container C:
///   node           the type that it allocates one of for each element
///   value_type     the element
///   spare_nodes    nodes beyond its elements that it may hold for a moment
///   with<A>        the same container with allocator A instead of its own
///   buckets        whether it allocates arrays of pointers, too
/// Whatever allocator C names, the node is that of plain pointers.
template <class C>
struct container_facts {
  // For the compiler, so that it stops at the sentence below.
  using node = std::max_align_t;
  using value_type = int;
  static constexpr std::size_t spare_nodes = 0;
  template <class Other>
  using with = std::list<int, Other>;
  static constexpr bool buckets = false;
  static_assert(sizeof(C) == 0,
                "the container has no nodes of one size: list, forward_list, set, map, their multi "
                "and their unordered kinds have; give a vector or a deque an ashlar::static_arena");
};

// emplace makes the node first and looks afterwards whether its key is there already.
template <class C>
struct unique_keys {
  using node = typename handled<typename C::node_type>::type;
  using value_type = typename C::value_type;
  static constexpr std::size_t spare_nodes = 1;
};
template <class C>
struct equal_keys {
  using node = typename handled<typename C::node_type>::type;
  using value_type = typename C::value_type;
  static constexpr std::size_t spare_nodes = 0;
};

template <class T, class A>
struct container_facts<std::list<T, A>> {
  using node = list_node<T>;
  using value_type = T;
  static constexpr std::size_t spare_nodes = 0;
  template <class Other>
  using with = std::list<T, Other>;
  static constexpr bool buckets = false;
};
template <class T, class A>
struct container_facts<std::forward_list<T, A>> {
  using node = forward_list_node<T>;
  using value_type = T;
  static constexpr std::size_t spare_nodes = 0;
  template <class Other>
  using with = std::forward_list<T, Other>;
  static constexpr bool buckets = false;
};

template <class K, class Less, class A>
struct container_facts<std::set<K, Less, A>> : unique_keys<std::set<K, Less>> {
  template <class Other>
  using with = std::set<K, Less, Other>;
  static constexpr bool buckets = false;
};
template <class K, class Less, class A>
struct container_facts<std::multiset<K, Less, A>> : equal_keys<std::multiset<K, Less>> {
  template <class Other>
  using with = std::multiset<K, Less, Other>;
  static constexpr bool buckets = false;
};
template <class K, class V, class Less, class A>
struct container_facts<std::map<K, V, Less, A>> : unique_keys<std::map<K, V, Less>> {
  template <class Other>
  using with = std::map<K, V, Less, Other>;
  static constexpr bool buckets = false;
};
template <class K, class V, class Less, class A>
struct container_facts<std::multimap<K, V, Less, A>> : equal_keys<std::multimap<K, V, Less>> {
  template <class Other>
  using with = std::multimap<K, V, Less, Other>;
  static constexpr bool buckets = false;
};

template <class K, class H, class E, class A>
struct container_facts<std::unordered_set<K, H, E, A>> : unique_keys<std::unordered_set<K, H, E>> {
  template <class Other>
  using with = std::unordered_set<K, H, E, Other>;
  static constexpr bool buckets = true;
};
template <class K, class H, class E, class A>
struct container_facts<std::unordered_multiset<K, H, E, A>>
    : equal_keys<std::unordered_multiset<K, H, E>> {
  template <class Other>
  using with = std::unordered_multiset<K, H, E, Other>;
  static constexpr bool buckets = true;
};
template <class K, class V, class H, class E, class A>
struct container_facts<std::unordered_map<K, V, H, E, A>>
    : unique_keys<std::unordered_map<K, V, H, E>> {
  template <class Other>
  using with = std::unordered_map<K, V, H, E, Other>;
  static constexpr bool buckets = true;
};
template <class K, class V, class H, class E, class A>
struct container_facts<std::unordered_multimap<K, V, H, E, A>>
    : equal_keys<std::unordered_multimap<K, V, H, E>> {
  template <class Other>
  using with = std::unordered_multimap<K, V, H, E, Other>;
  static constexpr bool buckets = true;
};

}  // namespace detail

/// Bytes of the size and alignment of one node of `Container`: list, forward_list, set, multiset,
/// map, multimap and the unordered four, with any allocator of plain pointers. Any other type does
/// not compile.
template <class Container>
struct alignas(typename detail::container_facts<Container>::node) node_bytes {
  std::byte bytes[sizeof(typename detail::container_facts<Container>::node)];
};

/// The size and the alignment of it.
template <class Container>
inline constexpr std::size_t node_size = sizeof(node_bytes<Container>);
template <class Container>
inline constexpr std::size_t node_alignment = alignof(node_bytes<Container>);

}  // namespace ashlar
