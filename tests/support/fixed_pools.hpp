// support/fixed_pools.hpp: what tests of pools share: a fixed pool in each kind of memory, a source, an object.
#pragma once

#include <mutex>
#include <new>
#include <stdexcept>

#include <ashlar/arena/test_source.hpp>
#include <ashlar/pool/fixed_pool.hpp>

namespace support {

using ashlar_test::test_source;
using ashlar_test::test_source_ref;

/// Notes what it is told to put into memory ahead of its use.
struct populating_source_ref : test_source_ref {
  std::vector<std::pair<std::byte*, std::size_t>>* ranges;
  void populate(void* p, std::size_t size) noexcept {
    ranges->emplace_back(static_cast<std::byte*>(p), size);
  }
};

/// For pools whose source is a type.
struct new_source {
  static inline int pieces = 0;
  void* allocate(std::size_t n, std::size_t a) noexcept {
    ++pieces;
    return ::operator new(n, std::align_val_t{a}, std::nothrow);
  }
  void deallocate(void* p, std::size_t, std::size_t a) noexcept {
    --pieces;
    ::operator delete(p, std::align_val_t{a});
  }
};

/// An object whose constructor may throw.
struct counted {
  static inline int alive = 0;
  explicit counted(int v) : value(v) {
    if (v < 0) throw std::invalid_argument("negative");
    ++alive;
  }
  ~counted() { --alive; }
  int value;
};

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
