// What the random programs trust: their shadow of the blocks sees each fault, and at exact accuracy (environment
// ASHLAR_STATS=exact) the statistics count every call, hits included.
#include <tests/model/subject.hpp>
#include <tests/support/test_headers.hpp>

namespace {

TEST(Model, ABlockThatIsTooSmallOrMisalignedIsSeen) {
  alignas(64) std::array<std::byte, 64> room{};
  model::ledger held(1);
  EXPECT_THROW(held.add(held[0], {.address = &room[0], .size = 9, .usable = 8}), model::broken);
  EXPECT_THROW(held.add(held[0], {.address = &room[8], .size = 8, .usable = 8}), model::broken);
  EXPECT_EQ(held.counts().blocks, 0u);
}

// A small block is looked at in every byte; a large one in lines, the last of which ends where it does.
TEST(Model, AChangedByteIsSeen) {
  alignas(64) std::array<std::byte, 5 * 4096> room{};
  const auto is_seen = [&](std::size_t usable, std::size_t at) {
    model::ledger held(1);
    held.add(held[0], {.address = room.data(), .size = usable, .usable = usable, .key = 7});
    held.verify_all();
    room[at] ^= std::byte{1};
    try {
      held.verify_all();
      return false;
    } catch (const model::broken&) {
      return true;
    }
  };
  for (const std::size_t usable : {1u, 7u, 64u, 65u, 2048u})
    for (std::size_t at = 0; at < usable; ++at) EXPECT_TRUE(is_seen(usable, at)) << usable << at;
  for (const std::size_t at : {0u, 63u, 20'000u}) EXPECT_TRUE(is_seen(20'001, at)) << at;
  EXPECT_FALSE(is_seen(20'001, 64));
}

TEST(Model, ExactStatisticsCountEveryCall) {
  static ashlar_stats before, full, after;
  xfree(xmalloc(1));
  ashlar_stats_get(&before);
  ASSERT_EQ(before.total.accuracy, ASHLAR_ACCURACY_EXACT) << "runs with ASHLAR_STATS=exact";
  support::random_source random(20'260'701);
  std::vector<void*> blocks;
  std::uint64_t asked = 0, usable = 0;
  for (int i = 0; i < 50'000; ++i) {
    const std::size_t size = 1 + random.below(16'384);
    blocks.push_back(xmalloc(size));
    ASSERT_NE(blocks.back(), nullptr);
    asked += size;
    usable += xusable_size(blocks.back());
  }
  ashlar_stats_get(&full);
  for (void* block : blocks) xfree(block);
  ashlar_stats_get(&after);
  EXPECT_EQ(full.total.allocations - before.total.allocations, blocks.size());
  EXPECT_EQ(full.total.bytes_in_use - before.total.bytes_in_use, usable);
  EXPECT_EQ(full.total.slack_bytes - before.total.slack_bytes, usable - asked);
  EXPECT_EQ(after.total.frees - before.total.frees, blocks.size());
  EXPECT_EQ(after.total.bytes_in_use, before.total.bytes_in_use);
  EXPECT_EQ(after.total.slack_bytes, before.total.slack_bytes);
  EXPECT_GE(after.total.peak_bytes_in_use, full.total.bytes_in_use);
  for (std::uint32_t c = 0; c < after.class_count; ++c) {
    EXPECT_EQ(after.classes[c].blocks_in_use, before.classes[c].blocks_in_use)
        << "class of " << after.classes[c].block_size;
  }
  EXPECT_NO_THROW(model::audit_stats(true));
}

}  // namespace
