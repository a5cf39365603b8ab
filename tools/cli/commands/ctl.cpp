// tools/cli/commands/ctl.cpp: `ashlar ctl`: one request to a process that runs, or the list of all.
// Layer: cli.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <ashlar/core/control_protocol.hpp>

#include "tools/agent/metrics_text.hpp"
#include "tools/cli/commands/commands.hpp"
#include "tools/cli/commands/inspect.hpp"
#include "tools/cli/error.hpp"
#include "tools/cli/pool_report.hpp"
#include "tools/cli/process_table.hpp"
#include "tools/cli/text.hpp"
#include "tools/control/process_socket.hpp"
#include "tools/control/request.hpp"
#include "tools/files/json.hpp"
#include "tools/measure/allocator_list.hpp"

namespace ashlar::cli {
namespace {

struct process_list {
  std::string order = "live";  // the column by which it is sorted
  bool once = false;
  bool operator==(const process_list&) const = default;
};

struct ctl_options {
  std::string subject;  // the number of a process, or the path of a socket
  std::string request;
  std::vector<std::string> words;
  std::vector<std::string> labels;
  std::string json_path;
  bool full_report = false;
  process_list list;
};

constexpr const char* ctl_footer =
    R"(Without a PROCESS it lists the processes of this user that have a control socket in the usual folder. The
list is drawn anew each second; q or Ctrl-C ends it. Where standard output is no terminal, it is printed
once. Live bytes, resident bytes and the peak are exact, but for blocks in threads' caches, which count as
live. The two rates are lower bounds: the heap counts blocks where they leave it for a thread's cache. With
ASHLAR_STATS=exact in the process they are exact.

PROCESS is the number of a process, or the path of its socket. The process runs on
libashlar-malloc.so, or is linked with libashlar, and has a control socket: it was started with
ASHLAR_CONTROL=1, or calls ashlar_control.

Requests:
  stats              what its heap has, as a table
  trim               give every free page back to the system
  limit [N|P%|0]     what the heap may hold: 512M, 90% of the control group's limit, 0: all there is;
                     without a word what it is now
  budget NAME [N|P%|0]  the same of a heap that the program has named
  tag NAME[=N]       a line on its standard error where more than N bytes live under the tag, 0: none;
                     without =N what lives under it, by samples, and its limit
  sample N|off       sample one of every N bytes (512K, say) with its call stack, or none any more
  profile FILE       write the samples to FILE, for go tool pprof
  record start FILE  write its allocations into a trace, from now on
  record stop        end that
  leaks              what no pointer leads to; the process stands still while its memory is copied
  metrics            what its heap has, in Prometheus's text format

Examples:
  ashlar ctl
  ashlar ctl --once --json | jq '.processes[0]'
  ashlar ctl $(pidof server) stats
  ashlar ctl 4711 sample 512K; sleep 60; ashlar ctl 4711 profile heap.pb
  ashlar ctl --label service=web 4711 metrics > ashlar.prom

Exit status: 0; 1 where the process does not answer, or cannot do it; 2 a wrong command line.)";

// A profile of many call stacks, or the recorder's start, takes its time.
constexpr std::chrono::seconds answer_time(15);

[[noreturn]] void fail_usage(const std::string& why) { throw command_error(status_usage, why); }

control::process_socket socket_named(const std::string& subject) {
  if (subject.find('/') != std::string::npos) return {0, subject};
  return control::socket_of(process_number_of(subject));
}

std::string ask_process(const ctl_options& options, const std::string& request) {
  return control::ask(socket_named(options.subject), request, answer_time);
}

const std::string& only_word(const ctl_options& options, const char* usage) {
  if (options.words.size() != 1) fail_usage(fmt::format("expected: ashlar ctl PROCESS {}", usage));
  return options.words.front();
}
void expect_no_words(const ctl_options& options) {
  if (!options.words.empty())
    fail_usage(fmt::format("'{}' takes no further word: '{}'", options.request,
                           printable(options.words.front())));
}

// The process has a working folder of its own.
std::string whole_path(const std::string& path) {
  const std::string whole = std::filesystem::absolute(path).string();
  if (whole.find_first_of("\n\t") != std::string::npos)
    fail_usage(fmt::format("'{}': a path with a line's end or a tab cannot be asked for",
                           printable(path)));
  return whole;
}

int stats_request(const ctl_options& options) {
  expect_no_words(options);
  const std::string text = ask_process(options, "stats");
  const pool_statistics statistics = parse_pool_statistics(text, "the answer of the process");
  print_report(
      options.json_path, [&] { return files::json_text(statistics.document, 2); },
      [&] {
        return fmt::format(
            "{}, process {}\n\n{}", printable(statistics.command), statistics.pid,
            render_pool_report(statistics,
                               options.full_report ? report_detail::full : report_detail::summary,
                               reader_glyphs(), report_moment::now));
      });
  return 0;
}

int trim_request(const ctl_options& options) {
  expect_no_words(options);
  const std::string text = ask_process(options, "trim");
  std::uint64_t bytes = 0;
  try {
    bytes = files::count_at(nlohmann::json::parse(text), "given_back_bytes");
  } catch (const nlohmann::json::exception&) {
    throw command_error(status_failed, "the answer is damaged: it has no given_back_bytes");
  }
  print_report(
      options.json_path, [&] { return text.substr(0, text.find_last_not_of('\n') + 1); },
      [&] { return fmt::format("{} went back to the system\n", format_bytes(bytes)); });
  return 0;
}

/// The limit of the process, or the budget of a heap: what `ask` asks.
int tell_limit(const ctl_options& options, const std::string& ask) {
  const std::string text = ask_process(options, ask);
  std::uint64_t limit = 0, held = 0, refusals = 0;
  try {
    const nlohmann::json answer = nlohmann::json::parse(text);
    limit = files::count_at(answer, "limit_bytes");
    held = files::count_at(answer, "committed_bytes");
    refusals = files::count_at(answer, "limit_refusals");
  } catch (const nlohmann::json::exception&) {
    throw command_error(status_failed, "the answer is damaged: it has no limit_bytes");
  }
  print_report(
      options.json_path, [&] { return text.substr(0, text.find_last_not_of('\n') + 1); },
      [&] {
        return fmt::format("limit {}, {} committed, {} requests refused{}\n",
                           limit == 0 ? "none" : format_bytes(limit), format_bytes(held),
                           format_count(refusals),
                           limit != 0 && held > limit ? ": nothing more until less is held" : "");
      });
  return 0;
}

int limit_request(const ctl_options& options) {
  const std::vector<std::string>& words = options.words;
  if (options.request == "limit") {
    if (words.size() > 1) fail_usage("expected: ashlar ctl PROCESS limit [BYTES|PERCENT%|0]");
    return tell_limit(options, words.empty() ? "limit" : "limit " + words.front());
  }
  if (words.empty() || words.size() > 2)
    fail_usage("expected: ashlar ctl PROCESS budget NAME [BYTES|PERCENT%|0]");
  return tell_limit(options, "budget " + (words.size() == 2 ? words[1] + '\t' : "") + words[0]);
}

int sample_request(const ctl_options& options) {
  const std::string& word = only_word(options, "sample N, or sample off");
  const auto every = word == "off" ? 0 : parse_bytes(word);
  if (!every)
    fail_usage(fmt::format("'{}' is no number of bytes (512K, say), nor off", printable(word)));
  ask_process(options, fmt::format("sample {}", *every));
  return 0;
}

int tag_request(const ctl_options& options) {
  const std::string& word = only_word(options, "tag NAME, or tag NAME=BYTES");
  if (word.find('=') != std::string::npos) {
    ask_process(options, "tag " + word);
    return 0;
  }
  const pool_statistics now =
      parse_pool_statistics(ask_process(options, "stats"), "the answer of the process");
  const auto tag = std::ranges::find(now.tags, word, &decltype(now.tags)::value_type::first);
  if (tag == now.tags.end())
    throw command_error(status_failed,
                        fmt::format("{}: no block was sampled under this tag, and it has no limit",
                                    printable(word)));
  print_report(
      options.json_path,
      [&] {
        const auto place = static_cast<std::size_t>(tag - now.tags.begin());
        return files::json_text(now.document.at("tags").at(place));
      },
      [&] { return render_tag(tag->second); });
  return 0;
}

int profile_request(const ctl_options& options) {
  ask_process(options, "profile " + whole_path(only_word(options, "profile FILE")));
  return 0;
}

int record_request(const ctl_options& options) {
  const std::size_t count = options.words.size();
  const std::string library = whole_path(measure::find_record_library());
  if (count == 2 && options.words[0] == "start")
    ask_process(options,
                fmt::format("record start {}{}{}", library, control_protocol::between_paths,
                            whole_path(options.words[1])));
  else if (count == 1 && options.words[0] == "stop")
    ask_process(options, "record stop " + library);
  else
    fail_usage("expected: ashlar ctl PROCESS record start FILE, or record stop");
  return 0;
}

int leaks_request(const ctl_options& options) {
  expect_no_words(options);
  const control::process_socket socket = socket_named(options.subject);
  if (socket.pid == 0) fail_usage("leaks needs the number of the process, and not its socket");
  // The process lets this command look, where the system would ask for root.
  control::ask(socket, "leaks", answer_time);
  return tell_unreachable(socket.pid, options.json_path);
}

// Returns: {name="value"} as text that stands in a metric's braces.
std::string label_text(const std::string& label) {
  const std::size_t equals = label.find('=');
  constexpr std::string_view letters =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
  const std::string name = label.substr(0, equals);
  if (equals == std::string::npos || name.empty() || (name[0] >= '0' && name[0] <= '9') ||
      name.find_first_not_of(letters) != std::string::npos)
    fail_usage(
        fmt::format("--label: '{}' is no NAME=VALUE, such as service=web", printable(label)));
  return fmt::format("{}=\"{}\"", name, agent::escaped_label(label.substr(equals + 1)));
}

// Returns: the metrics, each with these labels before its own.
std::string with_labels(const std::string& metrics, const std::vector<std::string>& labels) {
  std::string all;
  for (const std::string& each : labels) all += label_text(each) + ",";
  if (all.empty()) return metrics;
  std::string text;
  std::istringstream lines(metrics);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with('#')) {
      const std::size_t name_end = line.find_first_of("{ ");
      if (line[name_end] == '{')
        line.insert(name_end + 1, all);
      else
        line.insert(name_end, "{" + all.substr(0, all.size() - 1) + "}");
    }
    text += line + "\n";
  }
  return text;
}

