#include "tools/cli/command_parser.hpp"

#include <tests/support/test_headers.hpp>

#include "tools/cli/error.hpp"

namespace ashlar::cli {
namespace {

using words = std::vector<std::string>;

// One command with words of every kind, one whose words may all not be missing, and one that runs a program.
struct some_tool {
  command_parser parser{{"tool", "Does something.", "COMMAND ...", "Examples: of the tool"}};
  std::string input;
  words more;
  std::string on = "system";
  std::uint64_t rows = 10;
  std::optional<std::uint64_t> budget;
  std::optional<std::uint64_t> seed;
  words only;
  std::string output, json, kind;
  bool all = false;
  std::uint32_t depth = 0;
  words program;
  int done = 0;

  some_tool() {
    command& every = parser.add({"every", "Words", "[OPTIONS] FILE [MORE...]", "Examples: of it"});
    every.argument("FILE", input, "What it reads");
    every.further_arguments("MORE", more, "More of it");
    every.value("--on", "WHAT", on, "Where");
    every.value("--rows", "N", rows, "So many").within(1, 100);
    every.value("--budget", "BYTES", budget, "At most").in_bytes();
    every.value("--seed", "N", seed, "Of the order");
    every.value("--only", "NAMES", only, "These").separated_by_commas();
    every.output(output, "What it writes");
    every.json(json, "All of it");
    every.value("--kind", "near|far", kind, "Of what it writes");
    const option everything = every.flag("--all", all, "Everything");
    every.flag_with_value("--depth", "DEPTH", 16, depth, "So deep").excludes(everything);
    every.does([this] {
      ++done;
      return 5;
    });
    command& needs = parser.add({"need", "All of it", "-o FILE FILE...", "Examples: of all"});
    needs.arguments("FILE", more, "What it reads");
    needs.output(output, "What it writes").required();
    needs.does([this] { return ++done; });
    command& starts = parser.add({"start", "A program", "PROGRAM", "Examples: of that"});
    starts.flag("--all", all, "Everything");
    starts.takes_program();
    starts.does_as_program([this, &starts] {
      program = starts.program();
      return 0x0300;
    });
  }
};

TEST(CommandParser, ANumberBehindAFlagThatTakesOneIsItsValue) {
  const auto depth_of = [](std::vector<std::string> line, std::vector<std::string>& program) {
    command_parser parser({"tool", "", "", ""});
    command& run = parser.add({"run", "", "", ""});
    std::uint32_t depth = 0;
    std::string output;
    run.flag_with_value("--stacks", "DEPTH", 16, depth, "");
    run.output(output, "");
    run.takes_program();
    run.does([&] {
      program = run.program();
      return 0;
    });
    static_cast<void>(parser.run(std::move(line)));
    return depth;
  };
  std::vector<std::string> program;
  EXPECT_EQ(depth_of({"run", "--stacks", "8", "p"}, program), 8u);
  EXPECT_EQ(program, std::vector<std::string>{"p"});
  EXPECT_EQ(depth_of({"run", "-o", "f", "--stacks", "8", "--", "p"}, program), 8u);
  EXPECT_EQ(depth_of({"run", "--stacks=8", "--", "p"}, program), 8u);
  EXPECT_EQ(depth_of({"run", "--stacks", "p", "8"}, program), 16u);
  EXPECT_EQ(program, (std::vector<std::string>{"p", "8"}));
  EXPECT_EQ(depth_of({"run", "--stacks", "--", "8"}, program), 16u);
  EXPECT_EQ(program, std::vector<std::string>{"8"});
  EXPECT_EQ(depth_of({"run", "p", "--stacks", "8"}, program), 0u);
  EXPECT_EQ(program, (std::vector<std::string>{"p", "--stacks", "8"}));
}

TEST(CommandParser, EveryWordFillsItsPlace) {
  some_tool tool;
  const command_end end =
      tool.parser.run({"every", "a", "--rows", "7", "--budget=2KiB", "--only", "x,y", "c", "--only",
                       "z", "--depth", "-o", "b", "d", "--on", "ashlar", "--kind", "far"});
  EXPECT_EQ(end.exit_status, 5);
  EXPECT_FALSE(end.wait_status.has_value());
  EXPECT_EQ(tool.done, 1);
  EXPECT_EQ(tool.input, "a");
  EXPECT_EQ(tool.more, (words{"c", "d"}));
  EXPECT_EQ(tool.on, "ashlar");
  EXPECT_EQ(tool.rows, 7u);
  EXPECT_EQ(tool.budget.value_or(0), 2048u);
  EXPECT_EQ(tool.only, (words{"x", "y", "z"}));
  EXPECT_EQ(tool.output, "b");
  EXPECT_EQ(tool.kind, "far");
  EXPECT_FALSE(tool.all);
  EXPECT_EQ(tool.depth, 16u);
}

TEST(CommandParser, WhatIsNotSaidStaysAsItWas) {
  some_tool tool;
  EXPECT_EQ(tool.parser.run({"every", "a", "--all"}).exit_status, 5);
  EXPECT_EQ(tool.more, words{});
  EXPECT_EQ(tool.on, "system");
  EXPECT_EQ(tool.rows, 10u);
  EXPECT_FALSE(tool.budget.has_value());
  EXPECT_TRUE(tool.all);
  EXPECT_EQ(tool.depth, 0u);
  some_tool deep;
  EXPECT_EQ(deep.parser.run({"every", "a", "--depth=3"}).exit_status, 5);
  EXPECT_EQ(deep.depth, 3u);
}

TEST(CommandParser, WhatCannotBeIsRefusedByName) {
  const std::vector<std::pair<words, words>> wrong{
      {{"every"}, {"FILE", "tool every --help"}},
      {{"every", "a", "--rows", "0"}, {"--rows", "tool every --help"}},
      {{"every", "a", "--rows", "101"}, {"--rows", "tool every --help"}},
      {{"every", "a", "--rows", "few"}, {"few", "tool every --help"}},
      {{"every", "a", "--rows", "-1"}, {"--rows: '-1'", "tool every --help"}},
      {{"every", "a", "--seed", "-1"}, {"--seed: '-1'", "tool every --help"}},
      {{"every", "a", "--seed", "1.5"}, {"--seed: '1.5'", "tool every --help"}},
      {{"every", "a", "--seed", "18446744073709551616"}, {"whole number", "tool every --help"}},
      {{"every", "a", "--budget", "2 miles"}, {"miles", "tool every --help"}},
      {{"every", "a", "--budget", "-5"}, {"--budget: '-5'", "tool every --help"}},
      {{"every", "a", "--budget", "1.5MiB"}, {"--budget: '1.5MiB'", "tool every --help"}},
      {{"every", "a", "--budget", "18446744073709551616"}, {"2^64", "tool every --help"}},
      {{"every", "a", "--budget", "17179869184GiB"}, {"2^64", "tool every --help"}},
      {{"every", "a", "--kind", "away"},
       {"--kind: 'away' is none of near, far", "tool every --help"}},
      {{"every", "a", "--all", "--depth"}, {"--depth", "tool every --help"}},
      {{"every", "a", "--most"}, {"unknown option '--most'", "tool every --help"}},
      {{"need", "a"}, {"--output", "tool need --help"}},
      {{"need", "-o", "b"}, {"FILE", "tool need --help"}},
      {{"--most"}, {"unknown option '--most'", "tool --help"}},
      {{"most"}, {"unknown command 'most' (there are every, need, start)", "tool --help"}},
      {{"every", "--rows"}, {"--rows needs a value", "tool every --help"}},
      {{"start", "--most", "ls"}, {"unknown option '--most'", "tool start --help"}}};
  for (const auto& [line, told] : wrong) {
    some_tool tool;
    try {
      tool.parser.run(line);
      ADD_FAILURE() << told.front();
    } catch (const command_error& error) {
      EXPECT_EQ(error.exit_status, status_usage);
      EXPECT_NE(std::string(error.what()).find(told.front()), std::string::npos) << error.what();
      EXPECT_EQ(tool.parser.help_command(), told.back());
    }
    EXPECT_EQ(tool.done, 0);
  }
}

TEST(CommandParser, AFileMayBeCalledAsACommandIs) {
  some_tool tool;
  EXPECT_EQ(tool.parser.run({"every", "need", "start"}).exit_status, 5);
  EXPECT_EQ(tool.input, "need");
  EXPECT_EQ(tool.more, words{"start"});
}

}  // namespace
}  // namespace ashlar::cli
