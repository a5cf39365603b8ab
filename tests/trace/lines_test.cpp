// Whose line holds the memory: stat, report and leaks on a program with planted leaks.
#include <algorithm>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <tests/support/command_in_folder.hpp>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include "tools/trace/reader.hpp"

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
    EXPECT_EQ(ashlar({"report", "--text", "--json", "--rows", "100", trace}), 0) << said("err");
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
  ASSERT_EQ(ashlar({"report", "--text", "run.atrace"}), 0);
  EXPECT_TRUE(contains(said("out"), line_of("deep"))) << said("out");
}

// Functions are in a file beside the object (-gsplit-dwarf), the lines are in the program.
TEST_F(Lines, OfSplitDebugInformationInlinedCallsAreThereToo) {
  ASSERT_EQ(ashlar({"record", "--stacks", "--", ASHLAR_TEST_SPLIT_LEAK}), 0) << said("err");
  const json stat = stat_json();
  const json site = site_at(stat["held_at_end"], line_of("order"));
  ASSERT_FALSE(site.is_null()) << stat["held_at_end"].dump(1);
  EXPECT_TRUE(contains(site["frames"][0], "make_order")) << site;
  EXPECT_TRUE(is_at(site["sources"][1], line_of("serve"))) << site;
  EXPECT_TRUE(contains(site["frames"][1], "shop::serve(int, bool) in split_leak")) << site;
}

TEST_F(Lines, StatBeginsWithTheLinesOfTheProgram) {
  ASSERT_EQ(ashlar({"record", "--stacks", "--", leak}), 0) << said("err");
  const json stat = stat_json();
  std::uint64_t births = 0;
  json order;
  for (const json& line : stat["lines"]) {
    births += line["births"].get<std::uint64_t>();
    if (is_at(line["source"], line_of("order"))) order = line;
  }
  EXPECT_EQ(births, stat["births"]) << "each block is some line's";
  ASSERT_FALSE(order.is_null()) << stat["lines"].dump(1);
  EXPECT_EQ(order["function"], "shop::make_order");
  EXPECT_EQ(order["births"], 40);
  EXPECT_EQ(order["blocks_at_end"], 30);
  ASSERT_EQ(ashlar({"report", "--text", "--rows", "1", "run.atrace"}), 0);
  const std::string text = said("out");
  EXPECT_LT(text.find("lines of the program"), text.find("sizes with the most bytes"));
  ASSERT_EQ(ashlar({"report", "--text", "--json", "--rows", "1", "run.atrace"}), 0);
  const json few = json::parse(said("out"))["lines"];
  EXPECT_LT(few.size(), stat["lines"].size());
  for (const char* const figure : {"bytes_at_peak", "bytes_at_end", "bytes", "births"}) {
    const auto most = [&](const json& lines) {
      std::uint64_t found = 0;
      for (const json& line : lines) found = std::max(found, line[figure].get<std::uint64_t>());
      return found;
    };
    EXPECT_EQ(most(few), most(stat["lines"])) << figure;
  }
}

TEST_F(Lines, TheReportsTreeHasThem) {
  ASSERT_EQ(ashlar({"record", "--stacks", "--", leak}), 0) << said("err");
  ASSERT_EQ(ashlar({"report", "--json", "run.atrace"}), 0) << said("err");
  bool found = false;
  const json page = json::parse(said("out"));
  for (const json& node : page["call_sites"])
    found = found || (is_at(node["source"], line_of("order")) && node["blocks_at_end"] == 30);
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
  ASSERT_EQ(ashlar({"report", "--text", "run.atrace"}), 0);
  EXPECT_TRUE(contains(said("err"), "stripped (compile it with -g)")) << said("err");
}

// As clang writes it.
TEST_F(Lines, DebugInformationNeedsNoTableOfAddressRanges) {
  const std::string program = path("plain");
  ASSERT_EQ(
      std::system(
          ("objcopy --remove-section=.debug_aranges '" + leak + "' '" + program + "'").c_str()),
      0);
  ASSERT_EQ(ashlar({"record", "--stacks", "--", program}), 0) << said("err");
  EXPECT_FALSE(site_at(stat_json()["held_at_end"], line_of("order")).is_null());
}

TEST_F(Lines, DebugInformationMayBeInAnotherFile) {
  const std::string strip = "cd '" + path("") + "' && objcopy --only-keep-debug '" + leak +
                            "' apart.debug && strip -o apart '" + leak +
                            "' && objcopy --add-gnu-debuglink=apart.debug apart";
  ASSERT_EQ(std::system(strip.c_str()), 0);
  ASSERT_EQ(ashlar({"record", "--stacks", "--", path("apart")}), 0) << said("err");
  EXPECT_FALSE(site_at(stat_json()["held_at_end"], line_of("order")).is_null());
}

