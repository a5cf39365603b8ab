// At exact accuracy (environment ASHLAR_STATS=exact) every call is counted, hits included.
#include <tests/model/model.hpp>
#include <tests/support/test_headers.hpp>

namespace {

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