int metrics_request(const ctl_options& options) {
  expect_no_words(options);
  static_cast<void>(with_labels("", options.labels));  // a wrong one is told first
  fmt::print("{}", with_labels(ask_process(options, "metrics"), options.labels));
  return 0;
}

// ---- the list of the user's processes, again and again ----

using std::chrono::milliseconds;

constexpr milliseconds period(1000);
/// A process that has not answered by then is counted as silent this time.
constexpr milliseconds look_time(500);

// What all processes have at one moment.
struct moment {
  std::chrono::steady_clock::time_point time;
  std::map<pid_t, pool_statistics> processes;
  std::size_t silent = 0;
};

moment look() {
  moment now;
  const std::vector<control::process_socket> sockets = control::sockets_of_user();
  const std::vector<control::answer> answers =
      control::ask_all(sockets, "stats", {.each = look_time, .all = look_time});
  now.time = std::chrono::steady_clock::now();
  for (std::size_t i = 0; i < sockets.size(); ++i) {
    if (answers[i].how == control::outcome::silent) ++now.silent;
    if (answers[i].how != control::outcome::done) continue;
    try {
      pool_statistics statistics = parse_pool_statistics(answers[i].text, sockets[i].name());
      const pid_t pid = answers[i].from > 0 ? answers[i].from : sockets[i].pid;
      now.processes.emplace(pid, std::move(statistics));
    } catch (const command_error&) {  // of another release
      ++now.silent;
    }
  }
  return now;
}

