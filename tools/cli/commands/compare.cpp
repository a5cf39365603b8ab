// tools/cli/commands/compare.cpp: `ashlar compare`: one program on several allocators, runs
// interleaved. Layer: cli.
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

#include "tools/cli/allocator_list.hpp"
#include "tools/cli/child_process.hpp"
#include "tools/cli/commands/commands.hpp"
#include "tools/cli/comparison.hpp"
#include "tools/cli/error.hpp"
#include "tools/cli/files.hpp"
#include "tools/cli/program_file.hpp"
#include "tools/cli/replaced_files.hpp"
#include "tools/cli/sample_statistics.hpp"
#include "tools/cli/text.hpp"
#include "tools/json/text.hpp"

namespace ashlar::cli {
namespace {

struct compare_options {
  std::vector<std::string> command;
  std::size_t rounds = 5;
  std::size_t warmup = 1;
  std::vector<std::string> with;  // NAME=LIBRARY
  std::vector<std::string> only;  // names; empty: all that are found
  std::optional<std::uint64_t> seed;
  std::string label;  // empty: the program's file name
  std::string json_path;
  std::string csv_path;
  bool show_output = false;
  bool list_only = false;  // list_allocators() instead
};

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

// Progress for a person at a terminal: one line that is written over. Otherwise: one line a round.
class progress {
 public:
  progress(std::size_t warmup, std::size_t rounds) : warmup_(warmup), rounds_(rounds) {}
  ~progress() {
    if (!terminal_) return;
    fmt::print(stderr, "\r\033[K");
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

  std::size_t warmup_;
  std::size_t rounds_;
  bool terminal_ = ::isatty(STDERR_FILENO) == 1;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

std::vector<allocator> all_allocators(const std::vector<std::string>& with, bool ashlar_required) {
  std::vector<allocator> list{{"system", ""}};
  try {
    list.push_back({"ashlar", find_ashlar_library()});
  } catch (const command_error& error) {
    if (ashlar_required) throw;
    fmt::print(stderr, "ashlar compare: without ashlar: {}\n", error.what());
  }
  for (allocator& found : installed_allocators()) list.push_back(std::move(found));
  for (const std::string& text : with) {
    allocator given = parse_allocator("--with", text);
    // A library given by hand replaces one that was found under that name.
    const auto same =
        std::find_if(list.begin(), list.end(), [&](const auto& a) { return a.name == given.name; });
    if (same == list.end()) {
      list.push_back(std::move(given));
    } else {
      same->library = std::move(given.library);
    }
  }
  return list;
}

std::vector<allocator> chosen_allocators(const compare_options& options) {
  const auto wants = [&](const std::string& name) {
    return options.only.empty() ||
           std::find(options.only.begin(), options.only.end(), name) != options.only.end();
  };
  const bool ashlar_required = options.only.empty() || wants("ashlar");
  const bool ashlar_given =
      std::any_of(options.with.begin(), options.with.end(),
                  [](const auto& text) { return text.starts_with("ashlar="); });
  std::vector<allocator> list = all_allocators(options.with, ashlar_required && !ashlar_given);
  for (const std::string& name : options.only) {
    if (std::none_of(list.begin(), list.end(), [&](const auto& a) { return a.name == name; })) {
      std::string known;
      for (const allocator& a : list) known += (known.empty() ? "" : ", ") + a.name;
      throw command_error(status_usage, fmt::format("--only {}: not found here (found: {}); --with "
                                                    "{}=LIBRARY names another",
                                                    name, known, name));
    }
  }
  std::erase_if(list, [&](const allocator& a) { return !wants(a.name); });
  return list;
}

// What would make a row of the table a lie is found before anything is measured.
void check_preloading(const std::string& program, const std::vector<allocator>& list,
                      const signal_watch& watch) {
  for (const allocator& each : list) {
    if (each.library.empty()) continue;
    const preload_effect effect = effect_of_preload(program, each.library);
    if (effect != preload_effect::works) {
      throw command_error(status_usage, fmt::format("cannot run '{}' on {}: {}", program, each.name,
                                                    describe(effect)));
    }
    const std::string complaint = preload_complaint(each.library, watch);
    if (!complaint.empty()) {
      throw command_error(status_usage, fmt::format("the loader does not take {} ({}): {}",
                                                    each.name, each.library, complaint));
    }
  }
}

// The end of a failed run's standard error: enough to see why, not enough to bury the table.
std::string last_lines(const std::string& text) {
  constexpr std::size_t line_count = 3;
  constexpr std::size_t byte_count = 600;
  std::size_t begin = text.size();
  for (std::size_t lines = 0; begin > 0; --begin) {
    if (begin != text.size() && text[begin - 1] == '\n' && ++lines == line_count) break;
  }
  return text.substr(std::max(begin, text.size() > byte_count ? text.size() - byte_count : 0));
}

class measurement {
 public:
  measurement(const compare_options& options, std::string program, comparison& compared)
      : options_(options), program_(std::move(program)), compared_(compared) {}

  void run_all(const signal_watch& watch) {
    std::mt19937_64 generator(compared_.seed);
    const progress shown(options_.warmup, options_.rounds);
    for (const bool warmup : {true, false}) {
      const std::size_t rounds = warmup ? options_.warmup : options_.rounds;
      for (std::size_t round = 1; round <= rounds && compared_.interrupted_by == 0; ++round) {
        run_round(warmup, round, generator, watch, shown);
        if (compared_.interrupted_by == 0) shown.end_round(warmup, round);
      }
    }
  }

 private:
  void run_round(bool warmup, std::size_t round, std::mt19937_64& generator,
                 const signal_watch& watch, const progress& shown) {
    std::vector<std::size_t> order = shuffled_order(compared_.allocators.size(), generator);
    // The very first run is the baseline's: it says how the program is expected to end.
    if (!expectation_known_) std::swap(order.front(), *std::find(order.begin(), order.end(), 0U));
    for (std::size_t position = 0; position < order.size(); ++position) {
      allocator_samples& target = compared_.allocators[order[position]];
      shown.begin_run(warmup, round, target.which.name);
      run_sample sample{warmup, round, position, {}};
      const open_file errors = scratch_.make_unnamed_file();
      sample.outcome = run_once(target.which, errors, watch);
      require_started(sample.outcome, program_);
      compared_.interrupted_by =
          sample.outcome.signal_seen != 0 ? sample.outcome.signal_seen : watch.fetch_pending();
      if (compared_.interrupted_by != 0) return;  // the run that was interrupted is no sample
      if (!expectation_known_) {
        compared_.expected_status = sample.outcome.wait_status;
        expectation_known_ = true;
      }
      if (sample.outcome.wait_status != compared_.expected_status && target.error_output.empty()) {
        target.error_output = last_lines(read_whole(errors));
      }
      target.samples.push_back(sample);
    }
  }

  child_outcome run_once(const allocator& which, const open_file& errors,
                         const signal_watch& watch) const {
    child_request request;
    request.file = program_;
    request.arguments = options_.command;
    request.environment =
        which.library.empty()
            ? environment_with({})
            : environment_with(
                  {{"LD_PRELOAD", preload_value(preloadable_name(which.library, scratch_))}});
    request.stdin_fd = null_.descriptor();
    if (!options_.show_output) {
      request.stdout_fd = null_.descriptor();
      request.stderr_fd = errors.descriptor();
    }
    request.on_signal = interrupted_child::dies_at_second;
    return run_child(request, watch);
  }

  const compare_options& options_;
  std::string program_;
  comparison& compared_;
  scratch_directory scratch_;
  open_file null_ = open_null();
  bool expectation_known_ = false;
};

int status_of(const comparison& compared) {
  if (compared.interrupted_by != 0) return 128 + compared.interrupted_by;
  const bool any_failed = std::any_of(
      compared.allocators.begin(), compared.allocators.end(),
      [&](const auto& samples) { return summarise(compared, samples).failed_runs > 0; });
  return any_failed ? status_failed : 0;
}

// Effects: prints progress on standard error and the table on standard output. Returns: 0; 1 when a
// run failed; 128 + n when signal n ended it early. Throws: command_error.
int compare_command(const compare_options& options) {
  const std::string program = find_program(options.command.front());
  std::vector<allocator> list = chosen_allocators(options);
  std::vector<std::string> inputs{program};
  for (const allocator& each : list) inputs.push_back(each.library);
  replaced_files files(std::move(inputs));
  if (!options.json_path.empty()) files.prepare("--json", options.json_path);
  if (!options.csv_path.empty()) files.prepare("--csv", options.csv_path);

  comparison compared;
  compared.command = options.command;
  compared.label = options.label.empty()
                       ? std::filesystem::path(options.command.front()).filename().string()
                       : options.label;
  compared.seed = options.seed ? *options.seed : std::random_device{}();
  compared.warmup = options.warmup;
  compared.rounds = options.rounds;

  const signal_watch watch;
  check_preloading(program, list, watch);
  for (allocator& each : list) compared.allocators.push_back({std::move(each), {}, {}});

  std::string names;
  for (const allocator_samples& each : compared.allocators) {
    names += (names.empty() ? "" : ", ") + each.which.name;
  }
  fmt::print(stderr, "ashlar compare: {} on {}, {} rounds after {} to warm up, seed {}\n",
             compared.label, names, options.rounds, options.warmup, compared.seed);
  measurement(options, program, compared).run_all(watch);

  fmt::print("{}", render_comparison(compared, reader_glyphs()));
  std::fflush(stdout);
  std::vector<std::string> contents;
  if (!options.json_path.empty()) {
    contents.push_back(json_files::text_of(comparison_json(compared), 1) + "\n");
  }
  if (!options.csv_path.empty()) contents.push_back(comparison_csv(compared));
  return files.commit_beside(status_of(compared), contents);
}

// Prints "name<TAB>library" of each allocator that compare would use. Throws: command_error.
int list_allocators(const std::vector<std::string>& with) {
  for (const allocator& each : all_allocators(with, false)) {
    fmt::print("{}\t{}\n", each.name,
               each.library.empty() ? "(what the program uses by itself)" : each.library);
  }
  return 0;
}

// `ashlar summary`: one table of several --json files of compare. Throws: command_error.
int summary_command(const std::vector<std::string>& paths) {
  std::vector<stored_comparison> programs;
  for (const std::string& path : paths) {
    std::ifstream file(path, std::ios::binary);
    if (!file) {
      throw command_error(status_usage,
                          fmt::format("cannot read '{}': {}", path, std::strerror(errno)));
    }
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    programs.push_back(parse_comparison(text, path));
  }
  fmt::print("{}", render_summary(programs, reader_glyphs()));
  return 0;
}

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
