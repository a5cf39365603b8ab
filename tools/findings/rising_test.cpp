// Which growing call sites are findings, and which kind.
#include "tools/findings/rising.hpp"

#include <string>

#include <gtest/gtest.h>

#include "tools/findings/rules.hpp"

namespace ashlar::findings {
namespace {

using ashlar::sites::growing_site;
using ashlar::sites::growing_sites;

growing_site site(const std::string& line, double bytes, std::uint64_t allocated,
                  std::uint64_t at_end, const std::string& caller = "main") {
  growing_site s;
  s.how.confidence = 0.995;
  s.bytes = bytes;
  s.births = 10;
  s.bytes_allocated = allocated;
  s.bytes_at_end = at_end;
  s.calls = {{line + " in program", "/src/a.c", 1, "/bin/program", line},
             {caller + " in program", "/src/a.c", 9, "/bin/program", caller}};
  return s;
}

TEST(Rising, WhatIsNeverFreedIsALeakAndTheRestRises) {
  const growing_sites all{
      2, {site("lost", 100'000, 100'000, 96'000), site("cache", 100'000, 150'000, 0)}};
  std::vector<finding> found = rising_findings(all, {1000, 1'000'000});
  ASSERT_EQ(found.size(), 2u);
  rank(found);
  EXPECT_EQ(found[0].kind, finding_kind::leak);
  EXPECT_EQ(found[0].calls[found[0].owner].function, "lost");
  EXPECT_EQ(found[0].bytes_saved_at_end, 96'000u) << "the slope says more than is held";
  EXPECT_EQ(found[1].kind, finding_kind::rising);
  EXPECT_EQ(found[1].bytes_saved_at_end, 100'000u);
}

TEST(Rising, OneLineWithSeveralCallersIsOneFinding) {
  const growing_sites all{
      2, {site("lost", 40'000, 40'000, 40'000, "f"), site("lost", 30'000, 30'000, 30'000, "g")}};
  const std::vector<finding> found = rising_findings(all, {1000, 1'000'000});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].bytes_saved_at_end, 70'000u);
  EXPECT_EQ(found[0].allocations, 20u);
}

TEST(Rising, LittleIsNone) {
  const growing_sites little{2, {site("lost", 60'000, 60'000, 60'000)}};
  EXPECT_TRUE(rising_findings(little, {1000, 1'000'000}).empty());
  const growing_sites part{2, {site("lost", 90'000, 90'000, 90'000)}};
  EXPECT_TRUE(rising_findings(part, {1000, 10'000'000}).empty()) << "below a hundredth";
  const growing_sites freed{2, {site("cache", 90'000, 150'000, 0)}};
  EXPECT_TRUE(rising_findings(freed, {1000, 1'000'000}).empty()) << "below a tenth";
}

TEST(Rising, ComesBeforeWhatSavesMore) {
  finding pins;
  pins.kind = finding_kind::pins;
  pins.bytes_saved_after_peak = 5'000'000;
  finding slack;
  slack.kind = finding_kind::slack;
  slack.bytes_saved_at_peak = 9'000'000;
  std::vector<finding> all{slack, pins};
  for (finding& each :
       rising_findings({2, {site("lost", 100'000, 100'000, 100'000)}}, {1, 100'000}))
    all.push_back(each);
  rank(all);
  EXPECT_EQ(all[0].kind, finding_kind::leak);
  EXPECT_EQ(all[1].kind, finding_kind::pins);
}

}  // namespace
}  // namespace ashlar::findings
