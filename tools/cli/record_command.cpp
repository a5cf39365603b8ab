// tools/cli/record_command.cpp. Layer: cli.
#include "tools/cli/record_command.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <exception>
#include <utility>

#include <fmt/format.h>
#include <sys/wait.h>

#include "tools/cli/allocator_list.hpp"
#include "tools/cli/child_process.hpp"
#include "tools/cli/error.hpp"
#include "tools/cli/files.hpp"
#include "tools/cli/program_file.hpp"
#include "tools/cli/text.hpp"
#include "tools/cli/trace_files.hpp"
#include "tools/trace/recorder.hpp"

namespace ashlar::cli {

namespace {

// Takes what the program wrote while it runs. A trace that cannot be written does not disturb the program: it is said
// when that has ended.
class drain_while_running {
 public:
  explicit drain_while_running(trace::recorder& recorder) : recorder_(recorder) {}

  std::chrono::nanoseconds operator()() {
    using std::chrono::milliseconds;
    if (failure_ != nullptr) return milliseconds(1000);
    try {
      // As long as there is something, it is looked at once more soon; a program at rest is not woken for.
      pause_ = recorder_.drain() != 0 ? milliseconds(1) : std::min(2 * pause_, milliseconds(20));
    } catch (...) {
      failure_ = std::current_exception();
      recorder_.stop();
    }
    return pause_;
  }
  void finish() {
    if (failure_ == nullptr) return recorder_.finish();
    std::rethrow_exception(failure_);
  }

 private:
  trace::recorder& recorder_;
  std::chrono::milliseconds pause_{1};
  std::exception_ptr failure_;
};

std::string why_nothing(const std::string& program, const std::string& library, int wait_status) {
  const preload_effect effect = effect_of_preload(program, library);
  if (effect != preload_effect::works)
    return fmt::format("'{}' cannot be recorded: {}", program, describe(effect));
  return fmt::format(
      "the program ({}) loaded no recorder: it cleared its environment, or the loader said above "
      "why",
      describe_wait_status(wait_status));
}

std::string preloaded(const record_options& options, const std::string& library,
                      const scratch_directory& scratch) {
  std::string value = preloadable_name(library, scratch);
  if (options.on == "ashlar") {
    value += fmt::format(":{}", preloadable_name(find_ashlar_library(), scratch));
  } else if (!options.on.empty()) {
    value += fmt::format(
        ":{}",
        preloadable_name(parse_allocator(fmt::format("on={}", options.on)).library, scratch));
  }
  return preload_value(value);
}

}  // namespace

int record_command(const record_options& options) {
  const std::string program = find_program(options.command.front());
  const std::string library = find_record_library();
  trace_files files(options.output);
  const signal_watch watch;
  const scratch_directory scratch;

  trace::recorder recorder(
      {options.stack_depth, ASHLAR_CLI_VERSION,
       options.stack_depth == 0 ? std::string() : fmt::format("stacks={}", options.stack_depth)},
      [&](std::uint32_t pid) { return files.open(pid); });
  drain_while_running drain(recorder);

  child_request request;
  request.file = program;
  request.arguments = options.command;
  request.environment = environment_with({{"LD_PRELOAD", preloaded(options, library, scratch)},
                                          {trace::spool_variable, recorder.spool_path()}});
  request.meanwhile = [&] { return drain(); };
  const child_outcome outcome = run_child(request, watch);
  if (outcome.start_error != 0) {
    throw command_error(
        outcome.start_error == ENOENT ? status_not_found : status_not_executable,
        fmt::format("cannot run '{}': {}{}", program, std::strerror(outcome.start_error),
                    outcome.start_error == ENOENT ? " (its interpreter is missing)" : ""));
  }
  drain.finish();

  const auto program_pid = static_cast<std::uint32_t>(outcome.pid);
  const auto results = recorder.results();
  if (std::none_of(results.begin(), results.end(),
                   [&](const auto& r) { return r.pid == program_pid; }))
    fmt::print(stderr, "ashlar: no trace '{}': {}\n", options.output,
               why_nothing(program, library, outcome.wait_status));
  for (const auto& result : results) {
    const trace_files::written written = files.commit(result.pid, program_pid);
    fmt::print(stderr, "ashlar: {}: {} events of process {} in {} ({:.2f} bytes an event)\n",
               written.path, format_count(result.events), result.pid, format_bytes(written.bytes),
               static_cast<double>(written.bytes) /
                   static_cast<double>(std::max<std::uint64_t>(result.events, 1)));
  }
  return outcome.wait_status;
}

}  // namespace ashlar::cli
