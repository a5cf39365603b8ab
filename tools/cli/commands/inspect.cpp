// tools/cli/commands/inspect.cpp: `ashlar inspect`: what a running or a dead process holds in ashlar's
// heap. Layer: cli.
#include "tools/cli/commands/inspect.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include <fmt/format.h>

#include "tools/cli/commands/commands.hpp"
#include "tools/cli/error.hpp"
#include "tools/cli/image_report.hpp"
#include "tools/cli/text.hpp"
#include "tools/files/json.hpp"
#include "tools/files/text.hpp"
#include "tools/image/core_file.hpp"
#include "tools/image/stopped_process.hpp"
#include "tools/inspect/address_answer.hpp"
#include "tools/inspect/heap_reader.hpp"
#include "tools/inspect/survey.hpp"
#include "tools/trace/call_names.hpp"
#include "tools/trace/symbols.hpp"

namespace ashlar::cli {
namespace {

struct look_options {
  std::string subject;             // the core, or the number of the process
  std::string program;             // of the core
  std::string what;                // an address
  std::vector<std::string> roots;  // words that lead to blocks
  bool unreachable = false;        // list nothing else
  bool list = false;               // each block
  std::string json_path;
  std::size_t rows = 20;
};

constexpr const char* inspect_footer =
    R"(It needs no recording: the program runs or ran with libashlar-malloc.so, or is linked with libashlar.
A word of digits is the number of a process, any other a core file.

The process stands still while its memory is copied, and goes on then, also if this command is
killed. A system call in which it waits goes on; on other processors than x86-64 it may return
EINTR.
A process that a debugger holds is read as it stands.

The core names the files of the program. They should be at their places: types have their names from
there.

Examples:
  ashlar inspect $(pidof server)
  ashlar inspect --unreachable --rows 50 4711
  ashlar inspect --what 0x7f3a10002340 4711
  ashlar inspect core.4711
  ashlar inspect core.4711 ./server       the program is elsewhere now

Exit status: 0; 1 where the heap's tables contradict each other, bytes are missing, there is no heap of
ashlar, or the system refuses; 2 for what is no process and no core file.)";

std::uint64_t number_of(const std::string& text, const char* option) {
  char* end = nullptr;
  errno = 0;
  const std::uint64_t number = std::strtoull(text.c_str(), &end, 0);
  if (text.empty() || *end != 0 || errno != 0 || text[0] == '-')
    throw command_error(status_usage, fmt::format("{}: '{}' is no address (0x7f3a10002340, say)",
                                                  option, printable(text)));
  return number;
}

std::string look_json(nlohmann::json body) {
  body["ashlar"] = ASHLAR_CLI_VERSION;
  body["schema"] = 1;
  body["report"] = "heap image";
  return files::json_text(body, 2);
}

void tell(const std::vector<std::string>& remarks) {
  for (const std::string& each : remarks) fmt::print(stderr, "ashlar: {}\n", printable(each));
}

// Returns: where the program and each library was mapped, with the build id that it had then.
std::vector<trace::module_definition> call_modules(const image::memory_image& image) {
  std::vector<trace::module_definition> modules;
  for (const image::loaded_file& file : image::loaded_files(image)) {
    std::uint64_t end = file.begin;
    for (const image::mapping& m : image.mappings())
      if (m.path == file.path) end = std::max(end, m.end);
    const std::string& place = image.place_of(file.path);
    modules.push_back({file.begin, end, file.begin - trace::lowest_address(place), place,
                       image::build_id_at(image, file.begin)});
  }
  return modules;
}

// Effects: prints what `image` has. `path`: of the core; empty: it is of a process that stood
// still.
int look_into(const image::memory_image& image, const look_options& options,
              const std::string& path, double pause_ms) {
  inspect::root_words roots;
  for (const std::string& each : options.roots) roots.push_back(number_of(each, "--root"));
  tell(image.remarks);
  inspect::heap_contents heaps = inspect::read_heaps(image);
  inspect::file_symbols names(image);
  trace::call_names calls(call_modules(image), {});
  tell(names.remarks());
  const int status = heaps.broken.empty() && image.remarks.empty() ? 0 : status_failed;
  if (!options.what.empty()) {
    const inspect::address_answer answer =
        inspect::answer_for(image, heaps, number_of(options.what, "--what"), names);
    print_report(
        options.json_path, [&] { return look_json(answer_json(answer, heaps, calls)); },
        [&] { return render_answer(answer, heaps, calls); });
    return status;
  }
  if (options.list) {
    fmt::print("{}", render_blocks(image, heaps, names));
    return status;
  }
  image_report report{path, &image, &heaps, {}, {}, &calls, pause_ms};
  if (!options.unreachable) {
    report.pages = inspect::map_pages(image, heaps);
    report.survey.by_what = inspect::groups_by_what(image, heaps, names);
    report.survey.pinning = inspect::pinning_groups(image, heaps, report.pages, names);
  }
  inspect::find_unreachable_groups(image, heaps, roots, names, report.survey);
  print_report(
      options.json_path, [&] { return look_json(image_json(report)); },
      [&] {
        return options.unreachable ? render_unreachable(report, options.rows).substr(1)
                                   : render_image(report, options.rows);
      });
  return status;
}

int inspect_command(const look_options& options) {
  if (!options.what.empty()) static_cast<void>(number_of(options.what, "--what"));
  if (options.subject.find_first_not_of("0123456789") != std::string::npos)
    return look_into(image::read_core_file(options.subject, options.program), options,
                     options.subject, 0);
  if (!options.program.empty())
    throw command_error(status_usage,
                        "inspect: PROGRAM is of a core file, and a process has its own");
  const image::process_copy copy = image::copy_process(process_number_of(options.subject));
  return look_into(copy.image, options, {}, copy.pause_ms);
}

}  // namespace

pid_t process_number_of(const std::string& word) {
  const auto pid = files::number_in(word);
  if (!pid || *pid == 0 || *pid > INT32_MAX)
    throw command_error(
        status_usage,
        fmt::format("'{}' is no number of a process (pgrep -l NAME tells them)", printable(word)));
  return static_cast<pid_t>(*pid);
}

int tell_unreachable(pid_t process, const std::string& json_path) {
  look_options options;
  options.subject = fmt::format("{}", process);
  options.unreachable = true;
  options.json_path = json_path;
  return inspect_command(options);
}

void add_inspect(command_parser& to) {
  command& inspect =
      to.add({"inspect", "What a running process or a core file has in ashlar's heap",
              "[OPTIONS] PID\n       ashlar inspect [OPTIONS] CORE [PROGRAM]", inspect_footer});
  const auto with = std::make_shared<look_options>();
  inspect.argument("PROCESS", with->subject, "The number of the process, or the core file");
  inspect.further_argument("PROGRAM", with->program,
                           "The program's file, if it is not where the core says");
  const option what =
      inspect.value("--what", "ADDRESS", with->what,
                    "Say only what is there: its block, the neighbours, what points to it");
  inspect.flag("--unreachable", with->unreachable, "List only what no pointer leads to")
      .excludes(what);
  inspect
      .flag("--list", with->list, "List each block in use: its address, its bytes, what is in it")
      .excludes(what);
  inspect.value("--root", "WORD", with->roots,
                "A word that leads to a block, as a register does; may be repeated");
  inspect.json(with->json_path, "As JSON, with every group, on standard output or into FILE");
  inspect.value("--rows", "N", with->rows, "So many lines of each list (default 20)");
  inspect.does([with] { return inspect_command(*with); });
}

}  // namespace ashlar::cli
