// Random programs against a shadow model, one thread: the shadow shows every overlap of blocks, and
// every write that went astray.
// ASHLAR_SEED and ASHLAR_OPERATIONS choose the program; both are printed.
#include <cstdio>
#include <tests/model/model.hpp>
#include <vector>

#include <gtest/gtest.h>

namespace {

class program {
 public:
  explicit program(std::uint64_t seed) : random_(seed) {}

  void run(std::uint64_t operations) {
    // Phases with different appetites: a heap that only ever grows is easy, one that shrinks and
    // changes its mind is where blocks of one class must make room for another.
    for (std::uint64_t done = 0; done < operations; ++done) {
      if (done % 25'000 == 0) {
        most_blocks_ = 1 + random_.below(20'000);
        most_bytes_ = (1 + random_.below(128)) << 20;
      }
      step();
      if (done % 16'384 == 16'383) check_figures();
    }
    finish();
  }

 private:
  void step() {
    const std::size_t dice = random_.below(1000);
    if (held_.empty() ||
        (dice < 480 && held_.size() < most_blocks_ && held_.bytes() < most_bytes_)) {
      model::allocate(random_, held_);
    } else if (dice < 600) {
      const model::block old = held_.take_any(random_);
      if (dice < 485) {
        model::require(xrealloc(old.address, 0) == nullptr, "realloc to 0 did not give null");
      } else {
        model::reallocate(random_, old, held_);
      }
    } else if (dice < 999) {
      xfree(held_.take_any(random_).address);
      if (held_.size() > most_blocks_ || held_.bytes() > most_bytes_)
        xfree(held_.take_any(random_).address);
    } else if (random_.chance(20)) {
      ashlar_trim();
    } else {
      xfree(nullptr);
      model::require(xusable_size(nullptr) == 0, "null has a usable size");
    }
  }

  void check_figures() {
    const model::figures seen = model::audit_stats(true);
    model::require(seen.blocks >= held_.size(),
                   "statistics know fewer blocks than are in use: " + std::to_string(seen.blocks) +
                       " of " + std::to_string(held_.size()));
    model::require(seen.bytes >= held_.bytes(),
                   "statistics know fewer bytes than are in use: " + std::to_string(seen.bytes) +
                       " of " + std::to_string(held_.bytes()));
  }

  void finish() {
    while (!held_.empty()) xfree(held_.take_last().address);
    ashlar_trim();
    model::audit_stats(true);
  }

  support::random_source random_;
  model::live_blocks held_;
  std::size_t most_blocks_ = 0, most_bytes_ = 0;
};

TEST(Model, RandomProgramsOnOneThread) {
  const std::uint64_t seed = model::seed(), operations = model::operations(1'500'000);
  std::printf("ASHLAR_SEED=%llu ASHLAR_OPERATIONS=%llu\n", static_cast<unsigned long long>(seed),
              static_cast<unsigned long long>(operations));
  ashlar_trim();
  const model::figures before = model::audit_stats(true);
  try {
    // Several shorter programs, so that each starts on a heap the one before has used.
    for (std::uint64_t part = 0; part < 4; ++part) program(seed + part).run(operations / 4);
  } catch (const model::broken& fault) {
    FAIL() << fault.what() << " (ASHLAR_SEED=" << seed << ")";
  }
  const model::figures after = model::audit_stats(true);
  EXPECT_EQ(after.blocks, before.blocks) << "everything was freed";
  EXPECT_EQ(after.bytes, before.bytes) << "everything was freed";
}

// At exact accuracy (environment ASHLAR_STATS=exact) every call is counted, hits included.
TEST(Model, ExactStatisticsCountEveryCall) {
  static ashlar_stats before, full, after;
  xfree(xmalloc(1));
  ashlar_stats_get(&before);
  if (before.total.accuracy != ASHLAR_ACCURACY_EXACT) {
    GTEST_SKIP() << "runs with ASHLAR_STATS=exact";
  }
  support::random_source random(model::seed());
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
