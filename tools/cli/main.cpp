// tools/cli/main.cpp: the ashlar command: its options, its help, its exit status. Layer: cli.
#include <CLI/CLI.hpp>
#include <clocale>
#include <cstdio>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "tools/cli/check_command.hpp"
#include "tools/cli/child_process.hpp"
#include "tools/cli/command_line.hpp"
#include "tools/cli/compare_command.hpp"
#include "tools/cli/dump_command.hpp"
#include "tools/cli/error.hpp"
#include "tools/cli/profile_command.hpp"
#include "tools/cli/record_command.hpp"
#include "tools/cli/replay_command.hpp"
#include "tools/cli/report_command.hpp"
#include "tools/cli/run_command.hpp"
#include "tools/cli/stat_command.hpp"
#include "tools/cli/tune_command.hpp"
#include "tools/cli/verify_command.hpp"
#include "tools/trace/error.hpp"

namespace ashlar::cli {
namespace {

constexpr const char* main_footer =
    "Examples:\n"
    "  ashlar run -- python3 work.py          run it on ashlar's heap, then report its pools\n"
    "  ashlar compare -n 9 -- ./server --once time and memory beside the system's allocator\n"
    "  ashlar COMMAND --help                  the options of one command\n"
    "\n"
    "Exit status: run passes the program's own on; 2 a wrong command line, 126 and 127 a program\n"
    "that cannot be executed or found, 1 anything else that went wrong.";

constexpr const char* run_footer =
    "The program's standard streams are its own; the report goes to standard error. The exit "
    "status\n"
    "is the program's; where a signal killed it, ashlar dies by that signal too.\n"
    "\n"
    "Examples:\n"
    "  ashlar run -- python3 -c 'print(sum(range(10**6)))'\n"
    "  ashlar run --exact --stats -- ./parser big.json\n"
    "  ashlar run --json pools.json -- make -j2 2> report.txt\n"
    "\n"
    "Environment: ASHLAR_MALLOC_LIB is the path of the library to preload (default: the one of "
    "this\n"
    "build or installation). ASHLAR_PURGE_DELAY_MS and ASHLAR_KEEP_BYTES are passed on to it.";

constexpr const char* record_footer =
    "The program's standard streams are its own; what was written is said on standard error. The "
    "exit status is\n"
    "the program's; where a signal killed it, ashlar dies by that signal too, and the trace is "
    "there. Each\n"
    "process that the program forks has a trace of its own: run.PID.atrace.\n"
    "\n"
    "Examples:\n"
    "  ashlar record -- python3 work.py\n"
    "  ashlar record -o parser.atrace --stacks -- ./parser big.json\n"
    "  ashlar record --on ashlar -- ./server --once";

constexpr const char* report_footer =
    "The page needs nothing beside it: it loads no file, and asks no network.\n"
    "\n"
    "Examples:\n"
    "  ashlar report run.atrace -o run.html\n"
    "  ashlar report run.atrace --pools pools.json --compare compare.json\n"
    "  ashlar report run.atrace --json | jq .peak";
constexpr const char* stat_footer =
    "Examples:\n"
    "  ashlar stat run.atrace\n"
    "  ashlar stat --json run.atrace > figures.json\n"
    "\n"
    "Exit status: 0; 2 for a file that is no trace, is damaged, or is of a newer version.";

constexpr const char* dump_footer =
    "Examples:\n"
    "  ashlar dump run.atrace > run.txt\n"
    "  ashlar dump --from-text run.txt -o run.atrace\n"
    "  zstdcat heaptrack.raw.zst | ashlar dump --from-heaptrack - -o run.atrace\n"
    "\n"
    "Exit status: 0; 2 for a file that cannot be read as what it should be.";

constexpr const char* compare_footer =
    "Each round runs the program once on every allocator, in an order shuffled anew. Its standard\n"
    "input is empty; its output is dropped, but shown where a run fails. A run fails when it ends "
    "in\n"
    "another way than the first run on the first allocator. Ctrl-C ends the measuring and prints\n"
    "what there is; a second one kills a program that goes on.\n"
    "\n"
    "Examples:\n"
    "  ashlar compare -- ./parser big.json\n"
    "  ashlar compare -n 15 --only system,ashlar --json out.json -- python3 work.py\n"
    "  ashlar compare --with mine=./libmine.so -- sh -c './filter < input.txt'\n"
    "  ashlar compare --list\n"
    "\n"
    "Exit status: 0; 1 when a run failed; 128 + N when signal N ended the measuring.";

constexpr const char* summary_footer =
    "Example:\n"
    "  ashlar compare --label parser --json parser.json -- ./parser big.json\n"
    "  ashlar compare --label server --json server.json -- ./server --once\n"
    "  ashlar summary parser.json server.json";

constexpr const char* profile_footer =
    "A profile has what tune needs of runs, in some ten kilobytes; each trace is a run.\n"
    "\n"
    "Example:\n"
    "  ashlar profile monday.atrace tuesday.atrace -o week.aprof\n"
    "\n"
    "Exit status: 0; 2 where a trace cannot be read or the profile not written.";

constexpr const char* merge_footer =
    "In any order and any grouping the result is the same, to the byte.\n"
    "\n"
    "Examples:\n"
    "  ashlar merge monday.aprof tuesday.aprof -o week.aprof\n"
    "  find runs -name '*.aprof' | ashlar merge - -o all.aprof\n"
    "\n"
    "Exit status: 0; 2 where a profile cannot be read or the result not written.";

constexpr const char* tune_footer =
    "The classes are printed; with -o they are written as a C++ header, and beside it, as .json,\n"
    "their certificate: what is claimed of them, for ashlar verify and ashlar check. Files are\n"
    "written whole or not at all. With --mode heap: the size classes of the process heap, for\n"
    "ASHLAR_CONFIG=FILE with the drop-in library, or as a header to build the library with.\n"
    "\n"
    "Examples:\n"
    "  ashlar tune run.atrace\n"
    "  ashlar tune --mode heap -o program.classes run.atrace\n"
    "  ashlar tune --classes 6 --margin 10 -o pools.hpp monday.atrace tuesday.atrace\n"
    "  ashlar tune --budget 256KiB --largest 4096 --rules run.atrace\n"
    "  ashlar tune -o pools.hpp fleet.aprof\n"
    "\n"
    "Exit status: 0; 2 where it is impossible, a trace cannot be read or a file not written.";

constexpr const char* verify_footer =
    "Works everything out again from the traces, by code of its own, and replays them on pools of\n"
    "these sizes.\n"
    "\n"
    "Examples:\n"
    "  ashlar verify pools.json\n"
    "  ashlar verify pools.json moved/run.atrace\n"
    "\n"
    "Exit status: 0 it is true; 1 it is refused; 2 something cannot be read.";

constexpr const char* check_footer =
    "For continuous integration: record a test run, and find out when it comes near the pools.\n"
    "\n"
    "Example:\n"
    "  ashlar check --against pools.json --percent 90 run.atrace\n"
    "\n"
    "Exit status: 0 it fits; 1 a class passes that part of its capacity, or a request fits no\n"
    "class; 2 something cannot be read.";

constexpr const char* replay_footer =
    "The events of a trace again, on each of the allocators named, in rounds: time and memory, "
    "then\n"
    "latencies, then slack. What is written into a block is checked when it dies. On pools (the\n"
    ".json of ashlar tune) the threads' events are one sequence, in the trace's order.\n"
    "\n"
    "Examples:\n"
    "  ashlar replay run.atrace\n"
    "  ashlar replay run.atrace --on all -n 5 --json replay.json\n"
    "  ashlar replay run.atrace --on system,mimalloc,./libmine.so --touch all\n"
    "  ashlar replay run.atrace --on pools.json\n"
    "\n"
    "Exit status: 0; 1 where a request got no block, a block was not as written, or an allocator\n"
    "broke the worker; 2 the trace or an allocator cannot be read; 128 + N ended by signal N.";

// The library's own usage line would name a program's words SUBCOMMAND and leave "--" out.
class help_text : public CLI::Formatter {
 public:
  std::string make_usage(const CLI::App* app, std::string /*name*/) const override {
    const std::string& name = app->get_name();
    if (name == "run") return "Usage: ashlar run [OPTIONS] -- PROGRAM [ARGUMENTS...]\n";
    if (name == "record") return "Usage: ashlar record [OPTIONS] -- PROGRAM [ARGUMENTS...]\n";
    if (name == "report") return "Usage: ashlar report [OPTIONS] TRACE\n";
    if (name == "stat") return "Usage: ashlar stat [OPTIONS] TRACE\n";
    if (name == "dump") return "Usage: ashlar dump [OPTIONS] FILE\n";
    if (name == "compare") return "Usage: ashlar compare [OPTIONS] -- PROGRAM [ARGUMENTS...]\n";
    if (name == "summary") return "Usage: ashlar summary FILE...\n";
    if (name == "profile") return "Usage: ashlar profile -o PROFILE TRACE...\n";
    if (name == "merge") return "Usage: ashlar merge -o PROFILE PROFILE...\n";
    if (name == "tune") return "Usage: ashlar tune [OPTIONS] TRACE...\n";
    if (name == "replay") return "Usage: ashlar replay [OPTIONS] TRACE\n";
    if (name == "verify") return "Usage: ashlar verify CERTIFICATE [TRACE...]\n";
    if (name == "check") return "Usage: ashlar check --against POOLS.json [OPTIONS] TRACE...\n";
    return "Usage: ashlar COMMAND [OPTIONS] ...\n";
  }
};

struct parsed {
  CLI::App app{"Fixed-block memory management: run programs on ashlar's heap and measure them.",
               "ashlar"};
  CLI::App* run = nullptr;
  CLI::App* record = nullptr;
  CLI::App* report = nullptr;
  CLI::App* stat = nullptr;
  CLI::App* dump = nullptr;
  CLI::App* compare = nullptr;
  CLI::App* summary = nullptr;
  CLI::App* profile = nullptr;
  CLI::App* merge = nullptr;
  CLI::App* tune = nullptr;
  CLI::App* replay = nullptr;
  CLI::App* verify = nullptr;
  CLI::App* check = nullptr;
  run_options run_with;
  record_options record_with;
  report_options report_with;
  stat_options stat_with;
  dump_options dump_with;
  compare_options compare_with;
  bool list_only = false;
  std::uint64_t seed = 0;
  CLI::Option* seed_option = nullptr;
  std::vector<std::string> summary_paths;
  profile_options profile_with;
  merge_options merge_with;
  tune_options tune_with;
  replay_options replay_with;
  std::string certificate_path;
  std::vector<std::string> certified_traces;
  check_options check_with;
};

void describe_profile_and_merge(parsed& line) {
  line.profile = line.app.add_subcommand("profile", "What tune needs of traces, in a small file");
  line.profile->group("Commands");
  line.profile->footer(profile_footer);
  line.profile->add_option("TRACE", line.profile_with.traces, "What ashlar record wrote")
      ->required();
  line.profile->add_option("-o,--output", line.profile_with.output, "The profile")
      ->type_name("FILE")
      ->required();
  line.merge = line.app.add_subcommand("merge", "One profile of several");
  line.merge->group("Commands");
  line.merge->footer(merge_footer);
  line.merge
      ->add_option("PROFILE", line.merge_with.profiles,
                   "What ashlar profile or merge wrote (-: their names, from standard input)")
      ->required();
  line.merge->add_option("-o,--output", line.merge_with.output, "The profile of all")
      ->type_name("FILE")
      ->required();
}

void describe_tune(parsed& line) {
  CLI::App& tune = *(line.tune = line.app.add_subcommand(
                         "tune", "Choose pools from traces or profiles: fewest bytes"));
  tune_options& with = line.tune_with;
  const CLI::AsSizeValue bytes(false);
  tune.group("Commands");
  tune.footer(tune_footer);
  tune.add_option("TRACE", with.inputs, "What ashlar record or ashlar profile wrote")->required();
  tune.add_option("--classes", with.classes, "At most K classes, or auto: the knee of the curve")
      ->type_name("K");
  tune.add_option(
          "--mode", with.mode,
          "static: pools of fixed sizes and capacities; heap: the process heap's size classes")
      ->type_name("MODE");
  tune.add_option("--weigh", with.weigh,
                  "heap: least slack at the peak, over time, or both (default)")
      ->type_name("WHAT");
  tune.add_option("--margin", with.margin_percent, "Blocks more than the peak (default 0)")
      ->type_name("PERCENT");
  tune.add_option("--budget", with.budget_bytes, "No more bytes than this, 64KiB say")
      ->type_name("BYTES")
      ->transform(bytes);
  tune.add_option("--align", with.alignment, "Of every block at least (default 16)")
      ->type_name("BYTES")
      ->transform(bytes);
  tune.add_option("--largest", with.largest, "Leave larger requests out")
      ->type_name("BYTES")
      ->transform(bytes);
  tune.add_option("--resolution", with.resolution,
                  "exact sizes, or profile: what profiles tell apart (default where there is one)")
      ->type_name("WHICH");
  tune.add_flag("--borrow", with.borrow, "An exhausted class may take from the next");
  tune.add_flag("--rules", with.rules, "Print what other rules would come to");
  tune.add_option(
          "-o,--output", with.header_path,
          "The C++ header; with --mode heap and another name than *.hpp, what ASHLAR_CONFIG names")
      ->type_name("FILE");
  tune.add_option("--certificate", with.certificate_path,
                  "The JSON (default: beside the header, if there is one)")
      ->type_name("FILE");
  tune.add_option("--namespace", with.space, "Of the header (default tuned)")->type_name("NAME");
}

void describe_replay(parsed& line) {
  CLI::App& replay =
      *(line.replay = line.app.add_subcommand("replay", "A trace again, on allocators or pools"));
  replay_options& with = line.replay_with;
  replay.group("Commands");
  replay.footer(replay_footer);
  replay.add_option("TRACE", with.trace, "What ashlar record wrote")->required();
  replay
      .add_option("--on", with.on,
                  "all, system, ashlar, an installed allocator, a library, NAME=LIBRARY, or the "
                  ".json of ashlar tune (default ashlar)")
      ->type_name("WHAT")
      ->delimiter(',')
      ->allow_extra_args(false);
  replay.add_option("-n,--runs", with.rounds, "For the time, on each (default 3)")
      ->type_name("RUNS")
      ->check(CLI::Range(1, 100000).description(""));
  replay
      .add_option("--touch", with.touch,
                  "What is written into a block and checked: its ends (default), or all of it")
      ->type_name("WHICH");
  replay.add_option("--seed", with.seed, "Of the order (default: a random one)")->type_name("N");
  replay.add_option("--json", with.json_path, "Write all of it as JSON to FILE, too")
      ->type_name("FILE");
}

void describe_verify_and_check(parsed& line) {
  line.verify = line.app.add_subcommand("verify", "Is what ashlar tune claims true?");
  line.verify->group("Commands");
  line.verify->footer(verify_footer);
  line.verify->add_option("CERTIFICATE", line.certificate_path, "The JSON that tune wrote")
      ->required();
  line.verify->add_option("TRACE", line.certified_traces,
                          "The traces and profiles in the same order, where they were moved");
  line.check = line.app.add_subcommand("check", "Do pools still serve a new trace?");
  line.check->group("Commands");
  line.check->footer(check_footer);
  line.check->add_option("TRACE", line.check_with.inputs, "What ashlar record or profile wrote")
      ->required();
  line.check->add_option("--against", line.check_with.against, "The JSON that tune wrote")
      ->type_name("FILE")
      ->required();
  line.check
      ->add_option("--percent", line.check_with.percent,
                   "Of a capacity that may be used (default 100)")
      ->type_name("N")
      ->check(CLI::Range(1, 100000).description(""));
}

void describe_record(parsed& line) {
  CLI::App& record = *(line.record = line.app.add_subcommand(
                           "record", "Write a program's allocations into a trace"));
  record.prefix_command();
  record.group("Commands");
  record.footer(record_footer);
  record.add_option("-o,--output", line.record_with.output, "The trace (default: run.atrace)")
      ->type_name("FILE");
  record
      .add_flag("--stacks{16}", line.record_with.stack_depth,
                "The calls that led to each block, at most DEPTH (16)")
      ->type_name("DEPTH");
  record
      .add_option("--on", line.record_with.on,
                  "Preload this allocator behind the recorder: ashlar, or a library")
      ->type_name("LIBRARY");
}

void describe_report(parsed& line) {
  CLI::App& report = *(line.report = line.app.add_subcommand(
                           "report", "One page about a trace: charts, tables, call sites"));
  report.group("Commands");
  report.footer(report_footer);
  report.add_option("TRACE", line.report_with.trace, "What ashlar record wrote")->required();
  report.add_option("-o,--output", line.report_with.output, "The page (default: report.html)")
      ->type_name("FILE");
  report.add_option("--pools", line.report_with.pools, "The classes that ashlar tune chose (JSON)")
      ->type_name("FILE");
  report
      .add_option("--compare", line.report_with.compare,
                  "Several allocators, by ashlar compare --json")
      ->type_name("FILE");
  report
      .add_option("--replay", line.report_with.replay,
                  "The trace on several allocators, by ashlar replay --json")
      ->type_name("FILE");
  report.add_flag("--json", line.report_with.json,
                  "Print the page's data; the page itself only with -o");
}

void describe_stat_and_dump(parsed& line) {
  CLI::App& stat =
      *(line.stat = line.app.add_subcommand("stat", "Tell what is in a trace or a profile"));
  stat.group("Commands");
  stat.footer(stat_footer);
  stat.add_option("TRACE", line.stat_with.path, "What record or profile wrote")->required();
  stat.add_flag("--json", line.stat_with.json, "As JSON, with every size and moment");
  stat.add_option("--rows", line.stat_with.rows, "So many sizes and call sites (default 10)")
      ->type_name("N");

  CLI::App& dump =
      *(line.dump = line.app.add_subcommand("dump", "A trace as text, or text as a trace"));
  dump.group("Commands");
  dump.footer(dump_footer);
  dump.add_option("FILE", line.dump_with.input,
                  "The trace; with --from-..., what is to become one (-: standard input)")
      ->required();
  dump.add_option("-o,--output", line.dump_with.output, "Write to FILE (default: standard output)")
      ->type_name("FILE");
  CLI::Option* const text = dump.add_flag("--from-text", line.dump_with.from_text,
                                          "FILE is what dump wrote: make a trace");
  dump.add_flag("--from-heaptrack", line.dump_with.from_heaptrack,
                "FILE is an unpacked raw recording of heaptrack's")
      ->excludes(text);
}

void describe_commands(parsed& line) {
  CLI::App& app = line.app;
  app.set_version_flag("--version", fmt::format("ashlar {}", ASHLAR_CLI_VERSION),
                       "Print the version and exit");
  app.set_help_flag("-h,--help", "Print this help and exit");
  app.footer(main_footer);
  app.formatter(std::make_shared<help_text>());

  line.run = app.add_subcommand("run", "Run a program on ashlar's heap, then report its pools");
  line.run->prefix_command();
  line.run->group("Commands");
  line.run->footer(run_footer);
  line.run->add_option("--json", line.run_with.json_path, "Write the report as JSON to FILE, too")
      ->type_name("FILE");
  line.run->add_flag("--stats", line.run_with.full_report,
                     "List every class that was used, with every column");
  line.run->add_flag("--exact", line.run_with.exact,
                     "Count every call (slower; sets ASHLAR_STATS=exact)");

  describe_record(line);
  describe_report(line);
  describe_stat_and_dump(line);

  line.compare =
      app.add_subcommand("compare", "Time and memory of a program on several allocators");
  line.compare->prefix_command();
  line.compare->group("Commands");
  line.compare->footer(compare_footer);
  line.compare
      ->add_option("-n,--runs", line.compare_with.rounds,
                   "Measured runs on each allocator (default 5)")
      ->type_name("RUNS")
      ->check(CLI::Range(1, 100000).description(""));
  line.compare
      ->add_option("--warmup", line.compare_with.warmup,
                   "Runs before them that do not count (default 1)")
      ->type_name("K")
      ->check(CLI::Range(0, 100000).description(""));
  line.compare
      ->add_option("--with", line.compare_with.with, "Another allocator to preload (repeatable)")
      ->type_name("NAME=LIBRARY")
      ->allow_extra_args(false);
  line.compare
      ->add_option("--only", line.compare_with.only, "Just these, as in --only system,ashlar")
      ->type_name("NAMES")
      ->delimiter(',')
      ->allow_extra_args(false);
  line.compare->add_option("--label", line.compare_with.label, "The program's name in a summary")
      ->type_name("NAME");
  line.seed_option =
      line.compare->add_option("--seed", line.seed, "Of the order (default: a random one, printed)")
          ->type_name("N");
  line.compare
      ->add_option("--json", line.compare_with.json_path, "Write all samples as JSON to FILE")
      ->type_name("FILE");
  line.compare->add_option("--csv", line.compare_with.csv_path, "Write all samples as CSV to FILE")
      ->type_name("FILE");
  line.compare->add_flag("--show-output", line.compare_with.show_output,
                         "Do not drop the program's output");
  line.compare->add_flag("--list", line.list_only, "List the allocators found and exit");

  line.summary = app.add_subcommand("summary", "One table of several results of compare --json");
  line.summary->group("Commands");
  line.summary->footer(summary_footer);
  line.summary->add_option("FILE", line.summary_paths, "What compare --json wrote")->required();

  describe_profile_and_merge(line);
  describe_tune(line);
  describe_replay(line);
  describe_verify_and_check(line);
}

// Returns: the exit status, or the wait status to end with where a program ran.
struct command_end {
  int exit_status = 0;
  std::optional<int> wait_status;
};

command_end execute(parsed& line, const split_words& words) {
  if (line.run->parsed()) {
    line.run_with.command = program_words("run", line.run->remaining(), words);
    return {0, run_command(line.run_with)};
  }
  if (line.record->parsed()) {
    line.record_with.command = program_words("record", line.record->remaining(), words);
    return {0, record_command(line.record_with)};
  }
  if (line.report->parsed()) return {report_command(line.report_with), {}};
  if (line.stat->parsed()) return {stat_command(line.stat_with), {}};
  if (line.dump->parsed()) return {dump_command(line.dump_with), {}};
  if (line.compare->parsed()) {
    if (line.list_only) return {list_allocators(line.compare_with.with), {}};
    line.compare_with.command = program_words("compare", line.compare->remaining(), words);
    if (line.seed_option->count() > 0) line.compare_with.seed = line.seed;
    return {compare_command(line.compare_with), {}};
  }
  if (line.summary->parsed()) return {summary_command(line.summary_paths), {}};
  if (line.profile->parsed()) return {profile_command(line.profile_with), {}};
  if (line.merge->parsed()) return {merge_command(line.merge_with), {}};
  if (line.tune->parsed()) return {tune_command(line.tune_with), {}};
  if (line.replay->parsed()) return {replay_command(line.replay_with), {}};
  if (line.verify->parsed())
    return {verify_command(line.certificate_path, line.certified_traces), {}};
  if (line.check->parsed()) return {check_command(line.check_with), {}};
  fmt::print("{}", line.app.help());
  return {status_usage, {}};
}

int usage_failure(const parsed& line, const std::string& message) {
  std::string help = "ashlar --help";
  for (const CLI::App* command : line.app.get_subcommands()) {
    if (command->parsed()) help = fmt::format("ashlar {} --help", command->get_name());
  }
  fmt::print(stderr, "ashlar: {}\n('{}' tells what there is.)\n", message, help);
  return status_usage;
}

// What the parser did not know: where no command was given, the first word that is not an option.
std::string describe_extra(const parsed& line, const split_words& words) {
  const std::vector<std::string> extra = line.app.remaining(true);
  const bool any_command = !line.app.get_subcommands().empty();
  const std::string word = !extra.empty() ? extra.front() : words.own.front();
  if (any_command || word.starts_with('-')) return fmt::format("unknown option '{}'", word);
  std::string names;
  for (const CLI::App* command : line.app.get_subcommands({}))
    names += (names.empty() ? "" : ", ") + command->get_name();
  return fmt::format("unknown command '{}' (there are {})", word, names);
}

command_end parse_and_execute(int argc, char** argv) {
  parsed line;
  describe_commands(line);
  const split_words words =
      split_at_separator(std::vector<std::string>(argv + (argc > 0 ? 1 : 0), argv + argc));
  // CLI11 takes the words in reverse.
  std::vector<std::string> own(words.own.rbegin(), words.own.rend());
  try {
    line.app.parse(std::move(own));
    return execute(line, words);
  } catch (const CLI::Success& wanted) {  // --help, --version
    return {line.app.exit(wanted), {}};
  } catch (const CLI::ExtrasError&) {
    return {usage_failure(line, describe_extra(line, words)), {}};
  } catch (const CLI::ParseError& error) {
    return {usage_failure(line, error.what()), {}};
  } catch (const input_error& error) {
    fmt::print(stderr, "ashlar: {}\n", error.what());
    return {error.exit_status, {}};
  } catch (const command_error& error) {
    if (error.exit_status == status_usage) return {usage_failure(line, error.what()), {}};
    fmt::print(stderr, "ashlar: {}\n", error.what());
    return {error.exit_status, {}};
  } catch (const trace::trace_error& error) {  // bad input, not a wrong command line
    fmt::print(stderr, "ashlar: {}\n", error.what());
    return {status_usage, {}};
  } catch (const std::exception& error) {
    fmt::print(stderr, "ashlar: {}\n", error.what());
    return {status_failed, {}};
  }
}

}  // namespace
}  // namespace ashlar::cli

int main(int argc, char** argv) try {
  std::setlocale(LC_CTYPE, "");
  const ashlar::cli::command_end end = ashlar::cli::parse_and_execute(argc, argv);
  if (end.wait_status) ashlar::cli::end_like(*end.wait_status);
  return end.exit_status;
} catch (const std::exception& error) {  // while an error was being told, as with memory exhausted
  std::fputs(error.what(), stderr);
  std::fputs("\n", stderr);
  return ashlar::cli::status_failed;
}
