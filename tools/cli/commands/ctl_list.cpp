// tools/cli/commands/ctl_list.cpp: `ashlar ctl` without a process: what the heaps of running ones have,
// again and again. Layer: cli.
#include "tools/cli/commands/ctl_list.hpp"

#include <chrono>
#include <cstddef>
#include <map>
#include <nlohmann/json.hpp>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "tools/cli/commands/commands.hpp"
#include "tools/cli/error.hpp"
#include "tools/cli/process_table.hpp"
#include "tools/cli/screen.hpp"
#include "tools/cli/text.hpp"
#include "tools/control/process_socket.hpp"
#include "tools/control/request.hpp"
#include "tools/files/json.hpp"

namespace ashlar::cli {
namespace {

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
      now.processes.emplace(sockets[i].pid,
                            parse_pool_statistics(answers[i].text, sockets[i].name()));
    } catch (const command_error&) {  // of another release
      ++now.silent;
    }
  }
  return now;
}

std::vector<process_row> rows_between(const moment& before, const moment& now, row_order order) {
  const double seconds = std::chrono::duration<double>(now.time - before.time).count();
  std::vector<process_row> rows;
  for (const auto& [pid, statistics] : now.processes) {
    const auto earlier = before.processes.find(pid);
    const bool is_known = earlier != before.processes.end();
    rows.push_back(
        row_between(is_known ? earlier->second : statistics, statistics, is_known ? seconds : 0));
  }
  sort_rows(rows, order);
  return rows;
}

row_order order_of(std::string_view word) {
  if (word == "resident") return row_order::resident;
  if (word == "growth") return row_order::growth;
  if (word == "rate") return row_order::rate;
  if (word == "peak") return row_order::peak;
  return row_order::live;
}

int print_once(const process_list& options, const std::string& json_path) {
  const moment before = look();
  if (!before.processes.empty()) std::this_thread::sleep_for(period);
  const moment now = look();
  const std::vector<process_row> rows = rows_between(before, now, order_of(options.order));
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
    const std::vector<process_row> rows = rows_between(before, now, order_of(options.order));
    screen::show(render_rows(rows, now.silent, size.columns, size.lines - 1, reader_glyphs()));
    before = std::move(now);
    if (!shown.rest(period)) return 0;
  }
}

}  // namespace

int list_processes(const process_list& options, const std::string& json_path) {
  return options.once || !json_path.empty() || !screen::is_possible()
             ? print_once(options, json_path)
             : show_on_screen(options);
}

}  // namespace ashlar::cli
