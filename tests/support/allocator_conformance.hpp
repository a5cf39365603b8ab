// support/allocator_conformance.hpp: what the standard asks of an allocator, as one function that is
// run on every allocator of ours, with every library. Checks end the process (require.hpp), since some
// of these programs cannot use a test framework.
#pragma once

#include <deque>
#include <limits>
#include <list>
#include <map>
#include <tests/support/require.hpp>
#include <type_traits>

namespace support {

template <class A, class U>
using rebound = typename std::allocator_traits<A>::template rebind_alloc<U>;

struct alignas(64) cache_line {
  unsigned char bytes[64];
};
struct alignas(16) odd_triple {
  unsigned char bytes[48];
};

/// Effects: blocks of n T's from `a` are there, aligned, disjoint, keep what is written, and go back
/// through a copy.
template <class A>
void check_blocks(const A& a) {
  using traits = std::allocator_traits<A>;
  using T = typename traits::value_type;
  A own(a);
  struct held {
    typename traits::pointer p;
    std::size_t n;
  };
  /// Those that were not given back yet go back at its end, be it for the next one that cannot be had.
  struct held_blocks {
    const A& from;
    std::deque<held> all{};
    ~held_blocks() {
      while (!all.empty()) give_back_first();
    }
    void give_back_first() {
      A copy(from);
      traits::deallocate(copy, all.front().p, all.front().n);
      all.pop_front();
    }
  } blocks{a};
  unsigned char mark = 1;
  for (const std::size_t n : {std::size_t{1}, std::size_t{0}, std::size_t{2}, std::size_t{3},
                              std::size_t{1}, std::size_t{17}, std::size_t{500}}) {
    const auto p = traits::allocate(own, n);
    blocks.all.push_back({p, n});
    REQUIRE(reinterpret_cast<std::uintptr_t>(std::to_address(p)) % alignof(T) == 0);
    std::memset(static_cast<void*>(std::to_address(p)), mark++, n * sizeof(T));
  }
  for (mark = 1; !blocks.all.empty(); ++mark) {
    const held& b = blocks.all.front();
    const auto* bytes = reinterpret_cast<const unsigned char*>(std::to_address(b.p));
    for (std::size_t i = 0; i < b.n * sizeof(T); ++i) REQUIRE(bytes[i] == mark);
    blocks.give_back_first();
  }
}

/// Whether allocate(n) throws exactly E.
template <class E, class A>
bool allocate_throws(const A& a, std::size_t n) {
  A own(a);
  try {
    static_cast<void>(std::allocator_traits<A>::allocate(own, n));
  } catch (const E& e) {
    return typeid(e) == typeid(E);
  }
  return false;
}

/// Effects: checks the requirements on `a`, and on `other`, which must compare unequal, if it is not
/// null.
template <class A>
void check_allocator(const A& a, const A* other = nullptr) {
  using traits = std::allocator_traits<A>;
  using T = typename traits::value_type;
  using U = std::pair<char, void*>;
  using B = rebound<A, U>;

  // Types.
  static_assert(std::is_same_v<rebound<B, T>, A>, "rebinding there and back is the identity");
  static_assert(std::is_same_v<typename rebound<A, U>::value_type, U>);
  static_assert(std::is_same_v<typename traits::pointer, T*>);
  static_assert(std::is_unsigned_v<typename traits::size_type>);
  static_assert(std::is_nothrow_copy_constructible_v<A> && std::is_nothrow_move_constructible_v<A>);
  static_assert(std::is_nothrow_copy_assignable_v<A> && std::is_nothrow_move_assignable_v<A>);
  static_assert(std::is_nothrow_constructible_v<B, const A&>);
  static_assert(std::is_convertible_v<const A&, B>);
  static_assert(noexcept(a == a) && noexcept(a != a));
  static_assert(!traits::is_always_equal::value || std::is_empty_v<A>);
  // A container that takes its allocator along, or whose allocators are all equal, moves in O(1).
  static_assert(traits::propagate_on_container_move_assignment::value ||
                traits::is_always_equal::value);

  // Equality, copies, moves and rebinds.
  REQUIRE(a == a && !(a != a));
  A copy(a);
  REQUIRE(copy == a);
  A from(a);
  A moved(std::move(from));
  REQUIRE(moved == a);
  REQUIRE(from == a);  // NOLINT(bugprone-use-after-move): the standard wants it unchanged
  B b(a);
  REQUIRE(A(b) == a);
  REQUIRE(b == a && a == b);
  REQUIRE(traits::select_on_container_copy_construction(a) == a);
  if (other != nullptr) {
    static_assert(!traits::is_always_equal::value || std::is_empty_v<A>);
    REQUIRE(*other != a && !(*other == a));
    A assigned(a);
    assigned = *other;
    REQUIRE(assigned == *other);
    using std::swap;
    swap(assigned, copy);
    REQUIRE(assigned == a && copy == *other);
  }

  // Memory.
  check_blocks(a);
  check_blocks(rebound<A, char>(a));
  check_blocks(rebound<A, cache_line>(a));
  check_blocks(rebound<A, odd_triple>(a));
  const auto p = traits::allocate(moved, 3);
  B through(moved);
  A back(through);
  traits::deallocate(back, p, 3);

  // Sizes that do not exist.
  constexpr std::size_t most = std::numeric_limits<std::size_t>::max();
  using line_allocator = rebound<A, cache_line>;
  REQUIRE(allocate_throws<std::bad_array_new_length>(line_allocator(a), most / 64 + 1));
  REQUIRE(allocate_throws<std::bad_array_new_length>(line_allocator(a), most));
  REQUIRE(allocate_throws<std::bad_alloc>(line_allocator(a), most / 64));
  REQUIRE(traits::max_size(a) >= most / sizeof(T) / 2);

  // Construction by traits.
  using S = std::unique_ptr<int>;
  using C = rebound<A, S>;
  C objects(a);
  const auto object = std::allocator_traits<C>::allocate(objects, 1);
  std::allocator_traits<C>::construct(objects, std::to_address(object), std::make_unique<int>(7));
  REQUIRE(**object == 7);
  std::allocator_traits<C>::destroy(objects, std::to_address(object));
  std::allocator_traits<C>::deallocate(objects, object, 1);
}

/// A container of a type that is incomplete where the container is named.
template <class A>
struct tree {
  explicit tree(const A& a) : children(rebound<A, tree>(a)) {}
  std::vector<tree, rebound<A, tree>> children;
};
template <class A>
void check_incomplete_type(const A& a) {
  tree<A> root(a);
  root.children.emplace_back(a);
  root.children.back().children.emplace_back(a);
  REQUIRE(root.children.size() == 1 && root.children[0].children.size() == 1);
}

/// Effects: what containers do with the allocator when they are copied, moved and swapped. Requires:
/// a != b, and both have memory for a few elements.
template <class Container, class A>
void check_propagation(const A& a, const A& b, const Container& sample) {
  using traits = std::allocator_traits<typename Container::allocator_type>;
  const typename Container::allocator_type ca(a);
  const typename Container::allocator_type cb(b);
  const Container one(sample, ca);
  REQUIRE(one == sample && one.get_allocator() == ca);

  const Container copy(one);
  REQUIRE(copy == one && copy.get_allocator() == traits::select_on_container_copy_construction(ca));
  Container assigned(cb);
  assigned = one;
  REQUIRE(assigned == one);
  REQUIRE(assigned.get_allocator() ==
          (traits::propagate_on_container_copy_assignment::value ? ca : cb));

  Container source(one, ca);
  const Container moved(std::move(source));
  REQUIRE(moved == one && moved.get_allocator() == ca);
  Container source2(one, ca);
  const Container moved_elsewhere(std::move(source2), cb);  // element by element
  REQUIRE(moved_elsewhere == one && moved_elsewhere.get_allocator() == cb);
  Container source3(one, ca);
  Container target(cb);
  target = std::move(source3);
  REQUIRE(target == one);
  REQUIRE(target.get_allocator() ==
          (traits::propagate_on_container_move_assignment::value ? ca : cb));

  if constexpr (traits::propagate_on_container_swap::value) {
    Container left(one, ca);
    Container right(cb);
    left.swap(right);
    REQUIRE(right == one && left.empty());
    REQUIRE(right.get_allocator() == ca && left.get_allocator() == cb);
  }
}
template <class A>
void check_propagation(const A& a, const A& b) {
  using pair = std::pair<const int, int>;
  using text = std::basic_string<char, std::char_traits<char>, rebound<A, char>>;
  check_propagation(a, b, std::list<int, rebound<A, int>>({1, 2, 3}, rebound<A, int>(a)));
  check_propagation(a, b, std::vector<int, rebound<A, int>>({1, 2, 3}, rebound<A, int>(a)));
  check_propagation(
      a, b,
      std::map<int, int, std::less<int>, rebound<A, pair>>({{1, 2}, {3, 4}}, rebound<A, pair>(a)));
  check_propagation(a, b, text(100, 'x', rebound<A, char>(a)));
}

// ---- an allocator that writes down what a container asks for ----

/// What was asked for: (bytes of one object, alignment) -> the largest n, and how often.
struct allocation_record {
  struct entry {
    std::size_t calls = 0, largest = 0;
  };
  std::map<std::pair<std::size_t, std::size_t>, entry> asked;
  std::size_t array_bytes_now = 0;   ///< of arrays (n != 1) in use
  std::size_t array_bytes_peak = 0;  ///< the most of them at one time
  std::size_t arrays_now = 0, arrays_peak = 0;
  std::size_t largest_array = 0;  ///< bytes
  std::size_t ones_now = 0;       ///< single objects in use
  std::size_t ones_peak = 0;
};

template <class T>
struct recording_allocator {
  using value_type = T;
  allocation_record* record;

