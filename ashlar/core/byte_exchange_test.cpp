#include <array>
#include <atomic>
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

// Each thread holds a value of its own for each byte, and swaps it with the byte all the time. No
// value may be lost or be there twice, whatever the other threads do to the same byte and to its
// neighbours.
TEST(ByteExchange, NoValueIsLostBetweenThreads) {
  constexpr int rounds = 300'000;
  constexpr std::size_t thread_count = 4;
  using values = std::array<std::uint8_t, 4>;
  alignas(4) values bytes{};
  std::array<values, thread_count> held;
  std::atomic<std::size_t> ready{0};
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < thread_count; ++t) {
    held[t].fill(static_cast<std::uint8_t>(t + 1));
    threads.emplace_back([&bytes, &ready, &mine = held[t]] {
      ++ready;
      while (ready != thread_count)
        std::this_thread::yield();  // else one has ended before the next begins
      for (int round = 0; round < rounds; ++round) {
        for (std::size_t i = 0; i < bytes.size(); ++i)
          mine[i] = exchange_in_word(bytes[i], mine[i]);
      }
    });
  }
  for (std::thread& t : threads) t.join();
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    std::array<int, thread_count + 1> seen{};
    ++seen[bytes[i]];
    for (const values& of_thread : held) ++seen[of_thread[i]];
    for (const int times : seen) EXPECT_EQ(times, 1);
  }
}

}  // namespace
