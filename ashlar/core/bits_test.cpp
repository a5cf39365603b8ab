#include <bit>
#include <cstdint>

#include <gtest/gtest.h>

#include <ashlar/core/bits.hpp>
#include <ashlar/core/count_ones.hpp>
#include <ashlar/core/line_writer.hpp>

namespace {

TEST(Bits, AlignmentAgreesWithDivisionForEverySmallNumber) {
  for (std::size_t alignment = 1; alignment <= 4096; alignment *= 2) {
    for (std::size_t n = 0; n < 10'000; ++n) {
      ASSERT_EQ(ashlar::align_down(n, alignment), n / alignment * alignment);
      ASSERT_EQ(ashlar::align_up(n, alignment), ashlar::divide_up(n, alignment) * alignment);
    }
  }
}

TEST(Bits, CheckedAlignmentRefusesToWrap) {
  std::size_t result = 7;
  EXPECT_FALSE(ashlar::align_up_checked(SIZE_MAX, 16, result));
  EXPECT_EQ(result, 7u);
  EXPECT_TRUE(ashlar::align_up_checked(SIZE_MAX - 15, 16, result));
  EXPECT_EQ(result, SIZE_MAX - 15);
}

static_assert(ashlar::min_of(3, 5) == 3 && ashlar::min_of(5, 3) == 3 && ashlar::min_of(0, 0) == 0);
static_assert(ashlar::max_of(3, 5) == 5 && ashlar::max_of(SIZE_MAX, 0) == SIZE_MAX);

TEST(Bits, OnesAreCountedAsTheLibraryCountsThem) {
  std::uint64_t bits = 1;
  for (unsigned i = 0; i < 64; ++i) {
    EXPECT_EQ(ashlar::detail::count_ones(std::uint64_t{1} << i), 1u) << i;
    EXPECT_EQ(ashlar::detail::count_ones(~std::uint64_t{0} >> i), 64 - i) << i;
  }
  for (int i = 0; i < 1000; ++i) {
    bits = bits * 6364136223846793005u + 1442695040888963407u;
    EXPECT_EQ(ashlar::detail::count_ones(bits), static_cast<unsigned>(std::popcount(bits))) << bits;
  }
  EXPECT_EQ(ashlar::detail::count_ones(0), 0u);
}

TEST(LineWriter, DropsWhatDoesNotFit) {
  ashlar::line_writer<8> line;
  line << "abc" << 1234567u;
  EXPECT_EQ(std::string(line.data(), line.size()), "abc12345");
}

TEST(LineWriter, ALineEndsEvenWhereThereIsNoRoom) {
  ashlar::line_writer<4> full, roomy;
  full << "abcd";
  full.end_line();
  EXPECT_EQ(std::string(full.data(), full.size()), "abc\n");
  roomy << "ab";
  roomy.end_line();
  EXPECT_EQ(std::string(roomy.data(), roomy.size()), "ab\n");
}

TEST(LineWriter, WritesAddressesAndTheLargestNumber) {
  ashlar::line_writer<64> line;
  line << reinterpret_cast<const void*>(0xbeef0) << " " << SIZE_MAX << " " << 0u;
  EXPECT_EQ(std::string(line.data(), line.size()), "0xbeef0 " + std::to_string(SIZE_MAX) + " 0");
}

}  // namespace
