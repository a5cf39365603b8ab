// tools/cli/run_options.cpp: the words of `ashlar run`. Layer: cli.
#include <memory>

#include "tools/cli/commands.hpp"
#include "tools/cli/run_command.hpp"

namespace ashlar::cli {

namespace {

constexpr const char* run_footer =
    R"(The program's standard streams are its own; the report goes to standard error.

Examples:
  ashlar run -- python3 -c 'print(sum(range(10**6)))'
  ashlar run --exact --stats -- ./parser big.json
  ashlar run --json pools.json -- make -j2 2> report.txt

Environment: ASHLAR_MALLOC_LIB is the path of the library to preload (default: the one of this
build or installation). ASHLAR_PURGE_DELAY_MS and ASHLAR_KEEP_BYTES are passed on to it.

Exit status: the program's; where a signal killed it, ashlar dies by that signal, too. 1 where the
program's is 0 and FILE could not be written in the end.)";

}  // namespace

void add_run(command_parser& to) {
  command& run = to.add({"run", "Run a program on ashlar's heap, then report its pools",
                         "[OPTIONS] -- PROGRAM [ARGUMENTS...]", run_footer});
  const auto with = std::make_shared<run_options>();
  run.file("--json", with->json_path, "Write the report as JSON to FILE, too");
  run.flag("--stats", with->full_report, "List every class that was used, with every column");
  run.flag("--exact", with->exact, "Count every call (slower; sets ASHLAR_STATS=exact)");
  run.takes_program();
  run.does_as_program([&run, with] {
    with->command = run.program();
    return run_command(*with);
  });
}

}  // namespace ashlar::cli