TEST_F(Lines, OfAnotherBuildAtTheSamePathThereAreOffsetsAndOneLine) {
  fs::copy_file(leak, path("program"));
  ASSERT_EQ(ashlar({"record", "--stacks", "--", path("program")}), 0) << said("err");
  EXPECT_FALSE(site_at(stat_json()["held_at_end"], line_of("order")).is_null());
  fs::remove(path("program"));
  fs::copy_file(ASHLAR_TEST_OTHER, path("program"));
  const std::string sites = stat_json()["held_at_end"].dump();
  EXPECT_TRUE(contains(sites, "program+0x")) << sites;
  EXPECT_FALSE(contains(sites, " in program\"")) << sites;
  const std::string told =
      "ashlar: '" + path("program") +
      "' is another build than the one that ran, so its calls are offsets: "
      "put that build back, or record again (--symbols keeps the names in the trace)\n";
  EXPECT_TRUE(said("err").starts_with(told)) << said("err");
  EXPECT_FALSE(contains(said("err").substr(told.size()), "program")) << said("err");
  fs::remove(path("program"));
  ASSERT_EQ(ashlar({"report", "--text", "run.atrace"}), 0);
  EXPECT_TRUE(contains(said("err"), "program' is gone, so")) << said("err");
}

TEST_F(Lines, ADumpAsTextKeepsBuildIds) {
  ASSERT_EQ(ashlar({"record", "--stacks", "--", leak}), 0) << said("err");
  ASSERT_EQ(ashlar({"export", "--format=text", "run.atrace"}), 0);
  const std::string text = said("out");
  support::write_file(path("run.txt"), text);
  ASSERT_EQ(ashlar({"export", "--from-text", "run.txt", "-o", "again.atrace"}), 0) << said("err");
  ASSERT_EQ(ashlar({"export", "--format=text", "again.atrace"}), 0);
  EXPECT_EQ(said("out"), text);
  const std::size_t at = text.find(leak + " ");
  ASSERT_NE(at, std::string::npos) << "no build id behind the path";
  EXPECT_EQ(text.find('\n', at) - at - leak.size() - 1, 40u) << "of SHA-1";
}

TEST_F(Lines, AStackThatWasCutHasARootOfItsOwn) {
  for (const char* depth : {"--stacks=8", "--stacks=64"}) {
    ASSERT_EQ(ashlar({"record", depth, "--", leak}), 0) << said("err");
    const json deep = site_at(stat_json()["held_at_end"], line_of("deep"));
    ASSERT_FALSE(deep.is_null());
    const bool is_cut = std::string(depth) == "--stacks=8";
    EXPECT_EQ(deep["frames"].back() == "[stack cut at 8 frames]", is_cut) << deep;
    EXPECT_EQ(deep["frames"].size() == 9, is_cut) << deep;
    ASSERT_EQ(ashlar({"report", "--json", "run.atrace"}), 0) << said("err");
    const json page = json::parse(said("out"));
    bool found = false;
    for (const json& node : page["call_sites"])
      found = found || (node["name"] == "[stack cut at 8 frames]" && node["parent"] == 0);
    EXPECT_EQ(found, is_cut);
  }
}

// One mechanism names the calls of all commands.
TEST_F(Lines, CheckNamesInlinedCallsToo) {
  ASSERT_EQ(ashlar({"record", "--stacks", "--", leak}), 0) << said("err");
  const ashlar::trace::trace_reader reader(ashlar::trace::open_file_source(path("run.atrace")));
  std::string log;
  for (const auto& module : reader.modules()) {
    if (module.path != leak) continue;
    for (const auto& stack : reader.stacks())
      for (const std::uint64_t frame : stack.frames)
        if (frame >= module.begin && frame < module.end)
          log += fmt::format("ashlar:   #0 {:#x} {}+{:#x}\n", frame, leak, frame - module.bias);
  }
  support::write_file(path("log"), log);
  ASSERT_EQ(ashlar({"check", "--log", "log"}), 0) << said("err");
  const std::string text = said("out");
  EXPECT_TRUE(contains(text, "shop::make_order(int) at ")) << text;
  const std::size_t at = text.find("          inlined into shop::serve(int, bool) at ");
  ASSERT_NE(at, std::string::npos) << text;
  EXPECT_TRUE(text.substr(at, text.find('\n', at) - at).ends_with(line_of("serve"))) << text;
}

TEST_F(Lines, TheDepthIsAWordOfItsOwnOrNot) {
  for (const words& stacks : {words{"--stacks", "3"}, words{"--stacks=3"}}) {
    words line{"record"};
    line.insert(line.end(), stacks.begin(), stacks.end());
    line.insert(line.end(), {"--", leak});
    ASSERT_EQ(ashlar(line), 0) << said("err");
    EXPECT_EQ(stat_json()["header"]["options"], "stacks=3");
  }
}

class Leaks : public Lines {
 protected:
  json leaks_json(words options, int status = 0) {
    options.insert(options.begin(), {"leaks", "--json=leaks.json"});
    options.insert(options.end(), {"--", leak});
    EXPECT_EQ(ashlar(options), status) << said("err");
    return json::parse(support::read_file(path("leaks.json")));
  }
};

