// What each kind of pool takes of flash and RAM: two functions a kind, linked alone (check_sizes.py).
#include <cstddef>
#include <cstdint>
#include <span>

#include <ashlar/freestanding.hpp>

using namespace ashlar;

namespace {

struct block {
  std::uint32_t words[12];
};
inline constexpr std::size_t capacity = 32;

/// A firmware's own, which resets: none of ashlar's bytes.
[[noreturn]] void stop() noexcept {
  for (;;) {
  }
}

}  // namespace

extern "C" void ashlar_fault(const ashlar::fault&) noexcept { stop(); }

// pool(<name>, <bytes beside its blocks>, <type>...): the pool, its functions, and the law of its size.
#define POOL(name, state_bytes, ...)                                                 \
  constinit __VA_ARGS__ name##_pool;                                                 \
  static_assert(sizeof(name##_pool) == capacity * sizeof(block) + (state_bytes));    \
  extern "C" void* name##_allocate() noexcept { return name##_pool.allocate(); }     \
  extern "C" void name##_deallocate(void* p) noexcept { name##_pool.deallocate(p); } \
  static_assert(true)

inline constexpr std::size_t word = sizeof(std::uint32_t);
inline constexpr std::size_t links = align_up(capacity + 1, word);  // a byte a block, and nobody's
inline constexpr std::size_t wide_links = capacity * 2;

POOL(unchecked, 2 * word, static_pool<block, capacity, check::none, counting::none>);
POOL(cheap, 2 * word + links, static_pool<block, capacity, counting::none>);
POOL(defaults, 4 * word + links, static_pool<block, capacity>);
POOL(masked, 3 * word,
     static_pool<block, capacity, check::none, counting::none, interrupt_mask<cortex_m_primask>>);
#if defined(__ARM_FEATURE_LDREX)
POOL(lock_free, 2 * word + wide_links,
     static_pool<block, capacity, check::none, counting::none, ashlar::lock_free<std::uint32_t>>);
#endif
