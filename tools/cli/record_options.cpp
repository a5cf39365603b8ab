// tools/cli/record_options.cpp: the words of `ashlar record`. Layer: cli.
#include <memory>

#include "tools/cli/commands.hpp"
#include "tools/cli/record_command.hpp"

namespace ashlar::cli {

namespace {

constexpr const char* record_footer =
    R"(The program's standard streams are its own; what was written is said on standard error. Each process
that the program forks has a trace of its own: run.PID.atrace.

Examples:
  ashlar record -- python3 work.py
  ashlar record -o parser.atrace --stacks -- ./parser big.json
  ashlar record --on ashlar -- ./server --once
  ashlar record --profile=600 -o server.aprof -- ./server

Exit status: the program's; where a signal killed it, ashlar dies by that signal, too, and the trace is
there. 1 where the program's is 0 and it was not recorded, or the trace could not be written in the end.)";

}  // namespace

void add_record(command_parser& to) {
  command& record = to.add({"record", "Write a program's allocations into a trace or a profile",
                            "[OPTIONS] -- PROGRAM [ARGUMENTS...]", record_footer});
  const auto with = std::make_shared<record_options>();
  record.output(with->output, "The trace (default: run.atrace) or profile (run.aprof)");
  const option stacks =
      record.flag_with_value("--stacks", "DEPTH", 16, with->stack_depth,
                             "The calls that led to each block, at most DEPTH (16)");
  record
      .flag_with_value("--profile", "SECONDS", 60, with->profile_seconds,
                       "No trace, but what ashlar profile makes of one; written every SECONDS (60)")
      .within(1, 1'000'000)
      .excludes(stacks);
  record.value("--on", "LIBRARY", with->on,
               "Preload this allocator behind the recorder: ashlar, or a library");
  record.takes_program();
  record.does_as_program([&record, with] {
    with->command = record.program();
    return record_command(*with);
  });
}

}  // namespace ashlar::cli
