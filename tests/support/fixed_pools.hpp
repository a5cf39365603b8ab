// support/fixed_pools.hpp: what tests of fixed pools share: a page source that counts, and a pool in
// each kind of memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <new>
#include <span>
#include <type_traits>
#include <vector>

#include <ashlar/pool/fixed_pool.hpp>

namespace support {

/// A page source on aligned operator new that counts, and that refuses beyond a limit.
struct test_source {
  std::size_t pieces = 0;
  std::size_t bytes = 0;
  std::size_t largest_allowed = SIZE_MAX;

  void* allocate(std::size_t size, std::size_t alignment) noexcept {
    if (size > largest_allowed) return nullptr;
    void* const p = ::operator new(size, std::align_val_t{alignment}, std::nothrow);
    if (p != nullptr) ++pieces, bytes += size;
    return p;
  }
  void deallocate(void* p, std::size_t size, std::size_t alignment) noexcept {
    --pieces;
    bytes -= size;
    ::operator delete(p, std::align_val_t{alignment});
  }
};
struct test_source_ref {
  test_source* source;
  void* allocate(std::size_t n, std::size_t a) noexcept { return source->allocate(n, a); }
  void deallocate(void* p, std::size_t n, std::size_t a) noexcept { source->deallocate(p, n, a); }
};

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
  static constexpr bool lifo = !ashlar::fixed_pool<Policies...>::check_type::guards_bytes;
  using pool_type = ashlar::fixed_pool<Policies...>;
  std::vector<std::byte> bytes;
  pool_type pool;
  on_storage(ashlar::block_layout block, std::size_t count)
      : bytes(pool_type::storage_bytes(block, count) + 1),
        pool(block, std::span(bytes).subspan(1)) {}
};
template <class... Policies>
struct on_one_piece {
  static constexpr bool lifo = !ashlar::fixed_pool<Policies...>::check_type::guards_bytes;
  using pool_type = ashlar::fixed_pool<test_source_ref, Policies...>;
  test_source source;
  pool_type pool;
  on_one_piece(ashlar::block_layout block, std::size_t count)
      : pool(block, ashlar::heap_pool{count}, test_source_ref{&source}) {}
};
template <class... Policies>
struct on_slabs {
  // The slab in use comes first, where each has a list.
  static constexpr bool lifo =
      std::is_same_v<typename ashlar::fixed_pool<Policies...>::check_type, ashlar::check::none>;
  using pool_type = ashlar::fixed_pool<test_source_ref, Policies...>;
  test_source source;
  pool_type pool;
  on_slabs(ashlar::block_layout block, std::size_t count)
      : pool(block, ashlar::heap_blocks{.first_slab_blocks = 3, .max_blocks = count},
             test_source_ref{&source}) {}
};

}  // namespace support
