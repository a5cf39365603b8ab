// The tests of the small sources of ashlar/heap: a part for each, with its name.
#include <tests/support/test_headers.hpp>
#include <tests/support/test_heap.hpp>

#include <ashlar/heap/class_file.hpp>
#include <ashlar/heap/heap_layout.hpp>

namespace {

using namespace ashlar;
using namespace test;
using namespace ashlar::detail;

using cache = test_heap::cache;
using places = std::vector<const char*>;
using hits = detail::interface_hits<test_heap::classes>;

// ---- block_sign ---------------------------------------------------------------------------------
// The sum of pages/block_sign.hpp: no two windows share a mark, and no two addresses of a window
// look alike.

TEST(BlockSign, AWindowIsNoLongerThanItsBlock) {
  for (std::size_t c = 1; c < class_count; ++c) {
    const std::size_t window = std::size_t{1} << standard::mark_shift(static_cast<class_index>(c));
    EXPECT_LE(window, block_sizes[c]);
    EXPECT_TRUE(window == std::size_t{1} << mark_shift_max || window * 2 > block_sizes[c]);
  }
}

TEST(BlockSign, NoTwoAddressesOfAWindowHaveTheSameMarkAndNoneHasNone) {
  for (std::uintptr_t begin = 0x1000; begin < 0x1200; begin += 1u << mark_shift_max) {
    std::set<block_mark> seen;
    for (std::uintptr_t at = begin; at < begin + (1u << mark_shift_max); ++at) {
      const block_mark mark = mark_of(reinterpret_cast<const void*>(at));
      EXPECT_NE(mark, 0);
      EXPECT_TRUE(seen.insert(mark).second) << at;
    }
  }
}

TEST(BlockSign, TheTablesOfARangeTouchAndNeverOverlap) {
  constexpr std::uintptr_t memory = 0x7000'0000, base = 0x10'2000'0000 & UINTPTR_MAX;
  for (const std::size_t bytes :
       {std::size_t{4096}, std::size_t{1} << 20, (std::size_t{5} << 20) + 8192}) {
    const std::vector<page_class> classes(marks_span(bytes) >>
                                          page_shift);  // zeros, and then the range's
    const block_tables tables = tables_placed(base, bytes, classes.data() + classes.size(),
                                              reinterpret_cast<void*>(memory));
    std::uintptr_t end = memory;
    for (unsigned shift = mark_shift_max; shift >= mark_shift_min; --shift) {
      const auto first = reinterpret_cast<std::uintptr_t>(
          tables.mark_at(reinterpret_cast<const void*>(base), shift));
      const auto last = reinterpret_cast<std::uintptr_t>(
          tables.mark_at(reinterpret_cast<const void*>(base + bytes - 1), shift));
      EXPECT_GE(first, end) << shift;
      EXPECT_EQ(first % page_size, 0u) << "a table is committed by itself";
      EXPECT_EQ(last - first, (bytes - 1) >> shift);
      end = last + 1;
    }
    EXPECT_LE(end, memory + marks_bytes(bytes));
  }
}

// ---- run ----------------------------------------------------------------------------------------
// What else holds of the geometry of slabs: class_table_test.cpp.

TEST(SlabShape, IsTheLeastThatKeepsWasteBelowOneIn64) {
  const auto fits = [](std::size_t bytes, std::size_t size) {
    return bytes >= 4 * size && (bytes % size) * 64 <= bytes;
  };
  for (std::size_t c = 1; c < class_count; ++c) {
    const slab_shape& shape = standard_classes.shapes[c];
    const std::size_t size = block_sizes[c];
    const std::size_t bytes = std::size_t{shape.pages} * page_size;
    if (size > shared_slab_block_max && size % page_size == 0) {
      EXPECT_EQ(bytes, size);
      EXPECT_EQ(shape.blocks, 1u);
      continue;
    }
    EXPECT_GE(bytes, 64u * 1024) << size;
    EXPECT_EQ(shape.blocks, bytes / size) << size;
    EXPECT_GE(shape.blocks, 4u) << size;
    EXPECT_LE((bytes - shape.blocks * size) * 64, bytes) << size;
    for (std::size_t less = 64 * 1024; less < bytes; less += page_size)
      EXPECT_FALSE(fits(less, size)) << size << ": " << less << " bytes would do";
  }
}

// ---- inspected_heap -----------------------------------------------------------------------------
// A walk through the places of blocks, a few at a time: each place has its turn.

TEST(InspectedHeap, EachPlaceHasItsTurn) {
  const auto h = make_heap();
  detail::block_cursor at;
  const auto nothing = [](const char*, std::size_t, std::size_t) { FAIL(); };
  EXPECT_FALSE(h->visit_next_places(at, 7, nothing));  // not started

  test_heap::cache* const own = h->attach();
  std::set<const void*> held;
  for (std::size_t i = 0; i < 3000; ++i) held.insert(test::allocate(*h, *own, 1 + i * 37 % 20'000));
  ASSERT_EQ(held.count(nullptr), 0u);
  ASSERT_NE(test::allocate(*h, *own, 300 * 1024), nullptr);
  places first_walk;
  for (int round = 0; round < 2; ++round) {  // the second walk begins where the first did
    places visited;
    while (
        h->visit_next_places(at, 7, [&](const char* first, std::size_t count, std::size_t bytes) {
          EXPECT_LE(count, 7u);
          for (std::size_t i = 0; i != count; ++i) visited.push_back(first + i * bytes);
        }))
      continue;
    EXPECT_TRUE(round == 0 || visited == first_walk);
    first_walk = visited;
  }
  const std::set<const void*> all(first_walk.begin(), first_walk.end());
  EXPECT_EQ(all.size(), first_walk.size()) << "once each";
  EXPECT_TRUE(std::ranges::includes(all, held));
}

TEST(InspectedHeap, AWalkGoesOnWhereSlabsHaveChanged) {
  auto [h, own] = heap_with_cache();
  std::vector<void*> small;
  for (std::size_t i = 0; i < 5000; ++i) small.push_back(test::allocate(*h, *own, 64));
  detail::block_cursor at;
  const auto look = [](const char*, std::size_t, std::size_t) {};
  for (int i = 0; i < 30; ++i) ASSERT_TRUE(h->visit_next_places(at, 7, look));
  // Larger blocks take the place of those that were there, and fewer of them.
  for (void* const block : small) test::deallocate(*h, *own, block);
  h->flush(*own);
  static_cast<void>(h->trim());
  for (std::size_t i = 0; i < 50; ++i) ASSERT_NE(test::allocate(*h, *own, 16'000), nullptr);
  std::size_t steps = 0;
  while (h->visit_next_places(at, 7, look)) ASSERT_LT(++steps, 10'000u);
}

// ---- heap_layout --------------------------------------------------------------------------------
// That it leads to the blocks in use and to those that rest: tests/heap_image.

TEST(HeapLayout, TheHeadSaysWhatItIs) {
  constexpr heap_image image = heap_layout::of<test_heap>({});
  EXPECT_EQ(std::memcmp(image.magic, "ashlarh1", 8), 0);
  EXPECT_EQ(image.version, 3u);
  EXPECT_EQ(image.bytes, sizeof(heap_image));
  EXPECT_EQ(image.page_shift, page_shift);
  EXPECT_EQ(image.class_max, class_count);
}

// ---- sealable -----------------------------------------------------------------------------------

/// Grants everything and counts what reaches it.
struct granting_space {
  char page[64];
  int calls = 0;

  void* reserve(std::size_t) noexcept { return ++calls, page; }
  void* reserve_zeros(std::size_t) noexcept { return ++calls, page; }
  bool commit(void*, std::size_t) noexcept { return ++calls, true; }
  bool populate(void*, std::size_t) noexcept { return ++calls, true; }
  bool purge(void*, std::size_t) noexcept { return ++calls, true; }
  bool renew(void*, std::size_t) noexcept { return ++calls, true; }
  bool close(void*, std::size_t) noexcept { return ++calls, true; }
  bool move(void*, void*, std::size_t) noexcept { return ++calls, true; }
  void release(void*, std::size_t) noexcept { ++calls; }
  void* find_gap(const void*, std::size_t&) noexcept { return ++calls, page; }
  bool claim(void*, std::size_t) noexcept { return ++calls, true; }
  void leave_gap(void*) noexcept { ++calls; }
  std::size_t resident(const void*, std::size_t bytes) noexcept { return ++calls, bytes; }
  std::size_t limit() noexcept { return SIZE_MAX; }
  std::size_t physical() noexcept { return SIZE_MAX; }
  std::size_t processors() noexcept { return 1; }
  std::uint64_t now_ms() noexcept { return 0; }
};

/// Returns: how many of the ten calls that may be refused were granted.
int granted(detail::sealable<granting_space>& space) {
  void* const p = space.page;
  std::size_t bytes = 1;
  return (space.reserve(1) != nullptr) + (space.reserve_zeros(1) != nullptr) +
         int{space.commit(p, 1)} + int{space.populate(p, 1)} + int{space.purge(p, 1)} +
         int{space.renew(p, 1)} + int{space.close(p, 1)} + int{space.move(p, p, 1)} +
         (space.find_gap(p, bytes) != nullptr) + int{space.claim(p, 1)};
}

TEST(Sealable, RefusesWhatMayBeRefusedWhileItIsSealedAndNothingElse) {
  detail::sealable<granting_space> space;
  EXPECT_FALSE(space.is_sealed());
  EXPECT_EQ(granted(space), 10);
  EXPECT_EQ(space.calls, 10);
  space.seal(true);
  EXPECT_TRUE(space.is_sealed());
  EXPECT_EQ(granted(space), 0);
  EXPECT_EQ(space.calls, 10) << "none reaches the system";
  space.release(space.page, 64);
  space.leave_gap(space.page);
  EXPECT_EQ(space.resident(space.page, 64), 64u);
  EXPECT_TRUE(space.reopen(space.page, 64));
  EXPECT_EQ(space.calls, 14);
  space.seal(false);
  EXPECT_EQ(granted(space), 10);
}

// ---- interface_hits -----------------------------------------------------------------------------
// Hits of the malloc interface's other calls, on a heap whose calls for memory are counted.

/// A heap with one cache, or two: then hits look at keys instead of marks.
struct moving {
  explicit moving(bool two_caches) {
    if (two_caches) second = heap->attach();
  }
  /// Effects: the cache has blocks of these sizes at hand.
  void warm(std::initializer_list<std::size_t> sizes) {
    for (const std::size_t size : sizes) deallocate(*heap, *own, allocate(*heap, *own, size));
  }
  void* move(void* block, std::size_t size) { return hits::try_move(own->tops, block, size); }

  std::unique_ptr<test_heap> heap = std::make_unique<test_heap>();
  test_heap::cache* own = heap->attach();
  test_heap::cache* second = nullptr;
};

class InterfaceHits : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Caches, InterfaceHits, testing::Values(false, true),
                         [](const auto& is) { return is.param ? "two_caches" : "one_cache"; });

TEST_P(InterfaceHits, AMovedBlockHasItsBytesAndTheOldOneIsFree) {
  moving m(GetParam());
  m.warm({48, 200});
  for (const auto& [from, to] : {std::pair{48, 200}, std::pair{200, 48}}) {
    auto* const old = static_cast<char*>(allocate(*m.heap, *m.own, static_cast<std::size_t>(from)));
    std::memset(old, 'x', static_cast<std::size_t>(from));
    const std::uint64_t calls = m.heap->space().calls();
    auto* const moved = static_cast<char*>(m.move(old, static_cast<std::size_t>(to)));
    ASSERT_NE(moved, nullptr);
    EXPECT_EQ(m.heap->space().calls(), calls);
    EXPECT_EQ(std::string(moved, 48), std::string(48, 'x'));
    EXPECT_EQ(
        m.heap->usable_size(moved, "usable"),
        test_heap::classes::block_size(test_heap::classes::of_size(static_cast<std::size_t>(to))));
    EXPECT_EQ(allocate(*m.heap, *m.own, static_cast<std::size_t>(from)), old)
        << "the last that was freed";
    deallocate(*m.heap, *m.own, old);
    deallocate(*m.heap, *m.own, moved);
  }
  m.heap->audit();
}

TEST_P(InterfaceHits, WhatIsNoHitIsLeftAsItIs) {
  moving m(GetParam());
  m.warm({48, 200});
  void* const block = allocate(*m.heap, *m.own, 48);
  EXPECT_EQ(m.move(block, 0), nullptr);
  EXPECT_EQ(m.move(block, 47), nullptr) << "it stays";
  EXPECT_EQ(m.move(block, small_size_max + 1), nullptr);
  EXPECT_EQ(m.move(block, 1000), nullptr) << "no block of this size is at hand";
  EXPECT_EQ(m.move(nullptr, 200), nullptr);
  EXPECT_EQ(m.move(&m, 200), nullptr) << "not of the heap";
  EXPECT_EQ(m.move(static_cast<char*>(block) + 16, 200), nullptr) << "no block begins there";
  deallocate(*m.heap, *m.own, block);
  EXPECT_EQ(m.move(block, 200), nullptr) << "a freed block";
  EXPECT_EQ(allocate(*m.heap, *m.own, 48), block) << "and it is free once";
  deallocate(*m.heap, *m.own, block);
  m.heap->audit();
}

TEST_P(InterfaceHits, AFullStackTakesNoBlock) {
  moving m(GetParam());
  std::vector<void*> blocks;
  for (int i = 0; i < 2000; ++i) blocks.push_back(allocate(*m.heap, *m.own, 48));
  void* const last = allocate(*m.heap, *m.own, 48);
  std::size_t freed = 0;
  while (test_heap::try_deallocate(m.own->tops, blocks[freed])) ++freed;
  m.warm({200});
  EXPECT_EQ(m.move(last, 200), nullptr);
  for (; freed != blocks.size(); ++freed) deallocate(*m.heap, *m.own, blocks[freed]);
  deallocate(*m.heap, *m.own, last);
  m.heap->audit();
}

// ---- class_file --------------------------------------------------------------------------------
// What a file of classes may say, and what is told of one that cannot be used.

void expect_sizes(std::string_view text, std::initializer_list<std::uint32_t> sizes) {
  const class_file file = parse_class_file(text);
  ASSERT_EQ(file.wrong, nullptr) << text << ": " << file.wrong;
  ASSERT_EQ(file.count, sizes.size()) << text;
  EXPECT_TRUE(std::equal(sizes.begin(), sizes.end(), file.sizes.begin())) << text;
}

void expect_wrong(std::string_view text, std::size_t line, std::string_view word,
                  std::string_view part) {
  const class_file file = parse_class_file(text);
  ASSERT_NE(file.wrong, nullptr) << text;
  EXPECT_EQ(file.line, line) << text;
  EXPECT_EQ(file.word, word) << text;
  EXPECT_NE(std::string_view(file.wrong).find(part), std::string_view::npos) << file.wrong;
}

TEST(ClassFile, BlanksLinesAndCommentsOnlySeparate) {
  expect_sizes("ashlar-classes 1 131072", {131'072});
  expect_sizes("ashlar-classes 1\n16 48\n131072\n", {16, 48, 131'072});
  expect_sizes("# for me\n\n  ashlar-classes\t1 # version\r\n16#no blank\n\t48\r\n131072 #end",
               {16, 48, 131'072});
}

TEST(ClassFile, WhatCannotBeUsedIsNamedWithItsLine) {
  expect_wrong("", 1, "", "begins");
  expect_wrong("# nothing\n", 2, "", "begins");
  expect_wrong("ELF\n", 1, "ELF", "begins");
  expect_wrong("ashlar-classes", 1, "", "version");
  expect_wrong("ashlar-classes\n2 16 131072", 2, "2", "version");
  expect_wrong("ashlar-classes one 131072", 1, "one", "version");
  expect_wrong("ashlar-classes 1\n16 x32", 2, "x32", "no block size");
  expect_wrong("ashlar-classes 1\n16 32k", 2, "32k", "no block size");
  expect_wrong("ashlar-classes 1\n16 -32", 2, "-32", "no block size");
  expect_wrong("ashlar-classes 1\n99999999999", 2, "99999999999", "no block size");
  expect_wrong("ashlar-classes 1\n16 32\n40\n131072", 3, "40", "multiple of 16");
  expect_wrong("ashlar-classes 1\n32 16\n131072", 2, "16", "not larger");
  expect_wrong("ashlar-classes 1\n16\n", 3, "", "131072");
}

TEST(ClassFile, MoreClassesThanThereMayBeAreRefusedAtTheFirst) {
  std::string text = "ashlar-classes 1\n";
  for (std::size_t i = 1; i < 2 * class_count; ++i) text += std::to_string(16 * i) + "\n";
  expect_wrong(text, 1 + class_count, std::to_string(16 * class_count), "too many");
}

}  // namespace
