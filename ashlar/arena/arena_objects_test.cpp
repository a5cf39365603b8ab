#include <tests/support/test_headers.hpp>

#include <ashlar/arena/arena.hpp>
#include <ashlar/arena/static_arena.hpp>
#include <ashlar/arena/test_source.hpp>

namespace {

using namespace ashlar;
using ashlar_test::test_source;
using ashlar_test::test_source_ref;
using growing = arena<test_source_ref>;
using order = std::vector<int>;

constexpr std::size_t word = sizeof(void*);

order ended;

/// Tells when it ends; the destructor's order is what these tests are about.
struct teller {
  explicit teller(int n) : number(n) {
    if (n < 0) throw std::invalid_argument("negative");
  }
  ~teller() { ended.push_back(number); }
  int number;
};
struct alignas(256) wide_teller : teller {
  using teller::teller;
};
struct numbered {
  static inline int next = 0;
  static inline int throws_at = -1;
  numbered() : number(next++) {
    if (number == throws_at) throw std::runtime_error("enough");
  }
  ~numbered() { ended.push_back(number); }
  int number;
};
struct point {
  int x = 1, y = 2;
};

class ArenaObjects : public testing::Test {
 protected:
  ArenaObjects() {
    ended.clear();
    numbered::next = 0;
    numbered::throws_at = -1;
  }
};
using ArenaObjectsDeathTest = ArenaObjects;

TEST_F(ArenaObjects, TrivialOnesCostNothingMore) {
  static_arena<1024> memory;
  point* const p = memory.create<point>();
  EXPECT_EQ(p->x + p->y, 3);
  EXPECT_EQ(memory.used_bytes(), sizeof(point));
  const std::uint16_t* const zeros = memory.create_array<std::uint16_t>(10);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(zeros[i], 0);
  EXPECT_EQ(memory.used_bytes(), sizeof(point) + 20);
  EXPECT_EQ(*memory.create<const int>(7), 7);
  memory.deallocate(memory.create<std::uint64_t>(1u), 8, 8);  // the topmost may go
}

TEST_F(ArenaObjects, EndInTheReverseOrderOfTheirCompletion) {
  {
    static_arena<4096> memory;
    static_cast<void>(memory.create<teller>(1));
    EXPECT_EQ(memory.used_bytes(), 2 * word + sizeof(teller));
    const wide_teller* const wide = memory.create<wide_teller>(2);
    EXPECT_TRUE(is_aligned(wide, 256));
    const arena_marker marker = memory.mark();
    static_cast<void>(memory.try_create<teller>(3));
    static_cast<void>(memory.try_create<teller>(4));
    memory.rewind(marker);
    EXPECT_EQ(ended, (order{4, 3}));
    static_cast<void>(memory.create<teller>(5));
  }
  EXPECT_EQ(ended, (order{4, 3, 5, 2, 1}));
}

TEST_F(ArenaObjects, AnArrayThatNoMemoryCanHoldIsNoRoom) {
  static_arena<1024> memory;
  for (const std::size_t n : {SIZE_MAX, SIZE_MAX / 2, SIZE_MAX / sizeof(numbered),
                              SIZE_MAX / sizeof(numbered) + 1, SIZE_MAX / 8 + 1}) {
    EXPECT_EQ(memory.try_create_array<numbered>(n), nullptr);
    EXPECT_EQ(memory.create_array<numbered>(n), nullptr);
    EXPECT_EQ(memory.create_array<std::uint64_t>(n), nullptr);
  }
  EXPECT_EQ(memory.used_bytes(), 0u);
  EXPECT_EQ(numbered::next, 0);
  EXPECT_NE(memory.create_array<numbered>(0), nullptr);
}

TEST_F(ArenaObjects, AThrowingConstructorLeavesNoTrace) {
  static_arena<1024, std::mutex> memory;
  static_cast<void>(memory.create<teller>(1));
  const std::size_t used = memory.used_bytes();
  EXPECT_EQ(used, 2 * word + sizeof(teller));
  EXPECT_THROW(static_cast<void>(memory.create<teller>(-1)), std::invalid_argument);
  EXPECT_THROW(static_cast<void>(memory.try_create<teller>(-1)), std::invalid_argument);
  EXPECT_LT(memory.used_bytes(), used + alignof(std::max_align_t));  // at most the padding
  memory.reset();
  EXPECT_EQ(ended, (order{1}));
}

TEST_F(ArenaObjects, AThrowInAnArrayDestroysWhatWasBuilt) {
  static_arena<1024> memory;
  numbered::throws_at = 3;
  EXPECT_THROW(static_cast<void>(memory.create_array<numbered>(5)), std::runtime_error);
  EXPECT_EQ(ended, (order{2, 1, 0}));
  EXPECT_EQ(memory.used_bytes(), 0u);
  memory.reset();
  EXPECT_EQ(ended.size(), 3u);
}

/// Makes its parts in the arena that it is made in.
struct parent {
  template <class Arena>
  parent(Arena& memory, bool fails) : child(memory.template create<teller>(10)) {
    if (fails) throw std::runtime_error("after its child");
  }
  ~parent() { ended.push_back(child->number + 1); }  // the child must still be there
  teller* child;
};

TEST_F(ArenaObjects, AnObjectEndsBeforeThoseItsConstructorMade) {
  static_arena<1024> memory;
  static_cast<void>(memory.create<parent>(memory, false));
  memory.reset();
  EXPECT_EQ(ended, (order{11, 10}));
  EXPECT_THROW(static_cast<void>(memory.create<parent>(memory, true)), std::runtime_error);
  memory.reset();
  EXPECT_EQ(ended, (order{11, 10, 10}));
}

/// Uses its arena while it is destroyed.
struct busy_ender {
  explicit busy_ender(static_arena<1024, std::mutex>& memory) : arena_(memory) {}
  ~busy_ender() {
    static_cast<void>(arena_.allocate(50));
    {
      const arena_scope scope(arena_);
      static_cast<void>(arena_.create<teller>(1));
    }
    static_cast<void>(arena_.create<teller>(2));
    ended.push_back(3);
  }
  static_arena<1024, std::mutex>& arena_;
};

TEST_F(ArenaObjects, ADestructorMayUseTheArena) {
  static_arena<1024, std::mutex> memory;
  const arena_marker start = memory.mark();
  static_cast<void>(memory.create<busy_ender>(memory));
  memory.rewind(start);
  EXPECT_EQ(ended, (order{1, 3, 2}));
  EXPECT_EQ(memory.used_bytes(), 0u);
}

TEST_F(ArenaObjects, AScopeEndsWithAnExceptionAndMayKeep) {
  static_arena<1024> memory;
  const auto fail = [&] {
    const arena_scope scope(memory);
    static_cast<void>(memory.create<teller>(1));
    static_cast<void>(memory.create<teller>(-1));
  };
  EXPECT_THROW(fail(), std::invalid_argument);
  EXPECT_EQ(ended, (order{1}));
  EXPECT_EQ(memory.used_bytes(), 0u);
  teller* kept = nullptr;
  {
    arena_scope scope(memory);
    kept = memory.create<teller>(2);
    scope.keep();
  }
  EXPECT_EQ(ended, (order{1}));
  EXPECT_EQ(kept->number, 2);
}

TEST_F(ArenaObjectsDeathTest, ScopesMustEndInReverse) {
  static_arena<1024> memory;
  std::optional<arena_scope<decltype(memory)>> outer(std::in_place, memory);
  static_cast<void>(memory.allocate(8));
  std::optional<arena_scope<decltype(memory)>> inner(std::in_place, memory);
  outer.reset();
  EXPECT_DEATH(inner.reset(), "argument");
  inner->keep();
}

TEST_F(ArenaObjectsDeathTest, AMarkerWhoseObjectIsGoneIsRefused) {
  static_arena<1024> memory;
  static_cast<void>(memory.create<teller>(1));
  const arena_marker marker = memory.mark();
  memory.reset();
  static_cast<void>(memory.allocate(200));
  EXPECT_DEATH(memory.rewind(marker), "argument");
}

/// Takes away more than it is told to.
struct rude_ender {
  explicit rude_ender(static_arena<1024>& memory) : arena_(memory) {}
  ~rude_ender() { arena_.reset(); }
  static_arena<1024>& arena_;
};

TEST_F(ArenaObjectsDeathTest, ADestructorMayNotRewindBelowTheMarker) {
  static_arena<1024> memory;
  static_cast<void>(memory.allocate(8));
  const arena_marker marker = memory.mark();
  static_cast<void>(memory.create<rude_ender>(memory));
  EXPECT_DEATH(memory.rewind(marker), "argument");
  memory.reset();
  EXPECT_EQ(memory.used_bytes(), 0u);
}

TEST_F(ArenaObjects, MoveWithTheirArenaAndEndOnce) {
  test_source source;
  {
    growing a({}, {&source});
    static_cast<void>(a.create<teller>(1));
    growing b(std::move(a));
    a.reset();
    EXPECT_TRUE(ended.empty());
    growing c({}, {&source});
    static_cast<void>(c.create<teller>(2));
    c = std::move(b);
    EXPECT_EQ(ended, (order{2}));
  }
  EXPECT_EQ(ended, (order{2, 1}));
  EXPECT_TRUE(source.pieces.empty());
}

TEST_F(ArenaObjects, AreLeftAloneAtTheEndIfThePolicySaysSo) {
  {
    static_arena<1024, at_death::ignore> memory;
    static_cast<void>(memory.create<teller>(1));
    static_cast<void>(memory.create<teller>(2));
  }
  EXPECT_TRUE(ended.empty());
}

TEST_F(ArenaObjects, InBorrowedBlocksGoBackWithTheRewind) {
  test_source source;
  {
    static_arena<96, exhaustion::upstream<test_source>> memory{exhaustion::upstream(source)};
    const arena_marker start = memory.mark();
    for (int i = 0; i < 10; ++i) static_cast<void>(memory.create<teller>(i));
    static_cast<void>(memory.create<point>());  // trivial, but borrowed: it must go back as well
    static_cast<void>(memory.create_array<numbered>(7));
    EXPECT_THROW(static_cast<void>(memory.create<teller>(-1)), std::invalid_argument);
    EXPECT_GT(source.pieces.size(), 3u);
    memory.rewind(start);
    EXPECT_EQ(ended.size(), 17u);
    EXPECT_TRUE(source.pieces.empty());
    for (int i = 0; i < 10; ++i) static_cast<void>(memory.create<wide_teller>(i));
  }
  EXPECT_EQ(ended.size(), 27u);
  EXPECT_TRUE(source.pieces.empty());
  EXPECT_EQ(source.wrong, 0u);
}

// ---- an arena with its bytes inside ----

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