  explicit recording_allocator(allocation_record& to) noexcept : record(&to) {}
  template <class U>
  recording_allocator(const recording_allocator<U>& other) noexcept : record(other.record) {}

  T* allocate(std::size_t n) {
    auto& entry = record->asked[{sizeof(T), alignof(T)}];
    ++entry.calls;
    if (n > entry.largest) entry.largest = n;
    if (n == 1) {
      if (++record->ones_now > record->ones_peak) record->ones_peak = record->ones_now;
    } else {
      if (++record->arrays_now > record->arrays_peak) record->arrays_peak = record->arrays_now;
      record->array_bytes_now += n * sizeof(T);
      if (record->array_bytes_now > record->array_bytes_peak)
        record->array_bytes_peak = record->array_bytes_now;
      if (n * sizeof(T) > record->largest_array) record->largest_array = n * sizeof(T);
    }
    return static_cast<T*>(::operator new(n * sizeof(T), std::align_val_t(alignof(T))));
  }
  void deallocate(T* p, std::size_t n) noexcept {
    if (n == 1) {
      --record->ones_now;
    } else {
      --record->arrays_now;
      record->array_bytes_now -= n * sizeof(T);
    }
    ::operator delete(p, std::align_val_t(alignof(T)));
  }
  template <class U>
  friend bool operator==(const recording_allocator& a, const recording_allocator<U>& b) noexcept {
    return a.record == b.record;
  }
};

}  // namespace support
