// Programs of intervals, and the peaks of what lives in them.
#include "tools/tune/interval_program.hpp"

#include <tests/support/test_headers.hpp>

#include "tools/tune/sizing.hpp"
#include "tools/tune/workloads_test.hpp"

namespace ashlar::tune {
namespace {

// ---- interval_program --------------------------------------------------------------------------
// The program leaves out what it need not look at; these do not.

// Every class of every interval is looked at. At [i][k]: the least bytes for the needs from i on in at most k classes.
class plain_program {
 public:
  plain_program(std::span<const block_need> needs, std::size_t most_classes, std::uint64_t margin,
                const peak_bounds& bounds)
      : needs_(needs),
        margin_(margin),
        bounds_(bounds),
        behind_alignment_(needs.size() + 1, 1),
        least_(needs.size() + 1, std::vector<std::uint64_t>(most_classes + 1)) {
    for (std::size_t i = needs.size(); i-- > 0;) {
      behind_alignment_[i] =
          std::max(behind_alignment_[i + 1], class_alignment(needs[i].alignment));
      least_[i].assign(most_classes + 1, too_many_bytes);
      for (std::size_t j = i; j < needs.size(); ++j) {
        const size_class made = class_of({i, j});
        for (std::size_t k = 1; k <= most_classes; ++k)
          least_[i][k] = std::min(least_[i][k], with_rest(made, j + 1, k - 1));
      }
    }
  }

  [[nodiscard]] std::uint64_t least(std::size_t classes) const { return least_[0][classes]; }

  [[nodiscard]] std::vector<interval> partition_of(std::size_t classes) const {
    std::vector<interval> parts;
    for (std::size_t i = 0; i < needs_.size(); i = parts.back().last + 1, --classes) {
      while (classes > 1 && least_[i][classes - 1] == least_[i][classes]) --classes;
      std::size_t j = i;
      while (with_rest(class_of({i, j}), j + 1, classes - 1) != least_[i][classes]) ++j;
      parts.push_back({i, j});
    }
    return parts;
  }

 private:
  [[nodiscard]] size_class class_of(interval served) const {
    const auto peak = static_cast<std::uint64_t>(bounds_.at(served.first, served.last));
    return class_for(needs_, served, peak, margin_);
  }
  [[nodiscard]] std::uint64_t with_rest(const size_class& made, std::size_t next,
                                        std::size_t classes) const {
    return together(made.bytes, made.alignment, least_[next][classes], behind_alignment_[next]);
  }

