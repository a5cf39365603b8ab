// The ashlar command as a user meets it: arguments in, streams, files and exit status out.
#include <nlohmann/json.hpp>
#include <tests/support/command_in_folder.hpp>
#include <tests/support/test_headers.hpp>

namespace {

namespace fs = std::filesystem;
using namespace support;
using ended = finished_command;

const std::string program = ASHLAR_TEST_PROGRAM;
const std::string library = ASHLAR_TEST_LIBRARY;
const std::string faulty_program = ASHLAR_FAULTY_PROGRAM;

class Command : public CommandInFolder {
 protected:
  // Waits until the program has said `text` on its standard output.
  void wait_until_said(const std::string& text) const {
    EXPECT_TRUE(becomes_true([&] { return contains(said("out"), text); }))
        << "the program did not start";
  }
};

// Of a trace that says so little, and nothing good: no unit of time, and what a terminal would obey.
TEST_F(Command, StatTellsTimesWithoutAUnitAndTextsWithoutControlCharacters) {
  write_file(path("a.txt"),
             "ashlar-trace-text 1\n"
             "header program \\1b]0;title\\07\n"
             "header arguments a\\1b[2Jb\\00\n"
             "header pid 1\\0a2\n"
             "module 0x1000 0x2000 0x0 /\\c2\\9blib\n"
             "stack 1 0x1500\n"
             "1000000000 1 malloc 0x10 24 stack=1\n"
             "4500000000 1 free 0x10\n");
  done({"export", "--from-text", "a.txt", "-o", "a.atrace"});
  const ended result = command({"report", "--text", "a.atrace"}, 0);
  EXPECT_TRUE(
      result.out.starts_with("a.atrace: $'a\\x1b[2Jb'\n  \\x1b]0;title\\x07, process 1\\x0a2\n"))
      << result.out;
  has(result.out, " \\xc2\\x9blib+0x1500\n");
  has(result.out, "2 in 3.500 s");
}

// Tests that need the drop-in library.
class Run : public Command {
 protected:
  void SetUp() override {
    if (library.empty()) GTEST_SKIP() << "this build has no drop-in library";
  }
};

TEST_F(Command, HelpAndVersionAreOnStandardOutput) {
  for (const words& asked : {words{"--help"}, words{"compare", "-h"}}) {
    const ended result = command(asked, 0);
    has(result.out, "Usage: ashlar");
    has(result.out, "Example");
    EXPECT_EQ(result.err, "");
  }
  EXPECT_TRUE(command({"--version"}).out.starts_with("ashlar "));
}

TEST_F(Command, AWrongLineNamesTheWordAndTheRemedy) {
  const std::vector<std::pair<words, std::string>> wrong{
      {{"--frob"}, "--frob"},
      {{"run"}, "which program"},
      {{"run", "--"}, "which program"},
      {{"compare", "-n", "0", "--", "ls"}, "--runs"},
      {{"compare", "-n", "many", "--", "ls"}, "many"},
      {{"compare", "--only", "system,nonesuch", "--", "ls"}, "nonesuch"},
      {{"compare", "--only", "system", "--with", "x", "--", "ls"}, "NAME=LIBRARY"},
      {{"compare", "--only", "system", "--with", "x=/no/lib.so", "--", "ls"}, "/no/lib.so"},
      {{"compare", "--only", "system", "--csv", "/no/folder/x", "--", "ls"}, "/no/folder/x"},
      {{"compare", "--only", "system", "--with", "x=jemaloc", "--", "ls"}, "or its path"},
      {{"leaks", "--trace", "x", "--", "ls"}, "a program is one too many"},
      {{"leaks", "--trace", "x", "-o", "y"}, "--output excludes --trace"},
      {{"check", "--log", "x", "--", "ls"}, "a program is one too many"},
      {{"check", "--log", "x", "--continue"}, "--log excludes --continue"},
      {{"compare", "--summary"}, "FILE"},
      {{"compare", "--summary", "/no/such.json"}, "/no/such.json"},
      {{"compare", "--summary", program}, "JSON"},
  };
  for (const auto& [line, named] : wrong) {
    const ended result = command(line, 2);
    has(result.err, named);
    has(result.err, "--help");
    EXPECT_EQ(result.out, "");
  }
  done({}, 2);
}

TEST_F(Command, AMissingProgramHasTheShellsStatus) {
  for (const char* name : {"run", "compare"}) {
    done({name, "--", "no-such-program"}, 127);
    done({name, "--", path("")}, 126);
    has(command({name, "--", "no-such-program"}).err, "no-such-program");
  }
}

TEST_F(Command, AFileThatIsNotWrittenInTheEndIsAFailureOfAComparison) {
  const words line{"compare",          "-n", "1",     "--warmup", "0", "--only", "system",
                   "--json=/dev/full", "--", program, "exit"};
  const ended measured = command(line, 1);
  has(measured.err, "cannot write '/dev/full'");
  has(measured.out, "below 1 is better");
  pending_signal_ = SIGINT;
  const ended stopped = command(line);
  EXPECT_EQ(stopped.exit_status(), 128 + SIGINT);
  has(stopped.err, "cannot write '/dev/full'");
}

TEST_F(Command, AReaderWhoHasSeenEnoughStillGetsTheSamples) {
  reader_has_gone_ = true;
  const ended measured = command({"compare", "-n", "1", "--warmup", "0", "--only", "system",
                                  "--json=samples.json", "--", program, "exit"});
  has(measured.err, "cannot write to standard output");
  has(read_file(path("samples.json")), "\"system\"");
}

TEST_F(Command, ALibraryThatIsNotThereIsNamed) {
  environment_ = {{"ASHLAR_MALLOC_LIB", "/no/libashlar-malloc.so"}};
  const ended result = command({"run", "--", program}, 2);
  has(result.err, "/no/libashlar-malloc.so");
  EXPECT_EQ(result.out, "");
}

TEST_F(Command, CompareOnTheSystemsAllocatorAlone) {
  const ended result =
      command({"compare", "-n", "3", "--warmup", "2", "--only", "system", "--seed", "7",
               "--json=" + path("j"), "--csv", path("c"), "--", program, "exit", "4"},
              0);
  has(result.out, "system");
  has(result.out, "exit status 4");
  lacks(result.out, "out\n");
  has(result.err, "round 3 of 3");
  const auto json = nlohmann::json::parse(read_file(path("j")));
  EXPECT_EQ(json.at("seed"), 7);
  EXPECT_EQ(json.at("allocators").at(0).at("samples").size(), 5u);
  EXPECT_EQ(json.at("allocators").at(0).at("runs"), 3);
  const std::string csv = read_file(path("c"));
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 6);
  EXPECT_TRUE(left_nothing_behind());
  const ended summary = command({"compare", "--summary", path("j")}, 0);
  has(summary.out, "cli_test_program");
}

