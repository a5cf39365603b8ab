// support/type_lists.hpp: the types of a typed test, in two parts: see extent.hpp.
#pragma once

#include <tests/support/extent.hpp>

#include <gtest/gtest.h>

namespace support {

template <bool All, class Always, class InFull>
struct types_of {
  using type = Always;
};
template <class... Always, class... InFull>
struct types_of<true, testing::Types<Always...>, testing::Types<InFull...>> {
  using type = testing::Types<Always..., InFull...>;
};
/// The types that `make test` goes through, and behind them those that only `make test-all` does.
template <class Always, class InFull>
using types = typename types_of<tests_all, Always, InFull>::type;

}  // namespace support
