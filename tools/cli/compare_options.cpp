// tools/cli/compare_options.cpp: the words of `ashlar compare` and `ashlar summary`. Layer: cli.
#include <memory>
#include <string>
#include <vector>

#include "tools/cli/commands.hpp"
#include "tools/cli/compare_command.hpp"
#include "tools/cli/round_options.hpp"

namespace ashlar::cli {

namespace {

constexpr const char* compare_footer =
    R"(Each round runs the program once on every allocator, in an order shuffled anew. Its standard
input is empty; its output is dropped, but shown where a run fails. A run fails when it ends in
another way than the first run on the first allocator. Ctrl-C ends the measuring and prints
what there is; a second one kills a program that goes on.

Examples:
  ashlar compare -- ./parser big.json
  ashlar compare -n 15 --only system,ashlar --json out.json -- python3 work.py
  ashlar compare --with mine=./libmine.so -- sh -c './filter < input.txt'
  ashlar compare --list

Exit status: 0; 1 when a run failed or a file could not be written in the end; 128 + N when signal N
ended the measuring.)";

constexpr const char* summary_footer =
    R"(Example:
  ashlar compare --label parser --json parser.json -- ./parser big.json
  ashlar compare --label server --json server.json -- ./server --once
  ashlar summary parser.json server.json)";

}  // namespace

void add_compare(command_parser& to) {
  command& compare = to.add({"compare", "Time and memory of a program on several allocators",
                             "[OPTIONS] -- PROGRAM [ARGUMENTS...]", compare_footer});
  const auto with = std::make_shared<compare_options>();
  add_rounds(compare, with->rounds, "Measured runs on each allocator (default 5)");
  compare.value("--warmup", "K", with->warmup, "Runs before them that do not count (default 1)")
      .within(0, most_rounds);
  compare.value("--with", "NAME=LIBRARY", with->with, "Another allocator to preload (repeatable)");
  compare.value("--only", "NAMES", with->only, "Just these, as in --only system,ashlar")
      .separated_by_commas();
  compare.value("--label", "NAME", with->label, "The program's name in a summary");
  add_seed(compare, with->seed, "Of the order (default: a random one, printed)");
  compare.file("--json", with->json_path, "Write all samples as JSON to FILE");
  compare.file("--csv", with->csv_path, "Write all samples as CSV to FILE");
  compare.flag("--show-output", with->show_output, "Do not drop the program's output");
  compare.flag("--list", with->list_only, "List the allocators found and exit");
  compare.takes_program();
  compare.does([&compare, with] {
    if (with->list_only) return list_allocators(with->with);
    with->command = compare.program();
    return compare_command(*with);
  });
}

void add_summary(command_parser& to) {
  command& summary = to.add(
      {"summary", "One table of several results of compare --json", "FILE...", summary_footer});
  const auto paths = std::make_shared<std::vector<std::string>>();
  summary.arguments("FILE", *paths, "What compare --json wrote");
  summary.does([paths] { return summary_command(*paths); });
}

}  // namespace ashlar::cli
