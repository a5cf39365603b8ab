// pool/pool_map.hpp: what declared pools take of RAM: at compile time for a budget, and in the
// image for a report.
// Layer: pool (freestanding).
//
//   constinit ashlar::static_pool<message, 64> messages;
//   static_assert(ashlar::ram_bytes<messages> <= 4096, "the radio's budget");
//   ASHLAR_POOL_MAP(messages);                    a row of `scripts/pool_map.py firmware.elf`
//
// The rows are in a section of their own, .ashlar_pool_map. They cost no byte of flash where the
// linker script says that it is not loaded: `.ashlar_pool_map 0 (INFO) : {
// KEEP(*(.ashlar_pool_map)) }`.
#pragma once

#include <cstddef>

#include <ashlar/core/config.hpp>

namespace ashlar {

/// The RAM of these objects (pools, sets, arenas), bytes. Between two of different alignment the
/// linker may add padding.
template <auto&... Objects>
inline constexpr std::size_t ram_bytes = (std::size_t{0} + ... + sizeof(Objects));

namespace detail {

/// A row of the map, as scripts/pool_map.py reads it: texts inside, so that nothing but the section
/// is needed.
struct pool_map_row {
  char name[32];
  const void* address;
  std::size_t bytes;  ///< of the whole object; of a set in its first row, 0 in the others
  std::size_t
      block_size;  ///< this and what follows: 0 where there are no blocks of one size (an arena)
  std::size_t stride;
  std::size_t capacity;
};

template <std::size_t N>
struct pool_map_rows {
  pool_map_row rows[N];
};

template <std::size_t N>
constexpr void set_name(pool_map_row& row, const char (&name)[N]) noexcept {
  for (std::size_t i = 0; i < N && i + 1 < sizeof row.name; ++i) row.name[i] = name[i];
}

template <class Pool, std::size_t N>
[[nodiscard]] consteval auto map_of(const Pool& pool, const char (&name)[N]) noexcept {
  if constexpr (requires { Pool::class_count; }) {
    pool_map_rows<Pool::class_count> map{};
    for (std::size_t c = 0; c < Pool::class_count; ++c) {
      map.rows[c] = {{},
                     &pool,
                     c == 0 ? sizeof(Pool) : 0,
                     Pool::block_size(c),
                     Pool::slot_bytes(c),
                     Pool::block_count(c)};
      set_name(map.rows[c], name);
    }
    return map;
  } else {
    pool_map_rows<1> map{{{{}, &pool, sizeof(Pool), 0, 0, 0}}};
    if constexpr (requires { pool.stride(); }) {
      map.rows[0].block_size = pool.block_size();
      map.rows[0].stride = pool.stride();
      map.rows[0].capacity = pool.capacity();
    }
    set_name(map.rows[0], name);
    return map;
  }
}

}  // namespace detail
}  // namespace ashlar

#if defined(__MACH__)  // a section there has a segment, and 16 letters at most
#define ASHLAR_POOL_MAP_SECTION "__DATA,__ashlar_pools"
#else
#define ASHLAR_POOL_MAP_SECTION ".ashlar_pool_map"
#endif

/// `pool` is an object with static storage duration that holds its blocks or bytes itself: a
/// static_pool, a static_pool_set or a static_arena, at namespace scope.
#define ASHLAR_POOL_MAP(pool)                                                                    \
  [[gnu::used, gnu::section(ASHLAR_POOL_MAP_SECTION)]] constinit const auto pool_map_of_##pool = \
      ::ashlar::detail::map_of(pool, #pool)
