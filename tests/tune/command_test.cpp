// ashlar tune, verify and check as a user meets them: arguments in; streams, files and exit status out.
#include <nlohmann/json.hpp>
#include <tests/support/command_in_folder.hpp>
#include <tests/support/test_headers.hpp>

namespace {

namespace fs = std::filesystem;
using namespace support;
const std::string sample = ASHLAR_SAMPLE_TRACE;

using TuneCommand = CommandThatSays;

TEST_F(TuneCommand, WritesAHeaderAndACertificateThatIsTrue) {
  has(done("tune -o p.hpp " + sample), "<-");
  const auto json = nlohmann::json::parse(said("p.json"));
  const std::string header = said("p.hpp");
  for (const std::string& told :
       {json.at("total_bytes").dump(), json.at("inputs").at(0).at("sha256").get<std::string>()})
    has(header, told);
  lacks(done("tune verify p.json"), "was recorded");
  fs::copy_file(sample, path("moved"));
  done("tune verify p.json moved");
  done("tune check --against p.json " + sample);
  EXPECT_EQ(files().size(), 3u) << "a temporary file was left";
}

TEST_F(TuneCommand, TheSameTraceGivesTheSameFiles) {
  done("tune --classes 3 -o a.hpp " + sample);
  done("tune --classes 3 -o b.hpp " + sample);
  EXPECT_EQ(said("a.hpp"), said("b.hpp"));
  EXPECT_EQ(said("a.json"), said("b.json"));
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
  done("record -o run.atrace -- " ASHLAR_PYTHON " -c print(dir())");
  traces.push_back("run.atrace");
#endif
  for (const std::string& trace : traces) {
    done("tune profile -o run.aprof " + trace);
    for (const std::string options : {"", "--classes 4 --margin 10", "--align 64 --largest 2000"}) {
      done("tune --resolution profile --certificate t.json " + options + " " + trace);
      has(done("tune -o p.hpp --rules " + options + " run.aprof"), "as profiles tell them apart");
      EXPECT_EQ(claimed_in(path("p.json")), claimed_in(path("t.json"))) << options;
      done("tune --certificate b.json " + options + " " + trace + " run.aprof");
      EXPECT_EQ(claimed_in(path("b.json")), claimed_in(path("t.json"))) << options;
      for (const std::string certificate : {"t.json", "p.json", "b.json"})
        done("tune verify " + certificate);
      done("tune check --against p.json " + trace + " run.aprof");
      done("tune check --percent 50 --against p.json run.aprof", 1);
    }
    done("tune --mode heap --certificate t.json " + trace);
    done("tune --mode heap --certificate p.json run.aprof");
    EXPECT_EQ(claimed_in(path("p.json")), claimed_in(path("t.json")));
  }
}

TEST_F(TuneCommand, WhatAProfileDoesNotHaveIsRefused) {
  done("tune profile -o run.aprof " + sample);
  expect_refused("tune --borrow run.aprof", "--borrow");
  expect_refused("tune --resolution exact run.aprof", "--resolution exact");
  expect_refused("tune --resolution coarse " + sample, "--resolution: 'coarse'");
  expect_refused("tune --mode heap --resolution profile run.aprof", "--resolution");
  done("tune --borrow --classes 3 -o b.hpp " + sample);
  expect_refused("tune check --against b.json run.aprof", "borrow");
  std::string damaged = said("run.aprof");
  damaged[damaged.size() / 2] ^= 1;
  write_file(path("damaged"), damaged);
  expect_refused("tune -o d.hpp damaged", "damaged");
  EXPECT_FALSE(fs::exists(path("d.hpp")));
}

TEST_F(TuneCommand, StatTellsOfAProfileWhatItTellsOfItsTrace) {
  done("tune profile -o run.aprof " + sample);
  const auto traced = nlohmann::json::parse(done("report --text --json " + sample));
  const auto profiled = nlohmann::json::parse(done("report --text --json run.aprof"));
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
  const std::string text = done("report --text --rows 3 run.aprof");
  for (const char* part : {"1 in", "births", "of one run", "size up to", ">= 1.07 s"})
    has(text, part);
}

// Pools of exact sizes: a step of the profile's sizes may be of two classes.
TEST_F(TuneCommand, CheckTellsWhatAProfileCannot) {
  done("tune profile -o run.aprof " + sample);
  done("tune --classes 8 --align 8 -o p.hpp " + sample);
  auto json = nlohmann::json::parse(said("p.json"));
  auto& classes = json["classes"];
  ASSERT_EQ(classes[6]["block_size"], 576);
  classes[6]["block_size"] = 568;  // of 545 to 576, which are one size of a profile
  write_file(path("p.json"), json.dump());
  const std::string check = "tune check --against p.json run.aprof";
  const std::string checked = done(check, 1);
  has(checked, "perhaps too many");
  has(checked, "--resolution profile");
  classes[7]["capacity"] = 1000;
  write_file(path("p.json"), json.dump());
  has(done(check), "at most");
  classes[7]["block_size"] = 700;  // of 673 to 704
  write_file(path("p.json"), json.dump());
  const std::string unserved = done(check, 1);
  has(unserved, "no class serves");
  has(unserved, "--resolution profile");
}

TEST_F(TuneCommand, HeapModeWritesClassesThatTheDropInLibraryTakes) {
  done("tune --mode heap -o c.classes --certificate c.json " + sample);
  const auto json = nlohmann::json::parse(said("c.json"));
  EXPECT_LE(json.at("slack_bytes").at("at_peak").get<double>() +
                json.at("slack_bytes").at("over_time").get<double>(),
            json.at("standard_slack_bytes").at("at_peak").get<double>() +
                json.at("standard_slack_bytes").at("over_time").get<double>() + 88 * 12 * 1024.0);
  EXPECT_EQ(json.at("block_sizes").back(), 131072);
#if defined(ASHLAR_DROP_IN)
  environment_ = {{"ASHLAR_CONFIG", path("c.classes")}};
  const std::string ran = done("run --json=run.json -- /bin/echo served");
  has(ran, "served");
  lacks(ran, "is ignored");
  environment_ = {{"ASHLAR_CONFIG", path("c.json")}};
  has(done("run -- /bin/echo served"), "is ignored");
  environment_.clear();
  const auto statistics = nlohmann::json::parse(said("run.json")).at("statistics");
  for (const auto& used : statistics.at("classes"))
    EXPECT_NE(std::find(json.at("block_sizes").begin(), json.at("block_sizes").end(),
                        used.at("block_size")),
              json.at("block_sizes").end())
        << used;
#endif
  done("tune --mode heap -o c.hpp " + sample);
  has(said("c.hpp"), "block_sizes[" + std::to_string(json.at("block_sizes").size()) + "]");
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
  done("tune --classes 4 --largest 300 -o p.hpp " + sample);
  const std::string check = "tune check --against p.json " + sample;
  done(check);
  const std::string near = done(check + " --percent 99", 1);
  has(near, "too many");
  lacks(near, "cannot be told");
  write_file(path("t.txt"), "ashlar-trace-text 1\n1 1 malloc 0x1000 16\n");
  done("export --from-text t.txt -o small");
  const std::string of_small = "tune check --percent 99 --against p.json small";
  done(of_small);
  done(of_small + " " + sample, 1);
  auto json = nlohmann::json::parse(said("p.json"));
  json["largest"] = 100'000;  // the trace's larger requests count now, and no class serves them
  write_file(path("p.json"), json.dump());
  has(done(check, 1), "no class serves");
}

// Peaks that nobody saw: the exit status is all that a job of continuous integration looks at.
TEST_F(TuneCommand, CheckOfAnInputThatIsNotWholeDoesNotPass) {
  done("tune -o p.hpp " + sample);
  const std::string check = "tune check --against p.json ";
  const std::string whole = read_file(sample);
  write_file(path("cut"), whole.substr(0, whole.size() / 2));
  has(done(check + "cut", 1), "record again");
  done(check + "cut " + sample, 1);
  done("tune profile -o cut.aprof cut");
  done(check + "cut.aprof", 1);
  write_file(
      path("t.txt"),
      "ashlar-trace-text 1\nheader ticks_per_second 1000\n1 1 malloc 0x1000 16\n2 1 lost 7\n");
  done("export --from-text t.txt -o lost");
  has(done(check + "lost", 1), "7 events were lost");
}

TEST_F(TuneCommand, CheckOfPoolsThatBorrowDoesNotCallTooManyWhatFits) {
  done("tune --borrow --classes 5 -o p.hpp " + sample);
  const std::string check = "tune check --against p.json " + sample;
  const std::string fits = done(check);
  lacks(fits, "too many");
  has(fits, "borrows");
  has(done(check + " --percent 50", 1), "are not enough");
}

TEST_F(TuneCommand, PoolsThatSomebodyChangedToWhatCannotBeAreRefused) {
  done("tune --classes 3 -o p.hpp " + sample);
  auto json = nlohmann::json::parse(said("p.json"));
  std::swap(json["classes"][0], json["classes"][1]);
  write_file(path("swapped.json"), json.dump());
  expect_refused("tune check --against swapped.json " + sample, "not sorted");
  expect_refused("replay --on swapped.json " + sample, "not sorted");
  done("tune --mode heap --certificate heap.json " + sample);
  expect_refused("tune check --against heap.json " + sample, "--mode heap");
  expect_refused("tune verify heap.json", "static pools");
}

TEST_F(TuneCommand, BadInputIsNamedAndNothingIsWritten) {
  write_file(path("empty"), "");
  write_file(path("foreign"), "int main() {}\n");
  std::string damaged = read_file(sample);
  damaged[damaged.size() / 2] ^= 1;
  write_file(path("damaged"), damaged);
  const std::string to = " -o p.hpp ";
  expect_refused("tune" + to + "none", "none");
  expect_refused("tune" + to + "empty", "empty");
  expect_refused("tune" + to + "foreign", "no trace");
  expect_refused("tune" + to + "damaged", "at byte");
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
  expect_refused("tune verify none", "none");
  expect_refused("tune check --against none " + sample, "none");
  expect_refused("tune check --against foreign " + sample, "foreign");
  expect_refused("tune check " + sample, "--against");
}

// Pools that were too small when they were recorded, and a recorder that lost events: what is tuned may be too little.
TEST_F(TuneCommand, WhatARecordingLacksIsSaid) {
  write_file(
      path("t.txt"),
      "ashlar-trace-text 1\nheader options pools\nheader ticks_per_second 1000\n"
      "1 1 pool 0x1000 40 align=8\n2 1 refused 40 messages\n2 1 refused 41 \\e\n3 1 lost 7\n");
  done("export --from-text t.txt -o t.atrace");
  EXPECT_EQ(done("export --format text t.atrace"), said("t.txt"));
  const std::string lacks = "7 events were lost, 2 requests found no block";
  has(done("tune -o p.hpp t.atrace"), lacks);
  // So does what is written, and who verifies it.
  has(said("p.hpp"), lacks);
  has(done("tune verify p.json"), "recorded: t.atrace: " + lacks);
  done("tune --mode heap -o c.classes --certificate c.json t.atrace");
  has(said("c.classes"), lacks);
  EXPECT_EQ(nlohmann::json::parse(said("c.json")).at("inputs")[0].at("lost_events"), 7);
  const std::string in_pools = "requests for which a pool had no block";
  has(done("report --text t.atrace"), "2 " + in_pools);

  // Nor do profiles of it, and merged ones, forget that.
  done("tune profile -o t.aprof t.atrace");
  done("tune profile -o t.aprof t.aprof t.aprof");
  has(done("report --text t.aprof"), "4 " + in_pools);
  EXPECT_EQ(nlohmann::json::parse(done("report --text --json t.aprof")).at("refused"), 4);
  has(done("tune t.aprof"), "4 requests found no block");
}

// Nothing is left to choose pools for: what is missing in the trace is the reason.
TEST_F(TuneCommand, WhyNoRequestIsLeftIsSaid) {
  write_file(
      path("t.txt"),
      "ashlar-trace-text 1\nheader ticks_per_second 1000\n1 1 free 0x1000\n2 1 free 0x2000\n");
  done("export --from-text t.txt -o frees");
  expect_refused("tune frees", "no request is left");
  expect_refused("tune frees", "2 blocks died that were born before the recording");
  write_file(path("t.txt"),
             "ashlar-trace-text 1\nheader ticks_per_second 1000\n1 1 malloc 0x1000 100\n");
  done("export --from-text t.txt -o large");
  expect_refused("tune --largest 64 large", "larger than --largest");
}

// A file may have any name; JSON is UTF-8.
TEST_F(TuneCommand, ATraceOfAnyNameIsTuned) {
  const std::string name = "\xff\xfe.atrace";
  fs::copy_file(sample, path(name));
  done("tune -o p.hpp " + name);
  has(said("p.hpp"), name);
  done("tune verify p.json " + name);
  done("tune --mode heap --certificate c.json " + name);
}

// Else the line behind it belonged to the comment.
TEST_F(TuneCommand, ABackslashAtANamesEndEndsNoComment) {
  fs::copy_file(sample, path("x\\"));
  for (const std::string mode : {"static", "heap"}) {
    done("tune --mode " + mode + " -o p.hpp x\\");
    lacks(said("p.hpp"), "\\");
  }
}

TEST_F(TuneCommand, WhatStoodAtTheOutputStaysWhenItFails) {
  const std::string before = "// Pools chosen by ashlar tune";
  write_file(path("p.hpp"), before);
  expect_refused("tune --budget 10 -o p.hpp " + sample, "--budget 10");
  EXPECT_EQ(said("p.hpp"), before);
}

TEST_F(TuneCommand, NoOutputIsAnInputOrAnotherOutput) {
  fs::copy_file(sample, path("t.atrace"));
  for (const std::string words : {"tune -o ", "tune --certificate ", "tune --mode heap -o ",
                                  "tune --mode heap --certificate ", "report -o ",
                                  "export --format text -o ", "replay --on system --json="})
    expect_refused(words + "t.atrace t.atrace", "is an input");
  EXPECT_EQ(said("t.atrace"), read_file(sample));
  expect_refused("tune -o made.json t.atrace", "--certificate made.json");
  expect_refused("tune -o made.json --certificate made.json t.atrace", "what -o writes");
  EXPECT_FALSE(fs::exists(path("made.json")));
  done("tune --certificate made.json t.atrace");
  expect_refused("replay --on made.json --json=made.json t.atrace", "is an input");
  done("tune -o /dev/null --certificate /dev/null t.atrace");
}

// Nobody named the file beside the header.
TEST_F(TuneCommand, OnlyACertificateIsReplacedBesideTheHeader) {
  const std::string tune = "tune -o notes.hpp " + sample;
  write_file(path("notes.json"), R"({"precious": 1})");
  expect_refused(tune, "notes.json");
  EXPECT_EQ(said("notes.json"), R"({"precious": 1})");
  EXPECT_FALSE(fs::exists(path("notes.hpp")));
  done(tune + " --certificate c.json");
  done(tune + " --force --certificate notes.json");
  done(tune);  // it is one now
  write_file(path("notes.json"), "");
  done(tune);
}

TEST_F(TuneCommand, WhatStandardOutputDoesNotTakeIsNoSuccess) {
  done("tune --certificate p.json " + sample);
  output_ = "/dev/full";
  for (const std::string& words :
       {"report --text " + sample, "tune " + sample, "tune check --against p.json " + sample,
        std::string("tune verify p.json"), "replay -n 1 --on system " + sample,
        "export --format text " + sample, "report --json " + sample, std::string("compare --list"),
        std::string("--help")})
    has(done(words, 1), "cannot write");
}

TEST_F(TuneCommand, VerifyRefusesWhatIsNotSo) {
  done("tune --classes 2 -o p.hpp " + sample);
  auto json = nlohmann::json::parse(said("p.json"));
  json["total_bytes"] = json["total_bytes"].get<int>() + 1;
  write_file(path("p.json"), json.dump());
  has(done("tune verify p.json", 1), "refused");
  for (const char* text : {"nonsense", ""}) {
    write_file(path("none.json"), text);
    expect_refused("tune verify none.json", "none.json: no certificate");
  }
  json["certificate"] = 1;
  write_file(path("p.json"), json.dump());
  expect_refused("tune verify p.json", "of version 2: tune again");
  expect_refused("tune check --against p.json " + sample, "another version");
}

}  // namespace