TEST_F(Command, CompareEndsEarlyWithWhatItHas) {
  const pid_t child =
      start({"compare", "-n", "1000", "--warmup", "0", "--only", "system", "--json=" + path("j"),
             "--show-output", "--", "/bin/sh", "-c", "echo said; sleep 0.1"});
  wait_until_said("said\nsaid");
  ::kill(-child, SIGINT);
  const ended result = finish(child);
  EXPECT_EQ(result.exit_status(), 128 + SIGINT);
  has(result.out, "ended early by SIGINT");
  const auto json = nlohmann::json::parse(read_file(path("j")));
  EXPECT_EQ(json.at("interrupted_by"), "SIGINT");
  EXPECT_GE(json.at("allocators").at(0).at("runs"), 1);
  EXPECT_TRUE(left_nothing_behind());
}

// Standard error is under the same limit, and is longer where there is no drop-in library.
TEST_F(Run, AReportThatDoesNotFitLeavesWhatWasThere) {
  const std::string last = R"({"ashlar": "the last report"})";
  write_file(path("r"), last);
  // 512 or 1024 bytes, as the shell likes.
  const std::string line = "ulimit -f 1; exec '" ASHLAR_COMMAND "' compare --only system --json='" +
                           path("r") + "' -- true >/dev/null 2>'" + path("err") + "'";
  const int status = std::system(line.c_str());
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 1) << status << said("err");
  has(said("err"), "cannot write '" + path("r") + "'");
  EXPECT_EQ(read_file(path("r")), last);
  EXPECT_EQ(files(), words{"r"});
}

