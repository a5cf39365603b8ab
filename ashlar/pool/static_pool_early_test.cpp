// A static constructor that uses a pool of another file, whichever of the two starts first.
#include <tests/support/test_headers.hpp>

#include <ashlar/pool/static_pool.hpp>

extern constinit ashlar::static_pool<long, 4> pool_for_another_file;

namespace {

struct user {
  long* first = pool_for_another_file.create(41);
  long* second = pool_for_another_file.create(1);
  // After main: the pool's destructor is trivial, so it still serves.
  ~user() {
    pool_for_another_file.destroy(first);
    pool_for_another_file.destroy(second);
    if (pool_for_another_file.stats().blocks_in_use != 0) __builtin_trap();
  }
};
const user before_main;

TEST(StaticPoolAcrossFiles, WasUsableBeforeMain) {
  ASSERT_NE(before_main.first, nullptr);
  EXPECT_EQ(*before_main.first + *before_main.second, 42);
  EXPECT_EQ(pool_for_another_file.stats().blocks_in_use, 2u);
  EXPECT_TRUE(pool_for_another_file.audit());
}

}  // namespace
