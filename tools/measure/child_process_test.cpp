#include "tools/measure/child_process.hpp"

#include <algorithm>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/files/error.hpp"

namespace ashlar::measure {
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
    } catch (const files::command_error& error) {
      EXPECT_NE(std::string(error.what()).find("cannot run '" + file + "'"), std::string::npos);
      return error.exit_status;
    }
    return 0;
  };
  EXPECT_EQ(status_of("/no/such/file"), files::status_not_found);
  EXPECT_EQ(status_of("/proc/self/status"), files::status_not_executable);
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
  EXPECT_EQ(std::ranges::count(environment, "ASHLAR_TEST_NAME=b"), 1);
  EXPECT_EQ(std::ranges::count(environment, "ASHLAR_TEST=c"), 1);
  EXPECT_EQ(
      std::ranges::count_if(
          environment, [](const auto& entry) { return entry.starts_with("ASHLAR_TEST_NAME="); }),
      1);
}

}  // namespace
}  // namespace ashlar::measure
