// `ashlar report --text` as a user meets it: what it prints and writes, and what it says of input that is none.
#include <nlohmann/json.hpp>
#include <tests/support/command_in_folder.hpp>
#include <tests/support/test_headers.hpp>

#include <sys/prctl.h>

namespace {

using namespace support;
using json = nlohmann::json;

/// Returns: the line of a source of planted programs that has the code.
int line_of(const std::string& code, const std::string& source) {
  std::ifstream text(ASHLAR_TEST_SOURCES "/" + source);
  int number = 1;
  for (std::string line; std::getline(text, line) && !contains(line, code);) ++number;
  return number;
}
/// Returns: the source and that line.
std::string place_of(const std::string& code, const std::string& source = "planted.cpp") {
  return source + ":" + std::to_string(line_of(code, source));
}

class Findings : public CommandInFolder {
 protected:
  std::string first_screen() {
    const std::string all = said("out");
    std::size_t end = 0;
    for (int line = 0; line < 25 && end < all.size(); ++line) end = all.find('\n', end) + 1;
    return all.substr(0, end);
  }
  void record(const std::string& name, const std::string& of = "planted_cpp") {
    done({"record", "--stacks", "-o", "run.atrace", "--",
          std::string(ASHLAR_TEST_PROGRAMS) + "/" + of, name});
  }
};

// What a reader sees without scrolling: the memory, what holds it, and what to change.
TEST_F(Findings, TheFirstScreenHasTheAnswer) {
  if (!ASHLAR_HAS_LIBDW) GTEST_SKIP() << "no libdw";
  record("pins_log_notes", "planted_c");
  done({"report", "--text", "run.atrace"});
  const std::string screen = first_screen();
  const std::size_t memory = screen.find("\n  peak RSS ");
  const std::size_t largest = screen.find("\n  largest at the peak of ");
  const std::size_t pins = screen.find("\n  1. Few blocks that keep many pages: saves up to 5.");
  ASSERT_NE(memory, std::string::npos) << screen;
  ASSERT_NE(pins, std::string::npos) << screen;
  EXPECT_LT(memory, largest);
  EXPECT_LT(largest, pins);
  has(screen.substr(largest, pins - largest), " at planted.c:");
  has(screen.substr(pins), " at planted.c:");
  has(screen.substr(pins), ": Let these blocks lie together, in a pool");
  EXPECT_LT(said("out").find("1. Few blocks"), said("out").find("\n  events  "));
  std::istringstream lines(screen);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100u) << line;
}

TEST_F(Findings, ALeakIsFirstAndALauncherHidesNothing) {
  if (!ASHLAR_HAS_LIBDW) GTEST_SKIP() << "no libdw";
  const std::string program = std::string(ASHLAR_TEST_PROGRAMS) + "/planted_c leak_requests";
  done({"record", "--stacks", "-o", "run.atrace", "--", "/bin/sh", "-c", "exec " + program});
  done({"report", "--text", "run.atrace"});
  const std::string screen = first_screen();
  has(screen, "planted_c leak_requests\n");
  EXPECT_FALSE(contains(screen.substr(0, screen.find("\n  events ")), " 0 B "))
      << "what held nothing is no holder" << screen;
  has(screen, "\n  1. Memory that is never freed: saves up to 2");
  has(screen, "     name_of at " + place_of("planted: leak", "planted.c") + ": Free these blocks");
  const json data = json::parse(done({"report", "--json", "run.atrace"}));
  EXPECT_EQ(data["findings"]["findings"][0]["kind"], "leak") << "the page has it, too";
}

// What the schema of SARIF 2.1.0 requires: a version, runs with a tool's name, messages with text.
TEST_F(Findings, AreForOtherReadersToo) {
  if (!ASHLAR_HAS_LIBDW) GTEST_SKIP() << "no libdw";
  record("slack_records", "planted_c");
  const int line = line_of("malloc(sizeof *r)); /* planted: slack */", "planted.c");
  done({"report", "--for", "sarif=found.sarif", "run.atrace"});
  const json log = json::parse(said("found.sarif"));
  EXPECT_EQ(log.at("version"), "2.1.0");
  ASSERT_EQ(log.at("runs").size(), 1u);
  EXPECT_EQ(log.at("runs")[0].at("tool").at("driver").at("name"), "ashlar");
  const json& results = log.at("runs")[0].at("results");
  ASSERT_EQ(results.size(), 1u) << log;
  EXPECT_EQ(results[0].at("ruleId"), "slack");
  EXPECT_EQ(results[0].at("level"), "note");
  has(results[0].at("message").at("text"), ": saves up to ");
  const json& place = results[0].at("locations")[0].at("physicalLocation");
  EXPECT_EQ(place.at("region").at("startLine"), line) << log;
  const std::string uri = place.at("artifactLocation").at("uri");
  EXPECT_TRUE(uri.starts_with("file:///") && uri.ends_with("/planted.c")) << uri;
  done({"report", "--for=github", "run.atrace"});
  EXPECT_TRUE(said("out").starts_with("::notice file=")) << said("out");
  has(said("out"), "/planted.c,line=" + std::to_string(line) + ",title=ashlar slack::");
  has(done({"report", "--for=junit", "run.atrace"}), R"(tests="1" failures="0")");
  // What github-action-benchmark demands of each: a name, a unit, a number.
  for (int again = 0; again < 2; ++again)  // it is replaced as any other output
    done({"report", "--for", "benchmark=found.json", "run.atrace"});
  const json values = json::parse(said("found.json"));
  ASSERT_GE(values.size(), 4u) << values;
  for (const json& value : values) {
    EXPECT_TRUE(value.at("name").get<std::string>().starts_with("planted_c: ")) << value;
    EXPECT_TRUE(value.at("unit").is_string() && value.at("value").is_number()) << value;
    EXPECT_TRUE(contains(value.at("name"), "held") || value.at("value") > 0) << value;
  }
  done({"report", "--for=benchmark", "-o", "page.html", "run.atrace"}, 2);
  done({"leaks", "--trace", "run.atrace", "--for", "sarif=held.sarif"});
  const json held = json::parse(said("held.sarif")).at("runs")[0].at("results");
  ASSERT_FALSE(held.empty());
  EXPECT_EQ(held[0].at("ruleId"), "unreachable");
  EXPECT_EQ(held[0].at("locations")[0].at("physicalLocation").at("region").at("startLine"), line);
}

