// ashlar tune, verify and check as a user meets them: arguments in; streams, files and exit status out.
#include <nlohmann/json.hpp>
#include <tests/support/command_in_folder.hpp>
#include <tests/support/test_headers.hpp>

namespace {

namespace fs = std::filesystem;
using namespace support;
const std::string sample = ASHLAR_SAMPLE_TRACE;

using TuneCommand = CommandByShell;

TEST_F(TuneCommand, WritesAHeaderAndACertificateThatIsTrue) {
  has(done("tune -o " + path("p.hpp") + " " + sample, 0), "<-");
  const auto json = nlohmann::json::parse(read_file(path("p.json")));
  const std::string header = read_file(path("p.hpp"));
  for (const std::string& told :
       {json.at("total_bytes").dump(), json.at("inputs").at(0).at("sha256").get<std::string>()})
    has(header, told);
  lacks(done("tune verify " + path("p.json"), 0), "was recorded");
  fs::copy_file(sample, path("moved"));
  done("tune verify " + path("p.json") + " " + path("moved"));
  done("tune check --against " + path("p.json") + " " + sample);
  std::size_t files = 0;
  for (const auto& entry : fs::directory_iterator(folder_)) files += entry.exists();
  EXPECT_EQ(files, 3u) << "a temporary file was left";
}

TEST_F(TuneCommand, TheSameTraceGivesTheSameFiles) {
  done("tune --classes 3 -o " + path("a.hpp") + " " + sample);
  done("tune --classes 3 -o " + path("b.hpp") + " " + sample);
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
      ashlar("record -o " + path("run.atrace") + " -- " ASHLAR_PYTHON " -c 'print(dir())'", 0);
  traces.push_back(path("run.atrace"));
#endif
  const std::string profile = path("run.aprof");
  for (const std::string& trace : traces) {
    done("tune profile -o " + profile + " " + trace);
    for (const char* options : {"", "--classes 4 --margin 10", "--align 64 --largest 2000"}) {
      const ended traced = ashlar(std::string("tune --resolution profile --certificate ") +
                                      path("t.json") + " " + options + " " + trace,
                                  0);
      const ended profiled = ashlar(
          std::string("tune -o ") + path("p.hpp") + " --rules " + options + " " + profile, 0);
      has(profiled.said, "as profiles tell them apart");
      EXPECT_EQ(claimed_in(path("p.json")), claimed_in(path("t.json"))) << options;
      const ended both = ashlar(std::string("tune --certificate ") + path("b.json") + " " +
                                    options + " " + trace + " " + profile,
                                0);
      EXPECT_EQ(claimed_in(path("b.json")), claimed_in(path("t.json"))) << options;
      for (const char* certificate : {"t.json", "p.json", "b.json"}) {
        const ended verified = ashlar("tune verify " + path(certificate), 0);
      }
      done("tune check --against " + path("p.json") + " " + trace + " " + profile);
      done("tune check --percent 50 --against " + path("p.json") + " " + profile, 1);
    }
    const std::string heap = "tune --mode heap --certificate ";
    done(heap + path("t.json") + " " + trace);
    done(heap + path("p.json") + " " + profile);
    EXPECT_EQ(claimed_in(path("p.json")), claimed_in(path("t.json")));
  }
}

TEST_F(TuneCommand, WhatAProfileDoesNotHaveIsRefused) {
  const std::string profile = path("run.aprof");
  done("tune profile -o " + profile + " " + sample);
  expect_refused("tune --borrow " + profile, "--borrow");
  expect_refused("tune --resolution exact " + profile, "--resolution exact");
  expect_refused("tune --resolution coarse " + sample, "--resolution: 'coarse'");
  expect_refused("tune --mode heap --resolution profile " + profile, "--resolution");
  done("tune --borrow --classes 3 -o " + path("b.hpp") + " " + sample);
  expect_refused("tune check --against " + path("b.json") + " " + profile, "borrow");
  std::string damaged = read_file(profile);
  damaged[damaged.size() / 2] ^= 1;
  write_file(path("damaged"), damaged);
  expect_refused("tune -o " + path("d.hpp") + " " + path("damaged"), "damaged");
  EXPECT_FALSE(fs::exists(path("d.hpp")));
}

TEST_F(TuneCommand, StatTellsOfAProfileWhatItTellsOfItsTrace) {
  done("tune profile -o " + path("run.aprof") + " " + sample);
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
  const ended text = ashlar("report --text --rows 3 " + path("run.aprof"), 0);
  for (const char* part : {"1 in", "births", "of one run", "size up to", ">= 1.07 s"})
    has(text.said, part);
}

// Pools of exact sizes: a step of the profile's sizes may be of two classes.
TEST_F(TuneCommand, CheckTellsWhatAProfileCannot) {
  done("tune profile -o " + path("run.aprof") + " " + sample);
  done("tune --classes 8 --align 8 -o " + path("p.hpp") + " " + sample);
  auto json = nlohmann::json::parse(read_file(path("p.json")));
  auto& classes = json["classes"];
  ASSERT_EQ(classes[6]["block_size"], 576);
  classes[6]["block_size"] = 568;  // of 545 to 576, which are one size of a profile
  write_file(path("p.json"), json.dump());
  const std::string check = "tune check --against " + path("p.json") + " " + path("run.aprof");
  const ended checked = ashlar(check, 1);
  has(checked.said, "perhaps too many");
  has(checked.said, "--resolution profile");
  classes[7]["capacity"] = 1000;
  write_file(path("p.json"), json.dump());
  has(done(check, 0), "at most");
  classes[7]["block_size"] = 700;  // of 673 to 704
  write_file(path("p.json"), json.dump());
  const ended unserved = ashlar(check, 1);
  has(unserved.said, "no class serves");
  has(unserved.said, "--resolution profile");
}

TEST_F(TuneCommand, HeapModeWritesClassesThatTheDropInLibraryTakes) {
  const ended tuned = ashlar("tune --mode heap -o " + path("c.classes") + " --certificate " +
                                 path("c.json") + " " + sample,
                             0);
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
  has(ran.said, "served");
  lacks(ran.said, "is ignored");
  has(wrong.said, "is ignored");
  const auto statistics = nlohmann::json::parse(read_file(path("run.json"))).at("statistics");
  for (const auto& used : statistics.at("classes"))
    EXPECT_NE(std::find(json.at("block_sizes").begin(), json.at("block_sizes").end(),
                        used.at("block_size")),
              json.at("block_sizes").end())
        << used;
#endif
  done("tune --mode heap -o " + path("c.hpp") + " " + sample);
  has(read_file(path("c.hpp")),
      "block_sizes[" + std::to_string(json.at("block_sizes").size()) + "]");
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
  done("tune --classes 4 --largest 300 -o " + path("p.hpp") + " " + sample);
  const std::string check = "tune check --against " + path("p.json") + " " + sample;
  done(check);
  const ended near = ashlar(check + " --percent 99", 1);
  has(near.said, "too many");
  lacks(near.said, "cannot be told");
  write_file(path("t.txt"), "ashlar-trace-text 1\n1 1 malloc 0x1000 16\n");
  done("export --from-text " + path("t.txt") + " -o " + path("small"));
  const std::string of_small =
      "tune check --percent 99 --against " + path("p.json") + " " + path("small");
  done(of_small);
  done(of_small + " " + sample, 1);
  auto json = nlohmann::json::parse(read_file(path("p.json")));
  json["largest"] = 100'000;  // the trace's larger requests count now, and no class serves them
  write_file(path("p.json"), json.dump());
  has(done(check, 1), "no class serves");
}

// Peaks that nobody saw: the exit status is all that a job of continuous integration looks at.
TEST_F(TuneCommand, CheckOfAnInputThatIsNotWholeDoesNotPass) {
  done("tune -o " + path("p.hpp") + " " + sample);
  const std::string check = "tune check --against " + path("p.json") + " ";
  const std::string whole = read_file(sample);
  write_file(path("cut"), whole.substr(0, whole.size() / 2));
  const ended cut = ashlar(check + path("cut"), 1);
  has(cut.said, "record again");
  done(check + path("cut") + " " + sample, 1);
  done("tune profile -o " + path("cut.aprof") + " " + path("cut"));
  done(check + path("cut.aprof"), 1);
  write_file(
      path("t.txt"),
      "ashlar-trace-text 1\nheader ticks_per_second 1000\n1 1 malloc 0x1000 16\n2 1 lost 7\n");
  done("export --from-text " + path("t.txt") + " -o " + path("lost"));
  const ended lost = ashlar(check + path("lost"), 1);
  has(lost.said, "7 events were lost");
}

TEST_F(TuneCommand, CheckOfPoolsThatBorrowDoesNotCallTooManyWhatFits) {
  done("tune --borrow --classes 5 -o " + path("p.hpp") + " " + sample);
  const std::string check = "tune check --against " + path("p.json") + " " + sample;
  const ended fits = ashlar(check, 0);
  lacks(fits.said, "too many");
  has(fits.said, "borrows");
  has(done(check + " --percent 50", 1), "are not enough");
}

TEST_F(TuneCommand, PoolsThatSomebodyChangedToWhatCannotBeAreRefused) {
  done("tune --classes 3 -o " + path("p.hpp") + " " + sample);
  auto json = nlohmann::json::parse(read_file(path("p.json")));
  std::swap(json["classes"][0], json["classes"][1]);
  write_file(path("swapped.json"), json.dump());
  expect_refused("tune check --against " + path("swapped.json") + " " + sample, "not sorted");
  expect_refused("replay --on " + path("swapped.json") + " " + sample, "not sorted");
  done("tune --mode heap --certificate " + path("heap.json") + " " + sample);
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
  const ended written =
      ashlar("export --from-text " + path("t.txt") + " -o " + path("t.atrace"), 0);
  EXPECT_EQ(ashlar("export --format text " + path("t.atrace")).said, read_file(path("t.txt")));
  const std::string lacks = "7 events were lost, 2 requests found no block";
  const ended tuned = ashlar("tune -o " + path("p.hpp") + " " + path("t.atrace"), 0);
  has(tuned.said, lacks);
  // So does what is written, and who verifies it.
  has(read_file(path("p.hpp")), lacks);
  has(done("tune verify " + path("p.json"), 0), "recorded: " + path("t.atrace") + ": " + lacks);
  done("tune --mode heap -o " + path("c.classes") + " --certificate " + path("c.json") + " " +
       path("t.atrace"));
  has(read_file(path("c.classes")), lacks);
  EXPECT_EQ(nlohmann::json::parse(read_file(path("c.json"))).at("inputs")[0].at("lost_events"), 7);
  const std::string in_pools = "requests for which a pool had no block";
  has(ashlar("report --text " + path("t.atrace")).said, "2 " + in_pools);

  // Nor do profiles of it, and merged ones, forget that.
  const std::string profile = path("t.aprof");
  done("tune profile -o " + profile + " " + path("t.atrace"));
  done("tune profile -o " + profile + " " + profile + " " + profile);
  has(ashlar("report --text " + profile).said, "4 " + in_pools);
  EXPECT_EQ(nlohmann::json::parse(ashlar("report --text --json " + profile).said).at("refused"), 4);
  has(done("tune " + profile, 0), "4 requests found no block");
}

// Nothing is left to choose pools for: what is missing in the trace is the reason.
TEST_F(TuneCommand, WhyNoRequestIsLeftIsSaid) {
  write_file(
      path("t.txt"),
      "ashlar-trace-text 1\nheader ticks_per_second 1000\n1 1 free 0x1000\n2 1 free 0x2000\n");
  done("export --from-text " + path("t.txt") + " -o " + path("frees"));
  expect_refused("tune " + path("frees"), "no request is left");
  expect_refused("tune " + path("frees"), "2 blocks died that were born before the recording");
  write_file(path("t.txt"),
             "ashlar-trace-text 1\nheader ticks_per_second 1000\n1 1 malloc 0x1000 100\n");
  done("export --from-text " + path("t.txt") + " -o " + path("large"));
  expect_refused("tune --largest 64 " + path("large"), "larger than --largest");
}

// A file may have any name; JSON is UTF-8.
TEST_F(TuneCommand, ATraceOfAnyNameIsTuned) {
  const std::string name = path("\xff\xfe.atrace");
  fs::copy_file(sample, name);
  const ended tuned = ashlar("tune -o " + path("p.hpp") + " '" + name + "'", 0);
  has(read_file(path("p.hpp")), "\xff\xfe.atrace");
  const ended verified = ashlar("tune verify " + path("p.json") + " '" + name + "'", 0);
  done("tune --mode heap --certificate " + path("c.json") + " '" + name + "'");
}

// Else the line behind it belonged to the comment.
TEST_F(TuneCommand, ABackslashAtANamesEndEndsNoComment) {
  const std::string name = path("x\\");
  fs::copy_file(sample, name);
  for (const char* mode : {"static", "heap"}) {
    done(std::string("tune --mode ") + mode + " -o " + path("p.hpp") + " '" + name + "'");
    lacks(read_file(path("p.hpp")), "\\");
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
  done("tune --certificate " + made + " " + trace);
  expect_refused("replay --on " + made + " --json=" + made + " " + trace, "is an input");
  done("tune -o /dev/null --certificate /dev/null " + trace);
}

// Nobody named the file beside the header.
TEST_F(TuneCommand, OnlyACertificateIsReplacedBesideTheHeader) {
  const std::string tune = "tune -o " + path("notes.hpp") + " " + sample;
  write_file(path("notes.json"), R"({"precious": 1})");
  expect_refused(tune, "notes.json");
  EXPECT_EQ(read_file(path("notes.json")), R"({"precious": 1})");
  EXPECT_FALSE(fs::exists(path("notes.hpp")));
  done(tune + " --certificate " + path("c.json"));
  done(tune + " --force --certificate " + path("notes.json"));
  done(tune);  // it is one now
  write_file(path("notes.json"), "");
  done(tune);
}

TEST_F(TuneCommand, WhatStandardOutputDoesNotTakeIsNoSuccess) {
  const std::string certificate = path("p.json");
  done("tune --certificate " + certificate + " " + sample);
  for (const std::string& words :
       {"report --text " + sample, "tune " + sample,
        "tune check --against " + certificate + " " + sample, "tune verify " + certificate,
        "replay -n 1 --on system " + sample, "export --format text " + sample,
        "report --json " + sample, std::string("compare --list"), std::string("--help")}) {
    has(done(words + " 3>&1 >/dev/full 2>&3 3>&- #", 1), "cannot write");
  }
}

TEST_F(TuneCommand, VerifyRefusesWhatIsNotSo) {
  done("tune --classes 2 -o " + path("p.hpp") + " " + sample);
  auto json = nlohmann::json::parse(read_file(path("p.json")));
  json["total_bytes"] = json["total_bytes"].get<int>() + 1;
  write_file(path("p.json"), json.dump());
  has(done("tune verify " + path("p.json"), 1), "refused");
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
