// adapt/cxx_rules.hpp: what C++ adds to a block: products that overflow, the new-handler, exceptions.
// Layer: adapt. Every C++ face reports through these functions, so that they all fail alike.
//
//   n * sizeof(T) does not fit a size_t    std::bad_array_new_length
//   no memory in the process heap          the new-handler, as long as there is one, then bad_alloc
//   a component's answer was null          std::bad_alloc (its own policy has been asked by then)
// Without exceptions each ends in ashlar_fault(exhausted) that names the call.
#pragma once

#include <cstddef>
#include <new>

#include <ashlar/core/config.hpp>
#include <ashlar/core/exhaustion.hpp>
#include <ashlar/core/fault.hpp>
#include <ashlar/core/size_class.hpp>
#include <ashlar/runtime/process_heap.hpp>

namespace ashlar::cxx_rules {

[[noreturn]] ASHLAR_COLD inline void throw_bad_alloc(const char* call, std::size_t size) {
  ASHLAR_THROW(std::bad_alloc());
  ashlar_fault({.kind = fault_kind::exhausted, .call = call, .block_size = size});
}

[[noreturn]] ASHLAR_COLD inline void throw_bad_length(const char* call) {
  ASHLAR_THROW(std::bad_array_new_length());
  ashlar_fault({.kind = fault_kind::exhausted, .call = call, .block_size = SIZE_MAX});
}

/// Returns: n * Size. Throws: std::bad_array_new_length when that does not fit a size_t.
template <std::size_t Size>
[[nodiscard]] ASHLAR_HOT std::size_t array_bytes(std::size_t n, const char* call) {
  std::size_t bytes = 0;
  if (__builtin_mul_overflow(n, Size, &bytes)) [[unlikely]]
    throw_bad_length(call);
  return bytes;
}

/// What is left when the process heap had nothing. Returns: a block, never null. Throws: what the
/// handler throws, and bad_alloc when there is none. No lock is held while a handler runs.
[[nodiscard]] ASHLAR_COLD inline void* retry_slow(std::size_t size, std::size_t alignment) {
  exhaustion::handler_and_retry<exhaustion::throw_bad_alloc> policy;
  return policy.exhausted({size, alignment, nullptr},
                          [=]() noexcept { return runtime::allocate_aligned(size, alignment); });
}

/// Returns: a block of the process heap, never null. Throws: as operator new. The miss of a class is
/// not yet a lack of memory, and is told from it inside runtime. Requires: a power of two.
[[nodiscard]] ASHLAR_HOT void* allocate(std::size_t size) {
  void* const block = runtime::allocate(size);
  if (block == nullptr) [[unlikely]]
    return retry_slow(size, 1);
  return block;
}
[[nodiscard]] ASHLAR_HOT void* allocate(std::size_t size, std::size_t alignment) {
  if (alignment <= block_granule) return allocate(size);
  void* const block = runtime::allocate_aligned(size, alignment);
  if (block == nullptr) [[unlikely]]
    return retry_slow(size, alignment);
  return block;
}
template <std::size_t Size, std::size_t Alignment>
[[nodiscard]] ASHLAR_HOT void* allocate_constant() {
  void* const block = runtime::allocate_constant<Size, Alignment>();
  if (block == nullptr) [[unlikely]]
    return retry_slow(Size, Alignment);
  return block;
}

}  // namespace ashlar::cxx_rules
