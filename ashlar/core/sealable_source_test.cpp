#include <cstddef>

#include <gtest/gtest.h>

#include <ashlar/core/sealable_source.hpp>

namespace {

struct counting_source {
  int pieces = 0;
  char bytes[64] = {};
  void* allocate(std::size_t, std::size_t) noexcept {
    ++pieces;
    return bytes;
  }
  void deallocate(void*, std::size_t, std::size_t) noexcept { --pieces; }
};

struct counting_source_ref {
  counting_source* to;
  void* allocate(std::size_t n, std::size_t a) const noexcept { return to->allocate(n, a); }
  void deallocate(void* p, std::size_t n, std::size_t a) const noexcept { to->deallocate(p, n, a); }
};

TEST(SealableSource, GivesUntilItIsSealedAndTakesBackAlways) {
  counting_source below;
  ashlar::sealable_source source(counting_source_ref{&below});
  static_assert(ashlar::page_source<decltype(source)>);
  void* const first = source.allocate(32, 8);
  EXPECT_EQ(first, below.bytes);
  source.seal();
  EXPECT_TRUE(source.is_sealed());
  EXPECT_EQ(source.allocate(1, 1), nullptr);
  EXPECT_EQ(source.allocate(1, 1), nullptr);
  EXPECT_EQ(source.refused(), 2u);
  EXPECT_EQ(below.pieces, 1);
  source.deallocate(first, 32, 8);
  EXPECT_EQ(below.pieces, 0);
  source.unseal();
  EXPECT_NE(source.allocate(32, 8), nullptr);
  EXPECT_EQ(source.refused(), 2u);
}

}  // namespace
