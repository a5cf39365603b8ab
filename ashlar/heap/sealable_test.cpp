#include <cstddef>
#include <cstdint>

#include <gtest/gtest.h>

#include <ashlar/heap/sealable.hpp>

namespace {

using namespace ashlar;

/// Grants everything and counts what reaches it.
struct granting_space {
  char page[64];
  int calls = 0;

  void* reserve(std::size_t) noexcept { return ++calls, page; }
  void* reserve_zeros(std::size_t) noexcept { return ++calls, page; }
  bool commit(void*, std::size_t) noexcept { return ++calls, true; }
  bool populate(void*, std::size_t) noexcept { return ++calls, true; }
  bool purge(void*, std::size_t) noexcept { return ++calls, true; }
  bool renew(void*, std::size_t) noexcept { return ++calls, true; }
  bool close(void*, std::size_t) noexcept { return ++calls, true; }
  bool move(void*, void*, std::size_t) noexcept { return ++calls, true; }
  void release(void*, std::size_t) noexcept { ++calls; }
  void* find_gap(const void*, std::size_t&) noexcept { return ++calls, page; }
  bool claim(void*, std::size_t) noexcept { return ++calls, true; }
  void leave_gap(void*) noexcept { ++calls; }
  std::size_t resident(const void*, std::size_t bytes) noexcept { return ++calls, bytes; }
  std::size_t limit() noexcept { return SIZE_MAX; }
  std::size_t physical() noexcept { return SIZE_MAX; }
  std::size_t processors() noexcept { return 1; }
  std::uint64_t now_ms() noexcept { return 0; }
};

/// Returns: how many of the ten calls that may be refused were granted.
int granted(detail::sealable<granting_space>& space) {
  void* const p = space.page;
  std::size_t bytes = 1;
  return (space.reserve(1) != nullptr) + (space.reserve_zeros(1) != nullptr) +
         int{space.commit(p, 1)} + int{space.populate(p, 1)} + int{space.purge(p, 1)} +
         int{space.renew(p, 1)} + int{space.close(p, 1)} + int{space.move(p, p, 1)} +
         (space.find_gap(p, bytes) != nullptr) + int{space.claim(p, 1)};
}

TEST(Sealable, RefusesEveryCallWhileItIsSealedAndNoneReachesTheSystem) {
  detail::sealable<granting_space> space;
  EXPECT_FALSE(space.is_sealed());
  EXPECT_EQ(granted(space), 10);
  EXPECT_EQ(space.calls, 10);
  space.seal(true);
  EXPECT_TRUE(space.is_sealed());
  EXPECT_EQ(granted(space), 0);
  EXPECT_EQ(space.calls, 10);
  space.seal(false);
  EXPECT_EQ(granted(space), 10);
}

TEST(Sealable, LetsThroughWhatCannotBeRefused) {
  detail::sealable<granting_space> space;
  space.seal(true);
  space.release(space.page, 64);
  space.leave_gap(space.page);
  EXPECT_EQ(space.resident(space.page, 64), 64u);
  EXPECT_TRUE(space.reopen(space.page, 64));
  EXPECT_EQ(space.calls, 4);
}

}  // namespace
