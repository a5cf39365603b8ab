// ashlar tune, verify and check as a user meets them: arguments in; streams, files and exit status out.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <tests/support/command_by_shell.hpp>
#include <vector>

#include <gtest/gtest.h>

namespace {

namespace fs = std::filesystem;
const std::string sample = ASHLAR_SAMPLE_TRACE;

using support::ended;
using support::read_file;
using support::write_file;

using TuneCommand = support::CommandByShell;

TEST_F(TuneCommand, WritesAHeaderAndACertificateThatIsTrue) {
  const ended tuned = ashlar("tune -o " + path("p.hpp") + " " + sample);
  ASSERT_EQ(tuned.status, 0) << tuned.said;
  EXPECT_NE(tuned.said.find("<-"), std::string::npos) << tuned.said;
  const auto json = nlohmann::json::parse(read_file(path("p.json")));
  const std::string header = read_file(path("p.hpp"));
  for (const std::string& told :
       {json.at("total_bytes").dump(), json.at("inputs").at(0).at("sha256").get<std::string>()})
    EXPECT_NE(header.find(told), std::string::npos) << told;
  const ended verified = ashlar("tune verify " + path("p.json"));
  EXPECT_EQ(verified.status, 0) << verified.said;
  EXPECT_EQ(verified.said.find("was recorded"), std::string::npos) << verified.said;
  fs::copy_file(sample, path("moved"));
  EXPECT_EQ(ashlar("tune verify " + path("p.json") + " " + path("moved")).status, 0);
  EXPECT_EQ(ashlar("tune check --against " + path("p.json") + " " + sample).status, 0);
  std::size_t files = 0;
  for (const auto& entry : fs::directory_iterator(folder_)) files += entry.exists();
  EXPECT_EQ(files, 3u) << "a temporary file was left";
}

TEST_F(TuneCommand, TheSameTraceGivesTheSameFiles) {
  ASSERT_EQ(ashlar("tune --classes 3 -o " + path("a.hpp") + " " + sample).status, 0);
  ASSERT_EQ(ashlar("tune --classes 3 -o " + path("b.hpp") + " " + sample).status, 0);
  EXPECT_EQ(read_file(path("a.hpp")), read_file(path("b.hpp")));
  EXPECT_EQ(read_file(path("a.json")), read_file(path("b.json")));
}

// The classes and all that is claimed of them, but for where they come from.
nlohmann::json claimed_in(const std::string& certificate) {
  auto json = nlohmann::json::parse(read_file(certificate));
  for (const char* name : {"inputs", "moments", "seal", "claim"}) json.erase(std::string(name));
  return json;
}

TEST_F(TuneCommand, AProfileGivesWhatItsTraceGives) {
  std::vector<std::string> traces{sample};
#if defined(ASHLAR_DROP_IN)
  const ended recorded =
      ashlar("record -o " + path("run.atrace") + " -- " ASHLAR_PYTHON " -c 'print(dir())'");
  ASSERT_EQ(recorded.status, 0) << recorded.said;
  traces.push_back(path("run.atrace"));
#endif
  const std::string profile = path("run.aprof");
  for (const std::string& trace : traces) {
    ASSERT_EQ(ashlar("tune profile -o " + profile + " " + trace).status, 0);
    for (const char* options : {"", "--classes 4 --margin 10", "--align 64 --largest 2000"}) {
      const ended traced = ashlar(std::string("tune --resolution profile --certificate ") +
                                  path("t.json") + " " + options + " " + trace);
      ASSERT_EQ(traced.status, 0) << traced.said;
      const ended profiled =
          ashlar(std::string("tune -o ") + path("p.hpp") + " --rules " + options + " " + profile);
      ASSERT_EQ(profiled.status, 0) << profiled.said;
      EXPECT_NE(profiled.said.find("as profiles tell them apart"), std::string::npos);
      EXPECT_EQ(claimed_in(path("p.json")), claimed_in(path("t.json"))) << options;
      const ended both = ashlar(std::string("tune --certificate ") + path("b.json") + " " +
                                options + " " + trace + " " + profile);
      ASSERT_EQ(both.status, 0) << both.said;
      EXPECT_EQ(claimed_in(path("b.json")), claimed_in(path("t.json"))) << options;
      for (const char* certificate : {"t.json", "p.json", "b.json"}) {
        const ended verified = ashlar("tune verify " + path(certificate));
        EXPECT_EQ(verified.status, 0) << verified.said;
      }
      EXPECT_EQ(
          ashlar("tune check --against " + path("p.json") + " " + trace + " " + profile).status, 0);
      EXPECT_EQ(
          ashlar("tune check --percent 50 --against " + path("p.json") + " " + profile).status, 1);
    }
    const std::string heap = "tune --mode heap --certificate ";
    ASSERT_EQ(ashlar(heap + path("t.json") + " " + trace).status, 0);
    ASSERT_EQ(ashlar(heap + path("p.json") + " " + profile).status, 0);
    EXPECT_EQ(claimed_in(path("p.json")), claimed_in(path("t.json")));
  }
}

TEST_F(TuneCommand, WhatAProfileDoesNotHaveIsRefused) {
  const std::string profile = path("run.aprof");
  ASSERT_EQ(ashlar("tune profile -o " + profile + " " + sample).status, 0);
  expect_refused("tune --borrow " + profile, "--borrow");
  expect_refused("tune --resolution exact " + profile, "--resolution exact");
  expect_refused("tune --resolution coarse " + sample, "--resolution: 'coarse'");
  expect_refused("tune --mode heap --resolution profile " + profile, "--resolution");
  ASSERT_EQ(ashlar("tune --borrow --classes 3 -o " + path("b.hpp") + " " + sample).status, 0);
  expect_refused("tune check --against " + path("b.json") + " " + profile, "borrow");
  std::string damaged = read_file(profile);
  damaged[damaged.size() / 2] ^= 1;
  write_file(path("damaged"), damaged);
  expect_refused("tune -o " + path("d.hpp") + " " + path("damaged"), "damaged");
  EXPECT_FALSE(fs::exists(path("d.hpp")));
}

TEST_F(TuneCommand, StatTellsOfAProfileWhatItTellsOfItsTrace) {
  ASSERT_EQ(ashlar("tune profile -o " + path("run.aprof") + " " + sample).status, 0);
  const auto traced = nlohmann::json::parse(ashlar("report --text --json " + sample).said);
  const auto profiled =
      nlohmann::json::parse(ashlar("report --text --json " + path("run.aprof")).said);
  for (const char* name : {"births", "birth_bytes", "deaths", "unknown_deaths"})
    EXPECT_EQ(profiled.at(name), traced.at(name)) << name;
  for (const char* name : {"bytes", "blocks"})
    EXPECT_EQ(profiled.at("peak").at(name), traced.at("peak").at(name)) << name;
  std::uint64_t births = 0, deaths = 0, lived = 0;
  for (const auto& size : profiled.at("sizes")) {
    births += size.at("births").get<std::uint64_t>();
    deaths += size.at("deaths").get<std::uint64_t>();
  }
  for (const auto& bin : profiled.at("lifetimes")) lived += bin.at("blocks").get<std::uint64_t>();
  EXPECT_EQ(births, profiled.at("births").get<std::uint64_t>());
  EXPECT_EQ(deaths, profiled.at("deaths").get<std::uint64_t>());
  EXPECT_EQ(lived, deaths);
  EXPECT_EQ(profiled.at("runs"), 1);
  const ended text = ashlar("report --text --rows 3 " + path("run.aprof"));
  EXPECT_EQ(text.status, 0);
  for (const char* part : {"1 in", "births", "of one run", "size up to", ">= 1.07 s"})
    EXPECT_NE(text.said.find(part), std::string::npos) << part << '\n' << text.said;
}

// Pools of exact sizes: a step of the profile's sizes may be of two classes.
TEST_F(TuneCommand, CheckTellsWhatAProfileCannot) {
  ASSERT_EQ(ashlar("tune profile -o " + path("run.aprof") + " " + sample).status, 0);
  ASSERT_EQ(ashlar("tune --classes 8 --align 8 -o " + path("p.hpp") + " " + sample).status, 0);
  auto json = nlohmann::json::parse(read_file(path("p.json")));
  auto& classes = json["classes"];
  ASSERT_EQ(classes[6]["block_size"], 576);
  classes[6]["block_size"] = 568;  // of 545 to 576, which are one size of a profile
  write_file(path("p.json"), json.dump());
  const std::string check = "tune check --against " + path("p.json") + " " + path("run.aprof");
  const ended checked = ashlar(check);
  EXPECT_EQ(checked.status, 1) << checked.said;
  EXPECT_NE(checked.said.find("perhaps too many"), std::string::npos) << checked.said;
  EXPECT_NE(checked.said.find("--resolution profile"), std::string::npos) << checked.said;
  classes[7]["capacity"] = 1000;
  write_file(path("p.json"), json.dump());
  const ended enough = ashlar(check);
  EXPECT_EQ(enough.status, 0) << enough.said;
  EXPECT_NE(enough.said.find("at most"), std::string::npos) << enough.said;
  classes[7]["block_size"] = 700;  // of 673 to 704
  write_file(path("p.json"), json.dump());
  const ended unserved = ashlar(check);
  EXPECT_EQ(unserved.status, 1) << unserved.said;
  EXPECT_NE(unserved.said.find("no class serves"), std::string::npos) << unserved.said;
  EXPECT_NE(unserved.said.find("--resolution profile"), std::string::npos) << unserved.said;
}

TEST_F(TuneCommand, HeapModeWritesClassesThatTheDropInLibraryTakes) {
  const ended tuned = ashlar("tune --mode heap -o " + path("c.classes") + " --certificate " +
                             path("c.json") + " " + sample);
  ASSERT_EQ(tuned.status, 0) << tuned.said;
  const auto json = nlohmann::json::parse(read_file(path("c.json")));
  EXPECT_LE(json.at("slack_bytes").at("at_peak").get<double>() +
                json.at("slack_bytes").at("over_time").get<double>(),
            json.at("standard_slack_bytes").at("at_peak").get<double>() +
                json.at("standard_slack_bytes").at("over_time").get<double>() + 88 * 12 * 1024.0);
  EXPECT_EQ(json.at("block_sizes").back(), 131072);
#if defined(ASHLAR_DROP_IN)
  ASSERT_EQ(::setenv("ASHLAR_CONFIG", path("c.classes").c_str(), 1), 0);
  const ended ran = ashlar("run --json=" + path("run.json") + " -- /bin/echo served");
  const ended wrong =
      (::setenv("ASHLAR_CONFIG", path("c.json").c_str(), 1), ashlar("run -- /bin/echo served"));
  ::unsetenv("ASHLAR_CONFIG");
  EXPECT_NE(ran.said.find("served"), std::string::npos) << ran.said;
  EXPECT_EQ(ran.said.find("is ignored"), std::string::npos) << ran.said;
  EXPECT_NE(wrong.said.find("is ignored"), std::string::npos) << wrong.said;
  const auto statistics = nlohmann::json::parse(read_file(path("run.json"))).at("statistics");
  for (const auto& used : statistics.at("classes"))
    EXPECT_NE(std::find(json.at("block_sizes").begin(), json.at("block_sizes").end(),
                        used.at("block_size")),
              json.at("block_sizes").end())
        << used;
#endif
  ASSERT_EQ(ashlar("tune --mode heap -o " + path("c.hpp") + " " + sample).status, 0);
  EXPECT_NE(read_file(path("c.hpp"))
                .find("block_sizes[" + std::to_string(json.at("block_sizes").size()) + "]"),
            std::string::npos);
}

TEST_F(TuneCommand, HeapModeRefusesWhatIsOfCapacities) {
  expect_refused("tune --mode other " + sample, "'other' is none of static, heap");
  expect_refused("tune --mode heap --margin 5 " + sample, "--margin");
  expect_refused("tune --mode heap --borrow " + sample, "--borrow");
  expect_refused("tune --mode heap --classes 13 " + sample, "14");
  expect_refused("tune --mode heap --classes 89 " + sample, "88");
  expect_refused("tune --mode heap --weigh now " + sample, "--weigh: 'now'");
  expect_refused("tune --weigh peak " + sample, "--weigh");
}

TEST_F(TuneCommand, CheckTellsWhatIsTooMuch) {
  ASSERT_EQ(ashlar("tune --classes 4 --largest 300 -o " + path("p.hpp") + " " + sample).status, 0);
  const std::string check = "tune check --against " + path("p.json") + " " + sample;
  EXPECT_EQ(ashlar(check).status, 0);
  const ended near = ashlar(check + " --percent 99");
  EXPECT_EQ(near.status, 1);
  EXPECT_NE(near.said.find("too many"), std::string::npos) << near.said;
  EXPECT_EQ(near.said.find("cannot be told"), std::string::npos) << near.said;
  write_file(path("t.txt"), "ashlar-trace-text 1\n1 1 malloc 0x1000 16\n");
  ASSERT_EQ(ashlar("export --from-text " + path("t.txt") + " -o " + path("small")).status, 0);
  const std::string of_small =
      "tune check --percent 99 --against " + path("p.json") + " " + path("small");
  EXPECT_EQ(ashlar(of_small).status, 0);
  EXPECT_EQ(ashlar(of_small + " " + sample).status, 1);
  auto json = nlohmann::json::parse(read_file(path("p.json")));
  json["largest"] = 100'000;  // the trace's larger requests count now, and no class serves them
  write_file(path("p.json"), json.dump());
  const ended large = ashlar(check);
  EXPECT_EQ(large.status, 1);
  EXPECT_NE(large.said.find("no class serves"), std::string::npos) << large.said;
}

// Peaks that nobody saw: the exit status is all that a job of continuous integration looks at.
TEST_F(TuneCommand, CheckOfAnInputThatIsNotWholeDoesNotPass) {
  ASSERT_EQ(ashlar("tune -o " + path("p.hpp") + " " + sample).status, 0);
  const std::string check = "tune check --against " + path("p.json") + " ";
  const std::string whole = read_file(sample);
  write_file(path("cut"), whole.substr(0, whole.size() / 2));
  const ended cut = ashlar(check + path("cut"));
  EXPECT_EQ(cut.status, 1) << cut.said;
  EXPECT_NE(cut.said.find("record again"), std::string::npos) << cut.said;
  EXPECT_EQ(ashlar(check + path("cut") + " " + sample).status, 1);
  ASSERT_EQ(ashlar("tune profile -o " + path("cut.aprof") + " " + path("cut")).status, 0);
  EXPECT_EQ(ashlar(check + path("cut.aprof")).status, 1);
  write_file(
      path("t.txt"),
      "ashlar-trace-text 1\nheader ticks_per_second 1000\n1 1 malloc 0x1000 16\n2 1 lost 7\n");
  ASSERT_EQ(ashlar("export --from-text " + path("t.txt") + " -o " + path("lost")).status, 0);
  const ended lost = ashlar(check + path("lost"));
  EXPECT_EQ(lost.status, 1) << lost.said;
  EXPECT_NE(lost.said.find("7 events were lost"), std::string::npos) << lost.said;
}

TEST_F(TuneCommand, CheckOfPoolsThatBorrowDoesNotCallTooManyWhatFits) {
  ASSERT_EQ(ashlar("tune --borrow --classes 5 -o " + path("p.hpp") + " " + sample).status, 0);
  const std::string check = "tune check --against " + path("p.json") + " " + sample;
  const ended fits = ashlar(check);
  EXPECT_EQ(fits.status, 0) << fits.said;
  EXPECT_EQ(fits.said.find("too many"), std::string::npos) << fits.said;
  EXPECT_NE(fits.said.find("borrows"), std::string::npos) << fits.said;
  const ended half = ashlar(check + " --percent 50");
  EXPECT_EQ(half.status, 1) << half.said;
  EXPECT_NE(half.said.find("are not enough"), std::string::npos) << half.said;
}

TEST_F(TuneCommand, PoolsThatSomebodyChangedToWhatCannotBeAreRefused) {
  ASSERT_EQ(ashlar("tune --classes 3 -o " + path("p.hpp") + " " + sample).status, 0);
  auto json = nlohmann::json::parse(read_file(path("p.json")));
  std::swap(json["classes"][0], json["classes"][1]);
  write_file(path("swapped.json"), json.dump());
  expect_refused("tune check --against " + path("swapped.json") + " " + sample, "not sorted");
  expect_refused("replay --on " + path("swapped.json") + " " + sample, "not sorted");
  ASSERT_EQ(ashlar("tune --mode heap --certificate " + path("heap.json") + " " + sample).status, 0);
  expect_refused("tune check --against " + path("heap.json") + " " + sample, "--mode heap");
  expect_refused("tune verify " + path("heap.json"), "static pools");
}

TEST_F(TuneCommand, BadInputIsNamedAndNothingIsWritten) {
  write_file(path("empty"), "");
  write_file(path("foreign"), "int main() {}\n");
  std::string damaged = read_file(sample);
  damaged[damaged.size() / 2] ^= 1;
  write_file(path("damaged"), damaged);
  const std::string to = " -o " + path("p.hpp") + " ";
  expect_refused("tune" + to + path("none"), "none");
  expect_refused("tune" + to + path("empty"), "empty");
  expect_refused("tune" + to + path("foreign"), "no trace");
  expect_refused("tune" + to + path("damaged"), "at byte");
  expect_refused("tune" + to + path(""), path(""));
  expect_refused("tune --classes 0" + to + sample, "--classes 0");
  expect_refused("tune --classes 1000" + to + sample, "--classes 1000");
  expect_refused("tune --classes some" + to + sample, "--classes some");
  expect_refused("tune --budget 1000" + to + sample, "least possible");
  expect_refused("tune --budget 1000 --classes 2" + to + sample, "least possible");
  expect_refused("tune --align 24" + to + sample, "--align 24");
  expect_refused("tune --align 0" + to + sample, "--align 0");
  expect_refused("tune --largest 1000000000000" + to + sample, "--largest");
  expect_refused("tune --margin 99999" + to + sample, "--margin");
  expect_refused("tune --margin -1" + to + sample, "--margin: '-1'");
  expect_refused("tune --align -8" + to + sample, "--align: '-8'");
  expect_refused("tune --largest -1" + to + sample, "--largest: '-1'");
  expect_refused("tune --budget -5" + to + sample, "--budget: '-5'");
  expect_refused("tune --budget 18446744073709551616" + to + sample, "2^64");
  expect_refused("tune --budget 1.5MiB" + to + sample, "'1.5MiB'");
  expect_refused("tune --mode frob" + to + sample, "--mode: 'frob'");
  expect_refused("tune --namespace 7up" + to + sample, "7up");
  expect_refused("tune --namespace class" + to + sample, "'class'");
  expect_refused("tune --namespace my::xor" + to + sample, "'my::xor'");
  expect_refused("tune" + to, "TRACE");
  EXPECT_FALSE(fs::exists(path("p.hpp")));
  EXPECT_FALSE(fs::exists(path("p.json")));
  expect_refused("tune -o /no/folder/p.hpp " + sample, "/no/folder/p.hpp");
  expect_refused("tune -o " + path("") + " " + sample, path(""));
  expect_refused("tune verify " + path("none"), "none");
  expect_refused("tune check --against " + path("none") + " " + sample, "none");
  expect_refused("tune check --against " + path("foreign") + " " + sample, "foreign");
  expect_refused("tune check " + sample, "--against");
}

// Pools that were too small when they were recorded, and a recorder that lost events: what is tuned may be too little.
TEST_F(TuneCommand, WhatARecordingLacksIsSaid) {
  write_file(
      path("t.txt"),
      "ashlar-trace-text 1\nheader options pools\nheader ticks_per_second 1000\n"
      "1 1 pool 0x1000 40 align=8\n2 1 refused 40 messages\n2 1 refused 41 \\e\n3 1 lost 7\n");
  const ended written = ashlar("export --from-text " + path("t.txt") + " -o " + path("t.atrace"));
  ASSERT_EQ(written.status, 0) << written.said;
  EXPECT_EQ(ashlar("export --format text " + path("t.atrace")).said, read_file(path("t.txt")));
  const std::string lacks = "7 events were lost, 2 requests found no block";
  const ended tuned = ashlar("tune -o " + path("p.hpp") + " " + path("t.atrace"));
  EXPECT_EQ(tuned.status, 0) << tuned.said;
  EXPECT_NE(tuned.said.find(lacks), std::string::npos) << tuned.said;
  // So does what is written, and who verifies it.
  EXPECT_NE(read_file(path("p.hpp")).find(lacks), std::string::npos);
  const ended verified = ashlar("tune verify " + path("p.json"));
  EXPECT_EQ(verified.status, 0) << verified.said;
  EXPECT_NE(verified.said.find("recorded: " + path("t.atrace") + ": " + lacks), std::string::npos)
      << verified.said;
  ASSERT_EQ(ashlar("tune --mode heap -o " + path("c.classes") + " --certificate " + path("c.json") +
                   " " + path("t.atrace"))
                .status,
            0);
  EXPECT_NE(read_file(path("c.classes")).find(lacks), std::string::npos);
  EXPECT_EQ(nlohmann::json::parse(read_file(path("c.json"))).at("inputs")[0].at("lost_events"), 7);
  const std::string in_pools = "requests for which a pool had no block";
  EXPECT_NE(ashlar("report --text " + path("t.atrace")).said.find("2 " + in_pools),
            std::string::npos);

  // Nor do profiles of it, and merged ones, forget that.
  const std::string profile = path("t.aprof");
  ASSERT_EQ(ashlar("tune profile -o " + profile + " " + path("t.atrace")).status, 0);
  ASSERT_EQ(ashlar("tune profile -o " + profile + " " + profile + " " + profile).status, 0);
  EXPECT_NE(ashlar("report --text " + profile).said.find("4 " + in_pools), std::string::npos);
  EXPECT_EQ(nlohmann::json::parse(ashlar("report --text --json " + profile).said).at("refused"), 4);
  const ended by_profile = ashlar("tune " + profile);
  EXPECT_EQ(by_profile.status, 0) << by_profile.said;
  EXPECT_NE(by_profile.said.find("4 requests found no block"), std::string::npos)
      << by_profile.said;
}

// Nothing is left to choose pools for: what is missing in the trace is the reason.
TEST_F(TuneCommand, WhyNoRequestIsLeftIsSaid) {
  write_file(
      path("t.txt"),
      "ashlar-trace-text 1\nheader ticks_per_second 1000\n1 1 free 0x1000\n2 1 free 0x2000\n");
  ASSERT_EQ(ashlar("export --from-text " + path("t.txt") + " -o " + path("frees")).status, 0);
  expect_refused("tune " + path("frees"), "no request is left");
  expect_refused("tune " + path("frees"), "2 blocks died that were born before the recording");
  write_file(path("t.txt"),
             "ashlar-trace-text 1\nheader ticks_per_second 1000\n1 1 malloc 0x1000 100\n");
  ASSERT_EQ(ashlar("export --from-text " + path("t.txt") + " -o " + path("large")).status, 0);
  expect_refused("tune --largest 64 " + path("large"), "larger than --largest");
}

// A file may have any name; JSON is UTF-8.
TEST_F(TuneCommand, ATraceOfAnyNameIsTuned) {
  const std::string name = path("\xff\xfe.atrace");
  fs::copy_file(sample, name);
  const ended tuned = ashlar("tune -o " + path("p.hpp") + " '" + name + "'");
  ASSERT_EQ(tuned.status, 0) << tuned.said;
  EXPECT_NE(read_file(path("p.hpp")).find("\xff\xfe.atrace"), std::string::npos);
  const ended verified = ashlar("tune verify " + path("p.json") + " '" + name + "'");
  EXPECT_EQ(verified.status, 0) << verified.said;
  EXPECT_EQ(ashlar("tune --mode heap --certificate " + path("c.json") + " '" + name + "'").status,
            0);
}

// Else the line behind it belonged to the comment.
TEST_F(TuneCommand, ABackslashAtANamesEndEndsNoComment) {
  const std::string name = path("x\\");
  fs::copy_file(sample, name);
  for (const char* mode : {"static", "heap"}) {
    ASSERT_EQ(
        ashlar(std::string("tune --mode ") + mode + " -o " + path("p.hpp") + " '" + name + "'")
            .status,
        0);
    EXPECT_EQ(read_file(path("p.hpp")).find('\\'), std::string::npos) << mode;
  }
}

TEST_F(TuneCommand, WhatStoodAtTheOutputStaysWhenItFails) {
  const std::string before = "// Pools chosen by ashlar tune";
  write_file(path("p.hpp"), before);
  expect_refused("tune --budget 10 -o " + path("p.hpp") + " " + sample, "--budget 10");
  EXPECT_EQ(read_file(path("p.hpp")), before);
}

TEST_F(TuneCommand, NoOutputIsAnInputOrAnotherOutput) {
  const std::string trace = path("t.atrace");
  fs::copy_file(sample, trace);
  for (const char* words : {"tune -o ", "tune --certificate ", "tune --mode heap -o ",
                            "tune --mode heap --certificate ", "report -o ",
                            "export --format text -o ", "replay --on system --json="})
    expect_refused(words + trace + " " + trace, "is an input");
  EXPECT_EQ(read_file(trace), read_file(sample));
  const std::string made = path("made.json");
  expect_refused("tune -o " + made + " " + trace, "--certificate " + made);
  expect_refused("tune -o " + made + " --certificate " + made + " " + trace, "what -o writes");
  EXPECT_FALSE(fs::exists(made));
  ASSERT_EQ(ashlar("tune --certificate " + made + " " + trace).status, 0);
  expect_refused("replay --on " + made + " --json=" + made + " " + trace, "is an input");
  EXPECT_EQ(ashlar("tune -o /dev/null --certificate /dev/null " + trace).status, 0);
}

// Nobody named the file beside the header.
TEST_F(TuneCommand, OnlyACertificateIsReplacedBesideTheHeader) {
  const std::string tune = "tune -o " + path("notes.hpp") + " " + sample;
  write_file(path("notes.json"), R"({"precious": 1})");
  expect_refused(tune, "notes.json");
  EXPECT_EQ(read_file(path("notes.json")), R"({"precious": 1})");
  EXPECT_FALSE(fs::exists(path("notes.hpp")));
  EXPECT_EQ(ashlar(tune + " --certificate " + path("c.json")).status, 0);
  EXPECT_EQ(ashlar(tune + " --force --certificate " + path("notes.json")).status, 0);
  EXPECT_EQ(ashlar(tune).status, 0);  // it is one now
  write_file(path("notes.json"), "");
  EXPECT_EQ(ashlar(tune).status, 0);
}

TEST_F(TuneCommand, WhatStandardOutputDoesNotTakeIsNoSuccess) {
  const std::string certificate = path("p.json");
  ASSERT_EQ(ashlar("tune --certificate " + certificate + " " + sample).status, 0);
  for (const std::string& words :
       {"report --text " + sample, "tune " + sample,
        "tune check --against " + certificate + " " + sample, "tune verify " + certificate,
        "replay -n 1 --on system " + sample, "export --format text " + sample,
        "report --json " + sample, std::string("compare --list"), std::string("--help")}) {
    const ended result = ashlar(words + " 3>&1 >/dev/full 2>&3 3>&- #");
    EXPECT_EQ(result.status, 1) << words << result.said;
    EXPECT_NE(result.said.find("cannot write"), std::string::npos) << words << result.said;
  }
}

TEST_F(TuneCommand, VerifyRefusesWhatIsNotSo) {
  ASSERT_EQ(ashlar("tune --classes 2 -o " + path("p.hpp") + " " + sample).status, 0);
  auto json = nlohmann::json::parse(read_file(path("p.json")));
  json["total_bytes"] = json["total_bytes"].get<int>() + 1;
  write_file(path("p.json"), json.dump());
  const ended result = ashlar("tune verify " + path("p.json"));
  EXPECT_EQ(result.status, 1);
  EXPECT_NE(result.said.find("refused"), std::string::npos) << result.said;
  for (const char* text : {"nonsense", ""}) {
    write_file(path("none.json"), text);
    expect_refused("tune verify " + path("none.json"), "none.json: no certificate");
  }
  json["certificate"] = 1;
  write_file(path("p.json"), json.dump());
  expect_refused("tune verify " + path("p.json"), "of version 2: tune again");
  expect_refused("tune check --against " + path("p.json") + " " + sample, "another version");
}

}  // namespace
