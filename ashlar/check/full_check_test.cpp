// Full checks on blocks of the test's own: what is found, when, and what is said.
// Needs Linux.
#include <tests/support/test_headers.hpp>

#include <sys/mman.h>

#include <ashlar/check/full_check.hpp>

namespace {

using namespace ashlar;
using detail::block_record;
using detail::full_check;

// ---- full_check --------------------------------------------------------------------------------

using first_bytes = full_check::first_bytes;

/// Blocks for a checker, as a heap would give them.
class checked {
 public:
  explicit checked(std::size_t queue_bytes = 0, unsigned depth = 0) {
    check.start({.queue_bytes = queue_bytes, .stack_depth = depth});
  }
  unsigned char* make(std::size_t size, std::size_t alignment = 16, bool zeroed = false,
                      const char* call = "malloc", std::size_t more = 24) {
    const std::size_t bytes = full_check::bytes_for(size, alignment) + more;
    void* const block = ::operator new(bytes, std::align_val_t{alignment});
    blocks_made.emplace_back(block, alignment);
    return static_cast<unsigned char*>(check.made(
        block, bytes, size, alignment, zeroed ? first_bytes::zeros : first_bytes::filled, call));
  }
  /// Returns: how many blocks left the queue.
  std::size_t drop(void* address, const char* call = "free") {
    const full_check::freed_result result = check.freed(address, call);
    EXPECT_TRUE(result.known);
    std::size_t left = 0;
    for (const block_record* r = result.leaving; r != nullptr; r = r->next_in_queue) ++left;
    check.forget(result.leaving);
    return left;
  }
  ~checked() {
    for (const auto& [block, alignment] : blocks_made)
      ::operator delete(block, std::align_val_t{alignment});
  }