std::vector<process_row> rows_between(const moment& before, const moment& now,
                                      std::string_view column) {
  const double seconds = std::chrono::duration<double>(now.time - before.time).count();
  std::vector<process_row> rows;
  for (const auto& [pid, statistics] : now.processes) {
    const auto earlier = before.processes.find(pid);
    const bool is_known = earlier != before.processes.end();
    rows.push_back(
        row_between(is_known ? earlier->second : statistics, statistics, is_known ? seconds : 0));
  }
  sort_rows(rows, column);
  return rows;
}

int print_once(const process_list& options, const std::string& json_path) {
  const moment before = look();
  if (!before.processes.empty()) std::this_thread::sleep_for(period);
  const moment now = look();
  const std::vector<process_row> rows = rows_between(before, now, options.order);
  constexpr std::size_t no_limit = 1'000'000;
  print_report(
      json_path, [&] { return files::json_text(rows_json(rows, now.silent), 2); },
      [&] { return render_rows(rows, now.silent, no_limit, no_limit, reader_glyphs()); });
  return 0;
}

int show_on_screen(const process_list& options) {
  const screen shown;
  moment before = look();
  for (;;) {
    moment now = look();
    const screen::size size = screen::now();
    const std::vector<process_row> rows = rows_between(before, now, options.order);
    screen::show(render_rows(rows, now.silent, size.columns, size.lines - 1, reader_glyphs()));
    before = std::move(now);
    if (!shown.rest(period)) return 0;
  }
}

