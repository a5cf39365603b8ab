// The recorder's way to find calls beside the compiler's runtime: the same frames, at each malloc of hard and of real programs.
#include <regex>
#include <tests/support/test_headers.hpp>

namespace {

struct comparison {
  std::string output;
  int status = -1;
  long by_rules = 0;
  long by_runtime = 0;
  long different = 0;
};

comparison compare_in(const std::string& command) {
  comparison result;
  const std::string line = "LD_PRELOAD='" ASHLAR_TEST_WALK_CHECK "' " + command + " 2>&1";
  FILE* const pipe = ::popen(line.c_str(), "r");
  if (pipe == nullptr) return result;
  char buffer[4096];
  for (std::size_t got = 1; got > 0;) {
    got = std::fread(buffer, 1, sizeof buffer, pipe);
    result.output.append(buffer, got);
  }
  result.status = ::pclose(pipe);
  const std::regex counts(
      "walk check: ([0-9]+) by rules, ([0-9]+) by the runtime, ([0-9]+) different");
  for (std::sregex_iterator i(result.output.begin(), result.output.end(), counts), end; i != end;
       ++i) {
    result.by_rules += std::stol((*i)[1].str());
    result.by_runtime += std::stol((*i)[2].str());
    result.different += std::stol((*i)[3].str());
  }
  return result;
}

TEST(FrameWalk, FindsWhatTheRuntimeFindsInHardPlaces) {
  const comparison c = compare_in("'" ASHLAR_TEST_STACKS "' all '" ASHLAR_TEST_PLUGIN
                                  "' '" ASHLAR_TEST_SAME_PLUGIN "' '" ASHLAR_TEST_OTHER_PLUGIN "'");
  EXPECT_EQ(c.status, 0) << c.output;
  EXPECT_EQ(c.different, 0) << c.output;
  EXPECT_GT(c.by_rules, 5000) << c.output;
  EXPECT_GT(c.by_runtime, 0) << c.output;  // behind a signal
  // Else there was no stale rule to be misled by.
  EXPECT_NE(c.output.find("same place: 10\n"), std::string::npos) << c.output;
}

void expect_same_in(const std::string& command, long at_least) {
  const comparison c = compare_in(command);
  EXPECT_EQ(c.status, 0) << c.output;
  EXPECT_EQ(c.different, 0) << c.output;
  EXPECT_GT(c.by_rules, at_least) << c.output;
  EXPECT_LT(c.by_runtime, c.by_rules / 20) << c.output;
}

TEST(FrameWalk, FindsWhatTheRuntimeFindsInPython) {
  expect_same_in(
      "env PYTHONMALLOC=malloc /usr/bin/python3 -S -c '"
      "import json; json.loads(json.dumps([{str(i): [i, str(i)]} for i in range(300)]))'",
      20'000);
}

TEST(FrameWalk, FindsWhatTheRuntimeFindsInACompiler) {
  expect_same_in("'" ASHLAR_TEST_COMPILER "' -O1 -S -o /dev/null -x c '" ASHLAR_TEST_SOURCE "'",
                 2000);
}

TEST(FrameWalk, FindsWhatTheRuntimeFindsInPerl) {
  expect_same_in("perl -e 'my %h; $h{$_ % 97} .= \"x$_\" for 1..3000;'", 500);
}

}  // namespace
