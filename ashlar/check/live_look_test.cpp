// A thread looks at blocks that other threads free, resize and take all the time, and sees nothing
// that is not so.
#include <tests/support/test_headers.hpp>

#include <ashlar/check/hardened_blocks.hpp>
#include <ashlar/check/live_look.hpp>

namespace {

using namespace ashlar;
using detail::block_family;
using detail::block_words;

constexpr std::size_t bytes = 128, places = 32;
constexpr block_words words({.before = 0x1234567890abcdefu,
                             .first_factor = 0x9e3779b97f4a7c15u,
                             .second_factor = 0xbf58476d1ce4e5b9u});

/// Where the blocks are: one page.
alignas(4096) std::array<std::byte, bytes * places> page;
std::byte* block_at(std::size_t place) { return page.data() + place * bytes; }

/// Takes, fills and frees blocks of its own, until it has to end.
class owner {
 public:
  owner(detail::live_look& look, std::size_t first, const std::atomic<bool>& must_end)
      : thread_([&look, first, &must_end, this] {
          std::array<std::size_t, places / 2> sizes{};  // of the blocks in use, plus 1
          for (std::size_t round = 0; !must_end.load(std::memory_order_relaxed); ++round) {
            std::byte* const block = block_at(first + round % sizes.size());
            if (std::size_t& used = sizes[round % sizes.size()]; used != 0) {
              block_words::take_word(block, bytes);
              look.await(block, this);
              block_words::clear(block, bytes, used - 1);
              used = 0;
            } else {
              used = 1 + round * 7 % (bytes - detail::label_bytes);
              words.seal(block, bytes, used - 1, block_family::c);
              std::fill_n(block, used - 1, std::byte{0xff});
            }
          }
        }) {}
  ~owner() { thread_.join(); }
  owner(const owner&) = delete;

 private:
  std::thread thread_;
};

TEST(LiveLook, ABlockThatIsFreedMeanwhileIsNeverSeenSpoilt) {
  if (support::thread_sanitizer) GTEST_SKIP() << "it knows no fence of another thread";
  detail::live_look look;
  os::prepare_thread_fence();
  std::atomic<bool> must_end{false};
  std::size_t live = 0, looks = 0;
  {
    const owner one(look, 0, must_end), two(look, places / 2, must_end);
    for (int i = 0; i < 20'000; ++i) {
      ASSERT_TRUE(look.take_turn(&live));
      if (!look.begin(page.data(), page.size())) {
        look.leave();
        must_end = true;
        GTEST_SKIP() << "the system has no such fence";
      }
      const std::byte* spoilt = nullptr;
      for (std::size_t place = 0; place != places && spoilt == nullptr; ++place) {
        const detail::block_sight sight = words.sight_of(block_at(place), bytes);
        live += sight.is_live ? 1 : 0;
        spoilt = sight.spoilt;
      }
      EXPECT_TRUE(look.end());
      look.leave();
      ++looks;
      if (spoilt != nullptr) {
        must_end = true;
        FAIL() << "look " << looks << " saw byte " << spoilt - page.data() << " spoilt";
      }
    }
    must_end = true;
  }
  EXPECT_GT(live, looks / 100);  // it has seen blocks at all
}

TEST(LiveLook, ItSeesWhatTheProgramSpoils) {
  page = {};
  words.seal(block_at(3), bytes, 40, block_family::c);
  EXPECT_FALSE(words.sight_of(block_at(2), bytes).is_live);
  EXPECT_TRUE(words.sight_of(block_at(3), bytes).is_live);
  EXPECT_EQ(words.sight_of(block_at(3), bytes).spoilt, nullptr);
  block_at(3)[41] ^= std::byte{1};
  EXPECT_EQ(words.sight_of(block_at(3), bytes).spoilt, block_at(3) + 41);
  EXPECT_EQ(words.sight_of(block_at(3), bytes).size, 40u);
  block_at(3)[bytes - 2] ^= std::byte{1};
  EXPECT_EQ(words.sight_of(block_at(3), bytes).spoilt, block_at(3) + bytes - detail::label_bytes);
  page = {};
}

TEST(LiveLook, OneThreadHasTheTurn) {
  detail::live_look look;
  const int mine = 0, others = 0;
  EXPECT_TRUE(look.take_turn(&mine));
  EXPECT_FALSE(look.take_turn(&others));
  EXPECT_FALSE(look.take_turn(&mine));
  EXPECT_TRUE(look.is_turn_of(&mine));
  look.leave();
  EXPECT_TRUE(look.take_turn(&others));
  look.leave();
}

TEST(LiveLook, AHandlerThatFreesInTheThreadThatLooksDoesNotWait) {
  detail::live_look look;
  const int mine = 0;
  ASSERT_TRUE(look.take_turn(&mine));
  if (!look.begin(page.data(), page.size())) GTEST_SKIP() << "the system has no such fence";
  look.await(page.data() - 1, &mine);
  look.await(page.data() + page.size(), &mine);
  look.await(page.data() + bytes, &mine);
  EXPECT_FALSE(look.end());
  ASSERT_TRUE(look.begin(page.data(), page.size()));
  EXPECT_TRUE(look.end());
  look.leave();
}

TEST(LiveLook, AChildOfAForkDoesNotWaitForAThreadThatIsNotThere) {
  detail::live_look look;
  const int gone = 0, mine = 0;
  ASSERT_TRUE(look.take_turn(&gone));
  if (!look.begin(page.data(), page.size())) GTEST_SKIP() << "the system has no such fence";
  look.forget_others(&mine);
  look.await(page.data(), &mine);
  EXPECT_TRUE(look.take_turn(&mine));
  look.forget_others(&mine);
  EXPECT_TRUE(look.is_turn_of(&mine));
  look.leave();
}

}  // namespace
