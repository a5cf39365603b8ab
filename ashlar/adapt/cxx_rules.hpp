// adapt/cxx_rules.hpp: what C++ adds to a block: products that overflow, exceptions.
// Layer: adapt. C++17. Every C++ face reports through these functions, so that they
// all fail alike.
//
//   n * sizeof(T) does not fit a size_t    std::bad_array_new_length
//   a component's answer was null          std::bad_alloc (its own policy has been asked by then)
//   no memory in the process heap          cxx_process_heap.hpp
// Without exceptions each ends in ashlar_fault(exhausted) that names the call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>

#include <ashlar/core/config.hpp>
#include <ashlar/core/fault.hpp>

namespace ashlar::cxx_rules {

[[noreturn]] ASHLAR_COLD inline void throw_bad_alloc(const char* call, std::size_t size) {
  ASHLAR_THROW(std::bad_alloc());
  ashlar_fault({fault_kind::exhausted, call, nullptr, size});
}

[[noreturn]] ASHLAR_COLD inline void throw_bad_length(const char* call) {
  ASHLAR_THROW(std::bad_array_new_length());
  ashlar_fault({fault_kind::exhausted, call, nullptr, SIZE_MAX});
}

/// Returns: n * Size. Throws: std::bad_array_new_length when that does not fit a size_t.
template <std::size_t Size>
[[nodiscard]] ASHLAR_HOT std::size_t array_bytes(std::size_t n, const char* call) {
  std::size_t bytes = 0;
  if (__builtin_expect(__builtin_mul_overflow(n, Size, &bytes), 0)) throw_bad_length(call);
  return bytes;
}

}  // namespace ashlar::cxx_rules
