// support/extent.hpp: under what this build runs (a sanitizer, an emulator), how much of a product of types a test goes
// through, and how often it repeats itself. Each combination of a template's arguments is compiled anew, in every
// configuration; `make test` has those that differ in what they do, `make test-all` every one. What repeats itself is the
// burden of instrumented and emulated code: see `times`.
#pragma once

#include <concepts>

#include <ashlar/core/config.hpp>

namespace support {

using ashlar::address_sanitizer;

#if defined(__SANITIZE_THREAD__)
inline constexpr bool thread_sanitizer = true;
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
inline constexpr bool thread_sanitizer = true;
#else
inline constexpr bool thread_sanitizer = false;
#endif
#else
inline constexpr bool thread_sanitizer = false;
#endif

inline constexpr bool sanitized = address_sanitizer || thread_sanitizer;

#if defined(__OPTIMIZE__)
inline constexpr bool optimized = true;
#else
inline constexpr bool optimized = false;
#endif

/// qemu's own mappings, signals and messages are among the program's.
#ifdef ASHLAR_EMULATOR
inline constexpr bool emulated = true;
#else
inline constexpr bool emulated = false;
#endif

#ifdef ASHLAR_TEST_ALL
inline constexpr bool tests_all = true;
#else
inline constexpr bool tests_all = false;
#endif

enum class extent { full, brief };

/// Whether what only the full extent has is to be gone through.
constexpr bool goes_through_all(extent e) { return tests_all || e == extent::full; }

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

template <bool All, class Always, class InFull>
struct types_of {
  using type = Always;
};
template <template <class...> class List, class... Always, class... InFull>
struct types_of<true, List<Always...>, List<InFull...>> {
  using type = List<Always..., InFull...>;
};
/// The types of a typed test that `make test` goes through, and behind them those that only `make test-all` does.
template <class Always, class InFull>
using types = typename types_of<tests_all, Always, InFull>::type;

}  // namespace support