TEST_F(Command, AReaderThatGoesAwayLeavesNoTemporaryFiles) {
  // The program itself must still die of SIGPIPE, as `yes | head` relies on.
  const ended result = command({"compare", "--only", "system", "-n", "3", "--show-output", "--",
                                "/bin/sh", "-c", "kill -PIPE $$; exit 3"});
  has(result.out, "killed by SIGPIPE");
  ::setenv("TMPDIR", path("tmp").c_str(), 1);
  const std::string line = "'" ASHLAR_COMMAND "' compare --only system -n 3 -- true 2>&1 | true";
  EXPECT_EQ(std::system(line.c_str()), 0);
  ::unsetenv("TMPDIR");
  // The pipeline is over when its last member is: the command itself may take a moment more.
  for (int i = 0; i < 1000 && !left_nothing_behind(); ++i) ::usleep(5000);
  EXPECT_TRUE(left_nothing_behind());
}

TEST_F(Run, TheProgramsStreamsAreItsOwnAndTheReportIsOnStandardError) {
  std::ofstream(path("in")) << "some\ninput";
  const ended result = command({"run", "--", program, "cat"}, 0);
  EXPECT_EQ(result.out, "out\nsome\ninput");
  EXPECT_TRUE(result.err.starts_with("err\n")) << result.err;
  has(result.err, "  112 B ");
  has(result.err, "peak RSS");
  EXPECT_TRUE(left_nothing_behind());
}

TEST_F(Run, TheWordsOfTheProgramArePassedOnUntouched) {
  const ended plain = command({"run", "printf", "%s|", "--json", "", "--", "a b"});
  EXPECT_EQ(plain.out, "--json||--|a b|");
  const ended separated = command({"run", "--", "printf", "%s|", "--", "-h"});
  EXPECT_EQ(separated.out, "--|-h|");
}

TEST_F(Run, TheEndOfTheProgramIsTheEndOfTheCommand) {
  for (const int status : {0, 1, 2, 77, 126, 127, 255}) {
    done({"run", "--", program, "exit", std::to_string(status)}, status);
  }
  for (const int number : {SIGKILL, SIGABRT, SIGSEGV}) {
    const ended result = command({"run", "--", program, "raise", std::to_string(number)});
    EXPECT_EQ(result.signal(), number) << result.err;
    has(result.err, "no pool report");
    has(result.err, "peak RSS");
    EXPECT_TRUE(left_nothing_behind());
  }
  const ended left = command({"run", "--", program, "_exit", "3"}, 3);
  has(left.err, "_exit");
}

// Ctrl-C reaches the command and the program.
TEST_F(Run, AProgramThatASignalEndsHasItsReport) {
  for (const int number : {SIGINT, SIGTERM}) {
    for (const char* what : {"raise", "asks", "clone"}) {
      const ended result =
          command({"run", "--json=r.json", "--", program, what, std::to_string(number)});
      EXPECT_EQ(result.signal(), number) << what << '\n' << result.err;
      has(result.err, "those of the moment when the signal came");
      const nlohmann::json report = nlohmann::json::parse(read_file(path("r.json")));
      EXPECT_EQ(report.at("statistics_of"), "signal");
      EXPECT_GE(report.at("statistics").at("total").at("bytes_in_use"), 1'000'000u);
      EXPECT_EQ(report.at("statistics").at("command"), "cli_test_program");
      EXPECT_EQ(report.at("statistics").at("accuracy"), "batch");
      EXPECT_TRUE(left_nothing_behind());
    }
  }
  const pid_t child = start({"run", "--", program, "hang"});
  EXPECT_TRUE(becomes_true([&] { return contains(said("out"), "ready"); }));
  ::kill(-child, SIGINT);
  const ended result = finish(child);
  EXPECT_EQ(result.signal(), SIGINT);
  has(result.err, "  at peak  ");
}