  full_check check;
  std::vector<std::pair<void*, std::size_t>> blocks_made;
};

TEST(FullCheck, BlocksAreAlignedFilledAndGuarded) {
  checked c;
  for (const std::size_t alignment : {std::size_t{16}, std::size_t{64}, std::size_t{4096}}) {
    for (const std::size_t size :
         {std::size_t{0}, std::size_t{1}, std::size_t{100}, std::size_t{70'000}}) {
      unsigned char* const p = c.make(size, alignment);
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(p) % alignment, 0u);
      for (std::size_t i = 0; i < size; ++i) ASSERT_EQ(p[i], detail::fresh_fill);
      for (std::size_t i = 0; i < full_check::guard_bytes_min; ++i) {
        ASSERT_EQ(p[size + i], detail::guard_fill);
        ASSERT_EQ(p[-1 - static_cast<std::ptrdiff_t>(i)], detail::guard_fill);
      }
      EXPECT_EQ(c.check.size_of(p, "test"), size);
      c.drop(p);
    }
  }
  unsigned char* const zeros = c.make(100, 16, true);
  for (int i = 0; i < 100; ++i) ASSERT_EQ(zeros[i], 0);
  c.drop(zeros);
  EXPECT_EQ(c.check.look("test"), 0u);
}

/// Returns: how many of the pages at `p` are in memory.
std::size_t resident_pages(const void* p, std::size_t bytes) {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  std::vector<unsigned char> in_memory(bytes / page);
  EXPECT_EQ(::mincore(const_cast<void*>(p), bytes, in_memory.data()), 0);
  return static_cast<std::size_t>(std::count_if(in_memory.begin(), in_memory.end(),
                                                [](unsigned char b) { return (b & 1) != 0; }));
}

/// A gibibyte of addresses, of which only touched pages are in memory.
struct long_block {
  static constexpr std::size_t bytes = std::size_t{1} << 30;
  long_block()
      : at(::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {
    EXPECT_NE(at, MAP_FAILED);
    EXPECT_EQ(::madvise(at, bytes, MADV_NOHUGEPAGE), 0);
  }
  ~long_block() { ::munmap(at, bytes); }
  void* at;
};

TEST(FullCheck, OfALongBlockBothEndsAreFilledAndLookedAt) {
  const long_block block;
  constexpr std::size_t size = block.bytes - 100'000, end = 1 << 20;
  full_check check;
  check.start({.queue_bytes = 2 * block.bytes, .stack_depth = 0});
  auto* const p = static_cast<unsigned char*>(
      check.made(block.at, block.bytes, size, 16, first_bytes::filled, "malloc"));
  for (const std::size_t at : {std::size_t{0}, end - 1, size - end, size - 1})
    EXPECT_EQ(p[at], detail::fresh_fill) << at;
  EXPECT_EQ(p[size], detail::guard_fill);
  EXPECT_EQ(check.look("test"), 1u);
  EXPECT_TRUE(check.freed(p, "free").known);
  EXPECT_EQ(check.look("test"), 0u);
  // 2 MiB of the block and what is behind it, of 262,144 pages.
  EXPECT_LE(resident_pages(block.at, block.bytes), 2 * end / 4096 + 100'000 / 4096 + 4);

  for (const std::size_t at : {std::size_t{0}, end - 1, size - end, size - 1}) {
    p[at] ^= 1u;
    EXPECT_DEATH(check.look("test"), "after it was freed") << at;
    p[at] ^= 1u;
  }
  p[end] ^= 1u;  // of what is between them nothing is known
  p[size - end - 1] ^= 1u;
  EXPECT_EQ(check.look("test"), 0u);
}

TEST(FullCheck, AFrontThatIsLongIsFilledAtItsEnds) {
  const long_block block;
  constexpr std::size_t alignment = block.bytes / 2;
  full_check check;
  check.start({.stack_depth = 0});
  auto* const p = static_cast<unsigned char*>(
      check.made(block.at, alignment + 4096, 100, alignment, first_bytes::as_they_are, "memalign"));
  EXPECT_EQ(p[0], 0) << "as it was";
  EXPECT_EQ(p[-1], detail::guard_fill);
  EXPECT_EQ(check.look("test"), 1u);
  EXPECT_LE(resident_pages(block.at, block.bytes), 2 * (1u << 20) / 4096 + 4);
  p[-1] = 0;
  EXPECT_DEATH(check.look("test"), "1 byte before the block");
}

TEST(FullCheck, RequestsBeyondAllAddressesAreRefused) {
  EXPECT_EQ(full_check::bytes_for(SIZE_MAX, 16), 0u);
  EXPECT_EQ(full_check::bytes_for(SIZE_MAX - 31, 16), 0u);
  EXPECT_EQ(full_check::bytes_for(SIZE_MAX - 32, 16), SIZE_MAX);
  EXPECT_EQ(full_check::bytes_for(100, 4096), 100u + 4096 + 16);
}

TEST(FullCheck, FreedBlocksWaitInOrderAndInBounds) {
  checked c(1000);
  std::vector<unsigned char*> blocks;
  for (int i = 0; i < 10; ++i) blocks.push_back(c.make(300));
  std::size_t left = 0;
  for (int i = 0; i < 10; ++i) {
    left += c.drop(blocks[static_cast<std::size_t>(i)]);
    EXPECT_EQ(left, static_cast<std::size_t>(std::max(0, i - 2))) << "three of 300 bytes wait";
  }
  for (int i = 7; i < 10; ++i)
    EXPECT_EQ(blocks[static_cast<std::size_t>(i)][299], detail::freed_fill);
  EXPECT_EQ(c.check.size_of(blocks[0], "test"), full_check::unknown) << "the oldest left first";
  EXPECT_EQ(c.drop(c.make(5000)), 4u)
      << "what is larger than the queue pushes out all, and does not stay";
}

TEST(FullCheck, AQueueThatBecameEmptyIsOneAgain) {
  checked c;  // nothing may wait
  for (int i = 0; i < 3; ++i) EXPECT_EQ(c.drop(c.make(100)), 1u);
}

TEST(FullCheck, UnknownAddressesAreLeftToTheHeap) {
  checked c;
  int other = 0;
  EXPECT_FALSE(c.check.freed(&other, "free").known);
  EXPECT_EQ(c.check.size_of(&other, "test"), full_check::unknown);
  c.check.expect_outside(&other, "free");
}

TEST(FullCheck, KnowsWhatLives) {
  checked c(5000);
  unsigned char* const p = c.make(300);
  c.make(0);
  c.drop(p);
  std::size_t seen = 0;
  c.check.for_each_live([&](const block_record&) { ++seen; });
  EXPECT_EQ(seen, 1u);
  EXPECT_EQ(c.check.look("test"), 1u);
}

using FullCheckDeathTest = testing::Test;

TEST(FullCheckDeathTest, EachFaultIsNamedWithTheBlockAndItsDeeds) {
  checked c(100'000);
  unsigned char* const p = c.make(100);
  EXPECT_DEATH(
      (p[100] = 1, c.drop(p)),
      "is 1 byte past the end of the block of 100 bytes.*\n.*allocated by malloc in thread "
      "[0-9]+\n.*free.0x[0-9a-f]+.: bytes behind the block were overwritten, block size 100");
  EXPECT_DEATH((p[100 + 16 + 23] = 1, c.drop(p)), "is 40 bytes past the end.*\n.*\n.*overwritten");
  EXPECT_DEATH(
      (p[-16] = 1, c.drop(p)),
      "is 16 bytes before the block of 100 bytes.*\n.*\n.*bytes before the block were overwritten");
  EXPECT_DEATH(c.drop(p, "operator delete"),
               "operator delete.*allocated by another family of calls");
  unsigned char* const one = c.make(8, 16, false, "operator new");
  EXPECT_DEATH(
      c.drop(one, "operator delete[]"),
      "allocated by operator new in(.*\n)*.*operator delete\\[\\].*another family of calls");
  EXPECT_DEATH(c.check.expect_size(one, 7, "operator delete"),
               "allocated by operator new.*\n.*operator delete.*the size or alignment");
  c.check.expect_size(one, 8, "operator delete");
  c.check.expect_size(p, 8, "operator delete");  // the program's own new may have called malloc
  c.drop(one, "operator delete");
  EXPECT_DEATH(c.check.expect_outside(p + 8, "free"),
               "byte 8 of the block.*\n.*\n.*inside a block, not its start");
  c.drop(p);
  EXPECT_DEATH(c.drop(p), "allocated by malloc.*\n.*freed by free in thread.*\n.*double free");
  EXPECT_DEATH(static_cast<void>(c.check.size_of(p, "realloc")),
               "freed by free.*\n.*realloc.*double free");
  EXPECT_DEATH(
      (p[7] = 1, c.check.look("look")),
      "byte 7 of the block of 100 bytes.*\n.*\n.*freed by free.*\n.*look.*written to after it was "
      "freed");
  EXPECT_DEATH((p[7] = 1, c.drop(c.make(200'000))),
               "byte 7 of the block of 100 bytes.*\n.*\n.*\n.*free.*written to after it was freed");
}

TEST(FullCheckDeathTest, CallStacksAreToldWithTheirFunctions) {
  checked c(1000, 8);
  unsigned char* const p = c.make(10);
  c.drop(p);
  EXPECT_DEATH(c.drop(p), "allocated by malloc in thread [0-9]+:\n.*#0 0x[0-9a-f]+ .*[+]0x");
}

TEST(FullCheck, OtherFamiliesThanCAndCxxMayBeMixed) {
  checked c;
  c.drop(c.make(10, 16, false, "allocator::allocate"), "free");
  c.drop(c.make(10, 16, false, "operator new"), "operator delete");
  c.drop(c.make(10, 16, false, "posix_memalign"), "realloc");
}

}  // namespace
