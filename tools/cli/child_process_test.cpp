#include "tools/cli/child_process.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/cli/error.hpp"
#include "tools/cli/files.hpp"
#include "tools/cli/replaced_files.hpp"

namespace ashlar::cli {
namespace {

child_request shell(const std::string& script) {
  child_request request;
  request.file = "/bin/sh";
  request.arguments = {"sh", "-c", script};
  request.environment = environment_with({});
  return request;
}

TEST(ChildProcess, ItsEndIsToldExactly) {
  const signal_watch watch;
  for (int status = 0; status < 256; status += 51) {
    const child_outcome outcome = run_child(shell("exit " + std::to_string(status)), watch);
    EXPECT_TRUE(exited_with(outcome.wait_status, status));
  }
  const child_outcome killed = run_child(shell("kill -TERM $$"), watch);
  EXPECT_TRUE(WIFSIGNALED(killed.wait_status));
  EXPECT_EQ(WTERMSIG(killed.wait_status), SIGTERM);
  EXPECT_NE(describe_wait_status(killed.wait_status).find("SIGTERM"), std::string::npos);
}

TEST(ChildProcess, AFileThatCannotBeExecutedIsToldApartFromItsExit) {
  const signal_watch watch;
  child_request request = shell("");
  const auto status_of = [&](const std::string& file) {
    request.file = file;
    try {
      require_started(run_child(request, watch), file);
    } catch (const command_error& error) {
      EXPECT_NE(std::string(error.what()).find("cannot run '" + file + "'"), std::string::npos);
      return error.exit_status;
    }
    return 0;
  };
  EXPECT_EQ(status_of("/no/such/file"), status_not_found);
  EXPECT_EQ(status_of("/proc/self/status"), status_not_executable);
  EXPECT_EQ(status_of("/bin/sh"), 0);
}

TEST(ChildProcess, ItsFiguresAreItsOwn) {
  // This process's own memory must not be charged to the child (see run_child about vfork).
  std::vector<char> ballast(200u << 20, 'x');
  const signal_watch watch;
  const child_outcome outcome = run_child(shell("sleep 0.05"), watch);
  EXPECT_GE(outcome.wall_seconds, 0.05);
  EXPECT_GT(outcome.peak_rss_bytes, 0u);
  EXPECT_EQ(ballast[100], 'x');
  EXPECT_GT(outcome.minor_faults, 0u);
}

TEST(ChildProcess, SignalsToThisProcessReachTheChild) {
  const signal_watch watch;
  const child_outcome outcome = run_child(
      shell("trap 'exit 42' TERM; kill -TERM $PPID; while :; do sleep 0.01; done"), watch);
  EXPECT_TRUE(exited_with(outcome.wait_status, 42));
  EXPECT_EQ(outcome.signal_seen, SIGTERM);
  EXPECT_EQ(watch.fetch_pending(), 0);
}

TEST(ChildProcess, ASecondSignalKillsWhereThatIsAsked) {
  const signal_watch watch;
  child_request request = shell(
      "trap '' INT; kill -INT $PPID; sleep 0.2; kill -INT $PPID; while :; do sleep 0.01; done");
  request.on_signal = interrupted_child::dies_at_second;
  const child_outcome outcome = run_child(request, watch);
  EXPECT_EQ(WTERMSIG(outcome.wait_status), SIGKILL);
  EXPECT_EQ(outcome.signal_seen, SIGINT);
}

TEST(ChildProcess, AnIgnoredSignalStaysIgnored) {
  struct sigaction ignored{};
  struct sigaction before{};
  ignored.sa_handler = SIG_IGN;
  ::sigaction(SIGHUP, &ignored, &before);
  {
    const signal_watch watch;
    const child_outcome outcome = run_child(shell("kill -HUP $$; kill -HUP $PPID; exit 5"), watch);
    EXPECT_TRUE(exited_with(outcome.wait_status, 5));
    EXPECT_EQ(outcome.signal_seen, 0);
  }
  ::sigaction(SIGHUP, &before, nullptr);
}

TEST(ChildProcess, TheEnvironmentHasEveryNameOnce) {
  ::setenv("ASHLAR_TEST_NAME", "old", 1);
  const auto environment = environment_with(
      {{"ASHLAR_TEST_NAME", "a"}, {"ASHLAR_TEST_NAME", "b"}, {"ASHLAR_TEST", "c"}});
  ::unsetenv("ASHLAR_TEST_NAME");
  EXPECT_EQ(std::count(environment.begin(), environment.end(), "ASHLAR_TEST_NAME=b"), 1);
  EXPECT_EQ(std::count(environment.begin(), environment.end(), "ASHLAR_TEST=c"), 1);
  EXPECT_EQ(std::count_if(environment.begin(), environment.end(),
                          [](const auto& entry) { return entry.starts_with("ASHLAR_TEST_NAME="); }),
            1);
}

std::string contents_of(const std::string& path) {
  return read_whole(open_file(::open(path.c_str(), O_RDONLY | O_CLOEXEC)));
}

std::ptrdiff_t files_in(const std::string& folder) {
  const std::filesystem::directory_iterator all(folder);
  return std::distance(begin(all), end(all));
}

// Returns: what prepare() says against it.
std::string refusal(replaced_files& files, const std::string& path) {
  try {
    files.prepare("-o", path);
  } catch (const command_error& error) {
    EXPECT_EQ(error.exit_status, status_usage);
    return error.what();
  }
  return {};
}

TEST(Files, WhatCannotBeWrittenIsFoundAtOnceAndOldContentsLastUntilCommit) {
  replaced_files none;
  EXPECT_THROW(none.prepare("--json", "/no/such/folder/x"), command_error);
  const scratch_directory scratch;
  const std::string path = scratch.path() + "/report";
  for (const char* contents : {"a long first report", "short"}) {
    const std::string before = contents_of(path);
    replaced_files files;
    files.prepare("--json", path);
    EXPECT_EQ(contents_of(path), before);
    files.write(0, contents);
    EXPECT_EQ(contents_of(path), before);
    files.commit();
    EXPECT_EQ(contents_of(path), contents);
  }
  {
    replaced_files dropped;
    dropped.prepare("--json", path);
    dropped.write(0, "half");
  }
  EXPECT_EQ(contents_of(path), "short");
  EXPECT_EQ(files_in(scratch.path()), 1);
}

TEST(Files, AStatusStaysBesideWhatCannotBeWritten) {
  const auto commit_beside = [](int status, const std::string& path) {
    replaced_files files;
    files.prepare("--json", path);
    return files.commit_beside(status, {"contents"});
  };
  const scratch_directory scratch;
  const std::string path = scratch.path() + "/report";
  for (const int status : {0, 7, SIGTERM}) EXPECT_EQ(commit_beside(status, path), status);
  EXPECT_EQ(contents_of(path), "contents");
  for (const int status : {7, SIGTERM}) EXPECT_EQ(commit_beside(status, "/dev/full"), status);
  try {
    commit_beside(0, "/dev/full");
    FAIL() << "success was told";
  } catch (const command_error& error) {
    EXPECT_EQ(error.exit_status, status_failed);
    EXPECT_NE(std::string(error.what()).find("cannot write '/dev/full'"), std::string::npos);
  }
}

TEST(Files, AnOutputIsNoInputAndNoOtherOutput) {
  const scratch_directory scratch;
  const std::string input = scratch.path() + "/input";
  std::ofstream(input) << "precious";
  std::filesystem::create_symlink("input", scratch.path() + "/link");
  replaced_files files({"/no/such/file", input});
  for (const char* name : {"/input", "/link", "/./input"})
    EXPECT_NE(refusal(files, scratch.path() + name).find("is an input"), std::string::npos) << name;
  EXPECT_EQ(refusal(files, scratch.path() + "/a"), "");
  EXPECT_NE(refusal(files, scratch.path() + "/./a").find("what -o writes"), std::string::npos);
  EXPECT_EQ(refusal(files, scratch.path() + "/b"), "");
  for (int i = 0; i < 2; ++i) EXPECT_EQ(refusal(files, "/dev/null"), "");
  files.commit({"1", "2", "3", "4"});
  EXPECT_EQ(contents_of(scratch.path() + "/a"), "1");
  EXPECT_EQ(contents_of(scratch.path() + "/b"), "2");
  EXPECT_EQ(contents_of(input), "precious");
  EXPECT_FALSE(std::filesystem::is_regular_file("/dev/null"));
}

TEST(Files, ALinkStaysOneAndItsFileIsWritten) {
  const scratch_directory scratch;
  std::filesystem::create_directory(scratch.path() + "/folder");
  const std::string link = scratch.path() + "/link";
  std::filesystem::create_symlink("folder/file", link);
  for (const char* contents : {"new", "newer"}) {  // first its file is not there yet
    replaced_files files;
    files.prepare("-o", link);
    files.commit({contents});
    EXPECT_TRUE(std::filesystem::is_symlink(link));
    EXPECT_EQ(contents_of(scratch.path() + "/folder/file"), contents);
  }
  EXPECT_EQ(files_in(scratch.path() + "/folder"), 1);
}

TEST(Files, ASignalLeavesNothingTemporary) {
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE}) {
    const scratch_directory scratch;
    const pid_t child = ::fork();
    if (child == 0) {
      const rlimit no_core{0, 0};
      ::setrlimit(RLIMIT_CORE, &no_core);
      replaced_files files;
      files.prepare("-o", scratch.path() + "/a");
      files.prepare("-o", scratch.path() + "/b");
      files.write(0, "half");
      // Another process's signal, as of a program that is just being started, has no effect on these.
      if (::fork() == 0) ::raise(number);
      ::wait(nullptr);
      if (files_in(scratch.path()) != 2) ::_exit(1);
      ::raise(number);
      ::_exit(2);
    }
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == number) << status;
    EXPECT_EQ(files_in(scratch.path()), 0) << number;
  }
}

TEST(Files, AScratchFolderGoesAwayWithWhatIsInIt) {
  std::string path;
  {
    const scratch_directory scratch;
    path = scratch.path();
    std::ofstream(path + "/file") << "x";
    EXPECT_EQ(::access((path + "/file").c_str(), F_OK), 0);
  }
  EXPECT_NE(::access(path.c_str(), F_OK), 0);
}

}  // namespace
}  // namespace ashlar::cli