// The heap's lock may be the interrupted thread's: the end does not wait for it.
TEST_F(Run, ASignalInTheMiddleOfAnAllocationEndsTheProgram) {
  for (int i = 0; i < 20; ++i) {
    const pid_t child = start({"run", "--", program, "churn"});
    EXPECT_TRUE(becomes_true([&] { return contains(said("out"), "ready"); }));
    ::usleep(static_cast<useconds_t>(1000 * i));
    ::kill(-child, SIGTERM);
    EXPECT_EQ(finish(child).signal(), SIGTERM);
  }
}

TEST_F(Run, TheMostThreadsAreTold) {
  const ended result = command({"run", "--json=r.json", "--", program, "threads", "5"}, 0);
  has(result.err, "at most 6 threads at one time");
  EXPECT_EQ(nlohmann::json::parse(read_file(path("r.json"))).at("most_threads_seen"), 6);
}

// What could not be written is said; how the program ended is not known otherwise.
TEST_F(Run, TheEndOfTheProgramIsToldThoughItsReportIsNotWritten) {
  const auto run = [&](const char* how, int number) {
    const ended result =
        command({"run", "--json=/dev/full", "--", program, how, std::to_string(number)});
    has(result.err, "ashlar: cannot write '/dev/full'");
    has(result.err, "peak RSS");
    return result;
  };
  EXPECT_EQ(run("exit", 0).exit_status(), 1);
  EXPECT_EQ(run("exit", 5).exit_status(), 5);
  EXPECT_EQ(run("raise", SIGTERM).signal(), SIGTERM);
}

TEST_F(Run, TheEndOfTheProgramIsToldThoughItRemovesWhatItWrote) {
  const ended result = command({"run", "--", "/bin/sh", "-c", "rm -r \"$TMPDIR\"/*; exit 5"}, 5);
  has(result.err, "no pool report");
}

TEST_F(Run, AProgramWithoutItsInterpreterHasTheShellsStatus) {
  write_file(path("script"), "#!/no/such/interpreter\n");
  fs::permissions(path("script"), fs::perms::owner_all);
  for (const words& line : {words{"run"}, words{"compare", "--only", "system"}}) {
    const ended result = command(line + words{"--", path("script")}, 127);
    has(result.err, "its interpreter is missing");
  }
}

TEST_F(Run, HardenedIsPassedOnAndNotBesideExact) {
  has(done({"run", "--hardened", "--", "/usr/bin/env"}, 0), "ASHLAR_HARDEN=1\n");
  done({"run", "--hardened", "--exact", "--", "/usr/bin/env"}, 2);
}

TEST_F(Run, JsonHoldsTheStatisticsAndTheProcess) {
  const ended result =
      command({"run", "--exact", "--json=" + path("j"), "--", program, "exit", "5"}, 5);
  const auto json = nlohmann::json::parse(read_file(path("j")));
  EXPECT_EQ(json.at("exit_status"), 5);
  EXPECT_TRUE(json.at("signal").is_null());
  EXPECT_EQ(json.at("command"), (words{program, "exit", "5"}));
  EXPECT_EQ(json.at("statistics").at("accuracy"), "exact");
  EXPECT_GT(json.at("process").at("peak_rss_bytes"), 0);
  bool found = false;
  for (const auto& entry : json.at("statistics").at("classes")) {
    if (entry.at("block_size") == 112) {
      found = true;
      EXPECT_GE(entry.at("peak_in_use"), 10000);
      EXPECT_LT(entry.at("peak_in_use"), 10100);
    }
  }
  EXPECT_TRUE(found);
}

