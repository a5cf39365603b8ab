// `ashlar leaks --unreachable`: which of the blocks that a program holds no pointer leads to.
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <tests/support/command_in_folder.hpp>

#include <gtest/gtest.h>
#include <sys/wait.h>

namespace {

using support::words;
using json = nlohmann::json;

const std::string program = ASHLAR_TEST_LOST;

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

class Unreachable : public support::CommandInFolder {
 protected:
  // Returns: of each process that is listed what it holds.
  json processes(words options, const std::string& how = "exit") {
    options.insert(options.begin(), {"leaks", "--unreachable", "--json=leaks.json"});
    options.insert(options.end(), {"--", program, how});
    EXPECT_EQ(ashlar(options), 0) << said("err");
    return json::parse(support::read_file(path("leaks.json")))["processes"];
  }
};

constexpr std::uint64_t node_bytes = 48;
constexpr std::uint64_t lost_blocks = 10 + 50 + 2 + 1 + 100;
constexpr std::uint64_t lost_bytes =
    10 * 100 + 50 * node_bytes + 2 * node_bytes + (3u << 20) + 100 * 80;

// Kept are a list, a pointer into a block, one of a thread, one on each of two stacks. A destructor
// frees 500 blocks when the program exits.
TEST_F(Unreachable, EachLostBlockIsThereAndNoOther) {
  const json found = processes({});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0]["unreachable_blocks"], lost_blocks) << said("err");
  EXPECT_EQ(found[0]["unreachable_bytes"], lost_bytes) << said("err");
  EXPECT_GT(found[0]["bytes"], lost_bytes + 4444 + 3333);
  std::uint64_t bytes = 0;
  for (const json& site : found[0]["call_sites"]) {
    EXPECT_NE(site["unreachable_bytes"], 0) << site;
    bytes += site["unreachable_bytes"].get<std::uint64_t>();
  }
  EXPECT_EQ(bytes, lost_bytes);
  EXPECT_TRUE(contains(said("err"), "in 163 blocks of it unreachable, the most bytes first:\n"))
      << said("err");
  EXPECT_TRUE(contains(said("err"), "3.0 MiB in 1 block unreachable, of 1 in all\n"))
      << said("err");
  EXPECT_TRUE(left_nothing_behind());
}

// The pointers of the program's first stack count, whichever thread calls exit.
TEST_F(Unreachable, AThreadMayExit) {
  const json found = processes({}, "thread");
  EXPECT_EQ(found[0]["unreachable_blocks"], lost_blocks) << said("err");
}

TEST_F(Unreachable, AForkedProcessIsLookedAtByItself) {
  EXPECT_EQ(processes({}, "child").size(), 1u);
  EXPECT_TRUE(contains(said("err"), "of 1 more process nothing is listed")) << said("err");
  const json found = processes({"--children"}, "child");
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0]["unreachable_blocks"], lost_blocks) << said("err");
  // What it has from its parent counts as roots, also what had been freed there.
  EXPECT_EQ(found[1]["bytes"], 200) << said("err");
  EXPECT_TRUE(found[1].contains("unreachable_bytes")) << found[1];
}

TEST_F(Unreachable, AProgramThatDoesNotExitHasAllOfItListed) {
  const json found = processes({}, "_exit");
  EXPECT_FALSE(found[0].contains("unreachable_blocks")) << found[0];
  EXPECT_GE(found[0]["blocks"], lost_blocks + 500);
  EXPECT_TRUE(contains(said("err"), "all that is held is listed: the process did not end by exit"))
      << said("err");
}

TEST_F(Unreachable, TheLimitIsOfWhatIsListed) {
  EXPECT_EQ(WEXITSTATUS(ashlar({"leaks", "--unreachable", "--fail-above", "4MiB", "--", program})),
            0);
  EXPECT_EQ(WEXITSTATUS(ashlar({"leaks", "--unreachable", "--fail-above", "3MiB", "--", program})),
            1);
  EXPECT_TRUE(contains(said("err"), "3.0 MiB unreachable at the end, more than 3.0 MiB"))
      << said("err");
  EXPECT_EQ(WEXITSTATUS(ashlar({"leaks", "--unreachable", "--fail-above", "0", "--", "/bin/true"})),
            0)
      << said("err");
}

TEST_F(Unreachable, ATraceHasNoMemoryToLookInto) {
  EXPECT_EQ(WEXITSTATUS(ashlar({"leaks", "--unreachable", "--trace", "run.atrace"})), 2);
  EXPECT_TRUE(contains(said("err"), "name the program instead of --trace")) << said("err");
}

}  // namespace
