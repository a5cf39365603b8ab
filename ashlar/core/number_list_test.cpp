// Tests of core/number_list.hpp, and of exact_divisor's way back.
#include <cstdint>
#include <random>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/core/exact_divisor.hpp>
#include <ashlar/core/number_list.hpp>

namespace {

using namespace ashlar::detail;

static_assert(std::is_same_v<link_for<0>, std::uint8_t>);
static_assert(std::is_same_v<link_for<253>, std::uint8_t>);
static_assert(std::is_same_v<link_for<254>, std::uint16_t>);
static_assert(std::is_same_v<link_for<65'533>, std::uint16_t>);
static_assert(std::is_same_v<link_for<65'534>, std::uint32_t>);
static_assert(std::is_same_v<link_for<4'294'967'294>, std::size_t>);

/// Every number that fits, so that those next to `live` and `kept` are among them; the links hold
/// old bytes before.
template <class Link>
class NumberList : public testing::Test {};
using widths = testing::Types<std::uint8_t, std::uint16_t>;
TYPED_TEST_SUITE(NumberList, widths);

TYPED_TEST(NumberList, AgreesWithAModelUpToItsLastNumber) {
  using list_type = number_list<TypeParam>;
  constexpr std::size_t capacity = list_type::max_count;
  std::vector<TypeParam> storage(capacity + 1, list_type::live);
  auto* const links = reinterpret_cast<typename list_type::array*>(storage.data());
  list_type list;
  EXPECT_FALSE(list.is_live(links, 0));
  EXPECT_FALSE(list.is_live(links, 1)) << "what the links held before is no block in use";
  EXPECT_EQ(list.pop(links), 0u);
  std::vector<std::size_t> free;
  for (std::size_t n = 1; n <= capacity; ++n) {
    ASSERT_EQ(list.carve(links, capacity), n);
    ASSERT_TRUE(list.is_live(links, n));
    ASSERT_FALSE(list.is_live(links, n + 1));
  }
  EXPECT_EQ(list.carve(links, capacity), 0u);
  EXPECT_EQ(list.carved(), capacity);
  EXPECT_FALSE(list.is_live(links, 0));
  EXPECT_FALSE(list.is_live(links, SIZE_MAX));
  std::mt19937 random(7);
  for (int step = 0; step < 200'000; ++step) {
    const std::size_t n = 1 + random() % capacity;
    if (list.is_live(links, n)) {
      list.push(links, n);
      free.push_back(n);
    } else {
      ASSERT_EQ(list.pop(links), free.back()) << "last in, first out";
      ASSERT_TRUE(list.is_live(links, free.back()));
      free.pop_back();
    }
    ASSERT_EQ(list.first(), free.empty() ? 0 : free.back());
  }
  EXPECT_EQ(list.length(links), free.size());
}

TEST(ExactDivisor, TheDividendOfAQuotientIsItsNumber) {
  std::mt19937_64 random(11);
  for (std::size_t d = 1; d < 300; ++d) {
    const exact_divisor<> divisor(d);
    for (int i = 0; i < 100; ++i) {
      const auto n = static_cast<std::size_t>(random() >> (random() % 64));
      ASSERT_EQ(divisor.dividend(divisor.quotient(n), d), n) << d;
    }
    ASSERT_EQ(divisor.dividend(divisor.quotient(0), d), 0u);
    ASSERT_EQ(divisor.dividend(divisor.quotient(SIZE_MAX), d), SIZE_MAX);
  }
}

}  // namespace
