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

/// Two containers that have the same elements: a step is taken by both, the one that is tried first.
template <class C, class M>
struct beside_model {
  C c;
  M m;
  template <class Step>
  void both(Step step) {
    step(c);
    step(m);
  }
  /// Effects: the elements go elsewhere, and come back.
  void move_there_and_back() {
    C taken(std::move(c));
    c = std::move(taken);
  }
};

/// vector, deque, list. Throws: whether copies that throw are part of it.
template <bool Throws, class C, class M>
void run_sequence(beside_model<C, M> s, random_source& random, int steps) {
  const auto at = [](auto& x, std::size_t i) {
    return std::next(x.begin(), static_cast<std::ptrdiff_t>(i));
  };
  for (int step = 0; step < steps; ++step) {
    const element v(static_cast<int>(random.below(1000)));
    const std::size_t i = random.below(s.m.size() + 1), n = random.below(60);
    switch (random.below(10)) {
      case 0:
      case 1:
      case 2:
        s.both([&](auto& x) { x.push_back(v); });
        break;
      case 3:
        s.both([&](auto& x) { x.insert(at(x, i), v); });
        break;
      case 4:
        if (i != s.m.size()) s.both([&](auto& x) { x.erase(at(x, i)); });
        break;
      case 5:
        s.both([&](auto& x) { x.assign(n, v); });
        break;
      case 6: {
        const C copy(s.c);
        REQUIRE(same(copy, s.m));
        s.move_there_and_back();
        break;
      }
      case 7: {
        // A copy that throws half-way: all or nothing at the end, and nothing lost.
        if constexpr (!Throws) break;
        element::throw_in = static_cast<int>(random.below(4));
        try {
          C other(s.c);
          s.c.push_back(v);
          element::throw_in = -1;
          s.m.push_back(v);
        } catch (const std::runtime_error&) {
        }
        element::throw_in = -1;
        break;
      }
      case 8:
        s.both([&](auto& x) { x.resize(i + n / 3, element(3)); });
        break;
      default: {
        C other(s.c.get_allocator());
        other.push_back(element(1));
        s.c.swap(other);
        s.c.swap(other);
      }
    }
    REQUIRE(same(s.c, s.m));
  }
}

template <class C, class M>
void run_forward_list(beside_model<C, M> s, random_source& random, int steps) {
  for (int step = 0; step < steps; ++step) {
    const element v(static_cast<int>(random.below(1000)));
    switch (random.below(6)) {
      case 0:
      case 1:
        s.both([&](auto& x) { x.push_front(v); });
        break;
      case 2:
        s.both([&](auto& x) { x.insert_after(x.before_begin(), 3, v); });
        break;
      case 3:
        if (!s.m.empty()) s.both([](auto& x) { x.pop_front(); });
        break;
      case 4: {
        C copy(s.c);
        copy.sort();
        s.both([](auto& x) { x.sort(); });
        REQUIRE(same(copy, s.m));
        break;
      }
      default:
        s.move_there_and_back();
    }
    REQUIRE(same(s.c, s.m));
  }
}

/// `make(int)` gives a value; Ordered tells whether the order of elements is to be compared.
template <bool Ordered, class C, class M, class Make>
void run_associative(beside_model<C, M> s, Make make, random_source& random, int steps) {
  for (int step = 0; step < steps; ++step) {
    const int number = static_cast<int>(random.below(120));
    const element key(number);
    switch (random.below(8)) {
      case 0:
      case 1:
      case 2:
        s.both([&](auto& x) { x.insert(make(number)); });
        break;
      case 3:
        s.both([&](auto& x) { x.emplace(make(number)); });
        break;
      case 4:
        REQUIRE(s.c.erase(key) == s.m.erase(key));
        break;
      case 5: {
        const C copy(s.c);
        if constexpr (Ordered) REQUIRE(same(copy, s.m));
        s.move_there_and_back();
        s.c = copy;
        break;
      }
      case 6: {
        auto handle = s.c.extract(key);
        if (!handle.empty()) s.c.insert(std::move(handle));
        break;
      }
      default:
        if constexpr (!Ordered) s.c.rehash(random.below(300));
        if (random.chance(5)) s.both([](auto& x) { x.clear(); });
    }
    REQUIRE(s.c.count(key) == s.m.count(key) && s.c.size() == s.m.size());
    if constexpr (Ordered) REQUIRE(same(s.c, s.m));
  }
  if constexpr (!Ordered) REQUIRE(same_elements(s.c, s.m));
}

