#include <tests/support/test_headers.hpp>

#include <ashlar/arena/test_source.hpp>
#include <ashlar/pool/pool_set.hpp>

namespace {

using namespace ashlar;
using ashlar_test::test_source;
using support::opaque;
using source_ref = ashlar_test::test_source_ref;

/// A source that finds the size by itself, as a heap does.
struct heap_like : test_source {
  using test_source::deallocate;
  void deallocate(void* p) noexcept {
    const piece lent = piece_at(p);
    deallocate(p, lent.size, lent.alignment);
  }
};

constexpr std::size_t word = sizeof(void*);
constexpr std::size_t strict = alignof(std::max_align_t);

// ---- bytes: the classic static pools were arrays of pointers ----

template <class... Arguments>
using bare = static_pool_set<check::none, counting::none, Arguments...>;
/// A class's link and its watermark.
constexpr std::size_t head = 2 * align_up(word, strict);
static_assert(sizeof(bare<blocks<32, 100>>) == head + 100 * 32);
static_assert(sizeof(bare<blocks<32, 100>, blocks<396, 20>, blocks<768, 10>>) ==
              3 * head + 100 * 32 + 20 * align_up(396, strict) + 10 * 768);
static_assert(sizeof(bare<blocks<32, 100>, exhaustion::throw_bad_alloc, named<"costs nothing">,
                          spill::never>) == head + 100 * 32);
static_assert(sizeof(bare<blocks<8, 1000, 8>>) == 2 * align_up(word, 8) + 1000 * 8);
static_assert(sizeof(static_pool_set<blocks<32, 96>>) ==
              align_up(3 * word, strict) + align_up(2 * word + 96, strict) + 96 * 32);
static_assert(sizeof(pool_set<blocks<32, 1000000>, source_ref>) == 2 * word);
static_assert(bare<blocks<396, 5>>::slot_bytes(0) == align_up(396, strict));
static_assert(bare<blocks<1, 5, 1>>::slot_bytes(0) == word);

// ---- the contract of sized components ----

using small_set = static_pool_set<blocks<16, 4>, blocks<64, 4>>;
using throwing_set = static_pool_set<blocks<16, 4>, exhaustion::throw_bad_alloc>;
static_assert(page_source<small_set>);
static_assert(page_source<pool_set<blocks<16, 4>, source_ref>>);
static_assert(!page_source<throwing_set>, "a page source never throws");
static_assert(small_set::nothrow_allocate && !throwing_set::nothrow_allocate);
static_assert(noexcept(std::declval<throwing_set&>().try_allocate(1)));
static_assert(std::is_same_v<small_set::exhaustion_type, exhaustion::null>);
static_assert(address_sanitizer || std::is_trivially_destructible_v<small_set>);
static_assert(!std::is_trivially_destructible_v<static_pool_set<blocks<16, 4>, at_death::stop>>);
static_assert(!std::is_move_constructible_v<small_set> && !std::is_copy_constructible_v<small_set>);
static_assert(
    std::is_nothrow_move_constructible_v<pool_set<blocks<16, 4>, source_ref, std::mutex>>);
static_assert(!std::is_copy_constructible_v<pool_set<blocks<16, 4>, source_ref>>);

template <class Set>
concept frees_by_address = requires(Set& set, void* p) { set.deallocate(p); };
static_assert(frees_by_address<small_set>);
static_assert(!frees_by_address<static_pool_set<blocks<16, 4>, exhaustion::upstream<test_source>>>,
              "the source must be told the size");
static_assert(frees_by_address<static_pool_set<blocks<16, 4>, exhaustion::upstream<heap_like>>>);

// ---- which class serves ----

using mixed = static_pool_set<blocks<8, 3, 8>, blocks<24, 2>, blocks<64, 2, 64>, blocks<100, 2, 4>,
                              blocks<128, 1, 32>, blocks<396, 3>>;
static_assert(mixed::class_count == 6 && mixed::largest_size == 396);
static_assert(mixed::class_of(8, 8) == 0 && (strict == 8 || mixed::class_of(8) == 1),
              "8 bytes, aligned to more than 8");
static_assert(mixed::class_of(0, 1) == 0 && mixed::class_of(396) == 5);
static_assert(mixed::class_of(397) == mixed::class_count && mixed::class_of(1, 128) == 6);

template <class Set>
std::size_t class_of_block(const Set& set, const void* p) {
  const std::size_t size = set.usable_size(p);
  std::size_t c = 0;
  while (c < Set::class_count && Set::block_size(c) != size) ++c;
  return c;
}

TEST(PoolSet, EverySizeAndAlignmentIsServedByTheSmallestClassThatFits) {
  static mixed set;
  for (std::size_t alignment = 1; alignment <= 256; alignment *= 2) {
    for (std::size_t size = 0; size <= 420; ++size) {
      std::size_t expected = 0;
      while (expected < mixed::class_count &&
             (mixed::block_size(expected) < size || mixed::block_alignment(expected) < alignment)) {
        ++expected;
      }
      ASSERT_EQ(mixed::class_of(size, alignment), expected);
      void* const p = set.try_allocate(size, alignment);
      ASSERT_EQ(p == nullptr, expected == mixed::class_count) << size << " at " << alignment;
      if (p == nullptr) continue;
      ASSERT_EQ(class_of_block(set, p), expected) << size << " at " << alignment;
      ASSERT_TRUE(is_aligned(p, alignment) && set.owns(p));
      std::memset(p, 0x5a, size);
      set.deallocate(p, size, alignment);
    }
  }
  EXPECT_TRUE(set.audit());
  EXPECT_EQ(set.stats().blocks_in_use(), 0u);
}

// The same through the paths that the compiler folds.
template <std::size_t Size, std::size_t Alignment = strict, class Set>
void expect_constant_served_by(Set& set, std::size_t c) {
  void* const p = set.try_allocate(Size, Alignment);
  ASSERT_NE(p, nullptr);
  EXPECT_EQ(class_of_block(set, p), c);
  EXPECT_TRUE(is_aligned(p, Alignment));
  set.deallocate(p, Size, Alignment);
}
TEST(PoolSet, ConstantRequestsAreServedByTheSameClasses) {
  static mixed set;
  expect_constant_served_by<0, 1>(set, 0);
  expect_constant_served_by<8, 8>(set, 0);
  expect_constant_served_by<8>(set, strict == 8 ? 0 : 1);
  expect_constant_served_by<24>(set, 1);
  expect_constant_served_by<25>(set, 2);
  expect_constant_served_by<1, 32>(set, 2);
  expect_constant_served_by<65, 4>(set, 3);
  expect_constant_served_by<65, 16>(set, 4);
  expect_constant_served_by<129>(set, 5);
  expect_constant_served_by<396>(set, 5);
  EXPECT_EQ(set.try_allocate(397), nullptr);
  EXPECT_EQ(set.try_allocate(65, 64), nullptr);
  EXPECT_EQ(set.try_allocate(SIZE_MAX), nullptr);
  EXPECT_EQ(set.try_allocate(opaque(SIZE_MAX)), nullptr);
  EXPECT_EQ(set.try_allocate(1, SIZE_MAX / 2 + 1), nullptr);
  EXPECT_TRUE(set.audit());
  EXPECT_EQ(set.stats().blocks_in_use(), 0u);
}

// ---- in each kind of memory ----

template <class... Policies>
struct inside {
  using set_type = static_pool_set<blocks<8, 7, 8>, blocks<20, 5>, blocks<64, 6, 64>,
                                   blocks<396, 3>, blocks<1000, 4>, Policies...>;
  std::unique_ptr<set_type> owner = std::make_unique<set_type>();
  set_type& set = *owner;
};
template <class... Policies>
struct from_source {
  using set_type = pool_set<blocks<8, 7, 8>, blocks<20, 5>, blocks<64, 6, 64>, blocks<396, 3>,
                            blocks<1000, 4>, source_ref, Policies...>;
  test_source source;
  set_type set{source_ref{&source}};
};

// ---- before main: it is constant-initialised ----

[[maybe_unused]] constinit static_pool_set<blocks<16, 4>, blocks<64, 4>, std::mutex> at_start;

// ---- from a page source ----

// 22 MB of pools neither fit a stack nor should be touched to be empty.
TEST(PoolSet, ALargeOneIsNotWrittenBeforeItsUse) {
  test_source source;
  pool_set<blocks<64, 100'000>, blocks<396, 40'000>, source_ref> set(source_ref{&source});
  const auto* const bytes = static_cast<const unsigned char*>(source.pieces[0].at);
  const std::size_t size = source.pieces[0].size;
  EXPECT_GT(size, 22'000'000u);
  std::size_t written = 0;
  for (std::size_t i = 0; i < size; ++i) written += bytes[i] != 0xcd;
  EXPECT_LE(written, 2 * 8 * word);
}

TEST(PoolSetDeathTest, WithoutMemoryHasNoBlocks) {
  test_source source;
  source.largest_allowed = 0;
  pool_set<blocks<16, 4>, blocks<64, 4>, source_ref> set(source_ref{&source});
  EXPECT_FALSE(set.has_memory());
  EXPECT_EQ(set.try_allocate(1), nullptr);
  EXPECT_EQ(set.allocate(1), nullptr);
  set.deallocate(nullptr);
  set.deallocate(nullptr, 1);
  EXPECT_DEATH(set.deallocate(opaque(static_cast<void*>(&set))), "not allocated here");
  EXPECT_DEATH((void)set.allocate(1, opaque(std::size_t{3})), "argument");
  EXPECT_FALSE(set.owns(&set));
  EXPECT_EQ(set.usable_size(&set), 0u);
  EXPECT_EQ(set.stats().capacity_bytes(), 0u);
  EXPECT_EQ(set.stats().classes[1].block_size, 64u);
  EXPECT_TRUE(set.audit());
  pool_set<blocks<16, 4>, source_ref, exhaustion::throw_bad_alloc> throwing(source_ref{&source});
  EXPECT_THROW((void)throwing.allocate(1), std::bad_alloc);
}

TEST(PoolSet, MovesAndSwaps) {
  test_source source;
  using set_type = pool_set<blocks<16, 2>, blocks<64, 2>, source_ref, std::mutex>;
  set_type a(source_ref{&source});
  void* const p = a.allocate(16);
  set_type b(std::move(a));
  EXPECT_FALSE(a.has_memory());  // NOLINT(bugprone-use-after-move): specified
  EXPECT_EQ(a.allocate(16), nullptr);
  EXPECT_TRUE(a.audit());
  EXPECT_TRUE(b.owns(p));
  set_type c(source_ref{&source});
  EXPECT_EQ(source.pieces.size(), 2u);
  c = std::move(b);
  EXPECT_EQ(source.pieces.size(), 1u) << "what c had is given back";
  EXPECT_EQ(b.allocate(1), nullptr);  // NOLINT
  set_type& same = c;
  c = std::move(same);
  EXPECT_TRUE(c.owns(p)) << "to itself: unchanged";
  swap(a, c);
  EXPECT_FALSE(c.has_memory());
  a.deallocate(p, 16);
  a = std::move(c);
  EXPECT_FALSE(a.has_memory());
  EXPECT_TRUE(source.pieces.empty() && source.wrong == 0);
}

// ---- exhaustion ----

TEST(PoolSetExhaustion, ThrowsForWhatNoClassCanServe) {
  static_pool_set<blocks<16, 1>, blocks<32, 1>, exhaustion::throw_bad_alloc> set;
  for (const auto& [size, alignment] : {std::pair{std::size_t{33}, strict},
                                        {SIZE_MAX, strict},
                                        {std::size_t{1}, std::size_t{4096}}})
    EXPECT_THROW((void)set.allocate(size, alignment), std::bad_alloc) << size;
}

TEST(PoolSetExhaustionDeathTest, UpstreamGetsTheRequestItselfAndGetsItBack) {
  test_source source;
  using up = exhaustion::upstream<test_source>;
  static_pool_set<blocks<16, 1>, blocks<64, 1>, up> set{up(source)};
  struct loan {
    std::size_t size, alignment;
    void* p = nullptr;
  };
  loan all[] = {{16, 8}, {10, 16}, {0, 1}, {5, 4}, {5000, 16}, {5, 256}};
  for (loan& l : all) {
    l.p = set.allocate(l.size, l.alignment);
    ASSERT_NE(l.p, nullptr);
    EXPECT_TRUE(is_aligned(l.p, l.alignment));
  }
  EXPECT_EQ(source.pieces.size(), 4u);
  EXPECT_TRUE(set.owns(all[1].p));
  EXPECT_FALSE(set.owns(all[4].p));
  EXPECT_EQ(source.piece_at(all[4].p).size, 5000u);
  EXPECT_EQ(source.piece_at(all[4].p).alignment, 16u);
  EXPECT_EQ(source.piece_at(all[2].p).size, 1u) << "a size of 0 counts as 1";
  EXPECT_EQ(set.try_allocate(1), nullptr) << "try_allocate never asks the policy";
  for (const loan& l : all) set.deallocate(l.p, l.size, l.alignment);
  EXPECT_TRUE(source.pieces.empty() && source.wrong == 0);
  EXPECT_EQ(set.stats().blocks_in_use(), 0u);
  void* const lent = set.allocate(65);
  EXPECT_DEATH(set.deallocate(lent, 65, opaque(std::size_t{3})), "argument");
  set.deallocate(lent, 65);
  source.largest_allowed = 0;
  EXPECT_EQ(set.allocate(65), nullptr);
}

TEST(PoolSetExhaustion, ASourceThatKnowsItsSizesGetsLoansBackByAddress) {
  heap_like source;
  using up = exhaustion::upstream<heap_like>;
  static_pool_set<blocks<16, 1>, up> set{up(source)};
  void* const own = set.allocate(16);
  void* const lent = set.allocate(100);
  set.deallocate(lent);
  set.deallocate(own);
  EXPECT_TRUE(source.pieces.empty() && source.wrong == 0);
}

TEST(PoolSetExhaustionDeathTest, StopNamesTheSetAndTheSize) {
  static_pool_set<blocks<16, 1>, exhaustion::stop, named<"frames">> set;
  EXPECT_DEATH((void)set.allocate(17), "out of memory, pool 'frames', block size 17");
}

// ---- misuse ----

template <class Setup>
class CheckedSetDeathTest : public testing::Test {};
using checked =
    support::types<testing::Types<inside<check::full<>>, inside<lock_free<>>, from_source<>>,
                   testing::Types<inside<>, inside<std::mutex>, inside<spill::never>>>;
TYPED_TEST_SUITE(CheckedSetDeathTest, checked);

TYPED_TEST(CheckedSetDeathTest, SeesWhatMustNotBeFreed) {
  TypeParam setup, other;
  auto& set = setup.set;
  auto* const a = static_cast<std::byte*>(set.allocate(20));
  auto* const b = static_cast<std::byte*>(set.allocate(396));
  auto* const first = static_cast<std::byte*>(set.allocate(8, 8));
  auto* const last = static_cast<std::byte*>(set.allocate(1000));
  void* const foreign = other.set.allocate(20);
  int outside = 0;
  EXPECT_DEATH(set.deallocate(opaque(&outside)), "not allocated here");
  EXPECT_DEATH(set.deallocate(opaque(&outside), 20), "not allocated here");
  EXPECT_DEATH(set.deallocate(foreign, opaque(std::size_t{20})), "not allocated here");
  EXPECT_DEATH(set.deallocate(opaque(reinterpret_cast<void*>(8))), "not allocated here");
  EXPECT_DEATH(set.deallocate(opaque(reinterpret_cast<void*>(~std::uintptr_t{7}))),
               "not allocated here");
  // A class's own state lies between the blocks of two classes.
  EXPECT_DEATH(set.deallocate(first - 2 * sizeof(void*)), "not allocated here");
  for (std::byte* p : {a, b, first, last}) {
    EXPECT_DEATH(set.deallocate(p + 1), "inside a block");
    EXPECT_DEATH(set.deallocate(p + 4, 1, 1), "inside a block|size or alignment");
  }
  EXPECT_DEATH(set.deallocate(b + 2 * decltype(setup)::set_type::slot_bytes(3)),
               "no block is in use.*block size 396");
  // Sizes and alignments that the block was never got for.
  EXPECT_DEATH(set.deallocate(a, 21), "size or alignment.*block size 20");
  EXPECT_DEATH(set.deallocate(a, opaque(std::size_t{21})), "size or alignment");
  EXPECT_DEATH(set.deallocate(a, 20, 64), "size or alignment");
  EXPECT_DEATH(set.deallocate(a, SIZE_MAX), "size or alignment");
  EXPECT_DEATH(set.deallocate(a, 20, 3), "argument");
  EXPECT_DEATH((void)set.allocate(20, 0), "argument");
  EXPECT_DEATH((void)set.try_allocate(20, opaque(std::size_t{24})), "argument");
  set.deallocate(a, 20);
  EXPECT_DEATH(set.deallocate(a, 20), "double free");
  EXPECT_DEATH(set.deallocate(a), "double free.*block size 20");
  set.deallocate(b);
  EXPECT_DEATH(set.deallocate(a), "double free");
  EXPECT_TRUE(set.audit());
}

TEST(CheckedSetDeathTest, WithoutSpillTheClassMustBeTheRequests) {
  static_pool_set<blocks<16, 2>, blocks<64, 2>, spill::never> set;
  void* const p = set.allocate(64);
  EXPECT_DEATH(set.deallocate(p, 16), "size or alignment.*block size 64");
  set.deallocate(p, 17);
}

TEST(PoolSet, AuditLooksAtEveryClass) {
  using set_type = static_pool_set<blocks<16, 2>, blocks<64, 2>, check::none>;
  for (const std::size_t size : {16u, 64u}) {
    set_type set;
    void* const p = set.allocate(size);
    set.deallocate(p, size);
    ASSERT_TRUE(set.audit());
    const void* const itself = p;
    detail::tell_open(p, sizeof(itself));
    std::memcpy(p, &itself, sizeof(itself));
    EXPECT_FALSE(set.audit()) << "a circle in the list of " << size;
  }
}

TEST(PoolSet, FiguresAreSumsOverTheClasses) {
  static_pool_set<blocks<16, 2>, blocks<64, 3>> set;
  void* const a = set.allocate(16);
  void* const b = set.allocate(64);
  set.deallocate(a, 16);
  const auto figures = set.stats();
  EXPECT_EQ(figures.blocks_in_use(), 1u);
  EXPECT_EQ(figures.bytes_in_use(), 64u);
  EXPECT_EQ(figures.bytes_at_peaks(), 80u);
  EXPECT_EQ(figures.capacity_bytes(), 2u * 16 + 3 * 64);
  EXPECT_EQ(figures.allocations(), 2u);
  EXPECT_EQ(figures.frees(), 1u);
  set.deallocate(b, 64);
}

}  // namespace
