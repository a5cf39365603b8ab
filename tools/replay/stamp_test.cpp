// tools/replay/stamp_test.cpp: every byte that a stamp covers is seen when it changes, and no other is touched.
#include "tools/replay/stamp.hpp"

#include <vector>

#include <gtest/gtest.h>

namespace ashlar::replay {
namespace {

constexpr std::uint64_t most = 70;

bool covered(std::uint64_t byte, std::uint64_t size, touch which) {
  if (size < 16) return true;
  if (which == touch::all) return byte < size / 8 * 8 || byte >= size - 8;
  return byte < 8 || byte >= size - 8;
}

TEST(Stamp, SeesEveryByteThatItWroteAndNoOther) {
  for (const touch which : {touch::ends, touch::all}) {
    for (std::uint64_t size = 0; size <= most; ++size) {
      const std::uint64_t stamp = stamp_of(7, static_cast<std::uint32_t>(size));
      std::vector<unsigned char> bytes(size + 16, 0xee);
      write_stamp(bytes.data() + 8, size, stamp, which);
      ASSERT_TRUE(has_stamp(bytes.data() + 8, size, stamp, which)) << size;
      for (std::uint64_t i = 0; i < bytes.size(); ++i) {
        const bool inside = i >= 8 && i < size + 8;
        const bool seen = inside && covered(i - 8, size, which);
        if (!seen) {
          ASSERT_EQ(bytes[i], 0xee) << size << " at " << i;
        }
        bytes[i] ^= 1;
        ASSERT_EQ(has_stamp(bytes.data() + 8, size, stamp, which), !seen) << size << " at " << i;
        bytes[i] ^= 1;
      }
    }
  }
}

TEST(Stamp, OfTwoBirthsDiffer) {
  EXPECT_NE(stamp_of(1, 0), stamp_of(1, 2));
  EXPECT_NE(stamp_of(1, 0), stamp_of(2, 0));
}

// After a realloc the old stamp's first bytes are there, however much of it is kept.
TEST(Stamp, BeginsAsTheWholeDoes) {
  const std::uint64_t stamp = stamp_of(3, 4);
  std::vector<unsigned char> bytes(most);
  write_stamp(bytes.data(), most, stamp, touch::ends);
  for (std::uint64_t kept = 0; kept <= most; ++kept)
    EXPECT_TRUE(begins_with_stamp(bytes.data(), kept, stamp)) << kept;
  bytes[2] ^= 1;
  for (std::uint64_t kept = 0; kept <= most; ++kept)
    EXPECT_EQ(begins_with_stamp(bytes.data(), kept, stamp), kept < 3) << kept;
}

TEST(Stamp, ZeroIsSeenAtTheEndsOrEverywhere) {
  for (std::uint64_t size = 0; size <= most; ++size) {
    std::vector<unsigned char> bytes(size, 0);
    for (const touch which : {touch::ends, touch::all}) {
      ASSERT_TRUE(is_zero(bytes.data(), size, which));
      for (std::uint64_t i = 0; i < size; ++i) {
        bytes[i] = 1;
        const bool seen = which == touch::all || size < 16 || i < 8 || i >= size - 8;
        ASSERT_EQ(is_zero(bytes.data(), size, which), !seen) << size << " at " << i;
        bytes[i] = 0;
      }
    }
  }
}

}  // namespace
}  // namespace ashlar::replay
