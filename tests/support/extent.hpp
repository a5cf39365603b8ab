// support/extent.hpp: how much of a product of types a test goes through. Each combination of a template's arguments is
// compiled anew, in every configuration; `make test` has those that differ in what they do, `make test-all` every one.
#pragma once

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

}  // namespace support
