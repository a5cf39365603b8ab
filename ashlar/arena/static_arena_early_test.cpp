// A static constructor that uses an arena of another file, whichever of the two starts first.
#include <tests/support/test_headers.hpp>

#include <ashlar/arena/static_arena.hpp>

extern constinit ashlar::static_arena<64, ashlar::at_death::ignore> arena_for_another_file;

namespace {

struct user {
  long* first = arena_for_another_file.create<long>(41);
  long* second = arena_for_another_file.create<long>(1);
  // After main: the arena's destructor is trivial, so it still serves.
  ~user() {
    arena_for_another_file.reset();
    if (arena_for_another_file.create<long>(2) != first) __builtin_trap();
  }
};
const user before_main;

TEST(StaticArenaAcrossFiles, WasUsableBeforeMain) {
  ASSERT_NE(before_main.first, nullptr);
  EXPECT_EQ(*before_main.first + *before_main.second, 42);
  EXPECT_EQ(arena_for_another_file.used_bytes(), 2 * sizeof(long));
}

}  // namespace
