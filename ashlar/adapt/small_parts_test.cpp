// The tests of the small sources of ashlar/adapt: a part for each, with its name.
#include <regex>
#include <tests/support/allocator_conformance.hpp>
#include <tests/support/container_programs.hpp>
#include <tests/support/model_heap.hpp>
#include <tests/support/test_headers.hpp>
#include <tests/support/written_stats.hpp>

#include <ashlar/ashlar.hpp>
#include <ashlar/core/stats_fields.hpp>
#include <ashlar/os/system_space.hpp>

namespace {

using namespace ashlar;
using ashlar::class_stats_fields;
using ashlar::total_stats_fields;
using ashlar::test::written_stats;

// ---- process_source -----------------------------------------------------------------------------
// Tests of adapt/process_source.hpp.

static_assert(ashlar::populating_source<ashlar::process_source>);

TEST(ProcessSource, populates_the_whole_pages_of_a_range_and_changes_no_byte) {
  if (ashlar::detail::tools_present) GTEST_SKIP() << "a memory tool looks on";
  constexpr std::size_t bytes = std::size_t{256} << 20;  // more than other tests leave free
  constexpr std::size_t page = std::size_t{1} << ashlar::heap_page_shift;
  auto* const p = static_cast<std::byte*>(ashlar::process_source::allocate(bytes, page));
  ASSERT_NE(p, nullptr);
  p[100] = std::byte{7};
  const std::size_t before = ashlar::os::system_space::resident(p, bytes);
  ASSERT_LT(before, bytes / 4) << "the memory is fresh";
  ashlar::process_source::populate(p + 1, 2 * page - 2);  // no page is whole
  EXPECT_EQ(ashlar::os::system_space::resident(p, bytes), before);
  ashlar::process_source::populate(p + 1, bytes / 4);
  EXPECT_GE(ashlar::os::system_space::resident(p, bytes), bytes / 4 - page);
  EXPECT_EQ(p[100], std::byte{7});
  const std::size_t half = ashlar::os::system_space::resident(p, bytes);
  ashlar_seal();
  ashlar::process_source::populate(p + bytes / 2, bytes / 2);
  ashlar_unseal();
  EXPECT_EQ(ashlar::os::system_space::resident(p, bytes), half) << "sealed: no system call";
  ashlar::process_source::deallocate(p, bytes, page);
}

// ---- component_faces ----------------------------------------------------------------------------
// Arenas and heap instances behind the standard faces.

template <class Heap>
void check_faces(Heap& one, Heap& two) {
  const pool_allocator<int, Heap> a(one);
  const pool_allocator<int, Heap> b(two);
  support::check_allocator(a, &b);
  support::check_propagation(a, b);
  support::check_incomplete_type(a);
  support::run_containers<support::extent::brief>(a, 1);
  pmr::resource resource(two);
  support::run_containers<support::extent::brief>(std::pmr::polymorphic_allocator<int>(&resource),
                                                  2);
  const auto shared = allocate_shared<int>(one, 3);
  const auto unique = allocate_unique<int>(two, 4);
  EXPECT_TRUE(one.owns(shared.get()) && two.owns(unique.get()));
}

TEST(HeapFaces, MeetTheRequirementsAndRunEveryContainer) {
  heap<> one;
  heap<> two;
  check_faces(one, two);
}

// Full checks, which compare every size and end in a fault when a block is left: the faces say what
// they asked for.
TEST(HeapFaces, TellACheckedHeapTheSizesThatTheyAskedFor) {
  using checked = heap<check::full<100>, at_death::stop>;
  checked one({.check_stack_depth = 0});
  checked two({.check_stack_depth = 0});
  check_faces(one, two);
}

TEST(HeapFaces, ABudgetEndsInBadAlloc) {
  heap<> small({.budget_bytes = 4 << 20});
  std::vector<char, pool_allocator<char, heap<>>> v(small);
  EXPECT_THROW(v.resize(64 << 20), std::bad_alloc);
  EXPECT_TRUE(v.empty());
}

using growing_arena = arena<process_source>;

TEST(ArenaFaces, MeetTheRequirementsAndRunEveryContainer) {
  growing_arena one{arena_growth{}};
  growing_arena two{arena_growth{}};
  const arena_allocator<int, growing_arena> a(one);
  const arena_allocator<int, growing_arena> b(two);
  support::check_allocator(a, &b);
  support::check_propagation(a, b);
  support::check_incomplete_type(a);
  support::run_containers<support::extent::brief>(a, 1, 50);
  pmr::resource resource(two);
  support::run_containers<support::extent::brief>(std::pmr::polymorphic_allocator<int>(&resource),
                                                  2, 50);
}

TEST(ArenaFaces, OverACallersBytes) {
  alignas(16) std::byte bytes[4096];
  arena<> room(bytes);
  {
    std::vector<int, arena_allocator<int>> v(room);
    v.resize(100, 7);
    EXPECT_TRUE(room.owns(v.data()));
    EXPECT_THROW(v.resize(2000), std::bad_alloc);
    EXPECT_EQ(v.size(), 100u);
  }
  EXPECT_EQ(room.used_bytes(), 0u) << "the only block was the topmost";
}

// ---- smart_pointers -----------------------------------------------------------------------------
// allocate_unique and allocate_shared over allocators and components.

struct counted {
  static inline int alive = 0;
  explicit counted(int v, bool fails = false) : value(v) {
    if (fails) throw std::runtime_error("constructor");
    ++alive;
  }
  counted(const counted&) = delete;
  counted& operator=(const counted&) = delete;
  ~counted() { --alive; }
  int value;
};

TEST(AllocateUnique, OverAnAllocatorIsOnePointer) {
  auto p = allocate_unique<counted>(allocator<int>(), 7);
  static_assert(sizeof(p) == sizeof(void*));
  EXPECT_EQ(p->value, 7);
  EXPECT_EQ(counted::alive, 1);
  decltype(p) empty;
  EXPECT_EQ(empty, nullptr);
  empty = std::move(p);
  EXPECT_EQ(p, nullptr);
  empty.reset();
  EXPECT_EQ(counted::alive, 0);
}

TEST(AllocateUnique, OverAPoolGivesTheBlockBack) {
  static_pool<counted, 2> pool;
  {
    auto a = allocate_unique<counted>(pool, 1);
    auto b = allocate_unique<counted>(pool, 2);
    EXPECT_TRUE(pool.owns(a.get()));
    EXPECT_THROW(static_cast<void>(allocate_unique<counted>(pool, 3)), std::bad_alloc);
    EXPECT_EQ(counted::alive, 2);
  }
  EXPECT_EQ(counted::alive, 0);
  EXPECT_EQ(pool.stats().blocks_in_use, 0u);
}

TEST(AllocateUnique, AConstructorThatThrowsHoldsNothing) {
  static_pool<counted, 1> pool;
  support::model_heap heap;
  EXPECT_THROW(static_cast<void>(allocate_unique<counted>(pool, 1, true)), std::runtime_error);
  EXPECT_THROW(static_cast<void>(allocate_unique<counted>(heap, 1, true)), std::runtime_error);
  EXPECT_EQ(pool.stats().blocks_in_use, 0u);
  EXPECT_EQ(heap.live_blocks(), 0u);
  EXPECT_EQ(counted::alive, 0);
}

TEST(AllocateShared, IsOneBlockOfAPoolThatIsDeclaredForIt) {
  static constinit static_pool<shared_block<counted>, 2> pool;
  std::weak_ptr<counted> weak;
  {
    std::shared_ptr<counted> p = allocate_shared<counted>(pool, 5);
    std::shared_ptr<counted> q = p;
    weak = p;
    EXPECT_EQ(p->value, 5);
    EXPECT_EQ(p.use_count(), 2);
    EXPECT_EQ(pool.stats().blocks_in_use, 1u);
    std::shared_ptr<counted> other = allocate_shared<counted>(pool, 6);
    EXPECT_THROW(static_cast<void>(allocate_shared<counted>(pool, 7)), std::bad_alloc);
  }
  EXPECT_EQ(counted::alive, 0);
  EXPECT_TRUE(weak.expired());
  EXPECT_EQ(pool.stats().blocks_in_use, 1u) << "the counts stay while somebody looks at them";
  weak.reset();
  EXPECT_EQ(pool.stats().blocks_in_use, 0u);
}

TEST(AllocateShared, AConstructorThatThrowsHoldsNothing) {
  static constinit static_pool<shared_block<counted>, 1> pool;
  EXPECT_THROW(static_cast<void>(allocate_shared<counted>(pool, 1, true)), std::runtime_error);
  EXPECT_EQ(pool.stats().blocks_in_use, 0u);
}

// ---- stats_text --------------------------------------------------------------------------------
// The text and Prometheus forms, read back line by line.

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

/// Some blocks of 128 bytes and a large one, in use while a test lasts.
class StatsText : public testing::Test {
 protected:
  StatsText() {
    for (void*& block : small) block = xmalloc(120);
    large = xmalloc(200'000);
    ashlar_stats_get(&stats);
  }
  ~StatsText() override {
    for (void* block : small) xfree(block);
    xfree(large);
  }

  void* small[10];
  void* large;
  ashlar_stats stats;
};

TEST_F(StatsText, EveryLineOfTheTextHasItsForm) {
  const std::regex of_class(
      "xallocator Block Size: (\\d+|large) Block Count: \\d+ Blocks In Use: \\d+ Peak: \\d+ "
      "Allocations: \\d+ Frees: \\d+ Slack: \\d+ Slabs: \\d+ Committed: \\d+");
  const std::regex of_total("xallocator Total \\(batch accuracy\\)( [a-z_]+: \\d+){" +
                            std::to_string(std::size(total_stats_fields)) + "}");
  const std::vector<std::string> lines = lines_of(written_stats(ASHLAR_STATS_TEXT));
  ASSERT_GE(lines.size(), 3u);
  for (std::size_t i = 0; i + 1 < lines.size(); ++i)
    EXPECT_TRUE(std::regex_match(lines[i], of_class)) << lines[i];
  const std::string of_128 =
      "xallocator Block Size: 128 Block Count: " + std::to_string(stats.classes[7].blocks_made) +
      " Blocks In Use: " + std::to_string(stats.classes[7].blocks_in_use) + " ";
  EXPECT_EQ(std::ranges::count_if(lines, [&](auto& line) { return line.starts_with(of_128); }), 1);
  EXPECT_NE(lines[lines.size() - 2].find("Block Size: large "), std::string::npos);
  EXPECT_TRUE(std::regex_match(lines.back(), of_total)) << lines.back();
}

TEST_F(StatsText, TheClassicReportHasTheClassicLinesOnly) {
  testing::internal::CaptureStdout();
  xalloc_stats();
  const std::vector<std::string> lines = lines_of(testing::internal::GetCapturedStdout());
  const std::regex classic(
      "xallocator (Block Size: (\\d+|large) Block Count: \\d+ Blocks In Use: \\d+|Note: .*)");
  ASSERT_GE(lines.size(), 2u);
  for (const std::string& line : lines) EXPECT_TRUE(std::regex_match(line, classic)) << line;
}

// That all lines are well-formed: tests/control, with a strict reader.
TEST_F(StatsText, PrometheusHasEachFigure) {
  const std::vector<std::string> lines = lines_of(written_stats(ASHLAR_STATS_PROMETHEUS));
  // The size of a class's blocks is a label.
  EXPECT_EQ(std::ranges::count_if(lines, [](auto& line) { return line.starts_with("# TYPE "); }),
            std::ssize(class_stats_fields) - 1 + std::ssize(total_stats_fields));
  for (const auto& [size, of] : {std::pair{"128", stats.classes[7]}, {"large", stats.large}}) {
    const std::string line = std::string("ashlar_class_blocks_in_use{block_size=\"") + size +
                             "\"} " + std::to_string(of.blocks_in_use);
    EXPECT_EQ(std::ranges::count(lines, line), 1) << line;
  }
}

TEST_F(StatsText, AFailingStreamIsReported) {
  for (const ashlar_stats_format format :
       {ASHLAR_STATS_TEXT, ASHLAR_STATS_JSON, ASHLAR_STATS_PROMETHEUS}) {
    for (const bool buffered : {true, false}) {
      std::FILE* full = std::fopen("/dev/full", "w");
      if (full == nullptr) GTEST_SKIP() << "no device that is always full";
      if (!buffered) std::setvbuf(full, nullptr, _IONBF, 0);
      errno = 0;
      EXPECT_EQ(ashlar_stats_write(full, format), -1);
      EXPECT_EQ(errno, ENOSPC);
      std::fclose(full);
    }
  }
}

}  // namespace
