// Whose line holds the memory: stat, report and leaks on a program with planted leaks.
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <tests/support/command_in_folder.hpp>
#include <vector>

#include <gtest/gtest.h>
#include <sys/wait.h>

namespace {

namespace fs = std::filesystem;
using support::words;
using json = nlohmann::json;

const std::string leak = ASHLAR_TEST_LEAK;

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// Returns: "/file:line" of the line that has this comment.
std::string line_of(const std::string& comment) {
  std::ifstream in(ASHLAR_TEST_LEAK_SOURCE);
  std::string line;
  for (int number = 1; std::getline(in, line); ++number)
    if (contains(line, "// line: " + comment)) return "/planted_leak.cpp:" + std::to_string(number);
  ADD_FAILURE() << comment;
  return {};
}

class Lines : public support::CommandInFolder {
 protected:
  void SetUp() override {
    support::CommandInFolder::SetUp();
    if (!ASHLAR_HAS_LIBDW) GTEST_SKIP() << "no libdw";
  }
  json stat_json(const std::string& trace = "run.atrace") {
    EXPECT_EQ(ashlar({"stat", "--json", "--rows", "100", trace}), 0) << said("err");
    return json::parse(said("out"));
  }
};

// The compiler may have been told a relative name.
bool is_at(const json& source, const std::string& place) {
  return source.get<std::string>().ends_with(place);
}

// Returns: the site whose frames have this source first; null: none.
json site_at(const json& sites, const std::string& source) {
  for (const json& site : sites)
    if (is_at(site["sources"][0], source)) return site;
  return nullptr;
}

TEST_F(Lines, StatNamesFileAndLineOfInlinedCallsToo) {
  ASSERT_EQ(ashlar({"record", "--stacks", "--", leak}), 0) << said("err");
  const json stat = stat_json();
  const json site = site_at(stat["held_at_end"], line_of("order"));
  ASSERT_FALSE(site.is_null()) << stat["held_at_end"].dump(1);
  EXPECT_EQ(site["blocks_at_end"], 30);
  EXPECT_EQ(site["births"], 30);
  EXPECT_TRUE(contains(site["frames"][0], "make_order")) << site;
  EXPECT_TRUE(is_at(site["sources"][1], line_of("serve")));
  EXPECT_TRUE(contains(site["frames"][1], "shop::serve(int, bool) in planted_leak")) << site;
  ASSERT_EQ(ashlar({"stat", "run.atrace"}), 0);
  EXPECT_TRUE(contains(said("out"), line_of("deep"))) << said("out");
}

TEST_F(Lines, TheReportsTreeHasThem) {
  ASSERT_EQ(ashlar({"record", "--stacks", "--", leak}), 0) << said("err");
  ASSERT_EQ(ashlar({"report", "--json", "run.atrace"}), 0) << said("err");
  bool found = false;
  const json page = json::parse(said("out"));
  for (const json& node : page["call_sites"])
    found = found || is_at(node["source"], line_of("order"));
  EXPECT_TRUE(found);
}

TEST_F(Lines, SitesAreSortedByBytes) {
  ASSERT_EQ(ashlar({"record", "--stacks", "--", leak}), 0) << said("err");
  const json stat = stat_json();
  for (const auto& [list, figure] :
       {std::pair{"call_sites", "bytes_at_peak"}, std::pair{"held_at_end", "bytes_at_end"}}) {
    ASSERT_GT(stat[list].size(), 2u);
    for (std::size_t i = 1; i < stat[list].size(); ++i)
      EXPECT_GE(stat[list][i - 1][figure], stat[list][i][figure]);
  }
}

TEST_F(Lines, AStrippedProgramIsNamedWithTheRemedy) {
  ASSERT_EQ(std::system(("strip -o '" + path("stripped") + "' '" + leak + "'").c_str()), 0);
  ASSERT_EQ(ashlar({"record", "--stacks", "--", path("stripped")}), 0) << said("err");
  ASSERT_EQ(ashlar({"stat", "run.atrace"}), 0);
  EXPECT_TRUE(contains(said("err"), "stripped (compile it with -g)")) << said("err");
}

TEST_F(Lines, DebugInformationMayBeInAnotherFile) {
  const std::string strip = "cd '" + path("") + "' && objcopy --only-keep-debug '" + leak +
                            "' apart.debug && strip -o apart '" + leak +
                            "' && objcopy --add-gnu-debuglink=apart.debug apart";
  ASSERT_EQ(std::system(strip.c_str()), 0);
  ASSERT_EQ(ashlar({"record", "--stacks", "--", path("apart")}), 0) << said("err");
  EXPECT_FALSE(site_at(stat_json()["held_at_end"], line_of("order")).is_null());
}

TEST_F(Lines, ATraceWithoutStacksSaysHowToGetThem) {
  ASSERT_EQ(ashlar({"record", "--", leak}), 0) << said("err");
  ASSERT_EQ(ashlar({"stat", "run.atrace"}), 0);
  EXPECT_TRUE(contains(said("out"), "ashlar record --stacks")) << said("out");
}

}  // namespace
