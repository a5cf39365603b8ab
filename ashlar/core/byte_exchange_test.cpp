// Suites: threads
#include <array>
#include <cstdint>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/core/byte_exchange.hpp>

namespace {

using ashlar::detail::exchange_byte;
using ashlar::detail::exchange_in_word;

TEST(ByteExchange, ChangesTheByteAndNoOther) {
  for (std::size_t place = 0; place < 8; ++place) {
    alignas(4) std::array<std::uint8_t, 8> bytes{1, 2, 3, 4, 5, 6, 7, 8};
    std::array<std::uint8_t, 8> expected = bytes;
    expected[place] = 0xfe;
    EXPECT_EQ(exchange_in_word(bytes[place], std::uint8_t{0xfe}), place + 1);
    EXPECT_EQ(bytes, expected);
    EXPECT_EQ(exchange_byte(bytes[place], std::uint8_t{0}), 0xfe);
    EXPECT_EQ(bytes[place], 0);
  }
}

TEST(ByteExchange, OneOfManyGetsWhatWasThere) {
  constexpr int rounds = 2000;
  alignas(4) std::array<std::uint8_t, 4> bytes{};
  std::array<int, 4> taken{};
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {  // each puts ones into its own byte, beside the others
      for (int round = 0; round < rounds; ++round) {
        if (exchange_in_word(bytes[i], std::uint8_t{1}) == 0) ++taken[i];
        if (exchange_in_word(bytes[i], std::uint8_t{0}) == 1) ++taken[i];
      }
    });
  }
  for (std::thread& t : threads) t.join();
  for (const int n : taken) EXPECT_EQ(n, 2 * rounds) << "another thread's exchange took it away";
}

TEST(ByteExchange, OneOfTwoClaims) {
  for (int round = 0; round < 500; ++round) {
    alignas(4) std::array<std::uint8_t, 4> bytes{0, 0, 1, 0};
    std::array<std::uint8_t, 2> seen{};
    std::thread other([&] { seen[0] = exchange_in_word(bytes[2], std::uint8_t{0}); });
    seen[1] = exchange_in_word(bytes[2], std::uint8_t{0});
    other.join();
    ASSERT_EQ(seen[0] + seen[1], 1);
  }
}

}  // namespace
