// support/extent.hpp: how much of a product of types a test goes through, and how often it repeats itself. Each combination
// of a template's arguments is compiled anew, in every configuration; `make test` has those that differ in what they do,
// `make test-all` every one. What repeats itself is the burden of instrumented and emulated code: see `times`.
#pragma once

#include <concepts>
#include <tests/support/emulated.hpp>
#include <tests/support/sanitizers.hpp>

namespace support {

#ifdef ASHLAR_TEST_ALL
inline constexpr bool tests_all = true;
#else
inline constexpr bool tests_all = false;
#endif

enum class extent { full, brief };

/// Whether what only the full extent has is to be gone through.
constexpr bool goes_through_all(extent e) {
  return tests_all || e == extent::full;
}

/// Under a sanitizer and without optimisation, or under an emulator, a step takes ten to thirty times as long.
inline constexpr bool takes_samples = (sanitized || emulated) && !tests_all;

/// How often to repeat what differs by a random number alone: `n` times, or a tenth of it where samples do.
template <std::integral Integer>
constexpr Integer times(Integer n) {
  return takes_samples ? static_cast<Integer>((n + 9) / 10) : n;
}

/// How far to go from one case of an exhaustive row to the next: 1, or `n`, a prime number, where samples do.
template <std::integral Integer>
constexpr Integer step(Integer n) {
  return takes_samples ? n : Integer{1};
}

}  // namespace support
