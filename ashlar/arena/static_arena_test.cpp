
#include <tests/support/test_headers.hpp>

#include <ashlar/arena/static_arena.hpp>

constinit ashlar::static_arena<64, ashlar::at_death::ignore> arena_for_another_file;

namespace {

using namespace ashlar;

constinit static_arena<1000> plain;
constinit static_arena<1000, std::mutex, counting::none> with_mutex;
constinit static_arena<1000, spin_lock, exhaustion::throw_bad_alloc, named<"spun">> with_spin;
constinit static_arena<0> nothing;

TEST(StaticArena, IsConstantInitialisedWithEveryLock) {
  EXPECT_NE(plain.allocate(1000), nullptr);
  EXPECT_NE(with_mutex.allocate(1000), nullptr);
  EXPECT_NE(with_spin.allocate(1000), nullptr);
  EXPECT_EQ(nothing.allocate(0), nullptr);
  EXPECT_EQ(plain.allocate(1, 1), nullptr);
  EXPECT_EQ(nothing.stats().chunks, 0u);
}

TEST(StaticArena, WasAllZeroBitsBeforeItsFirstUse) {
  static constinit static_arena<100> unused;
  const auto* const bytes = reinterpret_cast<const unsigned char*>(&unused);
  for (std::size_t i = 0; i < sizeof(unused); ++i) EXPECT_EQ(bytes[i], 0);
}

}  // namespace