TEST_F(Findings, NameTheLineTheCostAndTheRemedy) {
  if (!ASHLAR_HAS_LIBDW) GTEST_SKIP() << "no libdw";
  record("several_index");
  const std::string text = done({"report", "--text", "--json=found.json", "run.atrace"});
  has(text, "\n  3 findings in ");
  has(text, "1. Blocks that live for a moment: saves up to 29,999 allocations, ");
  has(text, place_of("std::to_string(t->word);") + ", through std::operator+");
  has(text, "Seen: 30,000 of 30,000 blocks");
  has(text, "With the standard library:\n     std::string key;");
  const json found = json::parse(said("found.json"))["findings"];
  ASSERT_EQ(found["findings"].size(), 3u);
  const json& first = found["findings"][0];
  EXPECT_EQ(first["kind"], "short_lived");
  EXPECT_EQ(first["sure"], "seen");
  EXPECT_EQ(first["allocations_saved"], 29'999);
  EXPECT_EQ(first["site"]["function"], "several_index::several_index");
  // The time is that of a replay, so it is of this machine.
  has(text, "\nTimes are estimates. In a replay of the first ");
  const json& times = found["times"];
  EXPECT_GT(times["calls"], 30'000);
  EXPECT_GT(times["allocate_ns"], 0);
  EXPECT_GT(times["free_ns"], 0);
  const double ns = times["allocate_ns"].get<double>() + times["free_ns"].get<double>();
  EXPECT_NEAR(first["milliseconds_saved"].get<double>(), 29'999 * ns / 1e6, 1e-6);
  has(text, first["remedy"].get<std::string>().substr(0, 40));
  // Code stands once for each kind, and fewer rows say how many there are.
  has(done({"report", "--text", "--rows", "1", "run.atrace"}), "\n2 more (--rows 3 lists them)\n");
}

TEST_F(Findings, WhatNobodyTouchesIsToldAsAddressSpace) {
  if (!ASHLAR_HAS_LIBDW) GTEST_SKIP() << "no libdw";
  if (::access("/proc/self/pagemap", R_OK) != 0) GTEST_SKIP() << "the system does not tell";
  ::prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);  // a huge page brings memory that nobody touched
  record("untouched_reserve");
  ::prctl(PR_SET_THP_DISABLE, 0, 0, 0, 0);
  const std::string text = done({"report", "--text", "--json=found.json", "run.atrace"});
  has(text, "Large blocks that are mostly never touched: saves up to 31.");
  has(text, " MiB of address space at the peak\n");
  has(text, place_of("log.reserve(32u << 20);") + ", through std::");
  has(text, "Seen: 1 of 1 block was looked at");
  const json found = json::parse(said("found.json"))["findings"]["findings"];
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0]["kind"], "untouched");
  EXPECT_EQ(found[0]["bytes_saved_at_peak"], 0);
  EXPECT_GT(found[0]["address_space_saved_at_peak"], 31 << 20);
  done({"report", "--json", "run.atrace"});
  EXPECT_EQ(json::parse(said("out"))["findings"]["findings"], found) << "the page has the same";
}

TEST_F(Findings, ACleanProgramHasNone) {
  record("matrices", "clean_cpp");
  has(done({"report", "--text", "run.atrace"}), "\n  no findings in ");
}

TEST_F(Findings, WithoutStacksAndWithoutATraceOneLineSaysWhatHelps) {
  done({"record", "--no-stacks", "-o", "run.atrace", "--", "/bin/true"});
  done({"report", "--text", "run.atrace"});
  has(first_screen(), "\n  no call stacks, so no line can be named: record without --no-stacks");
  done({"report", "--text", "/bin/true"}, 2);
  has(said("err"), "/bin/true");
  done({"report", "--text", "--json=nonesuch/found.json", "run.atrace"}, 2);
  has(said("err"), "nonesuch/found.json");
}

}  // namespace