TEST_F(Run, AReportThatCannotBeWrittenIsNoticedBeforeTheProgramRuns) {
  const ended result = command({"run", "--json=/no/folder/x", "--", program}, 2);
  EXPECT_EQ(result.out, "");
  has(result.err, "/no/folder/x");
}

TEST_F(Run, OtherProcessesAreCounted) {
  const ended result = command({"run", "--json=" + path("j"), "--", program, "children", "3"}, 0);
  has(result.err, "3 other processes");
  EXPECT_EQ(nlohmann::json::parse(read_file(path("j"))).at("other_processes").size(), 3u);
  EXPECT_TRUE(left_nothing_behind());
}

TEST_F(Run, ALibraryAtAPathThatLdPreloadCannotExpressStillWorks) {
  fs::create_directory(path("a b:c"));
  fs::copy_file(library, path("a b:c/lib.so"));
  environment_ = {{"ASHLAR_MALLOC_LIB", path("a b:c/lib.so")}};
  const ended result = command({"run", "--", program});
  has(result.err, "  112 B ");
}

TEST_F(Run, SuchALibraryIsComparedToo) {
  fs::create_directory(path("a b:c"));
  fs::copy_file(library, path("a b:c/lib.so"));
  const ended result =
      command({"compare", "-n", "2", "--only", "mine", "--with", "mine=" + path("a b:c/lib.so"),
               "--", "/bin/sh", "-c", "grep -q 'a b:c/lib.so' /proc/self/maps"},
              0);
  has(result.out, "mine");
  lacks(result.out, "exit status");  // it was mapped each time
}

TEST_F(Run, CtrlCEndsTheProgramAndTheReportStillComes) {
  // To the whole group, as a terminal does it.
  const pid_t child = start({"run", "--", program, "serve", "9"});
  wait_until_said("ready");
  ::kill(-child, SIGINT);
  const ended result = finish(child);
  EXPECT_EQ(result.exit_status(), 9) << result.err;
  has(result.err, "  112 B ");
  EXPECT_TRUE(left_nothing_behind());
}

TEST_F(Run, ASignalToTheCommandAloneReachesTheProgram) {
  for (const int number : {SIGINT, SIGTERM}) {
    const pid_t child = start({"run", "--", program, "serve", "9"});
    wait_until_said("ready");
    ::kill(child, number);
    EXPECT_EQ(finish(child).exit_status(), 9);
  }
  for (const int number : {SIGHUP, SIGQUIT}) {
    const pid_t child = start({"run", "--", program, "hang"});
    wait_until_said("ready");
    ::kill(child, number);
    const ended result = finish(child);
    EXPECT_EQ(result.signal(), number);
    has(result.err, "no pool report");
    EXPECT_TRUE(left_nothing_behind());
  }
}

// A place of a frame, or without libdw the command that finds it.
std::string place_of_drop() {
  return ASHLAR_HAS_LIBDW ? "faulty_program.c:10 (" : "addr2line -Cfipe ";
}

TEST_F(Run, CheckTellsAFaultWithFunctionAndLineAndEndsAsTheProgram) {
  const ended result = command({"check", "--", faulty_program});
  EXPECT_EQ(result.signal(), SIGABRT) << result.err;
  has(result.err, "ashlar: 1 fault in process ");
  has(result.err, "(double free), block size 100");
  has(result.err, " drop_order");
  has(result.err, " make_order");
  has(result.err, place_of_drop());
}

