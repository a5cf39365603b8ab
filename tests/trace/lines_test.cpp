// Whose line holds the memory: stat, report and leaks on programs with planted leaks.
#include <nlohmann/json.hpp>
#include <tests/support/command_in_folder.hpp>
#include <tests/support/test_headers.hpp>

#include <fmt/format.h>

#include "tools/trace/reader.hpp"

namespace {

namespace fs = std::filesystem;
using namespace support;
using json = nlohmann::json;

const std::string leak = ASHLAR_TEST_LEAK;

// Returns: "/file:line" of the line that has this comment.
std::string line_of(const std::string& comment) {
  std::ifstream in(ASHLAR_TEST_LEAK_SOURCE);
  std::string line;
  for (int number = 1; std::getline(in, line); ++number)
    if (contains(line, "// line: " + comment)) return "/planted_leak.cpp:" + std::to_string(number);
  ADD_FAILURE() << comment;
  return {};
}

class Lines : public CommandInFolder {
 protected:
  void SetUp() override {
    CommandInFolder::SetUp();
    if (!ASHLAR_HAS_LIBDW) GTEST_SKIP() << "no libdw";
  }
  json stat_json(const std::string& trace = "run.atrace") {
    done({"report", "--text", "--json", "--rows", "100", trace});
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
  done({"record", "--stacks", "--", leak});
  const json stat = stat_json();
  const json site = site_at(stat["held_at_end"], line_of("order"));
  ASSERT_FALSE(site.is_null()) << stat["held_at_end"].dump(1);
  EXPECT_EQ(site["blocks_at_end"], 30);
  EXPECT_EQ(site["births"], 30);
  has(site["frames"][0], "make_order");
  EXPECT_TRUE(is_at(site["sources"][1], line_of("serve")));
  has(site["frames"][1], "shop::serve(int, bool) in planted_leak");
  has(done({"report", "--text", "--full", "run.atrace"}), line_of("deep"));
}

// Functions are in a file beside the object (-gsplit-dwarf), the lines are in the program.
TEST_F(Lines, OfSplitDebugInformationInlinedCallsAreThereToo) {
  done({"record", "--stacks", "--", ASHLAR_TEST_SPLIT_LEAK});
  const json stat = stat_json();
  const json site = site_at(stat["held_at_end"], line_of("order"));
  ASSERT_FALSE(site.is_null()) << stat["held_at_end"].dump(1);
  has(site["frames"][0], "make_order");
  EXPECT_TRUE(is_at(site["sources"][1], line_of("serve"))) << site;
  has(site["frames"][1], "shop::serve(int, bool) in split_leak");
}

TEST_F(Lines, StatBeginsWithTheLinesOfTheProgram) {
  done({"record", "--stacks", "--", leak});
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
  const std::string text = done({"report", "--text", "--full", "--rows", "1", "run.atrace"});
  EXPECT_LT(text.find("lines of the program"), text.find("sizes with the most bytes"));
  lacks(done({"report", "--text", "--rows", "1", "run.atrace"}), "sizes with the most bytes");
  const json few =
      json::parse(done({"report", "--text", "--json", "--rows", "1", "run.atrace"}))["lines"];
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
  done({"record", "--stacks", "--", leak});
  done({"report", "--json", "run.atrace"});
  bool found = false;
  const json page = json::parse(said("out"));
  for (const json& node : page["call_sites"])
    found = found || (is_at(node["source"], line_of("order")) && node["blocks_at_end"] == 30);
  EXPECT_TRUE(found);
}

TEST_F(Lines, SitesAreSortedByBytes) {
  done({"record", "--stacks", "--", leak});
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
  done({"record", "--stacks", "--", path("stripped")});
  done({"report", "--text", "run.atrace"});
  has(said("err"), "stripped (compile it with -g)");
}

// As clang writes it.
TEST_F(Lines, DebugInformationNeedsNoTableOfAddressRanges) {
  const std::string program = path("plain");
  ASSERT_EQ(
      std::system(
          ("objcopy --remove-section=.debug_aranges '" + leak + "' '" + program + "'").c_str()),
      0);
  done({"record", "--stacks", "--", program});
  EXPECT_FALSE(site_at(stat_json()["held_at_end"], line_of("order")).is_null());
}

TEST_F(Lines, DebugInformationMayBeInAnotherFile) {
  const std::string strip = "cd '" + path("") + "' && objcopy --only-keep-debug '" + leak +
                            "' apart.debug && strip -o apart '" + leak +
                            "' && objcopy --add-gnu-debuglink=apart.debug apart";
  ASSERT_EQ(std::system(strip.c_str()), 0);
  done({"record", "--stacks", "--", path("apart")});
  EXPECT_FALSE(site_at(stat_json()["held_at_end"], line_of("order")).is_null());
}

TEST_F(Lines, OfAnotherBuildAtTheSamePathThereAreOffsetsAndOneLine) {
  fs::copy_file(leak, path("program"));
  done({"record", "--stacks", "--", path("program")});
  EXPECT_FALSE(site_at(stat_json()["held_at_end"], line_of("order")).is_null());
  fs::remove(path("program"));
  fs::copy_file(ASHLAR_TEST_OTHER, path("program"));
  const std::string sites = stat_json()["held_at_end"].dump();
  has(sites, "program+0x");
  lacks(sites, " in program\"");
  const std::string told =
      "ashlar: '" + path("program") +
      "' is another build than the one that ran, so its calls are offsets: "
      "put that build back, or record again (--symbols keeps the names in the trace)\n";
  EXPECT_TRUE(said("err").starts_with(told)) << said("err");
  lacks(said("err").substr(told.size()), "program");
  fs::remove(path("program"));
  done({"report", "--text", "run.atrace"});
  has(said("err"), "program' is gone, so");
}

TEST_F(Lines, ADumpAsTextKeepsBuildIds) {
  done({"record", "--stacks", "--", leak});
  const std::string text = done({"export", "--format=text", "run.atrace"});
  write_file(path("run.txt"), text);
  done({"export", "--from-text", "run.txt", "-o", "again.atrace"});
  done({"export", "--format=text", "again.atrace"});
  EXPECT_EQ(said("out"), text);
  const std::size_t at = text.find(leak + " ");
  ASSERT_NE(at, std::string::npos) << "no build id behind the path";
  EXPECT_EQ(text.find('\n', at) - at - leak.size() - 1, 40u) << "of SHA-1";
}

TEST_F(Lines, AStackThatWasCutHasARootOfItsOwn) {
  for (const char* depth : {"--stacks=8", "--stacks=64"}) {
    done({"record", depth, "--", leak});
    const json deep = site_at(stat_json()["held_at_end"], line_of("deep"));
    ASSERT_FALSE(deep.is_null());
    const bool is_cut = std::string(depth) == "--stacks=8";
    EXPECT_EQ(deep["frames"].back() == "[stack cut at 8 frames]", is_cut) << deep;
    EXPECT_EQ(deep["frames"].size() == 9, is_cut) << deep;
    const json page = json::parse(done({"report", "--json", "run.atrace"}));
    bool found = false;
    for (const json& node : page["call_sites"])
      found = found || (node["name"] == "[stack cut at 8 frames]" && node["parent"] == 0);
    EXPECT_EQ(found, is_cut);
  }
}

// One mechanism names the calls of all commands.
TEST_F(Lines, CheckNamesInlinedCallsToo) {
  done({"record", "--stacks", "--", leak});
  const ashlar::trace::trace_reader reader(ashlar::trace::open_file_source(path("run.atrace")));
  std::string log;
  for (const auto& module : reader.modules()) {
    if (module.path != leak) continue;
    for (const auto& stack : reader.stacks())
      for (const std::uint64_t frame : stack.frames)
        if (frame >= module.begin && frame < module.end)
          log += fmt::format("ashlar:   #0 {:#x} {}+{:#x}\n", frame, leak, frame - module.bias);
  }
  write_file(path("log"), log);
  const std::string text = done({"check", "--log", "log"});
  has(text, "shop::make_order(int) at ");
  const std::size_t at = text.find("          inlined into shop::serve(int, bool) at ");
  ASSERT_NE(at, std::string::npos) << text;
  EXPECT_TRUE(text.substr(at, text.find('\n', at) - at).ends_with(line_of("serve"))) << text;
}

TEST_F(Lines, TheDepthIsAWordOfItsOwnOrNot) {
  for (const words& stacks : {words{"--stacks", "3"}, words{"--stacks=3"}}) {
    done(words{"record"} + stacks + words{"--", leak});
    EXPECT_EQ(stat_json()["header"]["options"], "stacks=3");
  }
}

class Leaks : public Lines {
 protected:
  json leaks_json(words options, int status = 0) {
    options.insert(options.begin(), {"leaks", "--json=leaks.json"});
    options.insert(options.end(), {"--", leak});
    EXPECT_EQ(ashlar(options), status) << said("err");
    return json::parse(read_file(path("leaks.json")));
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
  has(text, "4.9 KiB in 1 block unreachable, of 1 in all\n");
  has(text, line_of("deep") + "\n");
  lacks(text, "      _start in ");
  EXPECT_EQ(files(), words{"leaks.json"}) << "the trace is gone";
  leaks_json({"--full"});
  has(said("err"), "      _start in ");
  EXPECT_TRUE(left_nothing_behind());
}

TEST_F(Leaks, AboveTheLimitTheStatusIsOneUnlessTheProgramFailed) {
  done({"leaks", "--fail-above", "1MiB", "--", leak});
  done({"leaks", "--fail-above", "4KiB", "--", leak}, 1);
  has(said("err"), "more than 4.0 KiB (--fail-above)");
  done({"leaks", "--fail-above", "4KiB", "--", leak, "7"}, 7);
  done({"leaks", "--fail-above", "0", "--", "/bin/true"});
  has(said("err"), "/bin/true");
}

TEST_F(Leaks, AProgramThatASignalEndsIsTold) {
  const int status = ashlar({"leaks", "--", leak, "100"});
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), SIGABRT);
  has(said("err"), "did not end by itself");
  has(said("err"), line_of("order"));
}

TEST_F(Leaks, OfATraceThatWasKept) {
  done({"leaks", "-o", "kept.atrace", "--rows", "1", "--", leak});
  has(said("err"), "more calls (--rows");
  has(done({"leaks", "--trace", "kept.atrace"}), line_of("deep"));
  done({"leaks", "--trace", "kept.atrace", "--fail-above", "1"}, 1);
  fs::resize_file(path("kept.atrace"), fs::file_size(path("kept.atrace")) - 10);
  done({"leaks", "--trace", "kept.atrace"});
  has(said("err"), "the trace ends without its end");
  done({"leaks", "--trace", "leaks.json"}, 2);
}

TEST_F(Leaks, ProcessesThatItStartsAreListedOnRequest) {
  const std::string script = leak + "; " + leak + "; true";
  done({"leaks", "--", "/bin/sh", "-c", script});
  lacks(said("err"), line_of("deep"));
  has(said("err"), "of 2 more processes nothing is listed");
  done({"leaks", "--children", "--", "/bin/sh", "-c", script});
  has(said("err"), line_of("deep"));
}

TEST_F(Leaks, WhatIsNotAProgramOrNotRecordedIsTold) {
  done({"leaks"}, 2);
  done({"leaks", "--", path("gone")}, 127);
}

TEST_F(Lines, ATraceWithoutStacksSaysHowToGetThem) {
  done({"record", "--no-stacks", "--", leak});
  has(done({"report", "--text", "run.atrace"}), "no call stacks, so no line can be named");
}

// ---- which of the blocks that a program holds no pointer leads to

class Unreachable : public CommandInFolder {
 protected:
  // Returns: of each process that is listed what it holds.
  json processes(words options, const std::string& how = "exit") {
    options.insert(options.begin(), {"leaks", "--json=leaks.json"});
    options.insert(options.end(), {"--", ASHLAR_TEST_LOST, how});
    done(options);
    return json::parse(read_file(path("leaks.json")))["processes"];
  }
};

constexpr std::uint64_t node_bytes = 48;
constexpr std::uint64_t lost_blocks = 10 + 50 + 2 + 1 + 100;
constexpr std::uint64_t lost_bytes =
    10 * 100 + 50 * node_bytes + 2 * node_bytes + (3u << 20) + 100 * 80;

// Kept are a list, a pointer into a block, one of a thread, one on each of two stacks. A destructor
// frees 500 blocks when the program exits.
TEST_F(Unreachable, EachLostBlockIsThereAndNoOther) {
  const json found = processes({});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0]["unreachable_blocks"], lost_blocks) << said("err");
  EXPECT_EQ(found[0]["unreachable_bytes"], lost_bytes) << said("err");
  EXPECT_GT(found[0]["bytes"], lost_bytes + 4444 + 3333);
  std::uint64_t bytes = 0;
  for (const json& site : found[0]["call_sites"]) {
    EXPECT_NE(site["unreachable_bytes"], 0) << site;
    bytes += site["unreachable_bytes"].get<std::uint64_t>();
  }
  EXPECT_EQ(bytes, lost_bytes);
  has(said("err"), "in 163 blocks of it unreachable, the most bytes first:\n");
  has(said("err"), "3.0 MiB in 1 block unreachable, of 1 in all\n");
  EXPECT_TRUE(left_nothing_behind());
}

