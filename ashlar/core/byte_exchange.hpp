// core/byte_exchange.hpp: a byte is exchanged on each processor, without a library.
// Layer: core (freestanding). Not for users: pools that threads share call it.
#pragma once

#include <atomic>
#include <bit>
#include <cstdint>
#include <type_traits>

#include <ashlar/core/config.hpp>

namespace ashlar::detail {

/// Effects: as std::atomic_ref(byte).exchange(value, memory_order_relaxed), by an exchange of the
/// word that the byte is in. The word's other bytes stay as they are, whoever writes them
/// meanwhile.
template <class Byte>
Byte exchange_in_word(Byte& byte, Byte value) noexcept {
  static_assert(sizeof(Byte) == 1);
  using any_word [[gnu::may_alias]] = std::uint32_t;
  const auto address = reinterpret_cast<std::uintptr_t>(&byte);
  const auto place = static_cast<unsigned>(address % sizeof(any_word));
  const unsigned shift = 8 * (std::endian::native == std::endian::little ? place : 3 - place);
  auto* const word = reinterpret_cast<any_word*>(address - place);
  std::uint32_t seen = __atomic_load_n(word, __ATOMIC_RELAXED);
  std::uint32_t next;
  do {
    next = (seen & ~(std::uint32_t{0xff} << shift)) |
           std::uint32_t{static_cast<std::uint8_t>(value)} << shift;
  } while (
      !__atomic_compare_exchange_n(word, &seen, next, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
  return static_cast<Byte>(static_cast<std::uint8_t>(seen >> shift));
}

/// Effects: as std::atomic_ref(byte).exchange(value, memory_order_relaxed). Where the processor
/// exchanges words only (RISC-V), that would call libatomic, which firmware does not have.
template <class Byte>
ASHLAR_HOT Byte exchange_byte(Byte& byte, Byte value) noexcept {
  if constexpr (std::atomic_ref<Byte>::is_always_lock_free)
    return std::atomic_ref(byte).exchange(value, std::memory_order_relaxed);
  else
    return exchange_in_word(byte, value);
}

/// The smallest type that holds a T and that the processor exchanges.
template <class T>
using exchangeable = std::conditional_t<std::atomic<T>::is_always_lock_free, T, unsigned>;

}  // namespace ashlar::detail
