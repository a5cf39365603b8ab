// Each rule on a run that it is about, and on the nearest run that it is not about.
#include "tools/findings/rules.hpp"

#include <tests/support/test_headers.hpp>

#include "tools/findings/remedies.hpp"
#include "tools/findings/runs_test.hpp"

namespace ashlar::findings {
namespace {

using test::run;

// The kinds that were found, the best first, and their sites: "growth:f short_lived:g ".
std::string kinds_of(const findings_of_run& found) {
  std::string kinds;
  for (const finding& f : found.list)
    kinds += std::string(remedy_for(f).name) + ':' + f.calls[f.owner].name + ' ';
  return kinds;
}
std::string kinds_of(const run& r) { return kinds_of(r.findings()); }

class FindingRules : public testing::Test {
 protected:
  findings_of_run expect(const char* kinds) {
    const findings_of_run found = r_.findings();
    EXPECT_EQ(kinds_of(found), kinds);
    if (HasFailure()) throw std::runtime_error("other findings");  // which nobody can look into
    return found;
  }
  run r_;
};

TEST_F(FindingRules, ABlockThatIsFreedAtOnceIsTemporary) {
  for (int i = 0; i < 2000; ++i) {
    const auto a = r_.make("f", 100);
    const auto b = r_.make("g", 100);  // lives through one call more, and one less than it may
    r_.drop(a);
    r_.drop(b);
  }
  const findings_of_run found = expect("short_lived:f in program short_lived:g in program ");
  EXPECT_EQ(
      std::tuple(found.list[0].fitting, found.list[0].most_live, found.list[0].allocations_saved,
                 found.list[0].bytes_saved_at_peak, found.list[0].how_sure),
      std::tuple(2000u, 1u, 1999u, 0u, sureness::seen));
}

TEST_F(FindingRules, ATemporaryThatGrowsOnceIsTemporary) {
  for (int i = 0; i < 2000; ++i) {
    const auto number = r_.make("f", 16);
    const auto text = r_.make("f", 32);
    r_.drop(number);
    r_.drop(text);
  }
  EXPECT_EQ(kinds_of(r_), "short_lived:f in program ");
}

TEST_F(FindingRules, ABlockThatLivesLongerIsNot) {
  for (int i = 0; i < 2000; ++i) {
    const auto a = r_.make("f", 100);
    for (int k = 0; k < 4; ++k) static_cast<void>(r_.make("kept", 8));
    r_.drop(a);
  }
  EXPECT_EQ(kinds_of(r_), "");
}

TEST_F(FindingRules, FewTemporariesAreNotWorthALine) {
  run few;
  for (int i = 0; i < 999; ++i) few.drop(few.make("f", 100));
  EXPECT_EQ(kinds_of(few), "");
  run rare;  // below a hundredth of all allocations
  for (int i = 0; i < 1500; ++i) rare.drop(rare.make("f", 100));
  for (int i = 0; i < 160'000; ++i) static_cast<void>(rare.make("kept", 8));
  EXPECT_EQ(kinds_of(rare), "");
}

TEST_F(FindingRules, MixedSitesAreNotTemporary) {
  for (std::uint64_t i = 0; i < 20'000; ++i) {
    const auto a = r_.make("f", 100 + i % 30);
    if (i % 10 != 0) r_.drop(a);  // a tenth stays
  }
  EXPECT_EQ(kinds_of(r_), "");
}

TEST_F(FindingRules, GrowthByRealloc) {
  for (int i = 0; i < 300; ++i) {
    auto text = r_.make("read", 16);
    for (std::uint64_t k = 2; k <= 8; ++k) text = r_.resize(text, "read", 16 * k);
    r_.drop(text);
  }
  const findings_of_run found = expect("growth:read in program ");
  EXPECT_EQ(std::tuple(found.list[0].fitting, found.list[0].chains, found.list[0].allocations_saved,
                       found.list[0].how_sure),
            std::tuple(2100u, 300u, 2100u, sureness::seen));
}

TEST_F(FindingRules, AReallocThatShrinksOrIsAloneIsNoGrowth) {
  run shrinks;
  for (int i = 0; i < 2000; ++i) {
    static_cast<void>(shrinks.resize(shrinks.make("read", 4096), "trim", 100));
  }
  EXPECT_EQ(kinds_of(shrinks), "");
  run once;
  for (int i = 0; i < 2000; ++i) static_cast<void>(once.resize(once.make("read", 16), "grow", 100));
  EXPECT_EQ(kinds_of(once), "");
}

const std::string push_back =
    "std::vector<int>::_M_realloc_insert<int>(int&&)|"
    "std::vector<int>::push_back(int&&)|load";

TEST_F(FindingRules, GrowthOfAVectorAndItsCopyAtThePeak) {
  auto kept = r_.make(push_back, 64);
  for (std::uint64_t size = 128; size <= 16 * 1024 * 1024; size *= 2) {
    const auto larger = r_.make(push_back, size);
    r_.drop(kept);
    kept = larger;
  }
  const findings_of_run found = expect("growth:load in program ");
  EXPECT_EQ(found.totals.peak_bytes, 24u * 1024 * 1024);
  EXPECT_EQ(found.list[0].bytes_saved_at_peak, 8u * 1024 * 1024);
  EXPECT_EQ(found.list[0].how_sure, sureness::inferred);
  EXPECT_EQ(found.list[0].through, "std::vector::push_back");
}

TEST_F(FindingRules, ACopyThatWasNotAtThePeakSavesNoBytes) {
  auto kept = r_.make(push_back, 64);
  for (std::uint64_t size = 128; size <= 1024 * 1024; size *= 2) {
    const auto larger = r_.make(push_back, size);
    r_.drop(kept);
    kept = larger;
  }
  static_cast<void>(r_.make("other", 4 * 1024 * 1024));
  EXPECT_EQ(kinds_of(r_), "");
}

TEST_F(FindingRules, BlocksThatReplaceEachOtherAtRandomAreNoGrowth) {
  std::mt19937 random(1);
  auto kept = r_.make("swap", 64);
  for (int i = 0; i < 5000; ++i) {
    for (int k = 0; k < 4; ++k) static_cast<void>(r_.make("kept", 8));
    const auto next = r_.make("swap", 1 + random() % 1000);
    r_.drop(kept);
    kept = next;
  }
  EXPECT_EQ(kinds_of(r_), "");
}

TEST_F(FindingRules, AContainerInsideOfTheLibraryCannotReserve) {
  for (int i = 0; i < 1000; ++i) {
    std::uint64_t kept = 0;
    for (std::uint64_t size = 16; size <= 256; size *= 2) {
      const auto larger =
          r_.make("std::vector<int>::push_back(int&&)|std::regex::regex(char const*)|f", size);
      if (kept != 0) r_.drop(kept);
      kept = larger;
    }
  }
  EXPECT_EQ(kinds_of(r_), "");
}

TEST_F(FindingRules, BlocksThatDieTogetherWantAnArena) {
  for (int round = 0; round < 10; ++round) {
    std::vector<run::block> nodes;
    std::vector<run::block> names;
    for (int i = 0; i < 500; ++i) {
      nodes.push_back(r_.make("node", 40));
      if (i % 2 == 0) names.push_back(r_.make("name", 24));
    }
    for (const auto b : nodes) r_.drop(b);
    for (const auto b : names) r_.drop(b);
  }
  // Two sites that die at the same moments... not quite: the names die after the nodes.
  const findings_of_run found = expect("together:node in program together:name in program ");
  EXPECT_EQ(
      std::tuple(found.list[0].bursts, found.list[0].fitting, found.list[0].allocations_saved),
      std::tuple(10u, 5000u, 4990u));
}

TEST_F(FindingRules, BlocksThatDieOnceMayDieWithTheProgram) {
  std::vector<run::block> all;
  for (std::uint64_t i = 0; i < 5000; ++i) all.push_back(r_.make("node", 8 + i % 50));
  for (const auto b : all) r_.drop(b);
  EXPECT_EQ(kinds_of(r_), "");
}

TEST_F(FindingRules, SitesThatDieAtTheSameMomentsAreOneFinding) {
  for (int round = 0; round < 10; ++round) {
    std::vector<run::block> both;
    for (int i = 0; i < 500; ++i) {
      both.push_back(r_.make("node", 40));
      if (i % 2 == 0) both.push_back(r_.make("name", 24));
    }
    for (const auto b : both) r_.drop(b);
  }
  const findings_of_run found = expect("together:node in program ");
  ASSERT_EQ(found.list[0].also.size(), 1u);
  EXPECT_EQ(std::tuple(found.list[0].also[0].name, found.list[0].allocations,
                       found.list[0].allocations_saved),
            std::tuple("name in program", 7500u, 7480u));
}

TEST_F(FindingRules, BlocksThatDieWhileOthersAreMadeDoNotDieTogether) {
  std::vector<run::block> live;
  std::mt19937 random(1);
  for (int i = 0; i < 10'000; ++i) live.push_back(r_.make("node", 8 + random() % 1000));
  for (const auto b : live) {
    r_.drop(b);
    static_cast<void>(r_.make("kept", 8));
  }
  EXPECT_EQ(kinds_of(r_), "");
}

// Blocks that come and go in any order, some hundred at a time.
void churn(run& r, const std::string& site, int rounds, std::uint64_t size,
           std::uint64_t sizes = 1) {
  std::mt19937 random(1);
  std::vector<run::block> live;
  for (int i = 0; i < rounds; ++i) {
    live.push_back(r.make(site, size + random() % sizes));
    if (live.size() < 200) continue;
    std::swap(live[random() % live.size()], live.back());
    r.drop(live.back());
    live.pop_back();
  }
}

TEST_F(FindingRules, ManyBlocksOfOneSizeWantAPool) {
  churn(r_, "job", 5000, 72);
  const findings_of_run found = expect("pool:job in program ");
  EXPECT_EQ(found.list[0].block_bytes, 72u);
  EXPECT_EQ(found.list[0].most_live, 200u);
  EXPECT_EQ(found.list[0].allocations_saved, 4999u);  // 200 blocks are less than a chunk
  run several;
  churn(several, "job", 5000, 72, 64);
  EXPECT_EQ(kinds_of(several), "");
  run kept;
  for (int i = 0; i < 5000; ++i) static_cast<void>(kept.make("job", 72));
  EXPECT_EQ(kinds_of(kept), "");
}

TEST_F(FindingRules, AContainersNodesAreToldByTheirName) {
  const std::string node =
      "std::__new_allocator<std::_Rb_tree_node<int> >::allocate(unsigned long)|"
      "std::map<int, int>::operator[](int&&)|index";
  for (int i = 0; i < 5000; ++i) static_cast<void>(r_.make(node, 48));
  const findings_of_run found = expect("nodes:index in program ");
  EXPECT_EQ(found.list[0].through, "std::map::operator[]");
  EXPECT_EQ(found.list[0].how_sure, sureness::inferred);
}

TEST_F(FindingRules, BlocksThatAnotherThreadFrees) {
  for (int i = 0; i < 2000; ++i) r_.drop(r_.make("send", 100), 2);
  const findings_of_run found = expect("handoff:send in program ");
  EXPECT_EQ(found.list[0].allocations_saved, 1999u);
  run half;
  for (std::uint32_t i = 0; i < 4000; ++i) {
    const auto b = half.make("send", 100);
    for (int k = 0; k < 4; ++k) static_cast<void>(half.make("kept", 8));
    half.drop(b, 1 + i % 2);
  }
  EXPECT_EQ(kinds_of(half), "");
}

TEST_F(FindingRules, AHotLoopHasFewBlocksAtOnce) {
  for (std::uint64_t i = 0; i < 10'000; ++i) {
    const auto b = r_.make("work", 100 + i % 50);
    for (int k = 0; k < 5; ++k) static_cast<void>(r_.make("kept", 8));
    r_.drop(b);
  }
  EXPECT_EQ(kinds_of(r_), "hot_loop:work in program ");
}

TEST_F(FindingRules, AHotLoopMayHaveMoreBlocksAtOnceWhereItHasMoreInAll) {
  const auto kinds_of_rounds = [](int rounds) {
    run each;
    for (int i = 0; i < rounds; ++i) {
      std::vector<run::block> nodes;
      for (int k = 0; k < 20; ++k) nodes.push_back(each.make("node", 48));
      for (int k = 0; k < 5; ++k) static_cast<void>(each.make("kept", 8));
      for (const auto node : nodes) each.drop(node);
    }
    return kinds_of(each);
  };
  EXPECT_EQ(kinds_of_rounds(1250), "hot_loop:node in program ");
  EXPECT_EQ(kinds_of_rounds(1249), "");
}

TEST_F(FindingRules, SlackJustAboveAClass) {
  for (int i = 0; i < 500; ++i) static_cast<void>(r_.make("buffer", 4096 + 16));
  const findings_of_run found = expect("slack:buffer in program ");
  EXPECT_EQ(found.list[0].smaller_bytes, 16u);
  EXPECT_EQ(found.list[0].saved_a_block, 512u);
  EXPECT_EQ(found.list[0].bytes_saved_at_peak, 500u * 512);
  run below;
  for (int i = 0; i < 500; ++i) static_cast<void>(below.make("buffer", 4096));
  EXPECT_EQ(kinds_of(below), "");
  run far_above;
  for (int i = 0; i < 500; ++i) static_cast<void>(far_above.make("buffer", 4096 + 300));
  EXPECT_EQ(kinds_of(far_above), "");
}

// glibc gives 400 bytes for 392 and for 384, but 288 for 272 and 272 for 264.
TEST_F(FindingRules, SlackIsThatOfTheAllocatorThatServed) {
  for (int i = 0; i < 20'000; ++i) static_cast<void>(r_.make("value", 392));
  EXPECT_EQ(kinds_of(r_.findings(rounding::ashlar)), "slack:value in program ");
  EXPECT_EQ(kinds_of(r_.findings(rounding::glibc)), "");
  run of_glibc;
  for (int i = 0; i < 6000; ++i) static_cast<void>(of_glibc.make("record", 272));
  const findings_of_run found = of_glibc.findings(rounding::glibc);
  EXPECT_EQ(kinds_of(found), "slack:record in program ");
  EXPECT_EQ(found.list[0].smaller_bytes, 8u);
  EXPECT_EQ(found.list[0].bytes_saved_at_peak, 6000u * 16);
  EXPECT_EQ(kinds_of(of_glibc.findings(rounding::unknown)), "");
}

TEST_F(FindingRules, RoundingIsKnownByWhatServed) {
  EXPECT_EQ(rounding_of(""), rounding::glibc);
  EXPECT_EQ(rounding_of("stacks=64"), rounding::glibc);
  EXPECT_EQ(rounding_of("stacks=64 on=ashlar"), rounding::ashlar);
  EXPECT_EQ(rounding_of("on=/opt/lib/libashlar-malloc.so"), rounding::ashlar);
  EXPECT_EQ(rounding_of("on=libjemalloc.so.2"), rounding::unknown);
  for (std::uint64_t size = 1; size < 2000; ++size) {
    const block_size block = block_size_of(size, rounding::glibc);
    EXPECT_GE(block.bytes, size + 8);
    EXPECT_EQ(block.bytes % 16, 0u);
    if (block.smaller == 0) continue;
    EXPECT_EQ(block_size_of(block.serves, rounding::glibc).bytes, block.smaller) << size;
    EXPECT_EQ(block_size_of(block.serves + 1, rounding::glibc).bytes, block.bytes) << size;
  }
}

TEST_F(FindingRules, ARemedyIsInTheLanguageOfItsLine) {
  finding f;
  f.kind = finding_kind::growth;
  f.calls = {{"load in program", "/src/a.cpp", 1, "/bin/program", "load"}};
  const auto has = [&](std::string_view word) {
    return remedy_for(f).words.find(word) != std::string_view::npos;
  };
  EXPECT_TRUE(has("reserve(), or one block"));
  EXPECT_FALSE(remedy_for(f).standard.empty());
  f.calls[0].file = "/src/a.c";
  EXPECT_TRUE(has("double the block"));
  EXPECT_FALSE(has("reserve()"));
  EXPECT_EQ(remedy_for(f).standard, "") << "no code of another language";
  f.calls[0].file = "/src/a.rs";
  EXPECT_TRUE(has("with_capacity()"));
  f.calls[0].file = f.calls[0].module = "/src/a.py";
  EXPECT_TRUE(has("comprehension"));
  f.calls = {{"load in program", "", 0, "/bin/program", "load"}};
  EXPECT_FALSE(has("reserve()")) << "a name of C";
  f.calls[0].function = "shop::load(int)";
  EXPECT_TRUE(has("reserve()"));
  f.calls = {{"test+0x1234", "", 0, "/proc/self/exe"}};
  EXPECT_TRUE(has("reserve()")) << "stripped, and it has operator new";
}

TEST_F(FindingRules, BytesThatASmallerBlockSavesAreNotToldTwice) {
  for (int round = 0; round < 2; ++round) {
    std::vector<run::block> all;
    for (int i = 0; i < 3000; ++i) all.push_back(r_.make("text", 512 + 1));
    for (const auto b : all) r_.drop(b);
  }
  const findings_of_run found = expect("slack:text in program together:text in program ");
  EXPECT_EQ(found.list[0].bytes_saved_at_peak, 3000u * 64);
  EXPECT_EQ(found.list[1].bytes_saved_at_peak, 0u);
}

constexpr std::uint64_t mebibyte = 1024 * 1024;

TEST_F(FindingRules, ALargeBlockThatIsMostlyUntouched) {
  const auto b = r_.make("reserve", 4 * mebibyte);
  r_.look(b, 3 * mebibyte);
  r_.drop(b);
  const findings_of_run found = expect("untouched:reserve in program ");
  const finding& f = found.list[0];
  EXPECT_EQ(f.address_space_saved_at_peak, 3 * mebibyte);
  EXPECT_EQ(f.bytes_saved_at_peak, 0u) << "what nobody touches has no memory";
  EXPECT_EQ(f.allocations_saved, 0u);
  EXPECT_EQ(f.untouched_bytes, 3 * mebibyte);
  EXPECT_EQ(f.largest_bytes, 4 * mebibyte);
  EXPECT_EQ(f.fitting, 1u);
  EXPECT_EQ(f.looked_at, 1u);
}

TEST_F(FindingRules, ALargeBlockThatIsMostlyTouchedIsNot) {
  r_.look(r_.make("half", 4 * mebibyte), 2 * mebibyte - 1);
  r_.look(r_.make("small", mebibyte), mebibyte - 1);  // less than a MiB
  for (int i = 0; i < 3; ++i)                         // one block of three
    r_.look(r_.make("often full", 4 * mebibyte), i == 0 ? 4 * mebibyte : 0);
  static_cast<void>(r_.make("nobody looked", 4 * mebibyte));
  EXPECT_EQ(kinds_of(r_), "");
  run beside_more;
  beside_more.look(beside_more.make("reserve", 2 * mebibyte), 2 * mebibyte);
  beside_more.look(beside_more.make("all", 199 * mebibyte), 0);
  EXPECT_EQ(kinds_of(beside_more), "") << "less than a hundredth of the peak";
}

TEST_F(FindingRules, WhatIsUntouchedCountsIfItLivedAtThePeak) {
  const auto before = r_.make("before", 2 * mebibyte);
  r_.look(before, 2 * mebibyte);
  r_.drop(before);
  const auto at_it = r_.make("at it", 5 * mebibyte);
  static_cast<void>(r_.make("all", 30 * mebibyte));
  r_.look(at_it, 4 * mebibyte);
  r_.drop(at_it);
  r_.look(r_.make("after", 2 * mebibyte), 2 * mebibyte);
  EXPECT_EQ(kinds_of(r_), "untouched:at it in program ");
}

TEST_F(FindingRules, WhereTheRecorderLeavesBlocksOutTheOthersStandForThem) {
  std::vector<run::block> all;
  for (int i = 0; i < 200; ++i) all.push_back(r_.make("part", 128 * 1024));
  for (int i = 0; i < 100; ++i) r_.look(all[static_cast<std::size_t>(i)], 96 * 1024);
  const findings_of_run found = expect("untouched:part in program ");
  EXPECT_EQ(found.list[0].address_space_saved_at_peak, 200u * 96 * 1024);
  EXPECT_EQ(found.list[0].looked_at, 100u);
  // A program that was killed: what a few blocks say is no more than of these.
  run killed;
  for (int i = 0; i < 200; ++i) all[static_cast<std::size_t>(i)] = killed.make("part", 128 * 1024);
  for (int i = 0; i < 20; ++i) killed.look(all[static_cast<std::size_t>(i)], 96 * 1024);
  ASSERT_EQ(kinds_of(killed), "untouched:part in program ");
  EXPECT_EQ(killed.findings().list[0].address_space_saved_at_peak, 20u * 96 * 1024);
}

TEST_F(FindingRules, WhatSavesAddressesOnlyIsLast) {
  const auto reserve = r_.make("reserve", 400 * mebibyte);
  for (int i = 0; i < 1500; ++i) r_.drop(r_.make("few", 100));
  r_.look(reserve, 400 * mebibyte);
  EXPECT_EQ(kinds_of(r_), "short_lived:few in program untouched:reserve in program ");
}

TEST_F(FindingRules, TheBestIsFirst) {
  for (int i = 0; i < 3000; ++i) r_.drop(r_.make("few", 100));
  for (int i = 0; i < 5000; ++i) r_.drop(r_.make("many", 100));
  for (int i = 0; i < 500; ++i) static_cast<void>(r_.make("buffer", 4096 + 16));
  EXPECT_EQ(kinds_of(r_),
            "slack:buffer in program short_lived:many in program short_lived:few in program ");
}

TEST_F(FindingRules, OneLineWithSeveralSitesIsOneFinding) {
  for (int i = 0; i < 2000; ++i) {
    r_.drop(r_.make("std::to_string(int)|f", 100));
    r_.drop(r_.make("std::operator+(char const*)|f", 100));
  }
  const findings_of_run found = expect("short_lived:f in program ");
  EXPECT_EQ(found.list[0].allocations, 4000u);
  EXPECT_EQ(found.list[0].allocations_saved, 3998u);
}

TEST_F(FindingRules, AHelperWithSeveralUsesIsJudgedByItsCallers) {
  for (std::uint64_t i = 0; i < 3000; ++i) {
    r_.drop(r_.make("helper", 100 + i % 50, 1, "brief"));
    static_cast<void>(r_.make("helper", 100 + i % 50, 1, "keeper"));
  }
  const findings_of_run found = expect("short_lived:brief in program ");
  EXPECT_EQ(found.list[0].through, "helper");
  EXPECT_EQ(found.list[0].allocations, 3000u);
}

TEST_F(FindingRules, AnEmptyRunHasNone) { EXPECT_EQ(kinds_of(run()), ""); }

TEST(Remedies, EachKindHasWordsAndCode) {
  for (std::size_t k = 0; k < finding_kinds; ++k) {
    finding f;
    f.kind = static_cast<finding_kind>(k);
    const remedy what = remedy_for(f);
    EXPECT_FALSE(what.title.empty() || what.words.empty()) << what.name;
    const bool needs_no_code = what.name == "leak" || what.name == "rising";
    EXPECT_EQ(what.standard.empty(), needs_no_code) << what.name;
  }
}

TEST(Remedies, AreInTheLanguageOfTheLine) {
  finding f;
  f.kind = finding_kind::pins;
  f.calls = {{"f in program", "/home/you/a.cpp", 1, "/bin/program"}};
  EXPECT_NE(remedy_for(f).ashlar.find("ashlar::heap"), std::string_view::npos);
  f.calls[0].file = "/home/you/a.c";
  EXPECT_NE(remedy_for(f).standard.find("malloc("), std::string_view::npos);
  EXPECT_TRUE(remedy_for(f).ashlar.empty());
}

}  // namespace
}  // namespace ashlar::findings