// Caches of its heap keep addresses of blocks that they handed out: these are no pointers.
TEST_F(Unreachable, OnAshlarThatIsAllTheSame) {
  environment_ = {{"LD_PRELOAD", ASHLAR_TEST_DROP_IN}};
  for (const char* how : {"exit", "thread"}) {
    const json found = processes({}, how);
    EXPECT_EQ(found[0]["unreachable_blocks"], lost_blocks) << said("err");
    EXPECT_EQ(found[0]["unreachable_bytes"], lost_bytes) << said("err");
  }
}

// The pointers of the program's first stack count, whichever thread calls exit.
TEST_F(Unreachable, AThreadMayExit) {
  const json found = processes({}, "thread");
  EXPECT_EQ(found[0]["unreachable_blocks"], lost_blocks) << said("err");
}

TEST_F(Unreachable, AForkedProcessIsLookedAtByItself) {
  EXPECT_EQ(processes({}, "child").size(), 1u);
  has(said("err"), "of 1 more process nothing is listed");
  const json found = processes({"--children"}, "child");
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0]["unreachable_blocks"], lost_blocks) << said("err");
  // What it has from its parent counts as roots, also what had been freed there.
  EXPECT_EQ(found[1]["bytes"], 200) << said("err");
  EXPECT_TRUE(found[1].contains("unreachable_bytes")) << found[1];
}

