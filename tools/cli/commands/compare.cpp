// tools/cli/commands/compare.cpp: `ashlar compare`: one program on several allocators, runs
// interleaved. Layer: cli.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

#include "tools/cli/commands/commands.hpp"
#include "tools/cli/comparison_report.hpp"
#include "tools/cli/error.hpp"
#include "tools/cli/text.hpp"
#include "tools/files/files.hpp"
#include "tools/files/json.hpp"
#include "tools/files/replaced_files.hpp"
#include "tools/measure/allocator_list.hpp"
#include "tools/measure/child_process.hpp"
#include "tools/measure/program_file.hpp"

namespace ashlar::cli {
namespace {

struct compare_options {
  std::vector<std::string> command;
  std::size_t rounds = 5;
  std::size_t warmup = 1;
  std::vector<std::string> with;  // NAME=LIBRARY
  std::vector<std::string> only;  // names; empty: all that are found
  std::optional<std::uint64_t> seed;
  std::string label;   // empty: the program's file name
  std::string output;  // the page; empty: none
  std::string json_path;
  bool show_output = false;
  bool list_only = false;   // list_allocators() instead
  bool summarises = false;  // files instead of a program
};

constexpr const char* compare_footer =
    R"(Each round runs the program once on every allocator, in an order shuffled anew. Its standard
input is empty; its output is dropped, but shown where a run fails. A run fails when it ends in
another way than the first run on the first allocator. Ctrl-C ends the measuring and prints
what there is; a second one kills a program that goes on.

Examples:
  ashlar compare -- ./parser big.json
  ashlar compare -n 15 --only system,ashlar --json=parser.json -- ./parser big.json
  ashlar compare -o parser.html -- ./parser big.json
  ashlar compare --with mine=./libmine.so -- sh -c './filter < input.txt'
  ashlar compare --summary parser.json server.json
  ashlar compare --list

Exit status: 0; 1 when a run failed or a file could not be written in the end; 128 + N when signal N
ended the measuring.)";

// Progress for a person at a terminal: one line that is written over. Otherwise: one line a round.
class progress {
 public:
  progress(std::size_t warmup, std::size_t rounds) : warmup_(warmup), rounds_(rounds) {}
  ~progress() {
    if (!terminal_) return;
    std::fputs("\r\033[K", stderr);
    std::fflush(stderr);
  }
  progress(const progress&) = delete;
  progress& operator=(const progress&) = delete;

  void begin_run(bool warmup, std::size_t round, const std::string& name) const {
    if (!terminal_) return;
    fmt::print(stderr, "\r\033[K{}: {}", title(warmup, round), name);
    std::fflush(stderr);
  }

  void end_round(bool warmup, std::size_t round) const {
    if (terminal_) return;
    fmt::print(stderr, "ashlar compare: {} done after {:.1f} s\n", title(warmup, round), elapsed());
    std::fflush(stderr);
  }

 private:
  [[nodiscard]] std::string title(bool warmup, std::size_t round) const {
    return warmup ? fmt::format("warm-up {} of {}", round, warmup_)
                  : fmt::format("round {} of {}", round, rounds_);
  }
  [[nodiscard]] double elapsed() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

