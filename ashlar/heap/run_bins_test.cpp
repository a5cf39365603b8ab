// Random programs against a multimap from length to run.
#include <algorithm>
#include <iterator>
#include <map>
#include <random>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/heap/run_bins.hpp>

namespace {

using namespace ashlar::detail;
using model = std::multimap<std::size_t, run*>;

constexpr std::size_t exact_max = 32;  // lengths up to here are told apart
constexpr std::size_t looked_at = 16;  // runs of a shared bin that a search looks at

std::uint32_t random_length(std::mt19937_64& random) {
  switch (random() % 4) {
    case 0:
    case 1:
      return static_cast<std::uint32_t>(1 + random() % 48);
    case 2:
      return static_cast<std::uint32_t>(1 + random() % 5000);
    default:
      return static_cast<std::uint32_t>(1 + (random() >> (33 + random() % 30)));
  }
}

void check_find(const run_bins& bins, const model& runs, std::size_t pages) {
  const run* found = bins.find(pages);
  const auto best = runs.lower_bound(pages);
  // What may share the bin of `pages`: a bin is at most an eighth of its lengths wide.
  const auto neighbours =
      std::distance(runs.lower_bound(pages - pages / 8), runs.upper_bound(pages + pages / 8));
  if (found == nullptr) {
    if (best == runs.end()) return;
    ASSERT_GT(pages, exact_max) << "a run of " << best->first << " was not found";
    ASSERT_LE(std::prev(runs.end())->first, pages + pages / 8) << "a longer bin was not searched";
    ASSERT_GT(neighbours, static_cast<std::ptrdiff_t>(looked_at));
    return;
  }
  ASSERT_GE(found->pages, pages);
  ASSERT_NE(best, runs.end());
  const auto [first, last] = runs.equal_range(found->pages);
  ASSERT_TRUE(std::any_of(first, last, [found](const auto& e) { return e.second == found; }))
      << "a run was found that is in no bin";
  if (best->first <= exact_max) {
    ASSERT_EQ(found->pages, best->first);
  } else if (neighbours <= static_cast<std::ptrdiff_t>(looked_at)) {
    ASSERT_LE(found->pages, best->first + best->first / 8) << "not the least bin that fits";
  }
}

TEST(RunBins, AgreeWithAModelOverRandomPrograms) {
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    std::mt19937_64 random(seed);
    std::vector<run> records(400);
    std::vector<run*> spare;
    for (run& r : records) spare.push_back(&r);
    run_bins bins;
    model runs;
    std::size_t pages = 0;
    for (int step = 0; step < 6000; ++step) {
      // Phases of growing and of shrinking, so that bins get long and get empty.
      const bool grows = random() % 8 < (step / 1000 % 2 == 0 ? 5u : 2u);
      if (grows && !spare.empty()) {
        run* r = spare.back();
        spare.pop_back();
        r->pages = random_length(random);
        bins.insert(r);
        runs.emplace(r->pages, r);
        pages += r->pages;
      } else if (!runs.empty()) {
        const auto victim = std::next(runs.begin(), static_cast<long>(random() % runs.size()));
        bins.remove(victim->second);
        pages -= victim->first;
        spare.push_back(victim->second);
        runs.erase(victim);
      }
      ASSERT_EQ(bins.pages(), pages);
      check_find(bins, runs, random_length(random));
      if (!runs.empty()) check_find(bins, runs, std::prev(runs.end())->first);
      if (HasFatalFailure()) return;
    }
  }
}

TEST(RunBins, FindEveryLengthThatIsThereAlone) {
  for (std::uint32_t pages = 1; pages < 3000; ++pages) {
    run r;
    r.pages = pages;
    run_bins bins;
    bins.insert(&r);
    ASSERT_EQ(bins.find(pages), &r) << pages;
    ASSERT_EQ(bins.find(1), &r) << pages;
    ASSERT_EQ(bins.find(std::size_t{pages} + 1), nullptr) << pages;
    bins.remove(&r);
    ASSERT_EQ(bins.find(1), nullptr) << pages;
  }
}

TEST(RunBins, TakeTheLongestRunThereCanBe) {
  run r;
  r.pages = UINT32_MAX;
  run_bins bins;
  bins.insert(&r);
  EXPECT_EQ(bins.find(UINT32_MAX), &r);
  if constexpr (sizeof(std::size_t) > 4) {
    EXPECT_EQ(bins.find(std::size_t{UINT32_MAX} + 1), nullptr);
    EXPECT_EQ(bins.find(SIZE_MAX), nullptr);
  }
}

TEST(RunBins, AVisitSeesEachRunOnceAndLetsItBeRemoved) {
  std::vector<run> records(200);
  run_bins bins;
  std::mt19937_64 random(3);
  for (run& r : records) {
    r.pages = random_length(random);
    bins.insert(&r);
  }
  std::set<run*> seen;
  EXPECT_EQ(bins.visit_from(0,
                            [&](run* r) {
                              EXPECT_TRUE(seen.insert(r).second);
                              if (seen.size() % 2 == 0) bins.remove(r);
                              return true;
                            }),
            run_bins::bins_end);
  EXPECT_EQ(seen.size(), records.size());
  std::size_t left = 0;
  bins.visit_from(0, [&](run* r) {
    ++left;
    bins.remove(r);
    return true;
  });
  EXPECT_EQ(left, records.size() / 2);
  EXPECT_EQ(bins.pages(), 0u);
  EXPECT_EQ(bins.find(1), nullptr);
}

TEST(RunBins, AVisitBeginsWithTheRunThatHasWaitedLongest) {
  std::vector<run> records(6);
  run_bins bins;
  for (std::size_t i = 0; i < records.size(); ++i) {
    records[i].pages = i < 4 ? 3 : 7;
    bins.insert(&records[i]);
  }
  const auto order = [&](unsigned from, std::size_t most, unsigned& stopped) {
    std::vector<std::ptrdiff_t> seen;
    stopped = bins.visit_from(from, [&](run* r) {
      seen.push_back(r - records.data());
      return seen.size() < most;
    });
    return seen;
  };
  unsigned bin = 0;
  EXPECT_EQ(order(0, 100, bin), (std::vector<std::ptrdiff_t>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(bin, run_bins::bins_end);
  EXPECT_EQ(order(0, 2, bin), (std::vector<std::ptrdiff_t>{0, 1}));
  EXPECT_EQ(order(bin, 100, bin), (std::vector<std::ptrdiff_t>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(order(0, 5, bin), (std::vector<std::ptrdiff_t>{0, 1, 2, 3, 4}));
  EXPECT_EQ(order(bin, 100, bin), (std::vector<std::ptrdiff_t>{4, 5}))
      << "the bin where it stopped";
  for (const int removed : {0, 3, 1}) {  // the oldest, the newest, one between others
    bins.remove(&records[static_cast<std::size_t>(removed)]);
    bins.insert(&records[static_cast<std::size_t>(removed)]);
    EXPECT_EQ(order(0, 100, bin).at(3), removed) << "it is the newest now";
  }
}

}  // namespace
