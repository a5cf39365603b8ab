// tools/cli/main.cpp: the ashlar command: what commands it has, its exit status. Layer: cli.
#include <cerrno>
#include <clocale>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <new>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "tools/cli/commands/commands.hpp"
#include "tools/cli/completion.hpp"
#include "tools/cli/error.hpp"
#include "tools/cli/text.hpp"
#include "tools/measure/child_process.hpp"
#include "tools/trace/error.hpp"

namespace ashlar::cli {
namespace {

constexpr const char* tool_footer =
    R"(A file named - is standard input, or standard output where it is written. --json alone is
--json=-. Colours are for a terminal, and not with NO_COLOR.

Examples:
  ashlar record -- ./program             then: ashlar report run.atrace
  ashlar run -- python3 work.py          run it on ashlar's heap, then report its pools
  ashlar compare -n 9 -- ./server --once time and memory beside the system's allocator
  ashlar help COMMAND                    the options of one command

Exit status: run passes the program's own on; 2 a wrong command line, 126 and 127 a program
that cannot be executed or found, 1 anything else that went wrong.)";

constexpr command_text tool{
    "ashlar", "See where a program's memory goes, and what another allocator changes.",
    "COMMAND [OPTIONS] ...", tool_footer};

command_end give_up(const std::exception& error, int exit_status) {
  fmt::print(stderr, "{} {}\n", in_red("ashlar:", stderr), reason_of(error));
  return {exit_status, {}};
}

// A disk that is full refuses what was printed only when it is written out.
command_end with_whole_output(command_end end) {
  const bool was_refused = std::ferror(stdout) != 0;
  const bool is_refused = std::fflush(stdout) != 0;
  if ((!was_refused && !is_refused) || end.wait_status) return end;
  fmt::print(stderr, "ashlar: cannot write to standard output{}\n",
             is_refused ? fmt::format(": {}", std::strerror(errno)) : "");
  return {end.exit_status != 0 ? end.exit_status : status_failed, {}};
}

command_end run(const std::vector<std::string>& words) {
  command_parser parser(tool);
  for (const command_row& each : ASHLAR_CLI_COMMANDS) {
    parser.begin_group(each.group);
    each.add(parser);
  }
  try {
    if (!words.empty() && words.front() == "__complete") {  // a shell asks (completion.hpp)
      std::fputs(completions(parser.description(), {words.begin() + 1, words.end()}).c_str(),
                 stdout);
      return with_whole_output({});
    }
    return with_whole_output(parser.run(words));
  } catch (const input_error& error) {
    return give_up(error, error.exit_status);
  } catch (const command_error& error) {
    const command_end end = give_up(error, error.exit_status);
    if (error.exit_status == status_usage)
      fmt::print(stderr, "('{}' tells what there is.)\n", parser.help_command());
    return end;
  } catch (const trace::trace_error& error) {  // bad input, not a wrong command line
    return give_up(error, status_usage);
  } catch (const std::bad_alloc&) {
    std::fputs("ashlar: there is not enough memory\n", stderr);
    return {status_failed, {}};
  } catch (const std::exception& error) {
    return give_up(error, status_failed);
  }
}

}  // namespace
}  // namespace ashlar::cli

int main(int argc, char** argv) try {
  std::setlocale(LC_CTYPE, "");
  // A file that reaches a limit (ulimit -f) is an error that can be told. Ignored, it would be so in programs, too.
  if (std::signal(SIGXFSZ, [](int) {}) == SIG_IGN) std::signal(SIGXFSZ, SIG_IGN);
  const ashlar::cli::command_end end =
      ashlar::cli::run(std::vector<std::string>(argv + (argc > 0 ? 1 : 0), argv + argc));
  if (end.wait_status) ashlar::measure::end_like(*end.wait_status);
  return end.exit_status;
} catch (const std::exception& error) {  // while an error was being told, as with memory exhausted
  std::fputs(error.what(), stderr);
  std::fputs("\n", stderr);
  return ashlar::cli::status_failed;
}