int list_processes(const process_list& options, const std::string& json_path) {
  return options.once || !json_path.empty() || !screen::is_possible()
             ? print_once(options, json_path)
             : show_on_screen(options);
}

// ---- the command ----

int request(const ctl_options& options) {
  if (options.request.empty())
    fail_usage(fmt::format("REQUEST is required: ashlar ctl {} stats", printable(options.subject)));
  if (options.list != process_list{}) fail_usage("--once and --sort are for the list of processes");
  if (!options.labels.empty() && options.request != "metrics")
    fail_usage("--label is for metrics alone");
  if (options.request == "stats") return stats_request(options);
  if (options.request == "trim") return trim_request(options);
  if (options.request == "limit" || options.request == "budget") return limit_request(options);
  if (options.request == "sample") return sample_request(options);
  if (options.request == "tag") return tag_request(options);
  if (options.request == "profile") return profile_request(options);
  if (options.request == "record") return record_request(options);
  if (options.request == "leaks") return leaks_request(options);
  return metrics_request(options);
}

}  // namespace

void add_ctl(command_parser& to) {
  command& ctl =
      to.add({"ctl", "List running processes; ask one for statistics, samples, a recording",
              "[OPTIONS] [PROCESS REQUEST [WORDS...]]", ctl_footer});
  const auto with = std::make_shared<ctl_options>();
  ctl.further_argument("PROCESS", with->subject, "The number of the process, or its socket", false);
  ctl.further_argument("stats|trim|limit|budget|tag|sample|profile|record|leaks|metrics",
                       with->request, "The request", false);
  ctl.further_arguments("WORDS", with->words, "Its arguments", false);
  ctl.json(with->json_path,
           "The list, stats, trim, limit, budget, leaks: as JSON, on standard output or into FILE");
  ctl.flag("--once", with->list.once, "Print one list, of the second that follows, and end");
  ctl.value("--sort", "live|resident|growth|rate|peak", with->list.order,
            "The list by which column, the largest first (default live)");
  ctl.flag("--stats", with->full_report,
           "stats: every block size that was used, with every column");
  ctl.value("--label", "NAME=VALUE", with->labels,
            "metrics: put this label on each of them; may be repeated");
  ctl.does([with] {
    return with->subject.empty() ? list_processes(with->list, with->json_path) : request(*with);
  });
}

}  // namespace ashlar::cli
