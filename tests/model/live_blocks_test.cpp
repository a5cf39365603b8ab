// The shadow that the random programs trust (support/live_blocks.hpp): each fault planted once is
// one failure, and none is reported without a fault.
#include <tests/support/live_blocks.hpp>
#include <tests/support/test_headers.hpp>

namespace {

std::string failures;
struct notes {
  void operator()(const std::string& what) const { failures += what + '\n'; }
};
using blocks = support::live_blocks<notes>;

class LiveBlocks : public testing::Test {
 protected:
  LiveBlocks() { failures.clear(); }
  void expect(const std::string& what) {
    EXPECT_TRUE(failures.starts_with(what)) << "expected '" << what << "', got: " << failures;
    EXPECT_EQ(std::count(failures.begin(), failures.end(), '\n'), what.empty() ? 0 : 1);
    failures.clear();
  }
  alignas(4096) std::array<std::byte, 5 * 4096> room_{};
  blocks held_;
};

TEST_F(LiveBlocks, NeighboursAreNoFault) {
  held_.add(&room_[64], 50, 64, 64);
  held_.add(&room_[0], 64, 64, 64);
  held_.add(&room_[128], 0, 0, 1);
  held_.add(&room_[129], 20'000, 20'000, 1);
  EXPECT_EQ(held_.bytes(), 20'128u);
  held_.verify_all();
  const support::live_block first = held_.take(0);
  EXPECT_EQ(first.address, &room_[64]);
  held_.insert(first);
  EXPECT_EQ(held_.size(), 4u);
  while (!held_.empty()) static_cast<void>(held_.take_last());
  EXPECT_EQ(held_.bytes(), 0u);
  expect("");
}

TEST_F(LiveBlocks, AFreshBlockIsLookedAt) {
  held_.add(nullptr, 8, 8, 1);
  expect("null");
  held_.add(&room_[8], 8, 8, 16);
  expect("misaligned");
  held_.add(&room_[0], 9, 8, 8);
  expect("smaller than asked for");
  EXPECT_TRUE(held_.empty());
}

TEST_F(LiveBlocks, NoTwoBlocksShareAByte) {
  const auto beside = [&](std::size_t at, std::size_t usable, const char* fault) {
    blocks two;
    two.add(&room_[100], 50, 50, 1);
    two.add(&room_[at], usable, usable, 1);
    expect(fault);
  };
  beside(100, 50, "overlaps the block behind it");
  beside(100, 0, "overlaps the block behind it");
  beside(60, 41, "overlaps the block behind it");
  beside(60, 40, "");
  beside(149, 8, "overlaps the block before it");
  beside(149, 0, "overlaps the block before it");
  beside(150, 8, "");
}

// A small block is looked at in every byte; a large one in a line of each page, and at its end.
TEST_F(LiveBlocks, AChangedByteIsFound) {
  const auto change = [&](std::size_t usable, std::size_t at, bool seen) {
    blocks one;
    one.add(&room_[0], usable, usable, 1);
    room_[at] ^= std::byte{1};
    static_cast<void>(one.take_last());
    expect(seen ? "byte " + std::to_string(at) + " is not what its owner wrote" : "");
  };
  for (const std::size_t usable : {1u, 7u, 8u, 13u, 4096u})
    for (std::size_t at = 0; at < usable; ++at) change(usable, at, true);
  for (const std::size_t at : {0u, 63u, 4096u, 4159u, 12'288u, 16'325u, 16'388u})
    change(16'389, at, true);
  change(16'389, 64, false);
}

TEST_F(LiveBlocks, AMovedBlockKeepsWhatFits) {
  std::array<std::byte, 5 * 4096> other{};
  for (const std::size_t usable : {100u, 10'000u}) {
    for (const std::size_t kept :
         {std::size_t{1}, std::size_t{61}, usable - 3, usable, 2 * usable}) {
      blocks one;
      one.add(&room_[0], usable, usable, 1);
      const support::live_block old = one.take_last();
      other = room_;
      blocks::verify(old, other.data(), kept);
      expect("");
      const std::size_t last = std::min(kept, usable) - 1;
      if (usable == 10'000 && kept != 1 && kept < usable - 3) continue;
      other[last] ^= std::byte{1};
      blocks::verify(old, other.data(), kept);
      expect("byte " + std::to_string(last));
      blocks::verify(old, other.data(), last);
      expect("");
    }
  }
}

// A block is not taken for its neighbour of the same size, nor for itself a line later.
TEST_F(LiveBlocks, PatternsTellBlocksAndPlacesApart) {
  held_.add(&room_[0], 1024, 1024, 1);
  held_.add(&room_[1024], 1024, 1024, 1);
  blocks::verify(held_.blocks()[0], &room_[1024], 1024);
  expect("byte 0");
  blocks::verify(held_.blocks()[0], &room_[64], 960);
  expect("byte 0");
}

}  // namespace