  std::span<const block_need> needs_;
  std::uint64_t margin_;
  const peak_bounds& bounds_;
  std::vector<std::uint64_t> behind_alignment_;
  std::vector<std::vector<std::uint64_t>> least_;
};

std::vector<moment> random_moments(std::mt19937& random, const workload& load, std::size_t count) {
  std::vector<moment> moments(count);
  for (moment& at : moments) {
    at.trace = static_cast<std::uint32_t>(random() % load.traces.size());
    at.changes = static_cast<std::uint32_t>(random() % (load.traces[at.trace].size() + 1));
  }
  return moments;
}

TEST(IntervalProgram, FindsWhatLookingAtEveryClassFinds) {
  for (std::uint32_t seed = 0; seed < support::times(120u); ++seed) {
    std::mt19937 random(seed);
    const workload load = random_workload(random, 120, 1 + random() % 3000, 1 + random() % 2);
    const interval_peaks peaks(load);
    const std::uint64_t margin = random() % 3 == 0 ? random() % 60 : 0;
    const std::size_t most_classes = 1 + random() % 12;
    peak_bounds bounds(load.needs.size());
    interval_program program(load.needs, most_classes, margin);
    // Again and again with more moments, as the search does.
    for (const std::size_t more : {0u, 3u, 40u}) {
      for (const moment at : random_moments(random, load, more))
        bounds.raise(peaks.alive_below(at));
      program.run(bounds);
      const plain_program plain(load.needs, most_classes, margin, bounds);
      for (std::size_t k = 1; k <= most_classes; ++k) {
        ASSERT_EQ(program.least(k), plain.least(k)) << "seed " << seed << ", " << k << " classes";
        const std::vector<interval> parts = program.partition_of(k, bounds);
        const std::vector<interval> expected = plain.partition_of(k);
        ASSERT_TRUE(std::equal(
            parts.begin(), parts.end(), expected.begin(), expected.end(),
            [](interval a, interval b) { return a.first == b.first && a.last == b.last; }))
            << "seed " << seed << ", " << k << " classes";
      }
    }
  }
}

// Needs of which one class serves all, and those whose bytes no set can have.
TEST(IntervalProgram, HasNoPartitionOfMoreThanAllBytes) {
  const std::vector<block_need> needs{{1 << 10, 16}, {std::uint64_t{1} << 36, 16}};
  peak_bounds bounds(2);
  bounds.raise(std::vector<std::int32_t>{0, 1, 1 << 20});
  interval_program program(needs, 2, 0);
  program.run(bounds);
  EXPECT_EQ(program.least(1), too_many_bytes);
  EXPECT_EQ(program.least(2), too_many_bytes);
  EXPECT_EQ(program.partition_of(2, bounds).size(), 1u);
}

// ---- interval_peaks ----------------------------------------------------------------------------

// At [n], the blocks alive for needs before n.
std::vector<std::int32_t> counted_below(const workload& load, moment at) {
  std::vector<std::int32_t> below(load.needs.size() + 1);
  for (std::size_t c = 0; c < at.changes; ++c) {
    const std::int32_t change = load.traces[at.trace][c];
    for (std::size_t n = static_cast<std::size_t>(need_of(change)) + 1; n < below.size(); ++n)
      below[n] += is_birth(change) ? 1 : -1;
  }
  return below;
}

TEST(IntervalPeaks, AreThoseThatCountingFinds) {
  for (std::uint32_t seed = 0; seed < support::times(20u); ++seed) {
    std::mt19937 random(seed);
    const workload load = random_workload(random, 30, 1 + random() % 4000, 1 + random() % 3);
    const interval_peaks peaks(load);
    std::vector<std::vector<std::uint32_t>> most(load.needs.size(),
                                                 std::vector<std::uint32_t>(load.needs.size()));
    peak_bounds bounds(load.needs.size());
    for (std::uint32_t t = 0; t < load.traces.size(); ++t) {
      std::vector<std::int32_t> alive(load.needs.size());
      for (const std::int32_t change : load.traces[t]) {
        alive[static_cast<std::size_t>(need_of(change))] += is_birth(change) ? 1 : -1;
        for (std::size_t i = 0; i < alive.size(); ++i) {
          std::int32_t sum = 0;
          for (std::size_t j = i; j < alive.size(); ++j) {
            sum += alive[j];
            most[i][j] = std::max(most[i][j], static_cast<std::uint32_t>(sum));
          }
        }
      }
    }
    for (std::size_t i = 0; i < most.size(); ++i) {
      for (std::size_t j = i; j < most.size(); ++j) {
        const peak found = peaks.of({i, j});
        ASSERT_EQ(found.blocks, most[i][j]) << seed << ": " << i << " to " << j;
        const std::vector<std::int32_t> below = counted_below(load, found.at);
        ASSERT_EQ(peaks.alive_below(found.at), below) << seed;
        ASSERT_EQ(static_cast<std::uint32_t>(below[j + 1] - below[i]), found.blocks) << seed;
        bounds.raise(below);
        ASSERT_GE(static_cast<std::uint32_t>(bounds.at(i, j)), found.blocks);
      }
    }
    for (std::size_t i = 0; i < most.size(); ++i) {
      for (std::size_t j = i; j < most.size(); ++j)
        ASSERT_EQ(static_cast<std::uint32_t>(bounds.at(i, j)), most[i][j])
            << "a bound above a peak";
    }
    const std::size_t middle = most.size() / 2;
    if (middle == 0) continue;
    const interval halves[] = {{0, middle - 1}, {middle, most.size() - 1}};
    const std::vector<peak> both = peaks.of(halves);
    EXPECT_EQ(both[0].blocks, most[0][middle - 1]);
    EXPECT_EQ(both[1].blocks, most[middle].back());
  }
}

// So many needs that they are in groups of groups; windows that cannot have a peak are not read.
TEST(IntervalPeaks, OfManyNeedsAreThoseThatCountingFinds) {
  for (std::uint32_t seed = 0; seed < support::times(6u); ++seed) {
    std::mt19937 random(seed);
    const workload load = random_workload(random, 3000, 30'000, 2);
    const std::size_t needs = load.needs.size();
    const interval_peaks peaks(load);
    for (int round = 0; round < 25; ++round) {
      const std::size_t first = random() % needs;
      const std::size_t last = first + random() % (round % 2 == 0 ? needs - first : 1);
      std::int32_t most = 0;
      for (const series& trace : load.traces) {
        std::int32_t alive = 0;
        for (const std::int32_t change : trace) {
          const auto n = static_cast<std::size_t>(need_of(change));
          if (n < first || n > last) continue;
          most = std::max(most, alive += is_birth(change) ? 1 : -1);
        }
      }
      ASSERT_EQ(peaks.of({first, last}).blocks, static_cast<std::uint32_t>(most))
          << seed << ": " << first << " to " << last;
    }
  }
}

}  // namespace

}  // namespace ashlar::tune
