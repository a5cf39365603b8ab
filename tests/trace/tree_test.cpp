// A tree of processes in one folder: `ashlar record -o NAME.atree`, and the commands that read it.
#include <nlohmann/json.hpp>
#include <tests/support/command_in_folder.hpp>
#include <tests/support/test_headers.hpp>

#include <sys/resource.h>

#include "tools/trace/reader.hpp"

namespace {

namespace fs = std::filesystem;
using namespace support;
using namespace ashlar::trace;
using nlohmann::json;

const std::string calls = ASHLAR_TEST_CALLS;

class Tree : public CommandInFolder {
 protected:
  [[nodiscard]] int record(const words& more) const {
    words line = words{"record", "-o", "run.atree"} + more;
    return ashlar(line);
  }
  [[nodiscard]] json index() const { return json::parse(read_file(path("run.atree/index.json"))); }
  // The processes whose last program was called by this word.
  [[nodiscard]] static std::vector<json> called(const json& index, const std::string& word) {
    std::vector<json> found;
    for (const json& p : index.at("processes"))
      if (fs::path(p.at("arguments").at(0).get<std::string>()).filename() == word)
        found.push_back(p);
    return found;
  }
  [[nodiscard]] std::string trace_of(const json& process) const {
    return "run.atree/" + process.at("trace").get<std::string>();
  }
  [[nodiscard]] bool has_size(const json& process, std::uint64_t size) const {
    trace_reader reader(open_file_source(path(trace_of(process))), unfinished::refuse);
    for (; reader.peek() != nullptr; reader.pop())
      if (is_birth(reader.peek()->kind) && reader.peek()->size == size) return true;
    return false;
  }
  [[nodiscard]] std::size_t files_in(const std::string& folder) const {
    const fs::directory_iterator all(path(folder));
    return static_cast<std::size_t>(std::distance(begin(all), end(all)));
  }
  void expect_refused(const words& line, const std::string& why) const {
    EXPECT_EQ(WEXITSTATUS(ashlar(line)), 2) << line[0] << ' ' << line[1];
    has(said("err"), why);
  }
};

TEST_F(Tree, AShellsProgramsAreInOneFolderWithAnIndex) {
  const std::string script = calls + " calls; " + calls + " _exit; " + calls + " kill; exit 4";
  EXPECT_EQ(WEXITSTATUS(record({"--", "/bin/sh", "-c", script})), 4) << said("err");
  EXPECT_EQ(files(), words{"run.atree"});
  const json all = index();
  EXPECT_EQ(all.at("schema"), 1);
  EXPECT_EQ(all.at("command"), (words{"/bin/sh", "-c", script}));
  const auto shells = called(all, "sh");
  const auto programs = called(all, "known_calls");
  ASSERT_GE(shells.size(), 1u);
  ASSERT_EQ(programs.size(), 3u);
  EXPECT_EQ(shells[0].at("exit_status"), 4);
  EXPECT_TRUE(shells[0].at("signal").is_null());
  std::vector<json> statuses;
  double begun = 0;
  for (const json& p : programs) {
    EXPECT_EQ(p.at("parent"), shells[0].at("pid"));
    EXPECT_EQ(p.at("program"), fs::canonical(calls).string());
    EXPECT_EQ(p.at("arguments").at(0), calls);
    EXPECT_EQ(p.at("trace"), "known_calls." + std::to_string(p.at("pid").get<int>()) + ".atrace");
    EXPECT_EQ(p.at("events"), trace_reader(open_file_source(path(trace_of(p)))).events());
    EXPECT_GE(p.at("begin_seconds").get<double>(), begun);
    EXPECT_GE(p.at("end_seconds").get<double>(), p.at("begin_seconds").get<double>());
    begun = p.at("begin_seconds").get<double>();
    statuses.push_back(p.at("exit_status"));
  }
  // What a signal killed told nobody how it ended.
  EXPECT_EQ(statuses, (std::vector<json>{0, 3, nullptr}));
  EXPECT_EQ(files_in("run.atree"), all.at("processes").size() + 1);
  EXPECT_TRUE(left_nothing_behind());
}

// The figures are those of stat, which reads one trace.
TEST_F(Tree, TheFiguresOfAProcessAreThoseOfItsTrace) {
  ASSERT_EQ(record({"--", calls, "calls"}), 0) << said("err");
  const json p = index().at("processes").at(0);
  const json stat = json::parse(done({"report", "--text", "--json", trace_of(p)}));
  EXPECT_EQ(p.at("events"), stat.at("all_events"));
  EXPECT_EQ(p.at("births"), stat.at("births"));
  EXPECT_EQ(p.at("allocated_bytes"), stat.at("birth_bytes"));
  EXPECT_EQ(p.at("peak_bytes"), stat.at("peak").at("bytes"));
  EXPECT_EQ(p.at("held_bytes"), stat.at("live_at_end").at("bytes"));
  EXPECT_EQ(index().at("peak_bytes_at_most"), p.at("peak_bytes"));  // it is the only one
  EXPECT_EQ(stat.at("header").at("recording"), index().at("recording"));
}

TEST_F(Tree, ACompilerIsFoundWithoutGuessing) {
  if (std::system("g++ --version >/dev/null 2>&1") != 0) GTEST_SKIP() << "there is no g++";
  write_file(path("x.cpp"), "#include <map>\nint main() { std::map<int, int> m{{1, 2}}; }\n");
  ASSERT_EQ(record({"--", "g++", "x.cpp", "-o", "x"}), 0) << said("err");
  has(said("err"), " in memory at most; most by cc1plus, process ");
  const json all = index();
  const auto driver = called(all, "g++");
  ASSERT_EQ(driver.size(), 1u);
  for (const char* name : {"cc1plus", "as", "collect2"}) {
    const auto found = called(all, name);
    ASSERT_EQ(found.size(), 1u) << name;
    EXPECT_EQ(found[0].at("parent"), driver[0].at("pid")) << name;
    EXPECT_EQ(found[0].at("exit_status"), 0) << name;
  }
  EXPECT_EQ(called(all, "ld").at(0).at("parent"), called(all, "collect2").at(0).at("pid"));
  done({"report", "--text", "run.atree"});
  has(said("err"), "(cc1plus), which allocated most of");
  // The largest comes first, and what only starts others is in one line.
  has(said("out"), "  cc1plus  ");
  lacks(said("out"), "  g++  ");
  has(said("out"), " more, which allocated less (--json lists them)");
}

TEST_F(Tree, ForkedProcessesAreTheirParentsChildren) {
  ASSERT_EQ(record({"--", calls, "forks"}), 0) << said("err");
  const auto all = called(index(), "known_calls");
  ASSERT_EQ(all.size(), 5u);
  for (std::size_t i = 1; i < 5; ++i) {
    EXPECT_EQ(all[i].at("parent"), all[0].at("pid"));
    EXPECT_TRUE(has_size(all[i], 500 + i - 1));
    EXPECT_EQ(all[i].at("exit_status"), 0);
  }
}

TEST_F(Tree, AProcessThatExecutesAnotherProgramIsOneProcess) {
  ASSERT_EQ(record({"--", calls, "exec", "threads"}), 0) << said("err");
  const json all = index();
  ASSERT_EQ(all.at("processes").size(), 1u);
  const json& p = all.at("processes").at(0);
  EXPECT_EQ(p.at("arguments"), (words{calls, "threads"}));
  ASSERT_EQ(p.at("executed_before").size(), 1u);
  EXPECT_EQ(p.at("executed_before").at(0).at("arguments"), (words{calls, "exec", "threads"}));
}

TEST_F(Tree, ADaemonIsRecordedUntilTheProgramEnds) {
  ASSERT_EQ(record({"--", calls, "daemon"}), 0) << said("err");
  bool found = false;
  const json all = index();
  for (const json& p : all.at("processes")) {
    if (p.at("trace").is_null() || !has_size(p, 888)) continue;
    found = true;
    EXPECT_TRUE(p.at("end_seconds").is_null());
    EXPECT_TRUE(p.at("exit_status").is_null());
    ::kill(p.at("pid").get<pid_t>(), SIGKILL);
  }
  EXPECT_TRUE(found);
  has(done({"report", "--text", "run.atree"}), "  runs  ");
}

TEST_F(Tree, ASignalThatKilledTheProgramIsInTheIndex) {
  EXPECT_EQ(WTERMSIG(record({"--", calls, "kill"})), SIGKILL);
  const json p = index().at("processes").at(0);
  EXPECT_EQ(p.at("signal"), SIGKILL);
  EXPECT_TRUE(p.at("exit_status").is_null());
  EXPECT_TRUE(has_size(p, 777));
}

TEST_F(Tree, AStaticLauncherIsNoObstacle) {
  EXPECT_EQ(record({"--", ASHLAR_TEST_STATIC, "starts", calls}), 0) << said("err");
  EXPECT_EQ(called(index(), "known_calls").size(), 1u);
}

TEST_F(Tree, NothingIsLeftWhereNothingCouldBeRecorded) {
  EXPECT_EQ(WEXITSTATUS(record({"--", ASHLAR_TEST_STATIC})), 1);
  has(said("err"), "it is statically linked");
  EXPECT_EQ(files(), words{});
}

// One file, or a folder as soon as a second process allocates; and the answer of the process that
// allocated most.
TEST_F(Tree, WithoutANameTheFolderComesWithTheSecondProcess) {
  done({"record", "--", calls, "calls"});
  EXPECT_EQ(files(), words{"run.atrace"});
  has(said("err"), "ashlar: next: ashlar report run.atrace, or with --text");
  done({"record", "--", "/bin/sh", "-c", ASHLAR_TEST_LEAK ";" + calls + " many 100000; exit 3"}, 3);
  EXPECT_EQ(files(), (words{"run.atrace", "run.atree"}));
  const json most = called(index(), "known_calls").at(0);
  // Whatever the test's path is: what a screen does not hold of the line is cut.
  has(said("err"), (trace_of(most) + ": " + calls).substr(0, 80));
  has(said("err"), "ashlar: next: ashlar report run.atree, or with --text");
  done({"record", "-o", "my.atrace", "--", "/bin/sh", "-c", calls + " calls; true"});
  EXPECT_EQ(files().size(), 4u) << "files beside each other, as they were named";
}

TEST_F(Tree, ASecondRecordingReplacesTheFirstAsAWhole) {
  ASSERT_EQ(record({"--", calls, "forks"}), 0);
  EXPECT_EQ(files_in("run.atree"), 6u);
  done({"record", "-o", "run.atree/", "--", calls, "calls"});
  EXPECT_EQ(files_in("run.atree"), 2u);
  EXPECT_EQ(files(), words{"run.atree"});
}

TEST_F(Tree, WhatIsNoRecordingIsNotReplaced) {
  fs::create_directory(path("run.atree"));
  write_file(path("run.atree/notes"), "precious");
  write_file(path("file.atree"), "precious");
  // The program would wait for ever.
  expect_refused({"record", "-o", "run.atree", "--", calls, "wait"}, "'run.atree/notes' is there");
  expect_refused({"record", "-o", "file.atree", "--", calls, "wait"}, "is there and is no folder");
  expect_refused({"record", "-o", "/nowhere/a.atree", "--", calls, "wait"},
                 "cannot write '/nowhere/a.atree.part'");
  EXPECT_EQ(read_file(path("run.atree/notes")), "precious");
  EXPECT_EQ(read_file(path("file.atree")), "precious");
  EXPECT_EQ(files(), (words{"file.atree", "run.atree"}));
}

// As with other commands, -o FOLDER/ might be meant to add to the folder.
TEST_F(Tree, AFolderOfSingleTracesIsNotReplaced) {
  fs::create_directory(path("mine"));
  done({"record", "-o", "mine/a.atrace", "--", calls, "calls"});
  const std::string trace = read_file(path("mine/a.atrace"));
  expect_refused({"record", "-o", "mine/", "--", calls, "calls"}, "it is no recording of a tree");
  for (const char* folder : {"./", "mine/../", "/"})
    expect_refused({"record", "-o", folder, "--", calls, "calls"}, "a folder of its own");
  EXPECT_EQ(read_file(path("mine/a.atrace")), trace);
  EXPECT_EQ(files(), words{"mine"});
  fs::create_directory(path("empty"));
  done({"record", "-o", "empty/", "--", calls, "calls"});
  EXPECT_EQ(files_in("empty"), 2u);
}

TEST_F(Tree, OnlyRecordsTheProgramsThatItNames) {
  fs::copy_file(calls, path("other"));
  const std::string script = calls + " forks; " + path("other") + " calls; true";
  done({"record", "--only", "known_calls", "--", "/bin/sh", "-c", script});
  const json all = index();
  std::size_t recorded = 0;
  for (const json& p : all.at("processes")) {
    const bool is_named = p.at("program") == fs::canonical(calls).string();
    EXPECT_EQ(p.at("recorded"), is_named) << p;
    EXPECT_EQ(p.at("trace").is_null(), !is_named) << p;
    recorded += is_named ? 1 : 0;
  }
  EXPECT_EQ(recorded, 5u);  // with its forked children
  EXPECT_EQ(called(all, "other").size(), 1u);
  EXPECT_EQ(files_in("run.atree"), recorded + 1);
  expect_refused({"report", "--text", "--process", "other", "run.atree"},
                 "'record --only' named other programs");
  done({"record", "--only", "nothing,other", "--", "/bin/sh", "-c", script});
  EXPECT_EQ(files_in("run.atree"), 2u);
}

// No block lives across exec, though nothing of the new program is told.
TEST_F(Tree, AProgramThatIsNotRecordedEndsTheBlocksOfTheOneBeforeIt) {
  fs::copy_file(calls, path("named"));
  // A program executes itself by the word that it was called by.
  const std::string script = "exec " + path("named") + " exec calls";
  for (const std::string only : {"named", "sh"}) {
    done({"record", "--only", only, "--", "/bin/sh", "-c", script});
    const json all = index();
    ASSERT_EQ(all.at("processes").size(), 1u) << only;
    const json& p = all.at("processes").at(0);
    EXPECT_EQ(p.at("executed_before").size(), 2u);
    EXPECT_EQ(has_size(p, 777), only == "named");
    if (only == "sh") {
      EXPECT_EQ(p.at("held_bytes"), 0u);
    }
  }
}

TEST_F(Tree, OnlyWithoutSuchAProcessSaysWhatRan) {
  done({"record", "--only", "nothing", "--", calls, "calls"}, 1);
  has(said("err"), "these did: known_calls");
  EXPECT_EQ(files(), words{});
}

TEST_F(Tree, WordsThatDoNotFitEachOtherAreRefused) {
  expect_refused({"record", "--only", "x", "-o", "x.atrace", "--", calls},
                 "--only writes a folder");
  expect_refused({"record", "--profile", "-o", "x.atree", "--", calls}, "a folder has traces");
  expect_refused({"record", "--only", std::string(5000, 'x'), "--", calls}, "more than 4096 bytes");
  expect_refused({"leaks", "-o", "x.atree", "--", calls}, "-o of leaks names a file");
  expect_refused({"leaks", "--process", "x", "--", calls}, "the folder that --trace names");
  EXPECT_EQ(files(), words{});
}

/// Returns: 0 where the file has another name by now.
std::uintmax_t bytes_of(const fs::directory_entry& file) {
  std::error_code gone;
  const std::uintmax_t bytes = file.file_size(gone);
  return gone ? 0 : bytes;
}

TEST_F(Tree, AKilledRecorderLeavesAFolderThatCanBeRead) {
  const pid_t command = start({"record", "-o", "run.atree", "--", calls, "wait"});
  const auto kept = [&] {
    if (!fs::exists(path("run.atree.part"))) return false;
    for (const auto& entry : fs::directory_iterator(path("run.atree.part"))) {
      if (bytes_of(entry) < 100) continue;
      trace_reader reader(open_file_source(entry.path()));
      for (; reader.peek() != nullptr; reader.pop())
        if (reader.peek()->size == 777) return true;
    }
    return false;
  };
  EXPECT_TRUE(becomes_true(kept));
  ::kill(-command, SIGKILL);
  wait_for(command);
  done({"report", "--text", "run.atree.part"});
  has(said("err"), "has no index.json, since the recorder was killed");
  has(said("out"), "known_calls");
  // The next one does not touch it.
  ASSERT_EQ(record({"--", calls, "calls"}), 0);
  EXPECT_EQ(files(), (words{"run.atree", "run.atree.part"}));
}

// The disk is full, or a limit is reached. The program goes on, and its end is told.
TEST_F(Tree, WhatWasWrittenBeforeAFailureStaysInTheFolder) {
  const pid_t command = start({"record", "-o", "my.atree", "--", calls, "many", "5000000"});
  const auto has_part = [&] {
    if (!fs::exists(path("my.atree.part"))) return false;
    const fs::directory_iterator all(path("my.atree.part"));
    return std::any_of(begin(all), end(all), [](const auto& e) { return bytes_of(e) > 10'000; });
  };
  ASSERT_TRUE(becomes_true(has_part));
  const rlimit limit{100'000, 100'000};
  ASSERT_EQ(::prlimit(command, RLIMIT_FSIZE, &limit, nullptr), 0);
  EXPECT_EQ(WEXITSTATUS(wait_for(command)), 1);
  has(said("err"), "recorded before can be read in 'my.atree.part'");
  EXPECT_EQ(files(), words{"my.atree.part"});
  done({"report", "--text", "my.atree.part"});
}

TEST_F(Tree, ACommandReadsTheProcessThatIsNamed) {
  const std::string script = calls + " calls; " + ASHLAR_TEST_LEAK + "; true";
  ASSERT_EQ(record({"--stacks", "--", "/bin/sh", "-c", script}), 0) << said("err");
  const json all = index();
  const auto leak = called(all, "planted_leak");
  ASSERT_EQ(leak.size(), 1u);
  const std::string pid = std::to_string(leak[0].at("pid").get<int>());
  for (const std::string& name : {std::string("planted_leak"), pid}) {
    const json stat =
        json::parse(done({"report", "--text", "--json", "--process", name, "run.atree"}));
    EXPECT_EQ(stat.at("header").at("pid"), pid);
    EXPECT_EQ(stat.at("tree").at("processes").size(), all.at("processes").size());
  }
  done({"leaks", "--trace", "run.atree", "--process", "planted_leak"});
  has(said("out"), "process " + pid + ": ");
  lacks(said("out"), "known_calls calls, process");
  has(done({"leaks", "--trace", "run.atree", "--children"}), "process " + pid + ": ");
  has(said("out"), "known_calls calls, process");
  done({"report", "--text", "run.atree", "--process", "planted_leak"});
  has(said("out"), "planted_leak." + pid + ".atrace");
  const json page =
      json::parse(done({"report", "--json", "run.atree", "--process", "planted_leak"}));
  EXPECT_EQ(page.at("pages").at(0).at("trace").at("pid"), leak[0].at("pid"));
  EXPECT_EQ(page.at("tree").at("processes").size(), all.at("processes").size());
}

TEST_F(Tree, WhatIsNoFolderOfARecordingIsRefused) {
  ASSERT_EQ(record({"--", calls, "calls"}), 0);
  json all = index();
  const std::string trace = all.at("processes").at(0).at("trace");
  for (const char* shown : {"--text", "--json"}) {
    expect_refused({"report", shown, "tmp"}, "'tmp' is a folder without a recording");
    expect_refused({"report", shown, "run.atree", "--process", "nobody"},
                   "no process 'nobody'; it has known_calls");
    expect_refused({"report", shown, "run.atree/" + trace, "--process", "x"},
                   "the trace of one process");
  }
  const auto refused_with = [&](const std::string& text, const std::string& why) {
    write_file(path("run.atree/index.json"), text);
    expect_refused({"report", "--text", "run.atree"}, why);
  };
  all["processes"][0]["trace"] = "../run.atree/" + trace;
  refused_with(all.dump(), "outside of the folder");
  all["processes"][0]["pid"] = "many";
  refused_with(all.dump(), "no index of a recording, or is damaged");
  all["processes"] = json::array();
  refused_with(all.dump(), "no process");
  all["schema"] = 1000;
  refused_with(all.dump(), "a newer ashlar");
  refused_with("{", "damaged");
  fs::remove(path("run.atree/index.json"));
  done({"report", "--text", "run.atree"});
}

}  // namespace
