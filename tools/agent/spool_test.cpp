// What waits for a collector that is away is bounded, and nothing is lost uncounted.
#include "tools/agent/spool.hpp"

#include <gtest/gtest.h>

namespace ashlar::agent {
namespace {

constexpr std::size_t room = 10'000;

pushed_profile of_bytes(std::size_t bytes, char name) {
  return {std::string(1, name), std::string(bytes, 'x')};
}

TEST(Spool, DropsTheOldestWhereThereIsNoRoom) {
  spool waiting(room);
  for (const char name : {'a', 'b', 'c', 'd'}) waiting.add(of_bytes(3000, name));
  EXPECT_LE(waiting.bytes(), room);
  EXPECT_EQ(waiting.dropped(), 1u);
  for (const char name : {'b', 'c', 'd'}) {
    ASSERT_FALSE(waiting.is_empty());
    EXPECT_EQ(waiting.oldest().place, std::string(1, name));
    waiting.pop();
  }
  EXPECT_TRUE(waiting.is_empty());
  EXPECT_EQ(waiting.bytes(), 0u);
}

TEST(Spool, DropsWhatIsLargerThanAllRoomAndNothingElse) {
  spool waiting(room);
  waiting.add(of_bytes(3000, 'a'));
  waiting.add(of_bytes(room, 'b'));
  EXPECT_EQ(waiting.dropped(), 1u);
  EXPECT_EQ(waiting.oldest().place, "a");
}

TEST(Spool, CountsSmallOnesToo) {
  spool waiting(room);
  for (int i = 0; i < 1000; ++i) waiting.add({});
  EXPECT_LE(waiting.bytes(), room);
  EXPECT_EQ(waiting.dropped(), 1000 - room / sizeof(pushed_profile));
}

}  // namespace
}  // namespace ashlar::agent
