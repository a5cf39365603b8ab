// support/container_programs.hpp: random programs on every standard container, with any allocator,
// against the same container with std::allocator.
#pragma once

#include <deque>
#include <forward_list>
#include <iterator>
#include <list>
#include <map>
#include <set>
#include <stdexcept>
#include <tests/support/extent.hpp>
#include <tests/support/random.hpp>
#include <tests/support/require.hpp>
#include <unordered_map>
#include <unordered_set>

namespace support {

template <class A, class U>
using allocator_to = typename std::allocator_traits<A>::template rebind_alloc<U>;

/// An element: owns memory, and its copies throw when they are told to.
class element {
 public:
  static inline int throw_in = -1;  ///< copies until one throws; -1: none does

  explicit element(int value) : value_(std::make_unique<int>(value)) {}
  element(const element& other) : value_(std::make_unique<int>(other.get())) { count_down(); }
  element& operator=(const element& other) {
    count_down();
    *this = element(other.get());
    return *this;
  }
  element(element&&) noexcept = default;
  element& operator=(element&&) noexcept = default;
  ~element() = default;

  [[nodiscard]] int get() const noexcept { return value_ != nullptr ? *value_ : -1; }
  friend bool operator==(const element& a, const element& b) noexcept { return a.get() == b.get(); }
  friend auto operator<=>(const element& a, const element& b) noexcept {
    return a.get() <=> b.get();
  }

