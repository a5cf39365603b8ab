// support/static_pool_checks.hpp: a static_pool_for holds what it promises. Run with every standard library;
// checks end the process (require.hpp).
#pragma once

#include <iterator>
#include <tests/support/require.hpp>
#include <utility>

namespace support {

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
