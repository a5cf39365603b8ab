// The description of a heap's layout leads to what the heap itself says.
#include <tests/support/test_headers.hpp>
#include <tests/support/test_heap.hpp>

#include <ashlar/heap/heap_layout.hpp>

namespace {

using namespace ashlar;
using detail::heap_image;
using detail::image_part;
using test::test_heap;
using cache = test_heap::cache;

constexpr heap_image image = detail::heap_layout::of<test_heap>({});

/// The number that lies there, of 1, 2, 4 or 8 bytes.
std::uint64_t number(const void* structure, image_part part) {
  const char* const at = static_cast<const char*>(structure) + part.offset;
  const auto as = [at](auto value) {
    std::memcpy(&value, at, sizeof value);
    return std::uint64_t{value};
  };
  switch (part.bytes) {
    case 1:
      return as(std::uint8_t{});
    case 2:
      return as(std::uint16_t{});
    case 4:
      return as(std::uint32_t{});
    default:
      EXPECT_EQ(part.bytes, 8u);
      return as(std::uint64_t{});
  }
}
const char* pointer(const void* structure, image_part part) {
  return reinterpret_cast<const char*>(static_cast<std::uintptr_t>(number(structure, part)));
}
const char* inside(const void* structure, image_part part) {
  return static_cast<const char*>(structure) + part.offset;
}

/// By the description alone: whether a block of class `c` in use starts at `block`, in the first
/// range.
bool is_in_use(const test_heap& h, const void* block, class_index c) {
  const char* const range = inside(&h, image.of_heap.first_range);
  const auto at = reinterpret_cast<std::uintptr_t>(block);
  const auto* const shifts = reinterpret_cast<const std::uint8_t*>(
      inside(&test_heap::classes::table(), image.of_classes.mark_shifts));
  const std::uint64_t where = number(range, image.of_range.marks) +
                              ((at - number(range, image.of_range.marks_origin)) >> shifts[c]);
  const auto mark = *reinterpret_cast<const std::uint8_t*>(static_cast<std::uintptr_t>(where));
  if (mark != static_cast<std::uint8_t>(2 * at + 1)) return false;
  std::uint64_t word = 0;
  std::memcpy(&word, block, sizeof word);
  return number(&h, image.of_heap.keys_in_use) == 0 ||
         word != (number(&h, image.of_heap.key_secret) ^ at);
}

/// Returns: how many blocks rest in the stacks of the caches, by the description alone.
std::size_t cached_blocks(const test_heap& h) {
  std::size_t blocks = 0;
  for (const char* c = pointer(&h, image.of_heap.caches_owned); c != nullptr;
       c = pointer(c, image.of_cache.next)) {
    const auto* const tops = c + image.of_cache.top.offset;
    for (std::size_t i = 1; i < test_heap::classes::count(); ++i) {
      const auto wide = static_cast<std::uint32_t>(i);
      const auto bottom = number(c, {image.of_cache.bottom_slot.offset + 2 * wide, 2});
      constexpr std::uint32_t slot = sizeof(void*);
      const char* const first = inside(c, image.of_cache.slots) + slot * (bottom + 1);
      const auto top = number(tops, {slot * wide, slot});
      blocks += static_cast<std::size_t>(top - reinterpret_cast<std::uintptr_t>(first)) / slot;
    }
  }
  return blocks;
}
std::size_t stashed_blocks(const test_heap& h) {
  std::size_t blocks = 0;
  for (std::size_t i = 1; i < test_heap::classes::count(); ++i) {
    const char* const central = inside(&h, image.of_heap.centrals) + i * image.central_bytes;
    const char* const stashes = inside(central, image.of_central.stashes);
    for (std::size_t s = 0; s < image.stashes; ++s)
      blocks +=
          static_cast<std::size_t>(number(stashes + s * image.stash_bytes, image.of_stash.count));
  }
  return blocks;
}

struct figures {
  std::size_t in_use = 0, wrong = 0, free_bits = 0, slabs = 0, large = 0;
};
/// Walks over the runs of the first range by the description, beside what the heap says of each
/// place.
figures walk(test_heap& h) {
  figures f;
  const char* const range = inside(&h, image.of_heap.first_range);
  const auto base = number(range, image.of_range.base);
  const char* const run_of = pointer(range, image.of_range.run_of.entries);
  const char* const records = pointer(range, image.of_range.runs.entries);
  for (std::uint64_t page = 0; page < number(range, image.of_range.top);) {
    const char* const r = records + number(run_of + 4 * page, {0, 4}) * image.run_bytes;
    EXPECT_EQ(number(r, image.of_run.first), page);
    const auto kind = number(r, image.of_run.kind);
    f.slabs += kind == image.kind_slab ? 1u : 0u;
    f.large += kind == image.kind_large ? 1u : 0u;
    if (kind == image.kind_slab) {
      f.free_bits += number(r, image.of_run.free_blocks);
      const auto c = static_cast<class_index>(number(r, image.of_run.size_class));
      const char* const shape =
          inside(&test_heap::classes::table(), image.of_classes.shapes) + c * image.shape_bytes;
      for (std::uint64_t b = 0; b < number(shape, image.of_shape.blocks); ++b) {
        const auto at =
            base + (page << image.page_shift) + b * number(shape, image.of_shape.block_size);
        const void* const block = reinterpret_cast<const void*>(static_cast<std::uintptr_t>(at));
        f.in_use += h.is_live(block) ? 1u : 0u;
        f.wrong += h.is_live(block) != is_in_use(h, block, c) ? 1u : 0u;
      }
    }
    page += number(r, image.of_run.pages);
  }
  return f;
}

TEST(HeapLayout, LeadsToTheBlocksInUseAndToThoseThatRest) {
  const auto h = std::make_unique<test_heap>();
  EXPECT_EQ(number(h.get(), image.of_heap.started), 0u);
  cache* const one = h->attach();
  EXPECT_EQ(number(h.get(), image.of_heap.started), 1u);
  EXPECT_EQ(number(h.get(), image.of_heap.range_count), 1u);
  std::vector<void*> blocks;
  const auto churn = [&](cache& own) {
    for (int i = 0; i < 3000; ++i) {
      const std::size_t size = 1 + static_cast<std::size_t>(i * 37 % 2000);
      blocks.push_back(test::allocate(*h, own, size));
      if (i % 3 != 0) continue;
      test::deallocate(*h, own, blocks.back());
      blocks.pop_back();
    }
  };
  churn(*one);
  blocks.push_back(test::allocate(*h, *one, 300 * 1024));
  for (const bool keyed : {false, true}) {
    SCOPED_TRACE(keyed ? "among threads" : "alone");
    if (keyed) churn(*h->attach());
    EXPECT_EQ(number(h.get(), image.of_heap.keys_in_use), keyed ? 1u : 0u);
    const figures f = walk(*h);
    EXPECT_EQ(f.wrong, 0u);
    EXPECT_EQ(f.large, 1u);
    EXPECT_EQ(f.in_use + f.large, blocks.size());
    std::size_t places = 0;
    h->for_each_place([&](const void*, std::size_t, class_index) {
      ++places;
      return true;
    });
    EXPECT_EQ(f.in_use + f.large + f.free_bits + cached_blocks(*h) + stashed_blocks(*h), places);
    EXPECT_GT(cached_blocks(*h), 0u);
  }
  h->release_all();
}

TEST(HeapLayout, TheHeadSaysWhatItIs) {
  EXPECT_EQ(std::memcmp(image.magic, "ashlarh1", 8), 0);
  EXPECT_EQ(image.version, 3u);
  EXPECT_EQ(image.bytes, sizeof(heap_image));
  EXPECT_EQ(image.page_shift, detail::page_shift);
  EXPECT_EQ(image.class_max, class_count);
}

}  // namespace
