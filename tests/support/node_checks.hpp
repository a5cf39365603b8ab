// support/node_checks.hpp: what is known of containers at compile time, against what they really ask
// for. Run with every standard library; checks end the process (require.hpp).
#pragma once

#include <tests/support/allocator_conformance.hpp>
#include <tests/support/extent.hpp>

#include <ashlar/adapt/smart_pointers.hpp>
#include <ashlar/adapt/static_pool_for.hpp>

namespace support {

/// Keys and values of a chosen size and alignment.
template <std::size_t Size, std::size_t Alignment>
struct alignas(Alignment) sized_key {
  unsigned char bytes[Size] = {};
  sized_key() = default;
  sized_key(int i) {  // NOLINT(google-explicit-constructor)
    bytes[0] = static_cast<unsigned char>(i);
    if constexpr (Size > 1) bytes[1] = static_cast<unsigned char>(i / 256);
  }
  [[nodiscard]] int get() const noexcept {
    if constexpr (Size > 1) {
      return bytes[0] + 256 * bytes[1];
    } else {
      return bytes[0];
    }
  }
  friend bool operator<(const sized_key& a, const sized_key& b) noexcept {
    return a.get() < b.get();
  }
  friend bool operator==(const sized_key& a, const sized_key& b) noexcept {
    return a.get() == b.get();
  }
};

/// A hash that libstdc++ keeps in the node (it may throw), and one that it does not.
template <bool Noexcept>
struct key_hash {
  template <class K>
  std::size_t operator()(const K& k) const noexcept(Noexcept) {
    return static_cast<std::size_t>(k.get());
  }
};

/// Effects: fills a Container that has a recording allocator, and compares: every single object that
/// it asked for had the size and alignment of node_bytes<Container>.
template <class Container, class Insert>
void check_node(Insert insert) {
  using facts = ashlar::detail::container_facts<Container>;
  using recording =
      typename facts::template with<recording_allocator<typename Container::value_type>>;
  allocation_record record;
  {
    recording c{recording_allocator<typename Container::value_type>(record)};
    for (int i = 0; i < 20; ++i) insert(c, i);
  }
  const std::pair<std::size_t, std::size_t> node(ashlar::node_size<Container>,
                                                 ashlar::node_alignment<Container>);
  REQUIRE(record.asked.contains(node));
  REQUIRE(record.asked[node].calls >= 20 && record.asked[node].largest == 1);
  REQUIRE(record.asked.size() == (facts::buckets ? 2u : 1u));
  REQUIRE(record.ones_now == 0 && record.arrays_now == 0);
}

template <class K, class V>
void check_nodes() {
  const auto back = [](auto& c, int i) { c.push_back(K(i)); };
  const auto front = [](auto& c, int i) { c.push_front(K(i)); };
  const auto key = [](auto& c, int i) { c.insert(K(i)); };
  const auto pair = [](auto& c, int i) { c.emplace(K(i), V()); };
  using cached = key_hash<false>;
  using plain = key_hash<true>;
  check_node<std::list<K>>(back);
  check_node<std::forward_list<K>>(front);
  check_node<std::set<K>>(key);
  check_node<std::multiset<K>>(key);
  check_node<std::map<K, V>>(pair);
  check_node<std::multimap<K, V>>(pair);
  check_node<std::unordered_set<K, plain>>(key);
  check_node<std::unordered_multiset<K, plain>>(key);
  check_node<std::unordered_map<K, V, plain>>(pair);
  check_node<std::unordered_multimap<K, V, plain>>(pair);
  check_node<std::unordered_set<K, cached>>(key);
  check_node<std::unordered_multiset<K, cached>>(key);
  check_node<std::unordered_map<K, V, cached>>(pair);
  check_node<std::unordered_multimap<K, V, cached>>(pair);
}
/// Effects: keys of all alignments with values below and above them, and all values with a key of the usual size; in
/// brief, a value below and one above for keys of small, usual and large alignment.
template <extent Extent = extent::brief>
void check_all_nodes() {
  check_nodes<sized_key<1, 1>, sized_key<3, 1>>();
  check_nodes<sized_key<12, 4>, std::string>();
  check_nodes<sized_key<8, 8>, int>();
  check_nodes<sized_key<8, 8>, sized_key<64, 64>>();
  check_nodes<sized_key<32, 32>, char>();
  if constexpr (goes_through_all(Extent)) {
    check_nodes<sized_key<2, 2>, char>();
    check_nodes<sized_key<4, 4>, char>();
    check_nodes<sized_key<7, 1>, int>();
    check_nodes<sized_key<16, 16>, sized_key<3, 1>>();
    check_nodes<sized_key<100, 4>, sized_key<64, 64>>();
    check_nodes<sized_key<128, 128>, int>();
    check_nodes<sized_key<8, 8>, char>();
    check_nodes<sized_key<8, 8>, std::string>();
    check_nodes<sized_key<8, 8>, sized_key<3, 1>>();
  }
  // Types whose hash the library knows, and an allocator of the container's own.
  check_node<std::unordered_set<int>>([](auto& c, int i) { c.insert(i); });
  check_node<std::unordered_set<std::string>>([](auto& c, int i) { c.insert(std::to_string(i)); });
  check_node<std::unordered_map<std::string, int>>(
      [](auto& c, int i) { c.emplace(std::to_string(i), i); });
  check_node<std::map<std::string, double>>(
      [](auto& c, int i) { c.emplace(std::to_string(i), i); });
  static_assert(ashlar::node_size<std::list<int, recording_allocator<int>>> ==
                ashlar::node_size<std::list<int>>);
}

// ---- shared_ptr -----------------------------------------------------------------------------------

template <class T>
void check_shared_block() {
  allocation_record record;
  {
    const recording_allocator<int> a(record);  // one address, as a component's allocator is
    const std::shared_ptr<T> p = ashlar::allocate_shared<T>(a);
    const std::weak_ptr<T> weak = p;
    REQUIRE(weak.use_count() == 1);
  }
  REQUIRE(record.asked.size() == 1 && record.ones_peak == 1 && record.ones_now == 0);
  using block = ashlar::shared_block<T>;
  REQUIRE((record.asked.contains({sizeof(block), alignof(block)})));
}
inline void check_shared_blocks() {
  check_shared_block<char>();
  check_shared_block<int>();
  check_shared_block<std::string>();
  check_shared_block<sized_key<3, 1>>();
  check_shared_block<sized_key<40, 8>>();
  check_shared_block<sized_key<32, 32>>();
  check_shared_block<sized_key<256, 128>>();
}

// ---- buckets --------------------------------------------------------------------------------------

/// Effects: a container that grows from empty to `most`, one by one; at each size the arrays that it
/// had at one time are within what static_pool_for has room for at that size.
template <class Container>
void check_bucket_growth(int most) {
  using facts = ashlar::detail::container_facts<Container>;
  using allocator = recording_allocator<typename Container::value_type>;
  allocation_record record;
  typename facts::template with<allocator> c{allocator(record)};
  for (int i = 1; i <= most; ++i) {
    c.emplace(i);
    const std::size_t room = ashlar::max_buckets(static_cast<std::size_t>(i)) * sizeof(void*);
    REQUIRE(record.largest_array <= room);
    REQUIRE(record.arrays_peak <= 2);
  }
}
/// Effects: reserve(n), and then growth to `most`, for one n.
template <class Container>
void check_bucket_reserve(int n, int most) {
  using facts = ashlar::detail::container_facts<Container>;
  using allocator = recording_allocator<typename Container::value_type>;
  allocation_record record;
  typename facts::template with<allocator> c{allocator(record)};
  c.reserve(static_cast<std::size_t>(n));
  for (int i = 1; i <= most; ++i) {
    c.emplace(i);
    const auto elements = static_cast<std::size_t>(i > n ? i : n);
    REQUIRE(record.largest_array <= ashlar::max_buckets(elements) * sizeof(void*));
  }
  c.rehash(0);
  REQUIRE(record.arrays_peak <= 2);
}
/// Effects: the two above, for every n to a few thousand; then the number of buckets for every n to
/// some hundred thousand, and in steps beyond.
inline void check_buckets() {
  check_bucket_growth<std::unordered_set<int>>(20'000);
  check_bucket_growth<std::unordered_multiset<int>>(5'000);
  for (int n = 0; n <= 3'000; ++n) {
    check_bucket_reserve<std::unordered_set<int>>(n, n < 40 ? 100 : n + 2 - n % 2);
    if (n % 100 == 0) check_bucket_reserve<std::unordered_set<int>>(n, 3 * n);
  }
  // Doubling from every number of buckets, as the growth does: 2 * (n - 1) or one more for n elements.
  for (std::size_t n = 2; n < 300'000; n += n < 3'000 ? 1 : n / 300) {
    std::unordered_set<int> c;
    c.rehash(2 * (n - 1) + 1);
    REQUIRE(c.bucket_count() <= ashlar::max_buckets(n));
  }
}

/// A static_pool_for holds what it promises.
template <class Pool, class Insert>
void check_static_pool(Pool& pool, Insert insert) {
  constexpr int n = static_cast<int>(Pool::max_elements);
  using container = typename Pool::container;
  for (int round = 0; round < 2; ++round) {
    container c(pool);
    for (int i = 0; i < n; ++i) insert(c, i);
    REQUIRE(static_cast<int>(std::distance(c.begin(), c.end())) == n);
    insert(c, 0);  // a key that is there already; or one more, where that is an element of its own
    c.clear();
    for (int i = 0; i < n; ++i) insert(c, i);
    container other(pool);
    other = std::move(c);
    REQUIRE(static_cast<int>(std::distance(other.begin(), other.end())) == n);
  }
  REQUIRE(pool.stats().blocks_in_use() == 0 && pool.audit());
}

}  // namespace support
