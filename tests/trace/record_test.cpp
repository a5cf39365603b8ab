// ashlar record as a user meets it: what a program is known to do is what its trace says.
#include <system_error>
#include <tests/support/command_in_folder.hpp>
#include <tests/support/test_headers.hpp>

#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/trace/call_names.hpp"
#include "tools/trace/lifetimes.hpp"
#include "tools/trace/text.hpp"

namespace {

namespace fs = std::filesystem;
using namespace support;
using namespace ashlar::trace;
using ashlar::trace::step;  // not support::step

const std::string calls = ASHLAR_TEST_CALLS;
const std::string operators = ASHLAR_TEST_OPERATORS;
const std::string hard_stacks = ASHLAR_TEST_STACKS;
const std::string static_calls = ASHLAR_TEST_STATIC;

struct kept_event {
  event e;
  std::string text;
};

class Record : public CommandInFolder {
 protected:
  [[nodiscard]] std::vector<kept_event> events(const std::string& name = "run.atrace",
                                               unfinished about = unfinished::refuse) const {
    trace_reader reader(open_file_source(path(name)), about);
    std::vector<kept_event> all;
    while (const event* e = reader.peek()) {
      all.push_back({*e, std::string(e->text)});
      reader.pop();
    }
    return all;
  }
  // 0 where there is none: the recorder makes its file, removes it and makes it again at the begin.
  [[nodiscard]] std::uintmax_t bytes_of(const std::string& name) const {
    std::error_code error;
    const std::uintmax_t bytes = fs::file_size(path(name), error);
    return error ? 0 : bytes;
  }
  // The file of a recording that goes on and has so many bytes, or none.
  [[nodiscard]] std::string part(std::uintmax_t least = 10'001) const {
    for (const std::string& name : files())
      if (fs::path(name).extension() == ".part" && bytes_of(name) >= least) return name;
    return {};
  }
  // The disk is full from now on.
  static void limit_files_of(pid_t command) {
    const rlimit limit{100'000, 100'000};
    ASSERT_EQ(::prlimit(command, RLIMIT_FSIZE, &limit, nullptr), 0);
  }
  // Those between the marks "begin" and "end".
  [[nodiscard]] std::vector<kept_event> marked() const {
    std::vector<kept_event> between;
    bool inside = false;
    for (const kept_event& k : events()) {
      if (k.e.kind == event_kind::mark && k.text == "end") inside = false;
      if (inside) between.push_back(k);
      if (k.e.kind == event_kind::mark && k.text == "begin") inside = true;
    }
    return between;
  }
};

// The calls, each with its size and alignment where it has some.
std::string told(const std::vector<kept_event>& found) {
  std::string all;
  for (const kept_event& k : found) {
    all.append(name_of(k.e.kind));
    if (k.e.size != 0) all.append(" ").append(std::to_string(k.e.size));
    if (k.e.alignment != 0) all.append("@").append(std::to_string(k.e.alignment));
    all.append(", ");
  }
  return all;
}

bool has_size(const std::vector<kept_event>& all, std::uint64_t size) {
  return std::any_of(all.begin(), all.end(),
                     [&](const auto& k) { return is_birth(k.e.kind) && k.e.size == size; });
}

TEST_F(Record, EveryFunctionOfTheMallocFamilyIsOneEvent) {
  done({"record", "--no-stacks", "--", calls, "calls"});
  const auto found = marked();
  ASSERT_EQ(told(found),
            "malloc 24, calloc 300, aligned 128@64, aligned 40@256, realloc-from, realloc 5000, "
            "realloc 7, realloc 30, aligned 9@32, aligned 11@" +
                std::to_string(::sysconf(_SC_PAGESIZE)) +
                ", free, free, free, free, free, free, free, free, ");
  const auto address = [&](std::size_t i) { return found[i].e.address; };
  EXPECT_EQ(address(4), address(0));
  const std::vector<std::size_t> births{1, 2, 3, 6, 7, 8, 9, 5};
  for (std::size_t i = 0; i < births.size(); ++i) EXPECT_EQ(address(10 + i), address(births[i]));
  for (std::size_t i = 1; i < found.size(); ++i) EXPECT_GE(found[i].e.time, found[i - 1].e.time);
  EXPECT_EQ(files(), words{"run.atrace"});
}

TEST_F(Record, EveryOperatorIsOneEventAndAnExceptionPassesThrough) {
  done({"record", "--no-stacks", "--", operators});
  std::vector<kept_event> found = marked();
  const auto thrown =
      std::find_if(found.begin(), found.end(), [](const auto& k) { return k.text == "thrown"; });
  ASSERT_NE(thrown, found.end());
  const std::vector<kept_event> after(thrown + 1, found.end());
  // The C++ library allocates the exception itself.
  found.erase(std::find_if(found.begin(), thrown,
                           [](const auto& k) { return k.e.kind == event_kind::by_malloc; }),
              found.end());
  EXPECT_EQ(told(found),
            "new 10, delete, new[] 20, delete[], new 30, delete, new[] 40, delete[], "
            "new 50@64, delete, new[] 60@64, delete[], new 70, delete, new[] 80, delete[], "
            "new 128@128, delete, ");
  EXPECT_TRUE(has_size(after, 90));
}

// A block lives from the end of the call that makes it to the begin of the call that frees it: an allocator's own time
// is in nobody's life. Here it is so long that each event shows on which side of its call it is.
TEST_F(Record, TheTimeOfACallIsBeforeABirthAndBehindADeath) {
  for (const words& program : {words{calls, "calls"}, words{operators}}) {
    SCOPED_TRACE(program.front());
    done(words{"record", "--no-stacks", "--on", ASHLAR_TEST_SLOW_ALLOCATOR, "--"} + program);
    const trace_reader reader(open_file_source(path("run.atrace")), unfinished::refuse);
    // A tenth less, for the clocks.
    const std::uint64_t call =
        reader.ticks_per_second() * ASHLAR_TEST_CALL_MICROSECONDS / 1'000'000 * 9 / 10;
    const auto all = events();
    const auto mark = [&](const char* text) {
      return std::find_if(all.begin(), all.end(), [&](const auto& k) {
        return k.e.kind == event_kind::mark && k.text == text;
      });
    };
    const auto end = mark("end");
    ASSERT_NE(end, all.end());
    ASSERT_GT(end - mark("begin"), 18);
    for (auto before = mark("begin"); before != end; ++before) {
      const event_kind first = before[0].e.kind;
      const event_kind second = before[1].e.kind;
      const bool are_one_call =
          first == event_kind::from_realloc && second == event_kind::by_realloc;
      const unsigned calls_between =
          are_one_call ? 1 : unsigned{is_death(first)} + unsigned{is_birth(second)};
      EXPECT_GE(before[1].e.time - before[0].e.time, calls_between * call)
          << name_of(first) << ", then " << name_of(second);
    }
  }
}

TEST_F(Record, ThreadsAreNumberedStartAndEnd) {
  done({"record", "--no-stacks", "--", calls, "threads"});
  const auto found = marked();
  std::set<std::uint32_t> started;
  std::set<std::uint32_t> ended;
  for (const kept_event& k : found) {
    if (k.e.kind == event_kind::thread_start) started.insert(k.e.thread);
    if (k.e.kind == event_kind::thread_exit) ended.insert(k.e.thread);
    if (k.e.size == 333 && is_birth(k.e.kind)) {
      EXPECT_NE(k.e.thread, 1u);
    }
  }
  EXPECT_EQ(started, (std::set<std::uint32_t>{2, 3, 4}));
  EXPECT_EQ(ended, started);
  // All that the threads freed and gave back was somebody else's.
  trace_reader reader(open_file_source(path("run.atrace")));
  lifetimes from(reader);
  std::size_t crossed = 0;
  for (step s; from.next(s);)
    crossed += s.happened == step::what::death && s.born_by != s.thread &&
               (s.size == 222 || s.size == 333);
  EXPECT_EQ(crossed, 6u);
  EXPECT_EQ(from.missing_deaths(), 0u);
}

TEST_F(Record, BlocksThatGoFromThreadToThreadAreInOrder) {
  // The second time on ashlar's heap, which hands what one thread freed to another one soon.
  for (const words& on : {words{}, words{"--on", "ashlar"}}) {
    done(words{"record"} + on + words{"--", calls, "crowd"});
    trace_reader reader(open_file_source(path("run.atrace")), unfinished::refuse);
    lifetimes from(reader);
    std::uint64_t births = 0;
    std::uint64_t deaths = 0;
    std::uint64_t crossed = 0;
    for (step s; from.next(s);) {
      births += s.happened == step::what::birth && s.size == 1001;
      deaths += s.happened == step::what::death && s.size == 1001;
      crossed += s.happened == step::what::death && s.size == 1001 && s.born_by != s.thread;
    }
    EXPECT_EQ(births, 400'000u);
    EXPECT_EQ(deaths, 400'000u);
    EXPECT_GT(crossed, 1000u);
    EXPECT_EQ(from.missing_deaths(), 0u);
    EXPECT_EQ(from.unknown_deaths(), 0u);
  }
}

TEST_F(Record, AForkedProcessHasItsOwnTrace) {
  done({"record", "-o", "my.atrace", "--", calls, "forks"});
  const auto names = files();
  ASSERT_EQ(names.size(), 5u);
  const auto own = events("my.atrace");
  std::set<std::uint64_t> told;
  for (const kept_event& k : own)
    if (k.e.kind == event_kind::fork) told.insert(k.e.size);
  EXPECT_EQ(told.size(), 2u);  // those that the C library made
  for (std::uint64_t size = 500; size < 504; ++size) EXPECT_FALSE(has_size(own, size));
  std::set<std::uint64_t> sizes;
  for (const std::string& name : names) {
    if (name == "my.atrace") continue;
    EXPECT_EQ(name.substr(0, 3), "my.");
    for (const kept_event& k : events(name))
      if (is_birth(k.e.kind) && k.e.size >= 500 && k.e.size < 504) sizes.insert(k.e.size);
    trace_reader reader(open_file_source(path(name)));
    EXPECT_EQ(reader.header().get(header_name::program), fs::canonical(calls).string());
    EXPECT_NE(reader.header().number(header_name::parent, 0), 0u);
    lifetimes from(reader);
    for (step s; from.next(s);) {
    }
    EXPECT_EQ(from.unknown_deaths(), 1u);  // the block that it was born with
  }
  EXPECT_EQ(sizes.size(), 4u);
}

// What is replaced is the recording, not the program's own trace alone.
TEST_F(Record, ASecondRecordingIsNotMixedWithTheChildrenOfTheFirst) {
  done({"record", "-o", "my.atrace", "--", calls, "forks"});
  const words first = files();
  ASSERT_EQ(first.size(), 5u);
  // Neither is a child of the first recording's: a trace of another one, and no trace.
  done({"record", "-o", "my.1.atrace", "--", calls, "calls"});
  write_file(path("my.2.atrace"), "precious");
  fs::copy_file(path(first.front() == "my.atrace" ? first.back() : first.front()), path("kept"));
  done({"record", "-o", "my.atrace", "--", calls, "forks"});
  EXPECT_EQ(files().size(), 8u);
  for (const std::string& name : first)
    EXPECT_TRUE(name == "my.atrace" || !fs::exists(path(name))) << name;
  EXPECT_EQ(said("my.2.atrace"), "precious");
  EXPECT_FALSE(events("my.1.atrace").empty());
  EXPECT_TRUE(fs::exists(path("kept")));
}

// docs/trace-format.md, "Forked processes": what the commands make of a block from before the fork.
TEST_F(Record, WhatAForkedProcessInheritedIsToldByEachCommandAndInNoFigure) {
  done({"record", "-o", "my.atrace", "--", calls, "forks"});
  const auto names = files();
  const auto child = std::find_if(names.begin(), names.end(),
                                  [](const std::string& name) { return name != "my.atrace"; });
  ASSERT_NE(child, names.end());
  const auto tells = [&](const words& command, const char* stream, const std::string& what) {
    done(command);
    EXPECT_NE(said(stream).find(what), std::string::npos) << command[0] << '\n' << said(stream);
  };
  const std::string before = "1 deaths of blocks from before the recording";
  const std::string not_in_pools = "1 blocks died that were born before the recording";
  tells({"report", "--text", *child}, "out", before);
  tells({"report", "--text", "--json", *child}, "out", "\"unknown_deaths\": 1");
  lacks(said("out"), "\"size\": 444");
  tells({"tune", "profile", "-o", "child.aprof", *child}, "err", "1 run, 1 births of 1 sizes");
  tells({"report", "--text", "child.aprof"}, "out", before);
  tells({"tune", "--certificate", "child.json", *child}, "err", not_in_pools);
  tells({"tune", "check", "--against", "child.json", *child}, "err", not_in_pools);
  done({"tune", "verify", "child.json"});
  tells({"replay", "--on", "system", "-n", "1", *child}, "out", before + ": skipped");
  tells({"report", "--json", *child}, "out", "\"unknown_deaths\": 1");
}

TEST_F(Record, AKilledProgramsTraceHasAllThatItDid) {
  EXPECT_EQ(WTERMSIG(ashlar({"record", "--no-stacks", "--", calls, "kill"})), SIGKILL);
  const auto all = events();
  EXPECT_GE(all.size(), 100'001u);
  EXPECT_EQ(all.back().e.size, 777u);
}

TEST_F(Record, LeavingBy_exitLosesNothing) {
  done({"record", "--", calls, "_exit"}, 3);
  has(said("err"), "\n  peak RSS ");  // it looks at itself
  EXPECT_EQ(events().back().e.size, 777u);
}

TEST_F(Record, WhatAProgramExecutesGoesOnInItsTrace) {
  done({"record", "--no-stacks", "--", calls, "exec"});
  const auto all = events();
  const auto image = std::find_if(all.begin(), all.end(),
                                  [](const auto& k) { return k.e.kind == event_kind::image; });
  ASSERT_NE(image, all.end());
  EXPECT_EQ(image->text, calls + '\0' + "calls" + '\0');
  EXPECT_TRUE(has_size({all.begin(), image}, 777));
  EXPECT_EQ(marked().size(), 18u);
  EXPECT_EQ(files(), words{"run.atrace"});
}

// What follows fills chunks, which are fetched at once; the image before left one that is not full.
TEST_F(Record, WhatCameBeforeExecComesFirstHoweverMuchFollows) {
  done({"record", "--no-stacks", "--", calls, "exec", "many"});
  const auto all = events();
  const auto image = std::find_if(all.begin(), all.end(),
                                  [](const auto& k) { return k.e.kind == event_kind::image; });
  ASSERT_NE(image, all.end());
  EXPECT_TRUE(has_size({all.begin(), image}, 777));
  EXPECT_GT(all.end() - image, 200'000);
}

// It began, and no block lives on: that it allocates nothing changes neither.
TEST_F(Record, WhatAProgramExecutesEndsItsBlocksThoughItAllocatesNothing) {
  done({"record", "--no-stacks", "--", calls, "exec", "nothing"});
  const auto all = events();
  ASSERT_FALSE(all.empty());
  EXPECT_EQ(all.back().e.kind, event_kind::image);
  EXPECT_EQ(all.back().text, calls + '\0' + "nothing" + '\0');
  trace_reader reader(open_file_source(path("run.atrace")));
  lifetimes from(reader);
  for (step s; from.next(s);) {
  }
  EXPECT_EQ(from.live_blocks(), 0u);
}

TEST_F(Record, AProgramThatAllocatesNothingHasATraceWithoutEvents) {
  done({"record", "--no-stacks", "--", calls, "nothing"});
  has(said("err"), "allocated nothing");
  EXPECT_EQ(files(), words{"run.atrace"});
  trace_reader reader(open_file_source(path("run.atrace")), unfinished::refuse);
  EXPECT_EQ(reader.events(), 0u);
  EXPECT_EQ(reader.header().get(header_name::program), fs::canonical(calls).string());
  done({"report", "--text", "run.atrace"});
  done({"tune", "profile", "-o", "run.aprof", "run.atrace"});
}

// What a user is told of a program that no recorder got into, and that this is not taken for success.
class NothingRecorded : public Record {
 protected:
  void expect_nothing(const words& program, int exit_status, const std::string& why) {
    for (const words& kind : {words{}, words{"--profile"}}) {
      words command = words{"record"} + kind;
      command.emplace_back("--");
      command.insert(command.end(), program.begin(), program.end());
      const std::vector<std::string> before = files();
      done(command, exit_status);
      has(said("err"), why);
      EXPECT_EQ(files(), before);
    }
  }
};

TEST_F(NothingRecorded, OfAStaticProgram) {
  expect_nothing({static_calls}, 1, "it is statically linked");
  expect_nothing({static_calls, "_exit"}, 3, "it is statically linked");  // its own status says so
  EXPECT_EQ(WTERMSIG(ashlar({"record", "--no-stacks", "--", static_calls, "kill"})), SIGKILL);
}

TEST_F(NothingRecorded, OfAProgramThatGainsRights) {
  fs::copy_file(calls, path("privileged"));
  struct statvfs mounted{};
  if (::chown(path("privileged").c_str(), 65'534, 65'534) != 0 ||
      ::chmod(path("privileged").c_str(), 04755) != 0 ||
      ::statvfs(path("privileged").c_str(), &mounted) != 0 || (mounted.f_flag & ST_NOSUID) != 0)
    GTEST_SKIP() << "only root can make such a program, where the system heeds it";
  expect_nothing({path("privileged")}, 1, "it gains rights");
}

TEST_F(NothingRecorded, ByALibraryThatTheLoaderDoesNotTake) {
  std::ofstream(path("library.so")) << "this is no library";
  ::setenv("ASHLAR_RECORD_LIB", path("library.so").c_str(), 1);
  expect_nothing({calls}, 1, "the loader does not take the recorder");
  ::unsetenv("ASHLAR_RECORD_LIB");
}

// A program of its own processes only: what they do is there, but not what was asked for.
TEST_F(NothingRecorded, OfTheProgramItselfButOfWhatItStarts) {
  done({"record", "--no-stacks", "--", static_calls, "starts", calls}, 1);
  has(said("err"), "it is statically linked");
  const auto names = files();
  ASSERT_EQ(names.size(), 1u);
  EXPECT_NE(names.front(), "run.atrace");
  EXPECT_FALSE(events(names.front()).empty());
}

TEST_F(Record, NoEventIsLostWhenThereAreMany) {
  done({"record", "--no-stacks", "--", calls, "many", "1000000"});
  std::uint64_t births = 0;
  for (const kept_event& k : events()) {
    ASSERT_NE(k.e.kind, event_kind::lost);
    if (k.e.kind != event_kind::by_malloc || k.e.size != births % 1000 + 1) continue;
    ++births;
  }
  EXPECT_GE(births, 1'000'000u);
}

// More than there are chunks.
TEST_F(Record, ThreadsThatEndLeaveNothingBehind) {
  done({"record", "--no-stacks", "--", calls, "failures", "9000"});
  std::size_t started = 0;
  for (const kept_event& k : events()) {
    ASSERT_NE(k.e.kind, event_kind::lost);
    started += k.e.kind == event_kind::thread_start;
  }
  EXPECT_GE(started, 9000u);
}

TEST_F(Record, ASignalGoesToTheProgramAndTheTraceStays) {
  const pid_t command = start({"record", "--no-stacks", "--", calls, "wait"});
  EXPECT_TRUE(becomes_true([&] { return said("out") == "ready\n"; }));
  ::kill(command, SIGINT);
  EXPECT_EQ(WTERMSIG(wait_for(command)), SIGINT);
  EXPECT_TRUE(has_size(events(), 777));
}

TEST_F(Record, ARecorderThatIsKilledLeavesWhatItHasWritten) {
  const pid_t command = start({"record", "--no-stacks", "--", calls, "many", "500000000"});
  ASSERT_TRUE(becomes_true([&] { return !part().empty(); }));
  const std::string name = part();
  trace_reader reader(open_file_source(path(name)));
  const auto program = static_cast<pid_t>(reader.header().number(header_name::pid, 0));
  ::kill(command, SIGKILL);
  wait_for(command);
  ASSERT_GT(program, 1);
  ::kill(program, SIGKILL);
  trace_reader left(open_file_source(path(name)));
  EXPECT_NE(left.warning(), "");
  EXPECT_GT(left.events(), 10'000u);
}

// A short run fills no chunk, and a program at rest never does.
TEST_F(Record, WhatAProgramDidASecondAgoOutlivesTheRecorder) {
  for (const words& options : {words{"--no-stacks"}, words{}}) {
    const pid_t command = start(words{"record"} + options + words{"--", calls, "wait"});
    const auto kept = [&] {
      const std::string name = part(100);
      if (name.empty()) return std::vector<kept_event>();
      return events(name, unfinished::read_what_is_there);
    };
    EXPECT_TRUE(becomes_true([&] { return has_size(kept(), 777); }));
    ::kill(-command, SIGKILL);
    wait_for(command);
    const std::string name = part(100);
    ASSERT_NE(name, "");
    const trace_reader reader(open_file_source(path(name)));
    EXPECT_EQ(reader.stacks().empty(), !options.empty());
    done({"report", "--text", name});
    has(said("err"), "of a recorder that was killed, at most the last second");
    fs::remove(path(name));
  }
}

// The disk is full, or a limit is reached. The program goes on, and its end is told.
TEST_F(Record, WhatWasWrittenBeforeAFailureStays) {
  const pid_t command = start({"record", "-o", "my.atrace", "--", calls, "many", "5000000"});
  ASSERT_TRUE(becomes_true([&] { return !part().empty(); }));
  limit_files_of(command);
  const int status = wait_for(command);
  EXPECT_EQ(WEXITSTATUS(status), 1) << said("err");
  EXPECT_FALSE(WIFSIGNALED(status));
  const std::string name = part();
  ASSERT_NE(name, "");
  EXPECT_EQ(files(), words{name});
  has(said("err"), "cannot write '" + name + "'");
  has(said("err"), "recorded before can be read in '" + name + "'");
  trace_reader left(open_file_source(path(name)));
  EXPECT_NE(left.warning(), "");
  EXPECT_GT(left.events(), 10'000u);
}

TEST_F(Record, AProgramsOwnEndIsToldThoughRecordingFailed) {
  // The shell ends long after the limit, and allocates so little that its own trace would fit.
  const pid_t command =
      start({"record", "-o", "run.atrace", "--", "/bin/sh", "-c", calls + " many 5000000; exit 7"});
  ASSERT_TRUE(becomes_true([&] { return !part().empty(); }));
  limit_files_of(command);
  EXPECT_EQ(WEXITSTATUS(wait_for(command)), 7) << said("err");
  EXPECT_NE(part(), "");
}

// Somebody made a folder there meanwhile.
TEST_F(Record, AProgramsOwnEndIsToldThoughItsTraceCannotHaveTheName) {
  for (const int own : {0, 7}) {
    const std::string folder = "folder." + std::to_string(own);
    const std::string script = "mkdir " + folder + "; exit " + std::to_string(own);
    const int status = ashlar({"record", "-o", folder, "--", "/bin/sh", "-c", script});
    EXPECT_EQ(WEXITSTATUS(status), own == 0 ? 1 : own) << said("err");
    has(said("err"), "cannot write '" + folder + "'");
    const std::string told = "what was recorded before can be read in '";
    const std::size_t at = said("err").find(told);
    ASSERT_NE(at, std::string::npos) << said("err");
    const std::string rest = said("err").substr(at + told.size());
    EXPECT_FALSE(events(rest.substr(0, rest.find('\''))).empty());
  }
}

TEST_F(Record, AProgramWithoutItsInterpreterHasTheShellsStatus) {
  write_file(path("script"), "#!/no/such/interpreter\n");
  fs::permissions(path("script"), fs::perms::owner_all);
  done({"record", "--no-stacks", "--", path("script")}, 127);
  has(said("err"), "its interpreter is missing");
  EXPECT_EQ(files(), words{"script"});
}

TEST_F(Record, ANameThatIsTooLongIsFoundBeforeTheProgramRuns) {
  for (const std::size_t length : {244u, 249u, 255u}) {
    for (const char* what : {"-o", "--profile"}) {
      const std::string name(length, 'n');
      const words before = files();
      words line{"record", "-o", name, "--", calls, "wait"};  // that would wait for ever
      if (what != std::string("-o")) line.insert(line.begin() + 1, what);
      const pid_t command = start(line);
      int status = 0;
      const bool ended =
          becomes_true([&] { return ::waitpid(command, &status, WNOHANG) == command; });
      if (!ended) {
        ::kill(-command, SIGKILL);
        wait_for(command);
      }
      EXPECT_TRUE(ended) << length << what;
      EXPECT_EQ(WEXITSTATUS(status), 2) << said("err");
      has(said("err"), "File name too long");
      EXPECT_EQ(files(), before);
    }
  }
}

TEST_F(Record, AFolderThatTakesNoFileIsToldByTheNameThatWasGiven) {
  for (const char* what : {"--stacks", "--profile"}) {
    done({"record", what, "-o", "/proc/my.trace", "--", calls, "calls"}, 2);
    has(said("err"), "/proc/my.trace");
    lacks(said("err"), std::to_string(UINT32_MAX));
  }
}

TEST_F(Record, ALimitOfFilesThatIsTooLowIsNamed) {
  const std::string line = "cd '" + folder_.string() +
                           "' && ulimit -f 100000 && '" ASHLAR_COMMAND "' record -- '" + calls +
                           "' 2>err";
  const int status = std::system(line.c_str());
  EXPECT_EQ(WEXITSTATUS(status), 1);
  has(said("err"), "ulimit -f");
  EXPECT_EQ(files(), words{});
}

TEST_F(Record, StacksLeadToTheCall) {
  done({"record", "--stacks=4", "--", calls, "calls"});
  trace_reader reader(open_file_source(path("run.atrace")));
  ASSERT_FALSE(reader.stacks().empty());
  for (const stack_definition& stack : reader.stacks()) EXPECT_LE(stack.frames.size(), 4u);
  const std::string text = done({"report", "--text", "run.atrace"});
  has(text, "main in known_calls");
  lacks(text, "ashlar-record");
}

// The loader tells one of its segments alone.
TEST_F(Record, CallsHaveNamesInAProgramWithAGapBetweenItsSegments) {
  done({"record", "--stacks", "--", ASHLAR_TEST_CALLS_APART, "calls"});
  has(done({"report", "--text", "run.atrace"}), "main in known_calls_apart");
}

// By size: how many bytes of it nobody touched.
using untouched_parts = std::map<std::uint64_t, std::uint64_t>;
untouched_parts untouched_in(const std::vector<kept_event>& all) {
  std::map<std::uint64_t, std::uint64_t> sizes;
  untouched_parts found;
  for (const kept_event& k : all) {
    if (is_birth(k.e.kind)) sizes[k.e.address] = k.e.size;
    if (!is_note(k.e.kind) || !sizes.contains(k.e.address)) continue;
    EXPECT_TRUE(found.emplace(sizes[k.e.address], k.e.size).second) << "it is looked at once";
  }
  return found;
}
constexpr std::uint64_t mebibyte = 1u << 20;

// One MiB of each is touched, and what lies on a page with other things is not counted.
void expect_untouched(const untouched_parts& found, const std::vector<std::uint64_t>& mebibytes) {
  const auto pages = 2 * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  EXPECT_EQ(found.size(), mebibytes.size());
  for (const std::uint64_t size : mebibytes) {
    ASSERT_TRUE(found.contains(size * mebibyte)) << size;
    EXPECT_LE(found.at(size * mebibyte), (size - 1) * mebibyte) << size;
    EXPECT_GE(found.at(size * mebibyte) + pages, (size - 1) * mebibyte) << size;
  }
}

// A huge page brings memory that nobody touched.
class RecordWithoutHugePages : public Record {
 protected:
  void SetUp() override {
    if (::access("/proc/self/pagemap", R_OK) != 0) GTEST_SKIP() << "the system does not tell";
  }
  RecordWithoutHugePages() { ::prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0); }
  ~RecordWithoutHugePages() override { ::prctl(PR_SET_THP_DISABLE, 0, 0, 0, 0); }
};

TEST_F(RecordWithoutHugePages, WhatNobodyTouchedOfALargeBlockIsTold) {
  done({"record", "-o", "run.atrace", "--", calls, "touches"});
  const auto all = events();
  // The last one lives at the end, and that of 8 MiB, too.
  expect_untouched(untouched_in(all), {4, 1, 3, 5, 8, 7});
  for (std::size_t i = 0; i + 1 < all.size(); ++i) {
    if (!is_note(all[i].e.kind) || !is_death(all[i + 1].e.kind)) continue;
    EXPECT_EQ(all[i].e.address, all[i + 1].e.address);
    EXPECT_EQ(all[i].e.thread, all[i + 1].e.thread);
  }
  const auto names = files();
  ASSERT_EQ(names.size(), 2u);
  const std::string child = names[0] == "run.atrace" ? names[1] : names[0];
  expect_untouched(untouched_in(events(child)), {6});
  done({"report", "--text", child});
  done({"record", "--no-stacks", "-o", "run.atrace", "--", calls, "touches"});
  EXPECT_EQ(untouched_in(events()), untouched_parts()) << "without stacks there are no findings";
}

TEST_F(RecordWithoutHugePages, WhatNobodyTouchedIsToldOfTheDropInToo) {
  done({"record", "-o", "run.atrace", "--on", "ashlar", "--", calls, "touches"});
  // Later blocks may have pages of this one.
  const untouched_parts found = untouched_in(events());
  ASSERT_TRUE(found.contains(4 * mebibyte));
  expect_untouched({{4 * mebibyte, found.at(4 * mebibyte)}}, {4});
}

TEST_F(Record, OfManyLargeBlocksSomeAreLookedAt) {
  done({"record", "--stacks", "--", calls, "large", "2049"});
  const auto all = events();
  EXPECT_EQ(std::count_if(all.begin(), all.end(), [](const auto& k) { return is_note(k.e.kind); }),
            64 + 2);
}

TEST_F(Record, AStackThatLeadsNowhereEndsThere) {
  done({"record", "--stacks=64", "--", hard_stacks, "broken"});
  EXPECT_TRUE(has_size(events(), 24));
}

#if defined(__x86_64__)
TEST_F(Record, CodeMadeAtRunTimeIsInStacksWithItsNames) {
  done({"record", "--stacks", "--", hard_stacks, "trampolines"});
  const trace_reader reader(open_file_source(path("run.atrace")));
  const fs::path map = perf_map_path(reader.header().number(header_name::pid, 0));
  ASSERT_TRUE(fs::exists(map));
  const auto stacks = [&] {
    done({"export", "--force", "--format=folded", "--figure=alloc_objects", "-o", "run.folded",
          "run.atrace"});
    return '\n' + read_file(path("run.folded"));
  };
  const auto has = [](const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  };
  const std::string unknown = "[code made at run time]";
  std::string text = stacks();
  EXPECT_TRUE(has(text,
                  "main;(anonymous namespace)::trampolines();keep_all;"
                  "(anonymous namespace)::allocate_through_pop();Rows.make;"
                  "(anonymous namespace)::allocate()"))
      << text;
  EXPECT_TRUE(has(text, "\n" + unknown + ";(anonymous namespace)::allocate()")) << text;
  done({"report", "--text", "run.atrace"});
  EXPECT_TRUE(has(said("out"), "  Rows.make in rows.py\n")) << "whose line it is: " << said("out");
  done({"export", "--symbols", "run.atrace"});
  EXPECT_FALSE(has(said("err"), "rows.py")) << "a script has no debug information";
  fs::remove(map);
  EXPECT_EQ(stacks(), text) << "the trace has the names";
  done({"record", "--stacks", "--", hard_stacks, "trampolines"});
  const trace_reader second(open_file_source(path("run.atrace")));
  fs::remove(perf_map_path(second.header().number(header_name::pid, 0)));
  text = stacks();
  EXPECT_TRUE(has(text, "main;(anonymous namespace)::trampolines();" + unknown + ";")) << text;
}
#endif

// The loader's lists have a lock that a fork leaves as it is.
TEST_F(Record, AForkedProcessIsNotHeldUpByAnotherThreadsNewStack) {
  done({"record", "--stacks=32", "-o", "run.atrace", "--", hard_stacks, "forks"});
  EXPECT_EQ(files().size(), 151u);
}

TEST_F(Record, AForkedProcessIsNotHeldUpByAnotherThreadThatLoadsALibrary) {
  done({"record", "--stacks=32", "-o", "run.atrace", "--", hard_stacks, "loads",
        ASHLAR_TEST_PLUGIN});
  EXPECT_EQ(files().size(), 102u);
}

TEST_F(Record, AShellsProgramsAreRecordedToo) {
  done({"record", "-o", "run.atrace", "--", "/bin/sh", "-c",
        calls + " calls; " + calls + " calls; true"});
  EXPECT_EQ(files().size(), 3u);
}

// As of a launcher, behind which the program would be hard to find.
TEST_F(Record, ProcessesWithFewEventsAreOneLine) {
  done({"record", "--no-stacks", "-o", "run.atrace", "--", "/bin/sh", "-c",
        calls + " calls; " + calls + " calls; exec " + calls + " many 100000"});
  EXPECT_EQ(files().size(), 3u);
  has(said("err"), "ashlar: run.atrace: ");
  has(said("err"), "ashlar: and 2 more processes with fewer events, each");
  const std::string err = said("err");
  EXPECT_EQ(err.find(" events of process "), err.rfind(" events of process ")) << err;
}

// Else a script's first screen is behind a screen of files.
TEST_F(Record, AtMostFourProcessesAreTold) {
  std::string script;
  for (int i = 0; i < 7; ++i) script += calls + " many 1000; ";
  done({"record", "--no-stacks", "-o", "run.atrace", "--", "/bin/sh", "-c", script + "true"});
  const std::string err = said("err");
  std::size_t told = 0;
  for (std::size_t at = err.find(" events of process "); at != std::string::npos;
       at = err.find(" events of process ", at + 1))
    ++told;
  EXPECT_EQ(told, 4u) << err;
}

// A build starts thousands.
TEST_F(Record, MoreProcessesThanMayHaveAFileOpenAreRecorded) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit few = before;
  few.rlim_cur = 30;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
  std::string lines;
  for (int i = 0; i < 40; ++i) lines += calls + " calls\n";
  done({"record", "-o", "run.atrace", "--", "/bin/sh", "-c", lines + "true"});
  EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_EQ(files().size(), 41u);
}

TEST_F(Record, AFileThatIsNoTraceIsNotWrittenOver) {
  std::ofstream(path("notes.txt")) << "precious";
  done({"record", "-o", "notes.txt", "--", calls}, 2);
  has(said("err"), "'notes.txt' is there and is no trace");
  EXPECT_EQ(said("notes.txt"), "precious");
  done({"record", "-o", "/nowhere/run.atrace", "--", calls}, 2);
  done({"record", "--no-stacks", "--", calls});
  done({"record", "--no-stacks", "--", calls});  // a trace is
}

TEST_F(Record, DumpAndStatRefuseWhatIsNoTraceAndLeaveNothing) {
  std::ofstream(path("empty"));
  std::ofstream(path("text")) << "hello, I am a text and no trace\n";
  for (const char* name : {"empty", "text", "absent"}) {
    for (const words& command :
         {words{"report", "--text", name}, words{"export", "--format=text", name, "-o", "result"},
          words{"export", "--from-text", name, "-o", "result"},
          words{"export", "--from-heaptrack", name, "-o", "result"}}) {
      done(command, 2);
      has(said("err"), name);
    }
  }
  EXPECT_EQ(files(), (words{"empty", "text"}));
}

TEST_F(Record, DumpLeavesAloneWhatItDoesNotWrite) {
  done({"record", "--no-stacks", "--", calls});
  const std::string text = done({"export", "--format=text", "run.atrace"});
  write_file(path("x.txt.part"), "precious");
  fs::create_symlink("file", path("link"));
  for (const char* output : {"x.txt", "link"}) {
    done({"export", "--format=text", "run.atrace", "-o", output});
    EXPECT_EQ(said(output), text);
  }
  EXPECT_TRUE(fs::is_symlink(path("link")));
  EXPECT_EQ(said("x.txt.part"), "precious");
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  const int kept_open = ::open(path("pipe").c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC);
  const pid_t command = start({"export", "--format=text", "run.atrace", "-o", "pipe"});
  std::string piped;
  EXPECT_TRUE(becomes_true([&] {
    std::array<char, 4096> piece{};
    const ssize_t got = ::read(kept_open, piece.data(), piece.size());
    if (got > 0) piped.append(piece.data(), static_cast<std::size_t>(got));
    return piped.size() >= text.size();
  }));
  ::close(kept_open);
  EXPECT_EQ(wait_for(command), 0);
  EXPECT_EQ(piped, text);
  EXPECT_TRUE(fs::is_fifo(path("pipe")));
}

TEST_F(Record, ADumpThatASignalEndsLeavesNothing) {
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  const int text = ::open(path("pipe").c_str(), O_RDWR | O_CLOEXEC);  // it never ends
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    const pid_t command = start({"export", "--from-text", "pipe", "-o", "x.atrace"});
    EXPECT_TRUE(becomes_true([&] { return files().size() == 2; }));
    ::kill(command, number);
    EXPECT_EQ(WTERMSIG(wait_for(command)), number);
    EXPECT_EQ(files(), words{"pipe"});
  }
  ::close(text);
}

TEST_F(Record, DumpedTextBecomesTheSameTraceAgain) {
  done({"record", "--stacks", "--", calls, "threads"});
  done({"export", "--format=text", "run.atrace", "-o", "one.txt"});
  done({"export", "--from-text", "one.txt", "-o", "again.atrace"});
  done({"export", "--format=text", "again.atrace", "-o", "two.txt"});
  EXPECT_EQ(said("one.txt"), said("two.txt"));
  EXPECT_GT(said("one.txt").size(), 1000u);
}

}  // namespace