 private:
  static void count_down() {
    if (throw_in >= 0 && throw_in-- == 0) throw std::runtime_error("copy");
  }
  std::unique_ptr<int> value_;
};
struct element_hash {
  std::size_t operator()(const element& e) const noexcept {
    return static_cast<std::size_t>(e.get()) * 0x9e3779b97f4a7c15u;
  }
};

template <class C, class M>
bool same(const C& c, const M& m) {
  return static_cast<std::size_t>(std::distance(c.begin(), c.end())) ==
             static_cast<std::size_t>(std::distance(m.begin(), m.end())) &&
         std::equal(c.begin(), c.end(), m.begin());
}
/// For unordered containers: order is the allocator's business no more than the library's.
template <class C, class M>
bool same_elements(const C& c, const M& m) {
  return c.size() == m.size() && std::is_permutation(c.begin(), c.end(), m.begin());
}

#if defined(_LIBCPP_VERSION)
/// A copy of libc++'s deque (19 and before) that ends in an exception leaks, with any allocator.
inline constexpr bool deque_leaks = true;
#else
inline constexpr bool deque_leaks = false;
#endif

/// vector, deque, list. Throws: whether copies that throw are part of it.
template <bool Throws, class C, class M>
void run_sequence(C c, M m, random_source& random, int steps) {
  const auto value = [&] { return element(static_cast<int>(random.below(1000))); };
  const auto at = [&](auto& x, std::size_t i) {
    return std::next(x.begin(), static_cast<std::ptrdiff_t>(i));
  };
  for (int step = 0; step < steps; ++step) {
    switch (random.below(10)) {
      case 0:
      case 1:
      case 2: {
        const element v = value();
        c.push_back(v);
        m.push_back(v);
        break;
      }
      case 3: {
        const element v = value();
        const std::size_t i = random.below(m.size() + 1);
        c.insert(at(c, i), v);
        m.insert(at(m, i), v);
        break;
      }
      case 4:
        if (!m.empty()) {
          const std::size_t i = random.below(m.size());
          c.erase(at(c, i));
          m.erase(at(m, i));
        }
        break;
      case 5: {
        const std::size_t n = random.below(60);
        const element v = value();
        c.assign(n, v);
        m.assign(n, v);
        break;
      }
      case 6: {
        const C copy(c);
        REQUIRE(same(copy, m));
        C taken(std::move(c));
        c = std::move(taken);
        break;
      }
      case 7: {
        // A copy that throws half-way: all or nothing at the end, and nothing lost.
        if constexpr (!Throws) break;
        element::throw_in = static_cast<int>(random.below(4));
        const element v(5);
        try {
          C other(c);
          c.push_back(v);
          element::throw_in = -1;
          m.push_back(v);
        } catch (const std::runtime_error&) {
        }
        element::throw_in = -1;
        break;
      }
      case 8: {
        const std::size_t n = random.below(m.size() + 20);
        c.resize(n, element(3));
        m.resize(n, element(3));
        break;
      }
      default: {
        C other(c.get_allocator());
        other.push_back(element(1));
        c.swap(other);
        c.swap(other);
      }
    }
    REQUIRE(same(c, m));
  }
}

template <class C, class M>
void run_forward_list(C c, M m, random_source& random, int steps) {
  for (int step = 0; step < steps; ++step) {
    const element v(static_cast<int>(random.below(1000)));
    switch (random.below(6)) {
      case 0:
      case 1:
        c.push_front(v);
        m.push_front(v);
        break;
      case 2:
        c.insert_after(c.before_begin(), 3, v);
        m.insert_after(m.before_begin(), 3, v);
        break;
      case 3:
        if (!m.empty()) {
          c.pop_front();
          m.pop_front();
        }
        break;
      case 4: {
        C copy(c);
        copy.sort();
        c.sort();
        m.sort();
        REQUIRE(same(copy, m));
        break;
      }
      default: {
        C taken(std::move(c));
        c = std::move(taken);
      }
    }
    REQUIRE(same(c, m));
  }
}

/// `make(int)` gives a value; Ordered tells whether the order of elements is to be compared.
template <bool Ordered, class C, class M, class Make>
void run_associative(C c, M m, Make make, random_source& random, int steps) {
  for (int step = 0; step < steps; ++step) {
    const int key = static_cast<int>(random.below(120));
    switch (random.below(8)) {
      case 0:
      case 1:
      case 2:
        c.insert(make(key));
        m.insert(make(key));
        break;
      case 3:
        c.emplace(make(key));
        m.emplace(make(key));
        break;
      case 4:
        REQUIRE(c.erase(element(key)) == m.erase(element(key)));
        break;
      case 5: {
        const C copy(c);
        if constexpr (Ordered) REQUIRE(same(copy, m));
        C taken(std::move(c));
        c = std::move(taken);
        c = copy;
        break;
      }
      case 6: {
        auto handle = c.extract(element(key));
        if (!handle.empty()) c.insert(std::move(handle));
        break;
      }
      default:
        if constexpr (!Ordered) c.rehash(random.below(300));
        if (random.chance(5)) {
          c.clear();
          m.clear();
        }
    }
    REQUIRE(c.count(element(key)) == m.count(element(key)));
    if constexpr (Ordered) {
      REQUIRE(same(c, m));
    } else {
      REQUIRE(c.size() == m.size());
    }
  }
  if constexpr (!Ordered) REQUIRE(same_elements(c, m));
}

template <class C>
void run_string(C c, random_source& random, int steps) {
  std::string m;
  for (int step = 0; step < steps; ++step) {
    const std::string word(random.below(40), static_cast<char>('a' + random.below(26)));
    switch (random.below(6)) {
      case 0:
      case 1:
        c += word.c_str();
        m += word;
        break;
      case 2: {
        const std::size_t i = random.below(m.size() + 1);
        c.insert(i, word.c_str());
        m.insert(i, word);
        break;
      }
      case 3: {
        const std::size_t i = random.below(m.size() + 1);
        c.erase(i, 7);
        m.erase(i, 7);
        break;
      }
      case 4: {
        C copy(c);
        copy.shrink_to_fit();
        c = std::move(copy);
        break;
      }
      default:
        c.reserve(random.below(2000));
        if (m.size() > 1500) {
          c.clear();
          c.shrink_to_fit();
          m.clear();
        }
    }
    REQUIRE(std::string_view(c) == m);
  }
}

/// Effects: containers with copies of `a`, which need at most some 64 KiB in a piece: all of them, or in brief one of
/// each way to ask: arrays, nodes, nodes and arrays, characters.
template <extent Extent = extent::full, class A>
void run_containers(const A& a, std::uint64_t seed, int steps = 300) {
  random_source random(seed);
  using E = element;
  using P = std::pair<const E, int>;
  using std::equal_to;
  using std::less;
  const allocator_to<A, E> e(a);
  const allocator_to<A, P> p(a);
  using AE = allocator_to<A, E>;
  using AP = allocator_to<A, P>;
  const auto one = [](int k) { return E(k); };
  const auto two = [](int k) { return P(E(k), k); };
  using H = element_hash;

  run_sequence<true>(std::vector<E, AE>(e), std::vector<E>(), random, steps);
  run_associative<true>(std::map<E, int, less<E>, AP>(p), std::map<E, int>(), two, random, steps);
  run_associative<false>(std::unordered_multiset<E, H, equal_to<E>, AE>(e),
                         std::unordered_multiset<E, H>(), one, random, steps);
  run_string(std::basic_string<char, std::char_traits<char>, allocator_to<A, char>>(
                 allocator_to<A, char>(a)),
             random, steps);
  if constexpr (goes_through_all(Extent)) {
    run_sequence<!deque_leaks>(std::deque<E, AE>(e), std::deque<E>(), random, steps);
    run_sequence<true>(std::list<E, AE>(e), std::list<E>(), random, steps);
    run_forward_list(std::forward_list<E, AE>(e), std::forward_list<E>(), random, steps);
    run_associative<true>(std::set<E, less<E>, AE>(e), std::set<E>(), one, random, steps);
    run_associative<true>(std::multiset<E, less<E>, AE>(e), std::multiset<E>(), one, random, steps);
    run_associative<true>(std::multimap<E, int, less<E>, AP>(p), std::multimap<E, int>(), two,
                          random, steps);
    run_associative<false>(std::unordered_set<E, H, equal_to<E>, AE>(e), std::unordered_set<E, H>(),
                           one, random, steps);
    run_associative<false>(std::unordered_map<E, int, H, equal_to<E>, AP>(p),
                           std::unordered_map<E, int, H>(), two, random, steps);
    run_associative<false>(std::unordered_multimap<E, int, H, equal_to<E>, AP>(p),
                           std::unordered_multimap<E, int, H>(), two, random, steps);
  }
}

}  // namespace support
