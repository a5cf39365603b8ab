// support/fixed_pools.hpp: what tests of fixed pools share: a pool in each kind of memory.
#pragma once

#include <mutex>

#include <ashlar/arena/test_source.hpp>
#include <ashlar/pool/fixed_pool.hpp>

namespace support {

using ashlar_test::test_source;
using ashlar_test::test_source_ref;

/// The same pointer, about which the compiler knows nothing: it would warn of these misuses itself.
template <class T>
T* opaque(T* p) {
  asm volatile("" : "+r"(p));
  return p;
}

struct test_port {
  static inline std::mutex one_core;
  static int save_and_disable() noexcept {
    one_core.lock();
    return 1;
  }
  static void restore(int) noexcept { one_core.unlock(); }
};

template <class... Policies>
struct on_storage {
  using pool_type = ashlar::fixed_pool<Policies...>;
  std::vector<std::byte> bytes;
  pool_type pool;
  on_storage(ashlar::block_layout block, std::size_t count)
      : bytes(pool_type::storage_bytes(block, count) + 1),
        pool(block, std::span(bytes).subspan(1)) {}
};
template <class... Policies>
struct on_one_piece {
  using pool_type = ashlar::fixed_pool<test_source_ref, Policies...>;
  test_source source;
  pool_type pool;
  on_one_piece(ashlar::block_layout block, std::size_t count)
      : pool(block, ashlar::heap_pool{count}, test_source_ref{&source}) {}
};
template <class... Policies>
struct on_slabs {
  using pool_type = ashlar::fixed_pool<test_source_ref, Policies...>;
  test_source source;
  pool_type pool;
  on_slabs(ashlar::block_layout block, std::size_t count)
      : pool(block, ashlar::heap_blocks{.first_slab_blocks = 3, .max_blocks = count},
             test_source_ref{&source}) {}
};

}  // namespace support