TEST_F(Leaks, EachPlantedLeakIsListedWithItsLineTheLargestFirst) {
  const json found = leaks_json({});
  ASSERT_EQ(found["processes"].size(), 1u);
  const json& sites = found["processes"][0]["call_sites"];
  for (std::size_t i = 1; i < sites.size(); ++i)
    EXPECT_GE(sites[i - 1]["bytes_at_end"], sites[i]["bytes_at_end"]);
  const json deep = site_at(sites, line_of("deep"));
  ASSERT_FALSE(deep.is_null()) << sites.dump(1);
  EXPECT_EQ(deep["bytes_at_end"], 5000);
  EXPECT_EQ(deep["blocks_at_end"], 1);
  EXPECT_EQ(site_at(sites, line_of("order"))["blocks_at_end"], 30);
  const std::string text = said("err");
  EXPECT_TRUE(contains(text, "4.9 KiB in 1 block, of 1 in all\n")) << text;
  EXPECT_TRUE(contains(text, line_of("deep") + "\n")) << text;
  EXPECT_EQ(files(), words{"leaks.json"}) << "the trace is gone";
  EXPECT_TRUE(left_nothing_behind());
}

TEST_F(Leaks, AboveTheLimitTheStatusIsOneUnlessTheProgramFailed) {
  EXPECT_EQ(WEXITSTATUS(ashlar({"leaks", "--fail-above", "1MiB", "--", leak})), 0);
  EXPECT_EQ(WEXITSTATUS(ashlar({"leaks", "--fail-above", "4KiB", "--", leak})), 1);
  EXPECT_TRUE(contains(said("err"), "more than 4.0 KiB (--fail-above)")) << said("err");
  EXPECT_EQ(WEXITSTATUS(ashlar({"leaks", "--fail-above", "4KiB", "--", leak, "7"})), 7);
  EXPECT_EQ(WEXITSTATUS(ashlar({"leaks", "--fail-above", "0", "--", "/bin/true"})), 0)
      << said("err");
  EXPECT_TRUE(contains(said("err"), "/bin/true")) << said("err");
}

TEST_F(Leaks, AProgramThatASignalEndsIsTold) {
  const int status = ashlar({"leaks", "--", leak, "100"});
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), SIGABRT);
  EXPECT_TRUE(contains(said("err"), "did not end by itself")) << said("err");
  EXPECT_TRUE(contains(said("err"), line_of("order"))) << said("err");
}

TEST_F(Leaks, OfATraceThatWasKept) {
  ASSERT_EQ(ashlar({"leaks", "-o", "kept.atrace", "--rows", "1", "--", leak}), 0);
  EXPECT_TRUE(contains(said("err"), "more calls (--rows")) << said("err");
  ASSERT_EQ(ashlar({"leaks", "--trace", "kept.atrace"}), 0) << said("err");
  EXPECT_TRUE(contains(said("out"), line_of("deep"))) << said("out");
  EXPECT_EQ(WEXITSTATUS(ashlar({"leaks", "--trace", "kept.atrace", "--fail-above", "1"})), 1);
  fs::resize_file(path("kept.atrace"), fs::file_size(path("kept.atrace")) - 10);
  ASSERT_EQ(ashlar({"leaks", "--trace", "kept.atrace"}), 0);
  EXPECT_TRUE(contains(said("err"), "the trace ends without its end")) << said("err");
  EXPECT_EQ(WEXITSTATUS(ashlar({"leaks", "--trace", "leaks.json"})), 2);
}

TEST_F(Leaks, ProcessesThatItStartsAreListedOnRequest) {
  const std::string script = leak + "; " + leak + "; true";
  ASSERT_EQ(ashlar({"leaks", "--", "/bin/sh", "-c", script}), 0);
  EXPECT_FALSE(contains(said("err"), line_of("deep"))) << said("err");
  EXPECT_TRUE(contains(said("err"), "of 2 more processes nothing is listed")) << said("err");
  ASSERT_EQ(ashlar({"leaks", "--children", "--", "/bin/sh", "-c", script}), 0);
  EXPECT_TRUE(contains(said("err"), line_of("deep"))) << said("err");
}

TEST_F(Leaks, WhatIsNotAProgramOrNotRecordedIsTold) {
  EXPECT_EQ(WEXITSTATUS(ashlar({"leaks"})), 2);
  EXPECT_EQ(WEXITSTATUS(ashlar({"leaks", "--", path("gone")})), 127) << said("err");
}

TEST_F(Lines, ATraceWithoutStacksSaysHowToGetThem) {
  ASSERT_EQ(ashlar({"record", "--", leak}), 0) << said("err");
  ASSERT_EQ(ashlar({"report", "--text", "run.atrace"}), 0);
  EXPECT_TRUE(contains(said("out"), "ashlar record --stacks")) << said("out");
}

}  // namespace
