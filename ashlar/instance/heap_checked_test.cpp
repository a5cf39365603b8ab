// Checked heap instances: what each level of checks finds, when, what is said, and that they
// accuse nobody. Needs POSIX.
#include <tests/support/in_child.hpp>
#include <tests/support/resident.hpp>
#include <tests/support/test_headers.hpp>

#include <sys/mman.h>

#include <ashlar/check/misuse_report.hpp>
#include <ashlar/instance/test_heaps.hpp>

namespace {

using namespace ashlar;

using cheap_heap = heap<check::cheap>;
using full_heap = heap<check::full<>>;

static_assert(std::is_same_v<heap<check::none>::check_type, heap<>::check_type>);
static_assert(sizeof(heap<>) == sizeof(full_heap), "what is checked is the body's");
static_assert(page_source<full_heap>);

heap_options named_orders(std::size_t budget_bytes = SIZE_MAX) {
  return {.budget_bytes = budget_bytes, .name = "orders", .check_stack_depth = 0};
}
unsigned char* bytes_of(void* p) { return static_cast<unsigned char*>(p); }

// ---- correct programs ---------------------------------------------------------------------------

template <class Heap>
class CheckedHeap : public testing::Test {};
using checked_heaps = testing::Types<heap<>, cheap_heap, full_heap, heap<check::full<1000>>>;
class name_of_level {
 public:
  template <class Heap>
  static std::string GetName(int i) {
    return std::vector<std::string>{"none", "cheap", "full", "full_1000"}.at(
        static_cast<std::size_t>(i));
  }
};
TYPED_TEST_SUITE(CheckedHeap, checked_heaps, name_of_level);

struct held {
  unsigned char* p;
  std::size_t size;
  unsigned char value;
};
bool is_whole(const held& b) {
  return std::all_of(b.p, b.p + b.size, [&](unsigned char byte) { return byte == b.value; });
}

// Random programs over each level: tests/model/heaps.cpp.

TYPED_TEST(CheckedHeap, NullIsNoBlock) {
  TypeParam h(named_orders());
  h.deallocate(nullptr);
  h.deallocate(nullptr, 7);
  EXPECT_EQ(h.usable_size(nullptr), 0u);
  void* const fresh = h.try_reallocate(nullptr, 10);
  h.deallocate(fresh, 10);
}

TYPED_TEST(CheckedHeap, ASizedFreeGoesByTheLastSize) {
  TypeParam h(named_orders());
  for (const std::size_t size : {101u, 99u, 5000u}) {  // where it is, and moved
    void* const p = h.try_reallocate(h.try_allocate(100), size);
    h.deallocate(p, size);
  }
}

TYPED_TEST(CheckedHeap, TheWholeBudgetCanBeUsedAgain) {
  TypeParam h(named_orders(mib));
  for (const std::size_t size : {std::size_t{500}, std::size_t{40'000}, std::size_t{150'000}}) {
    std::vector<void*> blocks = fill(h, size);
    const std::size_t first = blocks.size();
    ASSERT_GT(first, 0u);
    for (int round = 0; round < 3; ++round) {
      for (void* p : blocks) h.deallocate(p, size);
      blocks = fill(h, size);
      ASSERT_EQ(blocks.size(), first) << "what waits is used when nothing else is left";
    }
    for (void* p : blocks) h.deallocate(p, size);
  }
  EXPECT_EQ(h.try_allocate(2 * mib), nullptr);
  EXPECT_EQ(h.try_allocate(SIZE_MAX), nullptr);
  EXPECT_EQ(h.try_allocate(PTRDIFF_MAX), nullptr);
}

TYPED_TEST(CheckedHeap, ShrinkingCannotFail) {
  TypeParam h(named_orders(mib));
  unsigned char* const p = bytes_of(h.try_allocate(3000));
  std::memset(p, 7, 3000);
  std::vector<void*> blocks = fill(h, 100);
  unsigned char* const shrunk = bytes_of(h.try_reallocate(p, 100));
  ASSERT_NE(shrunk, nullptr);
  EXPECT_TRUE(is_whole({shrunk, 100, 7}));
  ASSERT_EQ(h.try_reallocate(shrunk, 200'000), nullptr);  // else it is not the block any more
  EXPECT_TRUE(is_whole({shrunk, 100, 7}));
  h.audit();
  h.deallocate(shrunk, 100);
  for (void* q : blocks) h.deallocate(q, 100);
}

TYPED_TEST(CheckedHeap, StatisticsAreExact) {
  if (std::is_same_v<TypeParam, heap<>>) GTEST_SKIP() << "it counts by batches";
  TypeParam h(named_orders());
  std::vector<void*> blocks;
  for (int i = 0; i < 1000; ++i) blocks.push_back(h.try_allocate(100));
  ashlar_stats s = h.stats();
  EXPECT_EQ(s.total.accuracy, ASHLAR_ACCURACY_EXACT);
  EXPECT_EQ(s.total.allocations - s.total.frees, 1000u);
  for (int i = 0; i < 10; ++i) {
    h.deallocate(blocks.back());
    blocks.pop_back();
  }
  s = h.stats();
  const bool waits = TypeParam::check_type::guards_bytes;
  EXPECT_EQ(s.total.allocations - s.total.frees, waits ? 1000u : 990u);
  for (void* p : blocks) h.deallocate(p);
}

TYPED_TEST(CheckedHeap, WithoutMemoryForItselfIsExhausted) {
  struct nothing_there {
    static void* allocate(std::size_t, std::size_t) noexcept { return nullptr; }
    static void deallocate(void*, std::size_t, std::size_t) noexcept {}
  };
  heap<typename TypeParam::check_type, nothing_there> h(named_orders());
  EXPECT_EQ(h.try_allocate(10), nullptr);
  EXPECT_FALSE(h.owns(&h));
  EXPECT_EQ(h.stats().total.allocations, 0u);
  h.deallocate(nullptr, 10);
}

TYPED_TEST(CheckedHeap, ManyLeaveNothingBehind) {
  if (support::sanitized || support::emulated) GTEST_SKIP() << "what runs it has memory that grows";
  const auto round = [] {
    TypeParam h(named_orders());
    for (std::size_t size = 16; size <= 40'000; size += size / 4)
      std::memset(h.try_allocate(size), 1, size);
    void* const freed = h.try_allocate(10);
    h.deallocate(freed);
    std::thread([&h] { static_cast<void>(h.try_allocate(10)); }).join();
  };
  for (int i = 0; i < 10; ++i) round();
  const std::size_t addresses = support::address_space_bytes();
  const std::size_t resident = support::resident_bytes();
  const int rounds = std::is_same_v<TypeParam, heap<>> ? 1000 : 200;
  for (int i = 0; i < rounds; ++i) round();
  EXPECT_LE(support::address_space_bytes(), addresses + 64 * 1024);
  EXPECT_LE(support::resident_bytes(), resident + 256 * 1024);
}

// A free that is inside the checks waits in a signal handler while another thread forks: were it
// copied there, the child would have a half-made queue.
namespace fork_beside_checks {
constexpr std::size_t size = 1 << 20;
std::byte* page = nullptr;
std::atomic<bool> forks{false}, is_inside{false};

void write_is_allowed_later(int) {
  is_inside = true;
  while (!forks) ::usleep(100);
  ::usleep(100'000);  // the fork is under way by then, or this time shows nothing
  ::mprotect(page, detail::page_size, PROT_READ | PROT_WRITE);
  is_inside = false;
}
}  // namespace fork_beside_checks

TEST(CheckedHeapFork, WaitsForWhoIsInsideTheChecks) {
  using namespace fork_beside_checks;
  if (support::thread_sanitizer) GTEST_SKIP() << "its runtime does not follow forks of threads";
  full_heap h(named_orders());
  void* const block = h.try_allocate(size);
  page = reinterpret_cast<std::byte*>(
      align_down(reinterpret_cast<std::uintptr_t>(block), detail::page_size));
  struct sigaction before{}, wait{};
  wait.sa_handler = write_is_allowed_later;
  ASSERT_EQ(::sigaction(SIGSEGV, &wait, &before), 0);
  ASSERT_EQ(::mprotect(page, detail::page_size, PROT_READ), 0);
  std::thread frees([&] { h.deallocate(block, size); });
  while (!is_inside) std::this_thread::yield();
  forks = true;
  EXPECT_EQ(support::exit_status_of([&] {
              if (is_inside) return 1;
              for (std::size_t n = 0; n < 100; ++n) h.deallocate(h.try_allocate(n), n);
              return 0;
            }),
            0);
  frees.join();
  ::sigaction(SIGSEGV, &before, nullptr);
}

TEST(CheckedHeapSource, MayBeAnotherCheckedHeap) {
  full_heap outer(named_orders(32 * mib));
  {
    heap<check::full<>, source_of<full_heap>> inner(named_orders(16 * mib), {&outer});
    for (const std::size_t size : {100u, 40'000u, 300'000u}) {
      void* const p = inner.try_reallocate(inner.try_allocate(size), 2 * size);
      std::memset(p, 1, 2 * size);
      inner.deallocate(p, 2 * size);
    }
    inner.audit();
  }
  outer.audit();
}

// ---- the quarantine -----------------------------------------------------------------------------

TEST(FullHeap, UsableBytesAreThoseAskedFor) {
  full_heap h(named_orders());
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{100}, 3 * mib}) {
    void* const p = h.try_allocate(size);
    EXPECT_EQ(h.usable_size(p), size);
    h.deallocate(p, size);
  }
}

TEST(FullHeap, RecordsAreOfItsMetadata) {
  const auto added_by_blocks = [](auto& h) {
    static_cast<void>(h.try_allocate(10));
    const std::uint64_t before = h.stats().total.metadata_bytes;
    for (int i = 0; i < 10'000; ++i) static_cast<void>(h.try_allocate(10));
    return h.stats().total.metadata_bytes - before;
  };
  full_heap full(named_orders());
  cheap_heap cheap(named_orders());
  const std::uint64_t records = added_by_blocks(full), other = added_by_blocks(cheap);
  EXPECT_GT(records, other + 9000 * sizeof(detail::block_record));
}

// ---- misuse -------------------------------------------------------------------------------------

class FullHeapDeathTest : public testing::Test {
 protected:
  FullHeapDeathTest() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};
template <class Heap>
class CheckedHeapDeathTest : public FullHeapDeathTest {};
using levels = testing::Types<heap<>, cheap_heap, full_heap>;
TYPED_TEST_SUITE(CheckedHeapDeathTest, levels, name_of_level);

TYPED_TEST(CheckedHeapDeathTest, EachCallFindsAtOnceWhatIsNoBlockOfTheHeap) {
  TypeParam h(named_orders()), other(named_orders());
  const std::pair<std::string, std::function<void(void*)>> calls[] = {
      {"deallocate", [&](void* p) { h.deallocate(p); }},
      {"deallocate", [&](void* p) { h.deallocate(p, 100); }},
      {"usable_size", [&](void* p) { static_cast<void>(h.usable_size(p)); }},
      {"try_reallocate", [&](void* p) { static_cast<void>(h.try_reallocate(p, 9)); }}};
  unsigned char* const p = bytes_of(h.try_allocate(100));
  void* const of_other = other.try_allocate(100);
  for (const auto& [name, call] : calls) {
    EXPECT_DEATH(call(of_other), name + ".*not allocated here, pool 'orders'");
    // Without checks it looks for the slab alone.
    if (std::is_same_v<TypeParam, heap<>> && name == "usable_size") continue;
    for (const std::ptrdiff_t step : {16, 64, 1})
      EXPECT_DEATH(call(p + step), name + ".*inside a block.*orders");
    for (const std::size_t size : {std::size_t{100}, std::size_t{300'000}}) {
      unsigned char* const freed = bytes_of(h.try_allocate(size));
      h.deallocate(freed, size);
      EXPECT_DEATH(call(freed), name + ".*(the block is free already|no block is in use).*orders");
    }
  }
  for (const std::size_t size : {std::size_t{100}, std::size_t{300'000}}) {
    if (std::is_same_v<TypeParam, heap<>>) break;  // it does not know what was asked for
    void* const block = h.try_allocate(size);
    for (const std::size_t wrong : {size - 1, size + 1})
      EXPECT_DEATH(h.deallocate(block, wrong), "deallocate.*the size or alignment is not.*orders");
    h.deallocate(block, size);
  }
  for (const std::size_t alignment : {3u, 24u})
    EXPECT_DEATH(static_cast<void>(h.try_allocate(1, alignment)),
                 "allocate.*outside what the call");
}

TEST_F(FullHeapDeathTest, AWriteBeyondABlockIsFoundAtItsFreeInTheAuditAndAtTheEnd) {
  for (const std::size_t size : {std::size_t{1}, std::size_t{100}, std::size_t{300'000}}) {
    for (const std::size_t by : {std::size_t{1}, std::size_t{8}, std::size_t{15}}) {
      std::optional<full_heap> h(std::in_place, named_orders());
      unsigned char* const p = bytes_of(h->try_allocate(size));
      unsigned char& byte = p[size + by - 1];
      byte = static_cast<unsigned char>(byte + 1);
      const std::string place = "is " + std::to_string(by) +
                                " bytes? past the end of the block of " + std::to_string(size) +
                                " bytes.*\n.*allocated by allocate in.*\n.*";
      const std::string what =
          ".*bytes behind the block were overwritten, pool 'orders', block size " +
          std::to_string(size);
      EXPECT_DEATH(h->deallocate(p), place + "deallocate" + what);
      EXPECT_DEATH(h->audit(), place + "audit" + what);
      EXPECT_DEATH(h.reset(), place + "~heap" + what);
      EXPECT_DEATH(static_cast<void>(h->try_reallocate(p, 7)), place + "try_reallocate" + what);
      byte = static_cast<unsigned char>(byte - 1);
      p[-1] = 0;
      EXPECT_DEATH(h->deallocate(p),
                   "is 1 byte before the block of(.*\n)*.*deallocate.*overwritten");
      p[-1] = detail::guard_fill;
      h->deallocate(p, size);
    }
  }
}

TEST_F(FullHeapDeathTest, AWriteBehindAShrunkBlockIsFound) {
  full_heap h(named_orders(mib));
  unsigned char* const p = bytes_of(h.try_allocate(3000));
  const std::vector<void*> rest = fill(h, 100);
  ASSERT_EQ(h.try_reallocate(p, 100), p);
  p[100] = 1;
  EXPECT_DEATH(h.deallocate(p), "1 byte past the end of the block of 100 bytes");
  p[100] = detail::guard_fill;
}

// ---- leaks --------------------------------------------------------------------------------------

/// Returns: what the end of a heap says, in which blocks of these sizes are left.
template <class Heap>
std::string said_at_end(const std::vector<std::size_t>& sizes, unsigned stack_depth = 0) {
  testing::internal::CaptureStderr();
  {
    Heap h({.name = "orders", .check_stack_depth = stack_depth});
    void* const freed = h.try_allocate(64);
    for (const std::size_t size : sizes) static_cast<void>(h.try_allocate(size));
    h.deallocate(freed, 64);
  }
  return testing::internal::GetCapturedStderr();
}

TEST(HeapLeaks, AreToldWhenAskedFor) {
  using full = heap<check::full<>, at_death::report>;
  using cheap = heap<at_death::report, check::cheap>;
  const auto end = [](const char* what) {
    return "ashlar: ~heap(0x0): the allocator ended with blocks in use, pool 'orders'" +
           std::string(what) + "\n";
  };
  EXPECT_EQ(said_at_end<full>({}), "");
  EXPECT_EQ(said_at_end<cheap>({}), "");
  EXPECT_EQ(said_at_end<full_heap>({100}), "");
  EXPECT_EQ(said_at_end<cheap_heap>({100}), "");
  EXPECT_EQ(said_at_end<full>({100, 100, 100}),
            "ashlar: 300 bytes in 3 blocks by allocate\n" + end(", block size 100, blocks 3"));
  EXPECT_EQ(said_at_end<full>({100, 7}),
            "ashlar: 107 bytes in 2 blocks by allocate\n" + end(", blocks 2"));
  EXPECT_EQ(
      said_at_end<cheap>({100, 100, 7, 300'000}),
      end(", block size 16, blocks 1") + end(", block size 112, blocks 2") + end(", blocks 1"));
  const std::string placed = said_at_end<full>({100, 100}, 8);
  EXPECT_NE(placed.find("ashlar: 200 bytes in 2 blocks by allocate:\nashlar:   #0 0x"),
            std::string::npos)
      << "said: " << placed;
}

template <class Check>
void end_with_a_leak() {
  heap<Check, at_death::stop> h(named_orders());
  static_cast<void>(h.try_allocate(100));
}
TEST_F(FullHeapDeathTest, LeaksEndTheProgramWhenAskedFor) {
  EXPECT_DEATH(
      end_with_a_leak<check::full<>>(),
      "100 bytes in 1 block by allocate\n.*~heap.*ended with blocks in use, pool 'orders', "
      "block size 100, blocks 1");
  EXPECT_DEATH(end_with_a_leak<check::cheap>(),
               "~heap.*ended with blocks in use, pool 'orders', block size 112, blocks 1");
}

}  // namespace