TEST_F(Unreachable, AProgramThatDoesNotExitHasAllOfItListed) {
  const json found = processes({}, "_exit");
  EXPECT_FALSE(found[0].contains("unreachable_blocks")) << found[0];
  EXPECT_GE(found[0]["blocks"], lost_blocks + 500);
  has(said("err"), "all that is held is listed: the process did not end by exit");
}

TEST_F(Unreachable, TheLimitIsOfWhatIsListed) {
  done({"leaks", "--fail-above", "4MiB", "--", ASHLAR_TEST_LOST});
  done({"leaks", "--fail-above", "3MiB", "--", ASHLAR_TEST_LOST}, 1);
  has(said("err"), "3.0 MiB unreachable at the end, more than 3.0 MiB");
  done({"leaks", "--fail-above", "0", "--", "/bin/true"});
}

// What record and leaks -o wrote tells the same of the process.
TEST_F(Unreachable, ATraceKnowsWhatIsLost) {
  done({"leaks", "-o", "kept.atrace", "--", ASHLAR_TEST_LOST});
  has(said("err"), " that a pointer leads to (--all lists it)\n");
  done({"record", "--", ASHLAR_TEST_LOST});
  has(said("err"), "lost at exit: 3.0 MiB in 163 blocks that no pointer leads to; most by\n");
  has(said("err"), "\n    3.0 MiB 100.0 %  (anonymous)::make at lost_blocks.cpp:");
  done({"export", "--format", "text", "run.atrace", "-o", "run.txt"});
  done({"export", "--from-text", "run.txt", "-o", "again.atrace"});
  for (const char* trace : {"kept.atrace", "run.atrace", "again.atrace"}) {
    done({"leaks", "--json=leaks.json", "--trace", trace});
    const json found = json::parse(read_file(path("leaks.json")))["processes"][0];
    EXPECT_EQ(found["unreachable_blocks"], lost_blocks) << trace;
    EXPECT_EQ(found["unreachable_bytes"], lost_bytes) << trace;
  }
  done({"leaks", "--fail-above", "3MiB", "--trace", "run.atrace"}, 1);
  done({"record", "--no-stacks", "--", ASHLAR_TEST_LOST});
  has(done({"leaks", "--trace", "run.atrace"}), "all that is held is listed: ");
}

TEST_F(Unreachable, AllThatIsHeldIsListedOnRequest) {
  done({"leaks", "-o", "kept.atrace", "--", ASHLAR_TEST_LOST});
  const json lost = processes({});
  const json held = processes({"--all"});
  EXPECT_FALSE(held[0].contains("unreachable_blocks")) << held[0];
  EXPECT_GT(held[0]["call_sites"].size(), lost[0]["call_sites"].size());
  const std::string all = " blocks held at the end, the most bytes first:\n";
  has(said("err"), all);
  has(done({"leaks", "--all", "--trace", "kept.atrace"}), all);
}

}  // namespace