TEST_F(Run, CheckThatContinuesTellsAllFaultsAndFails) {
  const ended result = command({"check", "--continue", "--json=f.json", "--", faulty_program}, 1);
  has(result.err, "ashlar: 2 faults in process ");
  const std::string objects = read_file(path("f.json"));
  const auto first = nlohmann::json::parse(objects.substr(0, objects.find('\n')));
  EXPECT_EQ(first["kind"], "double_free");
  EXPECT_EQ(first["found"]["frames"][0]["function"], "drop_order");
  if (ASHLAR_HAS_LIBDW) {
    EXPECT_EQ(first["found"]["frames"][0]["line"], 10);
  }
  done({"check", "--log", "f.json", "--for", "sarif=f.sarif"}, 1);
  const auto log = nlohmann::json::parse(read_file(path("f.sarif")));
  EXPECT_EQ(log.at("version"), "2.1.0");
  const auto& results = log.at("runs")[0].at("results");
  ASSERT_EQ(results.size(), 2u) << log;
  EXPECT_EQ(results[0].at("ruleId"), "double_free");
  EXPECT_EQ(results[0].at("level"), "error");
  EXPECT_FALSE(results[0].at("message").at("text").get<std::string>().empty());
  if (ASHLAR_HAS_LIBDW) {
    const auto& place = results[0].at("locations")[0].at("physicalLocation");
    EXPECT_EQ(place.at("region").at("startLine"), 10) << place;
    EXPECT_TRUE(
        place.at("artifactLocation").at("uri").get<std::string>().ends_with("/faulty_program.c"))
        << place;
  }
  // An annotation has the file and the line, and its standard output nothing else.
  const ended annotated = command({"check", "--log", "f.json", "--for=github"}, 1);
  EXPECT_TRUE(annotated.out.starts_with("::error ")) << annotated.out;
  EXPECT_EQ(std::count(annotated.out.begin(), annotated.out.end(), '\n'), 2) << annotated.out;
  if (ASHLAR_HAS_LIBDW) {
    has(annotated.out, "faulty_program.c,line=10,title=ashlar double_free::");
  }
  for (int again = 0; again < 2; ++again)  // it is replaced as any other output
    done({"check", "--log", "f.json", "--for", "junit=f.xml"}, 1);
  EXPECT_TRUE(contains(read_file(path("f.xml")),
                       R"(<testsuite name="ashlar check" tests="2" failures="2")"))
      << read_file(path("f.xml"));
  const std::pair<words, const char*> wrong[] = {
      {{"--for", "pdf"}, "--for 'pdf': the formats are sarif, junit and github"},
      {{"--for", "benchmark"}, "--for 'benchmark': the formats are sarif, junit and github"},
      {{"--for", "junit="}, "--for junit=: a file's name is missing"},
      {{"--for", "junit", "--json"}, "--for and --json write the same"},
      {{"--for", "junit=none/f.xml"}, "--for none/f.xml: cannot write there: "}};
  for (const auto& [options, message] : wrong) {
    words line = words{"check", "--log", "f.json"} + options;
    const ended refused = command(line, 2);
    has(refused.err, message);
  }
  const ended of_log = command({"check", "--log", "f.json"}, 1);
  has(of_log.out, " drop_order");
  has(of_log.out, "bytes behind the block were overwritten");
}

TEST_F(Run, CheckOfAProgramWithoutFaultsEndsAsTheProgram) {
  const ended result = command({"check", "--", faulty_program, "none"}, 3);
  has(result.err, "no fault was seen");
}

TEST_F(Run, CompareMarksAnAllocatorWhoseRunsFail) {
  const ended result =
      command({"compare", "-n", "2", "--only", "system,ashlar", "--", program, "only-system"}, 1);
  has(result.out, "failed: ashlar: 3 of 3 runs");
  has(result.out, "    err\n");
}

TEST_F(Run, CompareDoesNotWriteOverALibrary) {
  fs::copy_file(library, path("lib.so"));
  const ended result = command(
      {"compare", "--with", "mine=" + path("lib.so"), "--json=" + path("lib.so"), "--", program},
      2);
  has(result.err, "is an input");
  EXPECT_EQ(fs::file_size(path("lib.so")), fs::file_size(library));
}

TEST_F(Run, CompareKnowsTheLibraryOfItsBuild) {
  const ended result = command({"compare", "--list"});
  has(result.out, "ashlar\t" + fs::canonical(library).string());
}

}  // namespace
