#include <tests/support/shared_blocks.hpp>
#include <tests/support/test_headers.hpp>

#include <ashlar/arena/arena.hpp>
#include <ashlar/arena/static_arena.hpp>
#include <ashlar/arena/test_source.hpp>

namespace {

using namespace ashlar;
using ashlar_test::test_source;
using ashlar_test::test_source_ref;
using support::opaque;

constexpr std::size_t word = sizeof(void*);
constexpr std::size_t head = align_up(5 * word, alignof(std::max_align_t));  // of a chunk

template <class... Policies>
using growing = arena<test_source_ref, Policies...>;

// ---- a policy that is off costs no byte ----

static_assert(sizeof(arena<counting::none>) == 4 * word);  // destructors, top, base, limit
static_assert(sizeof(arena<>) == 7 * word);
static_assert(sizeof(arena<counting::none, exhaustion::throw_bad_alloc, at_death::stop,
                           named<"a long name that costs nothing">>) == 4 * word);
// Its storage has a word before it and the others behind it, each part in whole alignments of the
// storage.
constexpr std::size_t kilobyte_arena(std::size_t words) {
  constexpr std::size_t alignment = alignof(std::max_align_t);
  return align_up(word, alignment) + 1024 + align_up((words - 1) * word, alignment);
}
static_assert(sizeof(static_arena<1024, counting::none>) == kilobyte_arena(2));
static_assert(sizeof(static_arena<1024>) == kilobyte_arena(5));
static_assert(sizeof(static_arena<1024, counting::none, spin_lock>) == kilobyte_arena(3));

static_assert(!std::is_copy_constructible_v<arena<>> && !std::is_copy_assignable_v<arena<>>);
static_assert(std::is_nothrow_move_constructible_v<arena<>>);
static_assert(std::is_nothrow_move_assignable_v<growing<>> && std::is_swappable_v<growing<>>);
static_assert(!std::is_move_constructible_v<arena<std::mutex>>);
static_assert(!std::is_move_assignable_v<growing<spin_lock>>);
static_assert(!std::is_move_constructible_v<static_arena<8>>);
static_assert(address_sanitizer ||
              std::is_trivially_destructible_v<static_arena<64, at_death::ignore>>);
static_assert(!std::is_trivially_destructible_v<static_arena<64>>);
static_assert(noexcept(std::declval<arena<>&>().allocate(1)));
static_assert(!noexcept(std::declval<arena<exhaustion::throw_bad_alloc>&>().allocate(1)));
static_assert(std::is_trivially_copyable_v<arena_marker>);

// ---- blocks ----

TEST(Arena, UsesItsStorageToTheLastByteAndNoFurther) {
  std::byte bytes[100];
  std::memset(bytes, 0x77, sizeof(bytes));
  {
    arena memory(std::span<std::byte>(bytes).subspan(10, 80));
    for (int i = 0; i < 80; ++i) {
      void* const p = memory.try_allocate(1, 1);
      ASSERT_EQ(p, bytes + 10 + i);
      std::memset(p, 0, 1);
    }
    EXPECT_EQ(memory.try_allocate(1, 1), nullptr);
    EXPECT_EQ(memory.used_bytes(), 80u);
    EXPECT_FALSE(memory.owns(bytes + 9));
    EXPECT_FALSE(memory.owns(bytes + 90));
  }
  for (std::size_t i = 0; i < sizeof(bytes); ++i) {
    EXPECT_EQ(bytes[i], i >= 10 && i < 90 ? std::byte{0} : std::byte{0x77});
  }
}

TEST(Arena, HugeSizesAndAlignmentsNeverWrap) {
  test_source source{.pieces = {}, .largest_allowed = 1 << 20};
  static_arena<64> inside;
  growing<> chunks({}, {&source});
  ASSERT_NE(inside.try_allocate(3, 1), nullptr);
  ASSERT_NE(chunks.try_allocate(3, 1), nullptr);
  constexpr std::size_t top_bit = SIZE_MAX / 2 + 1;
  for (const std::size_t size : {SIZE_MAX, SIZE_MAX - 1, SIZE_MAX - 2, SIZE_MAX - 15,
                                 SIZE_MAX - head, top_bit, top_bit - 1}) {
    for (std::size_t alignment = 1; alignment != 0; alignment *= 2) {
      ASSERT_EQ(inside.try_allocate(size, alignment), nullptr);
      ASSERT_EQ(chunks.try_allocate(size, alignment), nullptr);
    }
  }
  ASSERT_EQ(inside.try_allocate(1, top_bit), nullptr);
  ASSERT_EQ(chunks.try_allocate(1, top_bit), nullptr);
  EXPECT_EQ(inside.used_bytes(), 3u);
  EXPECT_EQ(chunks.used_bytes(), 3u);
  EXPECT_EQ(source.pieces.size(), 1u);
}

TEST(ArenaDeathTest, AnAlignmentMustBeAPowerOfTwo) {
  static_arena<64, named<"odd">> memory;
  EXPECT_DEATH(static_cast<void>(memory.try_allocate(8, 0)), "odd");
  EXPECT_DEATH(static_cast<void>(memory.try_allocate(8, 3)), "argument");
  EXPECT_DEATH(static_cast<void>(memory.allocate(8, SIZE_MAX)), "argument");
}

TEST(ArenaDeathTest, SeesWhatCannotBeGivenBack) {
  static std::byte bytes[256];
  arena<named<"small">> memory(bytes);
  void* const a = memory.allocate(16);
  void* const b = memory.allocate(16);
  memory.deallocate(b, 16);
  EXPECT_DEATH(memory.deallocate(opaque(b), 16), "no block is in use.*small");
  EXPECT_DEATH(memory.deallocate(opaque(a), 17), "size or alignment");
  EXPECT_DEATH(memory.deallocate(opaque(a), SIZE_MAX), "size or alignment");
  int other = 0;
  EXPECT_DEATH(memory.deallocate(opaque(&other), sizeof(other)), "not allocated here");
  // Ends where the storage begins, so its end looks like the top of an empty arena.
  static std::byte two[128];
  arena<> upper(std::span<std::byte>(two).subspan(64));
  EXPECT_DEATH(upper.deallocate(opaque(&two[0]), 64, 1), "not allocated here");
}

TEST(Arena, ExtendsTheTopmostBlockInPlace) {
  static_arena<100> memory;
  void* const a = memory.allocate(10, 1);
  EXPECT_TRUE(memory.try_extend(a, 10, 60));
  EXPECT_EQ(memory.used_bytes(), 60u);
  EXPECT_TRUE(memory.try_extend(a, 60, 100));
  EXPECT_FALSE(memory.try_extend(a, 100, 101));
  EXPECT_FALSE(memory.try_extend(a, 100, SIZE_MAX));
  EXPECT_TRUE(memory.try_extend(a, 100, 20));
  void* const b = memory.allocate(1, 1);
  EXPECT_EQ(b, static_cast<std::byte*>(a) + 20);
  EXPECT_FALSE(memory.try_extend(a, 20, 19));
  EXPECT_TRUE(memory.try_extend(b, 0, 0));
  EXPECT_FALSE(memory.try_extend(nullptr, 0, 5));
  EXPECT_FALSE(memory.try_extend(&memory, 1, 5));
  EXPECT_EQ(memory.used_bytes(), 21u);
  EXPECT_EQ(memory.stats().peak_bytes, 100u);
  // A block that is not the first has what is left behind it.
  EXPECT_FALSE(memory.try_extend(b, 1, 81));
  EXPECT_EQ(memory.used_bytes(), 21u);
  EXPECT_TRUE(memory.try_extend(b, 1, 80));
  EXPECT_EQ(memory.used_bytes(), 100u);
}

// ---- markers ----

TEST(ArenaDeathTest, AMarkerAboveTheTopOrOfOtherMemoryIsRefused) {
  static_arena<128> memory;
  static_arena<128> other;
  const arena_marker start = memory.mark();
  static_cast<void>(memory.allocate(16));
  const arena_marker high = memory.mark();
  memory.rewind(high);
  memory.rewind(start);
  EXPECT_DEATH(memory.rewind(high), "argument");
  EXPECT_DEATH(other.rewind(start), "argument");
  EXPECT_DEATH(memory.rewind(arena_marker()), "argument");
}

TEST(ArenaDeathTest, AMarkerInAChunkThatIsNotInUseIsRefused) {
  test_source source;
  growing<> memory({.first_chunk_bytes = 256, .max_chunk_bytes = 256}, {&source});
  growing<> other({}, {&source});
  const arena_marker start = memory.mark();
  static_cast<void>(memory.allocate(150));
  static_cast<void>(memory.allocate(150));
  const arena_marker second_chunk = memory.mark();
  memory.rewind(start);
  EXPECT_DEATH(memory.rewind(second_chunk), "argument");
  memory.trim();
  EXPECT_DEATH(memory.rewind(second_chunk), "argument");
  static_cast<void>(other.allocate(150));
  EXPECT_DEATH(memory.rewind(other.mark()), "argument");
  other.rewind(arena_marker());
  EXPECT_EQ(other.used_bytes(), 0u);
}

TEST(Arena, TheStartStaysTheStartWhenTheFirstChunkComesAndGoes) {
  test_source source;
  growing<> memory({}, {&source});
  const arena_marker before = memory.mark();
  static_cast<void>(memory.allocate(100));
  memory.rewind(before);
  const arena_marker with_chunk = memory.mark();
  memory.trim();
  EXPECT_TRUE(source.pieces.empty());
  memory.rewind(with_chunk);
  static_cast<void>(memory.allocate(100));
  memory.rewind(with_chunk);
  EXPECT_EQ(memory.used_bytes(), 0u);
  EXPECT_EQ(memory.capacity_bytes(), 4096u - head);
}

// ---- growth ----

std::vector<std::size_t> sizes_of(const test_source& source) {
  std::vector<std::size_t> sizes;
  for (const test_source::piece& p : source.pieces) sizes.push_back(p.size);
  return sizes;
}
using sizes = std::vector<std::size_t>;

TEST(ArenaGrowth, DoublesWhatItHoldsWithinItsBounds) {
  test_source source;
  growing<> memory(
      {.first_chunk_bytes = 1024, .max_chunk_bytes = 8192, .max_bytes = 30 * std::size_t{1024}},
      {&source});
  while (memory.try_allocate(64) != nullptr) {
  }
  EXPECT_EQ(sizes_of(source), (sizes{1024, 1024, 2048, 4096, 8192, 8192, 6144}));
}

TEST(ArenaGrowth, ARequestLargerThanAChunkGetsItsOwn) {
  test_source source;
  growing<> memory({.first_chunk_bytes = 1024, .max_chunk_bytes = 2048}, {&source});
  static_cast<void>(memory.allocate(100));
  void* const large = memory.allocate(10000);
  ASSERT_NE(large, nullptr);
  static_cast<void>(memory.allocate(100));
  EXPECT_EQ(sizes_of(source), (sizes{1024, 10000 + head, 2048}));
  void* const aligned = memory.allocate(8000, 4096);
  EXPECT_TRUE(is_aligned(aligned, 4096));
  std::memset(aligned, 1, 8000);
}

TEST(ArenaGrowth, ASourceThatRefusesMuchIsAskedForLess) {
  test_source source{.pieces = {}, .largest_allowed = 1000};
  growing<> memory({.first_chunk_bytes = 4096}, {&source});
  EXPECT_NE(memory.try_allocate(100), nullptr);
  EXPECT_EQ(sizes_of(source), (sizes{512}));
  EXPECT_NE(memory.try_allocate(1000 - head), nullptr);
  EXPECT_EQ(memory.try_allocate(1001 - head), nullptr);
  EXPECT_EQ(sizes_of(source), (sizes{512, 1000}));
}

TEST(ArenaGrowth, ChunksTooSmallGoBackAndTheNewOneIsAsLargeAsAllWere) {
  test_source source;
  growing<> memory({.first_chunk_bytes = 1024}, {&source});
  for (int i = 0; i < 60; ++i) static_cast<void>(memory.allocate(64));
  EXPECT_EQ(sizes_of(source), (sizes{1024, 1024, 2048}));
  memory.reset();
  ASSERT_NE(memory.allocate(2500), nullptr);
  EXPECT_EQ(sizes_of(source), (sizes{4096}));
}

TEST(ArenaGrowth, KeptChunksNeverStandInTheWayOfTheBudget) {
  test_source source;
  growing<> memory({.first_chunk_bytes = 512, .max_chunk_bytes = 512, .max_bytes = 8192},
                   {&source});
  while (memory.try_allocate(64) != nullptr) {
  }
  EXPECT_EQ(source.bytes, 8192u);
  memory.reset();
  // More than is left even if all went back: nothing is touched.
  EXPECT_EQ(memory.try_allocate(8192), nullptr);
  EXPECT_EQ(memory.try_allocate(8192 - head + 1), nullptr);
  EXPECT_EQ(source.pieces.size(), 16u);
  EXPECT_NE(memory.try_allocate(8192 - head), nullptr);
  EXPECT_EQ(source.bytes, 8192u);
  EXPECT_EQ(source.pieces.size(), 1u);
}

TEST(ArenaGrowth, TheSourceIsAskedAtMostOnceAMissWhateverTheOrder) {
  // Frames of random requests: pieces that came are pieces that went or are there.
  test_source source;
  growing<> memory({.first_chunk_bytes = 256, .max_chunk_bytes = 1024}, {&source});
  unsigned state = 1;
  std::size_t misses = 0;
  for (int frame = 0; frame < 200; ++frame) {
    for (int i = 0; i < 50; ++i) {
      state = state * 1664525u + 1013904223u;
      const std::size_t size = (state >> 20) % (state % 7 == 0 ? 4000 : 200);
      const std::size_t asked = source.calls;
      ASSERT_NE(memory.allocate(size), nullptr);
      ASSERT_LE(source.calls, asked + 1);
      misses += source.calls - asked;
    }
    memory.reset();
  }
  EXPECT_EQ(source.calls, misses);
  // Without giving back it would hold a chunk for each order that there was; half is the law.
  EXPECT_LE(memory.capacity_bytes(), 4 * memory.stats().peak_bytes);
}

TEST(ArenaGrowth, TrimGivesBackWhatNothingIsInAndGrowthStartsAgain) {
  test_source source;
  growing<> memory({.first_chunk_bytes = 1024}, {&source});
  static_cast<void>(memory.allocate(500));
  const arena_marker low = memory.mark();
  for (int i = 0; i < 50; ++i) static_cast<void>(memory.allocate(64));
  EXPECT_EQ(memory.trim(), 0u);
  memory.rewind(low);
  EXPECT_EQ(memory.trim(), 1024u + 2048);
  EXPECT_EQ(sizes_of(source), (sizes{1024}));
  EXPECT_EQ(memory.used_bytes(), 500u);
  memory.reset();
  EXPECT_EQ(memory.trim(), 1024u);
  EXPECT_EQ(memory.capacity_bytes(), 0u);
  EXPECT_NE(memory.allocate(1), nullptr);
  EXPECT_EQ(sizes_of(source), (sizes{1024}));
}

TEST(Arena, MovesWithBlocksAndMarkers) {
  test_source source;
  {
    growing<> a({}, {&source});
    static_cast<void>(a.allocate(100));
    const arena_marker marker = a.mark();
    void* const p = a.allocate(5000);
    growing<> b(std::move(a));
    EXPECT_TRUE(b.owns(p));
    EXPECT_FALSE(a.owns(p));
    EXPECT_EQ(a.capacity_bytes(), 0u);
    EXPECT_EQ(a.try_allocate(1), nullptr);
    a.reset();
    a.trim();
    b.rewind(marker);
    EXPECT_EQ(b.stats().allocations, 2u);
    EXPECT_EQ(a.stats().allocations, 0u);

    growing<> c({}, {&source});
    static_cast<void>(c.allocate(9000));
    c = std::move(b);
    EXPECT_EQ(c.used_bytes(), 100u);
    std::swap(a, c);
    EXPECT_EQ(a.used_bytes(), 100u);
    EXPECT_EQ(c.try_allocate(1), nullptr);
    growing<>& same = a;
    a = std::move(same);
    EXPECT_EQ(a.used_bytes(), 100u);
    EXPECT_NE(a.allocate(10000), nullptr);
  }
  EXPECT_TRUE(source.pieces.empty());
  EXPECT_EQ(source.wrong, 0u);
}

// ---- figures ----

TEST(Arena, Counts) {
  alignas(64) static std::byte bytes[1000];
  arena memory(bytes);
  static_cast<void>(memory.allocate(1, 1));
  static_cast<void>(memory.allocate(8, 8));
  void* const top = memory.allocate(32, 32);
  memory.deallocate(top, 32, 32);
  arena_stats s = memory.stats();
  EXPECT_EQ(std::tuple(s.capacity_bytes, s.used_bytes, s.peak_bytes, s.allocations),
            std::tuple(1000u, 32u, 64u, 3u));
  EXPECT_EQ(s.padding_bytes, 7u + 16);
  EXPECT_EQ(s.chunks, 1u);
  memory.reset();
  s = memory.stats();
  EXPECT_EQ(s.used_bytes, 0u);
  EXPECT_EQ(s.peak_bytes, 64u);

  static_arena<64, counting::none> uncounted;
  static_cast<void>(uncounted.allocate(40));
  EXPECT_EQ(std::tuple(uncounted.stats().used_bytes, uncounted.stats().peak_bytes,
                       uncounted.stats().allocations),
            std::tuple(40u, 0u, 0u));
}

// ---- exhaustion (each policy, and each end: pool/small_parts_test.cpp) ----

// ---- redzones (what AddressSanitizer sees of arenas: tests/memory_tools) ----

// What redzones<N> promises: bytes between neighbours where a tool listens, none elsewhere.
TEST(RedzonesDeathTest, LieBehindEachBlockWhereAToolListens) {
  alignas(16) std::byte bytes[200];
  arena<redzones<24>> memory(bytes);
  constexpr std::size_t zone = detail::tools_present ? 24 : 0;
  auto* const a = static_cast<std::byte*>(memory.allocate(8, 8));
  auto* const b = static_cast<std::byte*>(memory.allocate(8, 8));
  EXPECT_EQ(b, a + 8 + zone);
  EXPECT_EQ(memory.used_bytes(), 2 * (8 + zone));
  EXPECT_EQ(memory.stats().padding_bytes, 2 * zone);
  if (address_sanitizer) {
    EXPECT_DEATH(*opaque(b - 1) = std::byte{1}, "use-after-poison");
  }
  EXPECT_TRUE(memory.try_extend(b, 8, 40));
  EXPECT_EQ(memory.used_bytes(), 48 + 2 * zone);
  EXPECT_FALSE(memory.try_extend(b, 40, sizeof(bytes) - 8 - 2 * zone + 1));
  EXPECT_TRUE(memory.try_extend(b, 40, sizeof(bytes) - 8 - 2 * zone));
  EXPECT_TRUE(memory.try_extend(b, sizeof(bytes) - 8 - 2 * zone, 1));
  EXPECT_EQ(memory.used_bytes(), 9 + 2 * zone);
  memory.deallocate(b, 1, 8);
  EXPECT_EQ(memory.used_bytes(), 8 + zone);
  memory.deallocate(a, 8, 8);
  EXPECT_EQ(memory.used_bytes(), 0u);
  EXPECT_EQ(memory.try_allocate(SIZE_MAX - 8, 8), nullptr);
  EXPECT_EQ(memory.try_allocate(sizeof(bytes) - zone + 1, 8), nullptr);
  EXPECT_NE(memory.try_allocate(sizeof(bytes) - zone, 8), nullptr);
}

// ---- threads ----

template <class Lock>
class SharedArena : public testing::Test {};
using locks = testing::Types<std::mutex, spin_lock>;
TYPED_TEST_SUITE(SharedArena, locks);

TYPED_TEST(SharedArena, ThreadsNeverShareABlock) {
  test_source source;
  growing<TypeParam> memory({.first_chunk_bytes = 512}, {&source});
  // Only what is topmost when it is freed goes back.
  const std::size_t got = support::share_blocks(
      {.threads = 4, .size_most = 40}, [&](std::size_t size) { return memory.allocate(size, 1); },
      [&](void* p, std::size_t size) { memory.deallocate(p, size, 1); });
  EXPECT_EQ(memory.stats().allocations, got);
}

}  // namespace
