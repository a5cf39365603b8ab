// Every class's bitmap, taken empty and filled again in several orders; double frees, one by one
// and in stretches.
#include <tests/support/test_headers.hpp>

#include <ashlar/heap/class_table.hpp>
#include <ashlar/pages/slab.hpp>

namespace {

using namespace ashlar;
using namespace ashlar::detail;

/// A slab of class `c` at addresses of its own; its blocks are never touched.
struct slab_fixture {
  explicit slab_fixture(class_index c)
      : memory(std::size_t{standard_classes.shapes[c].pages} * page_size),
        bits(standard_classes.shapes[c].words, 0) {
    slab.pages = standard_classes.shapes[c].pages;
    slab.size_class = c;
    slab.kind = run_kind::slab;
    slab.free_bits = bits.data();
    slab.free_blocks = standard_classes.shapes[c].blocks;
    for (std::uint32_t i = 0; i < standard_classes.shapes[c].blocks; ++i)
      bits[i / 64] |= std::uint64_t{1} << (i % 64);
  }
  /// Effects: no block is free.
  void empty() {
    bits.assign(bits.size(), 0);
    slab.free_blocks = 0;
  }
  [[nodiscard]] char* base() { return memory.data(); }
  [[nodiscard]] std::uint32_t set_bits() const {
    std::uint32_t n = 0;
    for (const std::uint64_t word : bits) n += static_cast<std::uint32_t>(std::popcount(word));
    return n;
  }

