// Full checks where the system refuses memory for their records.
// Needs Linux.
#include <cstddef>
#include <tests/support/sanitizers.hpp>
#include <vector>

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <ashlar/check/checked_blocks.hpp>

namespace {

using namespace ashlar;
using detail::full_check;

constexpr std::size_t size = 100, count = 3000;

/// Memory that is there from the start.
struct prepared_heap {
  struct alignas(16) block {
    std::byte bytes[160];
  };
  std::vector<block> blocks = std::vector<block>(count);
  std::vector<void*> unused;
  prepared_heap() {
    for (block& b : blocks) unused.push_back(&b);
  }
};
struct handle {
  prepared_heap* heap;
  [[nodiscard]] void* take(std::size_t, std::size_t, bool&) const {
    if (heap->unused.empty()) return nullptr;
    void* const block = heap->unused.back();
    heap->unused.pop_back();
    return block;
  }
  [[nodiscard]] static std::size_t usable_size(const void*, const char*) {
    return sizeof(prepared_heap::block);
  }
  void give_back(void* block, const char*) const { heap->unused.push_back(block); }
};

TEST(CheckedBlocksRefused, RecordsOfWhatWaitsAreUsedBeforeThereIsNothing) {
  if (support::sanitized) GTEST_SKIP() << "a sanitizer needs addresses of its own";
  prepared_heap of;
  const handle h{&of};
  full_check checks;
  checks.start({.stack_depth = 0});
  std::vector<void*> made(count + 1, nullptr);
  const auto take = [&] { return detail::allocate_checked(checks, h, size, 16, false, "test"); };
  made[0] = take();
  ASSERT_NE(made[0], nullptr);

  rlimit all{};
  ASSERT_EQ(::getrlimit(RLIMIT_AS, &all), 0);
  const rlimit none = {1, all.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_AS, &none), 0);
  std::size_t n = 1;
  while ((made[n] = take()) != nullptr) ++n;
  const bool has_blocks = !of.unused.empty();
  for (std::size_t i = 0; i < n; ++i)
    if (!detail::deallocate_checked(checks, h, made[i], "test")) n = 0;
  void* const again = take();
  ::setrlimit(RLIMIT_AS, &all);

  EXPECT_TRUE(has_blocks) << "it was a record that was missing";
  EXPECT_NE(again, nullptr);
  EXPECT_TRUE(detail::deallocate_checked(checks, h, again, "test"));
  detail::give_back_left(checks, h, checks.emptied_queue("test"), "test");
  EXPECT_EQ(of.unused.size(), count);
  checks.end();
}

}  // namespace