template <class C>
void run_string(C c, random_source& random, int steps) {
  beside_model<C, std::string> s{std::move(c), {}};
  for (int step = 0; step < steps; ++step) {
    const std::string word(random.below(40), static_cast<char>('a' + random.below(26)));
    const std::size_t i = random.below(s.m.size() + 1);
    switch (random.below(6)) {
      case 0:
      case 1:
        s.both([&](auto& x) { x += word.c_str(); });
        break;
      case 2:
        s.both([&](auto& x) { x.insert(i, word.c_str()); });
        break;
      case 3:
        s.both([&](auto& x) { x.erase(i, 7); });
        break;
      case 4: {
        C copy(s.c);
        copy.shrink_to_fit();
        s.c = std::move(copy);
        break;
      }
      default:
        s.c.reserve(random.below(2000));
        if (s.m.size() > 1500) {
          s.both([](auto& x) { x.clear(); });
          s.c.shrink_to_fit();
        }
    }
    REQUIRE(std::string_view(s.c) == s.m);
  }
}

/// Effects: containers with copies of `a`, which need at most some 64 KiB in a piece: all of them, or in brief one of
/// each way to ask: arrays, nodes, nodes and arrays, characters.
template <extent Extent = extent::full, class A>
void run_containers(const A& a, std::uint64_t seed, int steps = 300) {
  random_source random(seed);
  using E = element;
  using P = std::pair<const E, int>;
  using H = element_hash;
  using std::equal_to;
  using std::less;
  using AE = allocator_to<A, E>;
  using AP = allocator_to<A, P>;
  using AC = allocator_to<A, char>;
  const AE e(a);
  const AP p(a);
  const auto one = [](int k) { return E(k); };
  const auto two = [](int k) { return P(E(k), k); };
  const auto beside = [](auto c, auto m) { return beside_model{std::move(c), std::move(m)}; };
  const auto sequence = [&](auto c, auto m) {
    constexpr bool throws = !deque_leaks || !std::is_same_v<decltype(m), std::deque<E>>;
    run_sequence<throws>(beside(std::move(c), std::move(m)), random, steps);
  };
  const auto ordered = [&](auto c, auto m, auto make) {
    run_associative<true>(beside(std::move(c), std::move(m)), make, random, steps);
  };
  const auto hashed = [&](auto c, auto m, auto make) {
    run_associative<false>(beside(std::move(c), std::move(m)), make, random, steps);
  };

  sequence(std::vector<E, AE>(e), std::vector<E>());
  ordered(std::map<E, int, less<E>, AP>(p), std::map<E, int>(), two);
  hashed(std::unordered_multiset<E, H, equal_to<E>, AE>(e), std::unordered_multiset<E, H>(), one);
  run_string(std::basic_string<char, std::char_traits<char>, AC>(AC(a)), random, steps);
  if constexpr (goes_through_all(Extent)) {
    sequence(std::deque<E, AE>(e), std::deque<E>());
    sequence(std::list<E, AE>(e), std::list<E>());
    run_forward_list(beside(std::forward_list<E, AE>(e), std::forward_list<E>()), random, steps);
    ordered(std::set<E, less<E>, AE>(e), std::set<E>(), one);
    ordered(std::multiset<E, less<E>, AE>(e), std::multiset<E>(), one);
    ordered(std::multimap<E, int, less<E>, AP>(p), std::multimap<E, int>(), two);
    hashed(std::unordered_set<E, H, equal_to<E>, AE>(e), std::unordered_set<E, H>(), one);
    hashed(std::unordered_map<E, int, H, equal_to<E>, AP>(p), std::unordered_map<E, int, H>(), two);
    hashed(std::unordered_multimap<E, int, H, equal_to<E>, AP>(p),
           std::unordered_multimap<E, int, H>(), two);
  }
}

}  // namespace support