  std::size_t warmup_, rounds_;
  bool terminal_ = ::isatty(STDERR_FILENO) == 1;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

std::vector<measure::allocator> all_allocators(const std::vector<std::string>& with,
                                               bool ashlar_required) {
  std::vector<measure::allocator> list{{"system", ""}};
  try {
    list.push_back({"ashlar", measure::find_ashlar_library()});
  } catch (const command_error& error) {
    if (ashlar_required) throw;
    fmt::print(stderr, "ashlar compare: without ashlar: {}\n", error.what());
  }
  for (measure::allocator& found : measure::installed_allocators())
    list.push_back(std::move(found));
  for (const std::string& text : with) {
    measure::allocator given = measure::parse_allocator("--with", text);
    // A library given by hand replaces one that was found under that name.
    const auto same =
        std::ranges::find_if(list, [&](const auto& a) { return a.name == given.name; });
    if (same == list.end()) {
      list.push_back(std::move(given));
    } else {
      same->library = std::move(given.library);
    }
  }
  return list;
}

std::vector<measure::allocator> chosen_allocators(const compare_options& options) {
  const auto wants = [&](const std::string& name) {
    return options.only.empty() || std::ranges::find(options.only, name) != options.only.end();
  };
  const bool ashlar_required = options.only.empty() || wants("ashlar");
  const bool ashlar_given = std::ranges::any_of(
      options.with, [](const auto& text) { return text.starts_with("ashlar="); });
  std::vector<measure::allocator> list =
      all_allocators(options.with, ashlar_required && !ashlar_given);
  for (const std::string& name : options.only) {
    if (std::ranges::none_of(list, [&](const auto& a) { return a.name == name; })) {
      std::string known;
      for (const measure::allocator& a : list) known += (known.empty() ? "" : ", ") + a.name;
      throw command_error(status_usage, fmt::format("--only {}: not found here (found: {}); --with "
                                                    "{}=LIBRARY names another",
                                                    name, known, name));
    }
  }
  std::erase_if(list, [&](const measure::allocator& a) { return !wants(a.name); });
  return list;
}

// What would make a row of the table a lie is found before anything is measured.
void check_preloading(const std::string& program, const std::vector<measure::allocator>& list,
                      const measure::signal_watch& watch) {
  for (const measure::allocator& each : list) {
    if (each.library.empty()) continue;
    const measure::preload_effect effect = measure::effect_of_preload(program, each.library);
    if (effect != measure::preload_effect::works) {
      throw command_error(status_usage, fmt::format("cannot run '{}' on {}: {}", program, each.name,
                                                    measure::describe(effect)));
    }
    const std::string complaint = measure::preload_complaint(each.library, watch);
    if (!complaint.empty()) {
      throw command_error(status_usage, fmt::format("the loader does not take {} ({}): {}",
                                                    each.name, each.library, complaint));
    }
  }
}

int status_of(const measure::comparison& compared) {
  if (compared.interrupted_by != 0) return 128 + compared.interrupted_by;
  const bool any_failed = std::ranges::any_of(compared.allocators, [&](const auto& samples) {
    return measure::summarise(compared, samples).failed_runs > 0;
  });
  return any_failed ? status_failed : 0;
}

// Effects: prints progress on standard error and the table on standard output. Returns: 0; 1 when a
// run failed; 128 + n when signal n ended it early. Throws: command_error.
int compare_command(const compare_options& options) {
  const std::string program = measure::find_program(options.command.front());
  std::vector<measure::allocator> list = chosen_allocators(options);
  std::vector<std::string> inputs{program};
  for (const measure::allocator& each : list) inputs.push_back(each.library);
  files::replaced_files files(std::move(inputs));
  if (!options.json_path.empty()) files.prepare("--json", options.json_path);
  if (!options.output.empty()) files.prepare("-o", options.output);

  measure::comparison compared;
  compared.ashlar_version = ASHLAR_CLI_VERSION;
  compared.command = options.command;
  compared.label = options.label.empty()
                       ? std::filesystem::path(options.command.front()).filename().string()
                       : options.label;
  compared.seed = options.seed ? *options.seed : std::random_device{}();
  compared.warmup = options.warmup;
  compared.rounds = options.rounds;

  const measure::signal_watch watch;
  check_preloading(program, list, watch);
  for (measure::allocator& each : list) compared.allocators.push_back({std::move(each), {}, {}});

  std::string names;
  for (const measure::allocator_samples& each : compared.allocators) {
    names += (names.empty() ? "" : ", ") + each.which.name;
  }
  fmt::print(stderr, "ashlar compare: {} on {}, {} rounds after {} to warm up, seed {}\n",
             compared.label, names, options.rounds, options.warmup, compared.seed);
  {
    const progress shown(options.warmup, options.rounds);
    const measure::run_request how{
        program, options.show_output,
        [&](bool warmup, std::size_t round, const std::string& name) {
          shown.begin_run(warmup, round, name);
        },
        [&](bool warmup, std::size_t round) { shown.end_round(warmup, round); }};
    measure::run_comparison(compared, how, watch);
  }

  print_beside(files, render_comparison(compared, reader_glyphs()));
  std::vector<std::string> contents;
  if (!options.json_path.empty()) {
    contents.push_back(files::json_text(measure::comparison_json(compared), 1) + "\n");
  }
  if (!options.output.empty()) contents.push_back(comparison_page(compared));
  return files.commit_beside(status_of(compared), contents);
}

// Prints "name<TAB>library" of each allocator that compare would use. Throws: command_error.
int list_allocators(const std::vector<std::string>& with) {
  for (const measure::allocator& each : all_allocators(with, false)) {
    fmt::print("{}\t{}\n", each.name,
               each.library.empty() ? "(what the program uses by itself)" : each.library);
  }
  return 0;
}

// One table of several --json files. Throws: command_error.
int summary_command(std::vector<std::string> paths) {
  if (paths.empty()) throw command_error(status_usage, "--summary: FILE is required");
  std::vector<measure::stored_comparison> programs;
  for (std::string& path : paths) {
    if (path == "-") path = files::standard_input_as_file();
    programs.push_back(measure::parse_comparison(files::read_input(path), path));
  }
  fmt::print("{}", render_summary(programs, reader_glyphs()));
  return 0;
}

}  // namespace

void add_compare(command_parser& to) {
  command& compare =
      to.add({"compare", "Time and memory of a program on several allocators",
              "[OPTIONS] -- PROGRAM [ARGUMENTS...]\n       ashlar compare --summary FILE...",
              compare_footer});
  const auto with = std::make_shared<compare_options>();
  add_rounds(compare, with->rounds, "Measured runs on each allocator (default 5)");
  compare.value("--warmup", "K", with->warmup, "Runs before them that do not count (default 1)")
      .within(0, most_rounds);
  compare.value("--with", "NAME=LIBRARY", with->with, "Another allocator to preload (repeatable)");
  compare.value("--only", "NAMES", with->only, "Just these, as in --only system,ashlar")
      .separated_by_commas();
  compare.value("--label", "NAME", with->label, "The program's name in a summary");
  add_seed(compare, with->seed, "Decides the order of runs (default: a random one, printed)");
  compare.output(with->output, "Write a page with charts to FILE, too");
  compare.json(with->json_path, "All samples as JSON, on standard output or into FILE");
  compare.flag("--show-output", with->show_output, "Do not drop the program's output");
  compare.flag("--list", with->list_only, "List the allocators found and exit");
  compare.flag("--summary", with->summarises, "One table of what --json wrote: FILE...");
  compare.takes_program();
  compare.does([&compare, with] {
    if (with->summarises)
      return summary_command(compare.has_program() ? compare.program()
                                                   : std::vector<std::string>());
    if (with->list_only) return list_allocators(with->with);
    with->command = compare.program();
    return compare_command(*with);
  });
}

}  // namespace ashlar::cli
