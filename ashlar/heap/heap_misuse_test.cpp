// Every misuse that a heap can see by itself, and its report.
// Needs POSIX.
#include <tests/support/test_headers.hpp>
#include <tests/support/test_heap.hpp>

namespace {

using namespace ashlar;
using namespace test;
using cache = test_heap::cache;

/// The beginning of a fault's message, as a pattern.
std::string message(const char* call, const void* address, const char* what) {
  line_writer<256> line;
  line << "ashlar: " << call << "\\(" << address << "\\): " << what;
  return {line.data(), line.size()};
}

/// How many caches the heap has: the only one has its blocks' marks, more have keys.
class HeapDeathTest : public testing::TestWithParam<int> {
 protected:
  HeapDeathTest() { share(); }

  /// Effects: the heap has as many caches as are wanted.
  void share() {
    for (int i = 1; i < GetParam(); ++i) static_cast<void>(h->attach());
  }

  /// Effects: frees and makes every block reach its slab, where misuse is seen at the latest.
  void free_and_settle(const std::vector<void*>& blocks) {
    for (void* block : blocks) deallocate(*h, *own, block);
    h->flush(*own);
    h->trim();
  }

  std::unique_ptr<test_heap> h = std::make_unique<test_heap>();
  cache* own = h->attach();
};

TEST_P(HeapDeathTest, ABlockIsExpectedWhereNoneStarts) {
  int local = 0;
  EXPECT_DEATH(h->expect_block(&local, "free"),
               message("free", &local, "the address was not allocated here"));
  for (const std::size_t size : {48u, 32'768u, 300'000u}) {
    auto* const block = static_cast<char*>(allocate(*h, *own, size));
    h->expect_block(block, "free");
    EXPECT_DEATH(h->expect_block(block + 16, "free"), "ashlar: free");
    deallocate(*h, *own, block);
  }
}

// Nothing is settled here: the second free itself has to see it, wherever the block rests by then.
TEST_P(HeapDeathTest, ASecondFreeIsSeenAtOnceWhereverTheBlockRests) {
  constexpr const char* twice = "the block is free already";
  for (const std::size_t size : {1u, 48u, 1000u, 32'768u, 131'072u}) {
    void* const block = allocate(*h, *own, size);
    void* const other = allocate(*h, *own, size);
    deallocate(*h, *own, block);
    deallocate(*h, *own, other);
    cache* const another = h->attach();
    EXPECT_DEATH(deallocate(*h, *own, block), message("free", block, twice)) << "in a stack";
    EXPECT_DEATH(deallocate(*h, *another, block), message("free", block, twice)) << "in another's";
    EXPECT_DEATH(h->deallocate_uncached(block, "free"), message("free", block, twice));
    h->flush(*own);
    EXPECT_DEATH(deallocate(*h, *own, block), message("free", block, twice)) << "in the stash";
    void* const kept = allocate(*h, *own, size);  // so that the slab stays
    h->flush(*own);
    h->trim();
    void* const gone = kept == block ? other : block;
    if (h->class_of(gone) != 0) {
      EXPECT_DEATH(deallocate(*h, *own, gone), message("free", gone, twice)) << "in its slab";
    }
    deallocate(*h, *own, kept);
    h->detach(another);
  }
}

TEST_P(HeapDeathTest, ABlockThatWasNeverHandedOutIsSeenAtOnce) {
  for (std::size_t c = 1; c < class_count; c += support::step(7u)) {
    const std::size_t size = detail::block_sizes[c];
    if (test_heap::classes::shape(static_cast<class_index>(c)).blocks == 1) break;
    auto* const block = static_cast<char*>(allocate(*h, *own, size));
    EXPECT_DEATH(deallocate(*h, *own, block + size),
                 message("free", block + size, "the block is free already"))
        << size;
    deallocate(*h, *own, block);
  }
}

TEST_P(HeapDeathTest, BlocksOfLaterRangesAreSeenAtOnce) {
  h = std::make_unique<test_heap>();
  h->space().set_limit(16 << 20);  // a first range of 4 MiB
  own = h->attach();
  share();
  std::vector<void*> blocks;
  const auto is_in_first = [&](void* p) { return own->tops.tables.class_of(p) != 0; };
  do {
    blocks.push_back(allocate(*h, *own, 1000));
    ASSERT_NE(blocks.back(), nullptr);
  } while (is_in_first(blocks.back()));
  auto* const block = static_cast<char*>(blocks.back());
  void* const of_same_batch = allocate(*h, *own, 1000);
  ASSERT_FALSE(is_in_first(of_same_batch));
  deallocate(*h, *own, of_same_batch);
  EXPECT_DEATH(deallocate(*h, *own, of_same_batch), "the block is free already");
  EXPECT_DEATH(deallocate(*h, *own, block + 16), message("free", block + 16, "the address is in"));
  deallocate(*h, *own, block);
  EXPECT_DEATH(deallocate(*h, *own, block), message("free", block, "the block is free already"));
  EXPECT_EQ(allocate(*h, *own, 1000), block);
  for (void* each : blocks) deallocate(*h, *own, each);
  h->audit();
}

// Nothing is settled here: the second free itself has to see it.
TEST_P(HeapDeathTest, ASecondFreeRightAfterTheFirstIsSeenAtOnce) {
  for (const std::size_t size : {1u, 48u, 1000u, 32'768u, 131'072u}) {
    const class_index c = test_heap::classes::class_for(size, 1);
    std::vector<void*> others(detail::most_capacity(size));
    for (void*& other : others) other = allocate(*h, *own, size);
    void* const block = allocate(*h, *own, size);
    const auto free_twice = [&] {
      deallocate(*h, *own, block);
      deallocate(*h, *own, block);
    };
    for (std::size_t i = 0; i < others.size(); ++i) {
      // By a hit and by a miss: where one free of the two meets a full stack.
      const std::size_t left = static_cast<std::size_t>(own->limit(c) - own->top(c));
      if (i == 0 || left <= 1 || i == 300) {
        EXPECT_DEATH(free_twice(), message("free", block, "the block is free already"))
            << size << " bytes, " << left << " slots left";
      }
      deallocate(*h, *own, others[i]);
    }
    deallocate(*h, *own, block);
  }
}

TEST_P(HeapDeathTest, AnAddressInsideABlockIsSeenAtOnce) {
  constexpr const char* inside = "the address is inside";
  for (std::size_t c = 1; c < class_count; c += support::step(7u)) {
    const std::size_t size = detail::block_sizes[c];
    auto* const block = static_cast<char*>(allocate(*h, *own, size));
    for (const std::size_t offset : {std::size_t{1}, std::min<std::size_t>(16, size - 8), size / 2})
      EXPECT_DEATH(deallocate(*h, *own, block + offset), message("free", block + offset, inside))
          << size;
    EXPECT_DEATH(h->deallocate_uncached(block + size / 2, "free"), inside);
    deallocate(*h, *own, block);
  }
}

// A handler of the abort may use the heap: no lock may be held while a fault is reported. If one
// is, the child waits for ever and the alarm ends it.
test_heap* faulty = nullptr;
extern "C" void use_heap_and_leave(int) {
  bool served = large_of(*faulty, 100'000) != nullptr;
  for (std::size_t c = 1; c < class_count; ++c)
    served = served && faulty->allocate_uncached(static_cast<class_index>(c)) != nullptr;
  cache* fresh = faulty->attach();
  served = served && fresh != nullptr && allocate(*faulty, *fresh, 48) != nullptr;
  ::_exit(served ? 7 : 8);
}

TEST_P(HeapDeathTest, FaultsAreReportedWithNoLockHeld) {
  const auto expect_served = [&](auto misuse, const char* what) {
    const auto child = [&] {
      faulty = h.get();
      ::signal(SIGABRT, use_heap_and_leave);
      ::alarm(20);
      misuse();
    };
    EXPECT_EXIT(child(), testing::ExitedWithCode(7), what);
  };
  auto* block = static_cast<char*>(allocate(*h, *own, 48));
  auto* large = static_cast<char*>(large_of(*h, 100'000));
  int local = 0;
  expect_served([&] { free_and_settle({block, block}); }, "the block is free already");
  expect_served([&] { free_and_settle({block + 16}); }, "the address is inside");
  expect_served([&] { deallocate(*h, *own, large + 4096); }, "no block is in use");
  expect_served([&] { h->deallocate_uncached(large + 1, "free"); }, "no block is in use");
  expect_served([&] { deallocate(*h, *own, &local); }, "was not allocated here");
  expect_served([&] { static_cast<void>(h->usable_size(large + 8, "test")); }, "no block is in");
  expect_served([&] { static_cast<void>(h->resize_in_place(&local, 9, "realloc")); },
                "was not allocated here");
  // Straight from a full stack into a full stash, and so into a slab.
  expect_served(
      [&] {
        for (int i = 0; i < 20'000; ++i) deallocate(*h, *own, block);
      },
      "the block is free already");
}

TEST_P(HeapDeathTest, ABlockThatHasToMoveIsLookedAtFirst) {
  auto* block = static_cast<char*>(allocate(*h, *own, 1000));
  auto* kept = static_cast<char*>(allocate(*h, *own, 1000));
  EXPECT_EQ(h->resize_in_place(kept, 5000, "realloc"), 0u) << "in use, so it may move";
  const auto resize = [&](void* p) { static_cast<void>(h->resize_in_place(p, 5000, "realloc")); };
  EXPECT_DEATH(resize(block + 16), message("realloc", block + 16, "the address is inside"));
  deallocate(*h, *own, block);
  EXPECT_DEATH(resize(block), message("realloc", block, "the block is free already"));
}

// What keys see and marks do not: a write to a block that rests.
TEST_P(HeapDeathTest, ABlockThatIsWrittenToWhileItRestsIsNotHandedOut) {
  if (GetParam() == 1) GTEST_SKIP() << "there are no keys";
  for (const std::size_t size : {1u, 48u, 1000u, 131'072u}) {
    void* const block = allocate(*h, *own, size);
    std::vector<void*> others(3);
    for (void*& other : others) other = allocate(*h, *own, size);
    deallocate(*h, *own, block);
    *static_cast<char*>(block) = static_cast<char>(*static_cast<char*>(block) + 1);
    constexpr const char* written = "the block was written to after it was freed";
    EXPECT_DEATH(static_cast<void>(allocate(*h, *own, size)),
                 message("an earlier free", block, written));
    h->flush(*own);
    EXPECT_DEATH(static_cast<void>(h->allocate_uncached(test_heap::classes::class_for(size, 1))),
                 message("an earlier free", block, written));
    *static_cast<char*>(block) = static_cast<char>(*static_cast<char*>(block) - 1);
    EXPECT_EQ(allocate(*h, *own, size), block);
    for (void* other : others) deallocate(*h, *own, other);
    deallocate(*h, *own, block);
  }
}

// A program may hide the second free of a block by a write between the two. It still gets no block
// twice.
TEST_P(HeapDeathTest, ASecondFreeThatAWriteHidesHandsNoBlockOutTwice) {
  if (GetParam() == 1) GTEST_SKIP() << "a write hides nothing from marks";
  auto* const block = static_cast<char*>(allocate(*h, *own, 48));
  const auto allocate_twice = [&] {
    deallocate(*h, *own, block);
    *block = static_cast<char>(*block + 1);
    deallocate(*h, *own, block);
    if (allocate(*h, *own, 48) != block) std::fputs("another block", stderr);
    static_cast<void>(allocate(*h, *own, 48));
  };
  EXPECT_DEATH(allocate_twice(),
               "^ashlar: an earlier free.*: the block was written to after it was freed");
}

// Marks become keys when a heap gets its second cache, whatever rests where by then.
TEST_P(HeapDeathTest, BlocksThatRestWhenASecondCacheComesAreHandedOutOnceEach) {
  std::vector<void*> stashed(600), cached(20), held(20);
  for (auto* blocks : {&stashed, &cached, &held})
    for (void*& block : *blocks) block = allocate(*h, *own, 48);
  for (void* block : stashed) deallocate(*h, *own, block);
  h->flush(*own);
  for (void* block : cached) deallocate(*h, *own, block);
  cache* const another = h->attach();
  for (void* block : held) deallocate(*h, *another, block);
  std::vector<void*> again;
  for (cache* const each : {own, another, own, another})
    for (int i = 0; i < 400; ++i) {
      again.push_back(allocate(*h, *each, 48));
      ASSERT_NE(again.back(), nullptr);
    }
  std::ranges::sort(again);
  EXPECT_EQ(std::ranges::adjacent_find(again), again.end());
  for (std::size_t i = 0; i < again.size(); ++i)
    deallocate(*h, i % 2 == 0 ? *own : *another, again[i]);
  EXPECT_DEATH(deallocate(*h, *own, again[7]), "the block is free already");
  h->flush(*own);
  h->flush(*another);
  h->trim();
  h->audit();
}

// A pointer to itself is what an empty list has first. It is no key.
TEST_P(HeapDeathTest, ABlockMayHoldItsOwnAddress) {
  auto* const block = static_cast<void**>(allocate(*h, *own, 48));
  *block = static_cast<void*>(block);
  EXPECT_NE(h->resize_in_place(block, 40, "realloc"), test_heap::not_ours);
  deallocate(*h, *own, block);
  EXPECT_EQ(allocate(*h, *own, 48), block);
}

INSTANTIATE_TEST_SUITE_P(Caches, HeapDeathTest, testing::Values(1, 2));

}  // namespace