  std::vector<char> memory;
  std::vector<std::uint64_t> bits;
  run slab;
};

/// Returns: `count` blocks in the order in which a stack they were taken to would hand them out.
std::vector<char*> take(slab_fixture& f, std::size_t count,
                        batch_start start = batch_start::lowest_block) {
  const slab_shape& shape = standard_classes.shapes[f.slab.size_class];
  std::vector<void*> out(count);
  const std::size_t got = take_blocks(f.slab, shape, f.base(), out.data() + count, count,
                                      begin_word(f.slab, shape.words, start));
  std::vector<char*> popped;
  for (std::size_t i = 0; i < got; ++i) popped.push_back(static_cast<char*>(out[count - 1 - i]));
  return popped;
}

std::uint32_t index_of(slab_fixture& f, const char* block) {
  return standard_classes.shapes[f.slab.size_class].index_of(
      static_cast<std::size_t>(block - f.base()));
}

/// Bits as a test would keep them: one bool each.
std::vector<bool> model_of(const slab_fixture& f) {
  std::vector<bool> bits;
  for (const std::uint64_t word : f.bits)
    for (unsigned b = 0; b < 64; ++b) bits.push_back((word >> b & 1) != 0);
  return bits;
}

TEST(Slab, ABatchThatBeginsAtAFreeWordHasWholeLines) {
  for (const class_index c : {class_index{1}, class_index{2}, class_index{3}, class_index{5}}) {
    slab_fixture f(c);
    const char* const first = take(f, 1)[0];
    ASSERT_EQ(first, f.base());
    for (std::size_t begin = 64; begin + 64 <= standard_classes.shapes[c].blocks; begin += 64) {
      const std::vector<char*> blocks = take(f, 5, batch_start::free_word);
      ASSERT_EQ(blocks.size(), 5u);
      for (std::size_t i = 0; i != blocks.size(); ++i)
        ASSERT_EQ(blocks[i], f.base() + (begin + i) * block_sizes[c]);
    }
    EXPECT_EQ(take(f, 1, batch_start::free_word)[0], first + block_sizes[c])
        << "where no word is free, the lowest block is as good";
  }
}

TEST(Slab, ABatchLeavesNoFreeBlockInsideOfIt) {
  std::mt19937_64 random(4);
  for (const class_index c : {class_index{1}, class_index{3}, class_index{4}}) {
    slab_fixture f(c);
    std::vector<char*> held;
    std::size_t batches_behind_others = 0;
    for (int step = 0; step < support::times(2000); ++step) {
      const auto start = static_cast<batch_start>(random() % 2);
      const std::uint32_t free = f.slab.free_blocks;
      const std::vector<char*> blocks = take(f, 1 + random() % 300, start);
      ASSERT_EQ(blocks.empty(), free == 0);
      for (std::size_t i = 1; i < blocks.size(); ++i) ASSERT_LT(blocks[i - 1], blocks[i]);
      if (!blocks.empty()) {
        const std::vector<bool> is_free = model_of(f);
        ASSERT_EQ(std::count(is_free.begin() + index_of(f, blocks.front()),
                             is_free.begin() + index_of(f, blocks.back()), true),
                  0);
        if (f.set_bits() != 0 && blocks.front() != f.base()) ++batches_behind_others;
      }
      held.insert(held.end(), blocks.begin(), blocks.end());
      for (std::size_t n = random() % 600; n != 0 && !held.empty(); --n) {
        std::swap(held[random() % held.size()], held.back());
        ASSERT_TRUE(put_block(f.slab, index_of(f, held.back())));
        held.pop_back();
      }
      ASSERT_EQ(f.slab.free_blocks + held.size(), standard_classes.shapes[c].blocks);
    }
    EXPECT_GT(batches_behind_others, 0u);
  }
}

TEST(Slab, ABlockThatIsFreeIsNotPutAgain) {
  for (const class_index c : {class_index{1}, class_index{9}, class_index{72}}) {
    slab_fixture f(c);
    const std::size_t held = take(f, standard_classes.shapes[c].blocks / 2).size();
    for (std::uint32_t i = 0; i < standard_classes.shapes[c].blocks; ++i) {
      const std::vector<std::uint64_t> before = f.bits;
      if (i < held) continue;
      ASSERT_FALSE(put_block(f.slab, i)) << "block " << i << " was never taken";
      ASSERT_EQ(f.bits, before) << "a refused put changes nothing";
    }
    ASSERT_TRUE(put_block(f.slab, 0));
    EXPECT_FALSE(put_block(f.slab, 0));
    EXPECT_EQ(f.slab.free_blocks, standard_classes.shapes[c].blocks - held + 1);
  }
}

TEST(Slab, EveryStretchReportsItsFirstFreeBlock) {
  constexpr class_index c = 17;
  const std::uint32_t blocks = standard_classes.shapes[c].blocks;
  // Lengths and places around the borders of words; each block of the stretch is the free one.
  for (const std::uint32_t index : {0u, 1u, 31u, 62u, 63u, 64u, 65u, 100u, 127u, 128u}) {
    for (const std::uint32_t count : {1u, 2u, 63u, 64u, 65u, 66u, 98u}) {
      ASSERT_LE(index + count, blocks);
      for (std::uint32_t bad = index; bad < index + count; ++bad) {
        slab_fixture f(c);
        f.empty();
        ASSERT_TRUE(put_block(f.slab, bad));
        if (bad + 7 < blocks) {
          ASSERT_TRUE(put_block(f.slab, bad + 7)) << "not the first";
        }
        ASSERT_EQ(put_blocks(f.slab, index, count), bad) << index << ", " << count << " blocks";
        ASSERT_LE(f.slab.free_blocks, f.set_bits()) << "a block that is counted must be there";
      }
    }
  }
}

TEST(Slab, AStretchEndsAtTheFirstBlockThatIsNoNeighbour) {
  constexpr class_index c = 17;
  const slab_shape& shape = standard_classes.shapes[c];
  const auto size = static_cast<std::ptrdiff_t>(shape.block_size);
  for (const std::uint32_t index : {0u, 5u, 50u, 100u, shape.blocks - 8, shape.blocks - 1}) {
    for (const std::ptrdiff_t step : {size, -size}) {
      const std::size_t in_slab = step > 0 ? shape.blocks - index : index + 1;
      for (std::size_t length = 1; length <= 40; ++length) {
        slab_fixture f(c);
        f.empty();
        // Neighbours by their addresses, also where these are beyond the slab.
        std::vector<void*> blocks;
        for (std::ptrdiff_t i = 0; i < 64; ++i)
          blocks.push_back(
              reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(f.base()) +
                                      static_cast<std::uintptr_t>(index * size + i * step)));
        blocks[length] = blocks[0];
        misused_block bad;
        const std::size_t put = put_stretch(f.slab, shape, f.base(), blocks.data(), 64, bad);
        ASSERT_EQ(put, std::min(length, in_slab)) << index << ", " << length << ", " << step;
        ASSERT_EQ(f.slab.free_blocks, put);
        ASSERT_EQ(f.set_bits(), put);
      }
    }
  }
}

TEST(Slab, RandomTakesAndStretchesAgreeWithABitModel) {
  std::mt19937_64 random(3);
  for (const class_index c : {class_index{1}, class_index{4}, class_index{17}, class_index{30},
                              static_cast<class_index>(class_count - 1)}) {
    const std::uint32_t blocks = standard_classes.shapes[c].blocks;
    slab_fixture f(c);
    std::vector<bool> is_free(f.bits.size() * 64, false);
    std::fill_n(is_free.begin(), blocks, true);
    for (int step = 0; step < support::times(5000); ++step) {
      if (random() % 2 == 0) {
        for (char* block : take(f, 1 + random() % 200)) {
          const auto lowest = std::find(is_free.begin(), is_free.end(), true) - is_free.begin();
          ASSERT_EQ(index_of(f, block), lowest);
          is_free[index_of(f, block)] = false;
        }
      } else {
        const auto index = static_cast<std::uint32_t>(random() % blocks);
        auto end = index;
        while (end < blocks && !is_free[end] && end - index < 200) ++end;
        if (end == index) continue;
        ASSERT_EQ(put_blocks(f.slab, index, end - index), end);
        std::fill(is_free.begin() + index, is_free.begin() + end, true);
      }
      ASSERT_EQ(model_of(f), is_free);
      ASSERT_EQ(f.set_bits(), f.slab.free_blocks);
    }
  }
}

}  // namespace
