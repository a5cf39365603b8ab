// Words, canaries and the quarantine of hardened blocks: every size, every overflow of 1 to 16
// bytes, every bit.

#include <tests/support/test_headers.hpp>

#include <ashlar/check/hardened_blocks.hpp>

namespace {

using namespace ashlar;
using detail::block_family;
using detail::block_label;
using detail::block_words;

/// Where every block of these tests lies, one at a time.
alignas(4096) std::byte the_place[65'536];

/// A word passes by chance once in so many cases. So that each run has the same cases, the words
/// depend on an address's distance from `the_place` alone, and not on where the system put it.
const block_words words({.before = 0x1234567890abcdefu ^
                                   reinterpret_cast<std::uintptr_t>(the_place),
                         .first_factor = 0x9e3779b97f4a7c15u,
                         .second_factor = 0xbf58476d1ce4e5b9u});

/// A block of zeros.
class zeros {
 public:
  explicit zeros(std::size_t bytes) : bytes_(bytes) { std::fill_n(the_place, bytes, std::byte{0}); }
  [[nodiscard]] static std::byte* data() { return the_place; }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  [[nodiscard]] const std::byte* spoilt() const {
    return detail::first_not_zero(the_place, bytes_);
  }

 private:
  std::size_t bytes_;
};

/// Returns: whether a free would see that the block was not left as it was sealed.
bool is_seen(const void* block, std::size_t bytes) {
  const block_label label = words.label_of(block, bytes);
  return label.family == block_family::none ||
         words.first_spoilt(block, bytes, label.size) != nullptr;
}

TEST(HardenedBlocks, AWordSaysSizeAndFamilyOfEverySize) {
  for (std::size_t bytes = 16; bytes <= 512; bytes += 16)
    for (std::size_t size = 0; size <= bytes - detail::label_bytes; ++size)
      for (const block_family family :
           {block_family::any, block_family::c, block_family::cxx, block_family::cxx_array}) {
        zeros block(bytes);
        words.seal(block.data(), bytes, size, family);
        const block_label label = words.label_of(block.data(), bytes);
        ASSERT_EQ(label.size, size);
        ASSERT_EQ(label.family, family);
        ASSERT_EQ(words.first_spoilt(block.data(), bytes, size), nullptr);
      }
}

TEST(HardenedBlocks, SealingLeavesTheCallersBytes) {
  for (std::size_t size = 0; size <= 120; ++size) {
    zeros block(128);
    std::fill_n(block.data(), size, std::byte{0xff});
    words.seal(block.data(), 128, size, block_family::c);
    for (std::size_t i = 0; i < size; ++i) ASSERT_EQ(block.data()[i], std::byte{0xff});
  }
}

TEST(HardenedBlocks, OverflowsOfOneToSixteenBytesAreSeen) {
  for (const std::size_t bytes : {16u, 32u, 48u, 64u, 80u, 128u, 288u, 1024u})
    for (std::size_t size = 0; size <= bytes - detail::label_bytes; ++size)
      for (std::size_t over = 1; over <= std::min<std::size_t>(16, bytes - size); ++over)
        for (const unsigned value : {0x00u, 0x01u, 0x41u, 0xffu}) {
          zeros block(bytes);
          words.seal(block.data(), bytes, size, block_family::c);
          std::byte* const behind = block.data() + size;
          const std::vector<std::byte> before(behind, behind + over);
          std::fill_n(behind, over, std::byte(value));
          // What happens to write what was there has changed nothing. Zeros never do.
          const bool changed = !std::equal(before.begin(), before.end(), behind);
          ASSERT_TRUE(changed || value != 0);
          ASSERT_EQ(is_seen(block.data(), bytes), changed)
              << over << " bytes behind " << size << " of " << bytes;
        }
}

TEST(HardenedBlocks, EveryBitOfTheWordCounts) {
  zeros block(256);
  for (std::size_t size = 0; size <= 248; size += 31)
    for (unsigned bit = 0; bit < 64; ++bit) {
      words.seal(block.data(), 256, size, block_family::cxx);
      block.data()[248 + bit / 8] ^= std::byte(1u << bit % 8);
      // It may say another size, whose canary is not there, or another family, whose free is a
      // mismatch.
      EXPECT_TRUE(is_seen(block.data(), 256) ||
                  words.label_of(block.data(), 256).family != block_family::cxx)
          << "bit " << bit << " of size " << size;
      words.seal(block.data(), 256, size, block_family::cxx);
      std::fill_n(block.data(), 248, std::byte{0});
    }
}

TEST(HardenedBlocks, AFreeBlockHasNoWordAndAnotherPlacesWordIsNone) {
  zeros block(4096);
  EXPECT_EQ(words.label_of(block.data(), 4096).family, block_family::none);
  words.seal(block.data(), 64, 40, block_family::c);
  std::memcpy(block.data() + 64, block.data(), 64);
  EXPECT_EQ(words.label_of(block.data() + 64, 64).family, block_family::none);
  std::size_t passed = 0;
  for (std::size_t inside = 1; inside < 64; ++inside)
    passed += words.label_of(block.data() + inside, 64).family != block_family::none ? 1 : 0;
  EXPECT_EQ(passed, 0u);
}

TEST(HardenedBlocks, OtherSecretsMakeOtherWords) {
  const block_words others({.before = 7 ^ reinterpret_cast<std::uintptr_t>(the_place),
                            .first_factor = 3,
                            .second_factor = 5});
  std::size_t same = 0;
  for (std::size_t i = 0; i < 64; ++i) {
    zeros block(64);
    others.seal(block.data(), 64, i % 57, block_family::c);
    same += words.label_of(block.data(), 64).family != block_family::none ? 1 : 0;
  }
  EXPECT_EQ(same, 0u);
}

TEST(HardenedBlocks, ClearedAndUnsealedBlocksAreZero) {
  for (const std::size_t bytes : {16u, 32u, 240u, 256u, 272u, 4096u})
    for (std::size_t size = 0; size <= bytes - detail::label_bytes; size += size < 64 ? 1 : 97) {
      zeros block(bytes);
      words.seal(block.data(), bytes, size, block_family::c);
      block_words::take_word(block.data(), bytes);
      block_words::unseal(block.data(), bytes, size);
      ASSERT_EQ(block.spoilt(), nullptr) << bytes << " " << size;
      words.seal(block.data(), bytes, size, block_family::c);
      std::fill_n(block.data(), size, std::byte{0xff});
      block_words::take_word(block.data(), bytes);
      block_words::clear(block.data(), bytes, size);
      ASSERT_EQ(block.spoilt(), nullptr) << bytes << " " << size;
    }
}

TEST(HardenedBlocks, LongBlocksAreClearedWhereverTheyWereWritten) {
  for (const std::size_t bytes : {8192u, 8208u, 20'000u, 65'536u})
    for (const std::size_t step : {1u, 4095u, 4097u, 9001u}) {
      zeros block(bytes);
      const std::size_t size = bytes - 100;
      words.seal(block.data(), bytes, size, block_family::c);
      for (std::size_t i = 0; i < size; i += step) block.data()[i] = std::byte{1};
      block.data()[size - 1] = std::byte{1};
      block_words::take_word(block.data(), bytes);
      block_words::clear(block.data(), bytes, size);
      ASSERT_EQ(block.spoilt(), nullptr) << bytes << " " << step;
    }
}

TEST(HardenedBlocks, TheFirstByteThatIsNotZeroIsFound) {
  zeros block(1024);
  for (std::size_t i = 0; i < 1024; ++i) {
    block.data()[i] = std::byte{1};
    ASSERT_EQ(block.spoilt(), block.data() + i);
    block.data()[i] = std::byte{0};
  }
}

std::size_t no_limit() { return SIZE_MAX; }

TEST(FreedBlocks, NeverHoldsMoreThanItsShare) {
  const auto q = std::make_unique<detail::freed_blocks>();
  q->start(3, [](class_index c) { return c == 1 ? std::size_t{64} : std::size_t{8192}; });
  q->random.seed(5);
  std::array<std::byte, 1000> places;
  std::size_t left = 0, share = 20'000;
  for (std::size_t i = 0; i < places.size(); ++i) {
    const bool small = i % 2 == 0;
    void* const out =
        q->exchange(small ? 1 : 2, &places[i], small ? 64 : 8192, [&] { return share; });
    left += out != nullptr ? 1 : 0;
    ASSERT_LE(q->held_bytes(), share);
  }
  EXPECT_GT(q->held_bytes(), share / 2);
  q->empty([&](class_index, void*) { ++left; });
  EXPECT_EQ(left, places.size());
  EXPECT_EQ(q->held_bytes(), 0u);
}

TEST(FreedBlocks, KeepsAsManyAsItSaysAndLetsEachLeaveOnce) {
  const auto q = std::make_unique<detail::freed_blocks>();
  q->start(3, [](class_index c) { return c == 1 ? std::size_t{64} : std::size_t{8192}; });
  q->random.seed(5);
  std::array<std::byte, 1000> places;
  std::set<void*> left;
  for (std::byte& place : places) {
    void* const out = q->exchange(1, &place, 64, no_limit);
    EXPECT_LE(q->held_bytes(), 64u * 64);
    EXPECT_TRUE(out == nullptr || left.insert(out).second);
  }
  EXPECT_GE(places.size() - left.size(), 48u);  // 64, unless slots stayed empty
  EXPECT_LE(places.size() - left.size(), detail::freed_blocks::slots_for(64));
  q->empty([&](class_index c, void* out) {
    EXPECT_EQ(c, 1);
    EXPECT_TRUE(left.insert(out).second);
  });
  EXPECT_EQ(left.size(), places.size());
  q->empty([](class_index, void*) { FAIL(); });
}

TEST(FreedBlocks, IsBoundedByBlocksAndBytes) {
  for (std::size_t size = 16; size <= small_size_max; size += 16) {
    const std::size_t slots = detail::freed_blocks::slots_for(size);
    EXPECT_TRUE(slots >= 1 && slots <= detail::freed_blocks::blocks_max);
    EXPECT_TRUE(slots == 1 || slots * size <= detail::freed_blocks::bytes_max);
  }
}

TEST(FreedBlocks, EachOfItsBlocksIsAsLikelyToLeave) {
  const auto q = std::make_unique<detail::freed_blocks>();
  q->start(2, [](class_index) { return std::size_t{256}; });
  q->random.seed(99);
  constexpr std::size_t slots = detail::freed_blocks::slots_for(256), rounds = 64'000;
  static_assert(slots == 64);
  // How many others came before a block left: 63 in the mean, and the commonest number is no
  // frequent one.
  std::array<std::byte, rounds> places;
  std::map<std::ptrdiff_t, std::size_t> waits;
  for (std::byte& place : places)
    if (void* const out = q->exchange(1, &place, 256, no_limit); out != nullptr)
      ++waits[&place - static_cast<std::byte*>(out)];
  std::size_t most = 0, all = 0, sum = 0;
  for (const auto& [wait, count] : waits) {
    most = std::max(most, count);
    all += count;
    sum += count * static_cast<std::size_t>(wait);
  }
  EXPECT_LT(most, all / 32);
  EXPECT_NEAR(static_cast<double>(sum) / static_cast<double>(all), 64, 3);
}

}  // namespace
