// tools/cli/recorded_program.cpp. Layer: cli.
#include "tools/cli/recorded_program.hpp"

#include <cstdio>
#include <cstdlib>
#include <map>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tools/agent/recordings.hpp"
#include "tools/cli/error.hpp"
#include "tools/cli/text.hpp"
#include "tools/files/process_status.hpp"
#include "tools/image/stopped_process.hpp"
#include "tools/inspect/heap_reader.hpp"
#include "tools/inspect/survey.hpp"
#include "tools/measure/allocator_list.hpp"
#include "tools/measure/program_file.hpp"
#include "tools/trace/process_memory.hpp"
#include "tools/trace/reachability.hpp"
#include "tools/trace/reader.hpp"
#include "tools/trace/spool.hpp"

namespace ashlar::cli {

recorded_program::recorded_program(std::vector<std::string> command, std::string on)
    : command_(std::move(command)),
      on_(std::move(on)),
      program_(measure::find_program(command_.front())),
      library_(measure::find_record_library()),
      recorder_name_(measure::preloadable_name(library_, scratch_)) {}

std::string recorded_program::preloaded() const {
  std::string value = recorder_name_;
  if (on_ == "ashlar") {
    value +=
        fmt::format(":{}", measure::preloadable_name(measure::find_ashlar_library(), scratch_));
  } else if (!on_.empty()) {
    value += fmt::format(
        ":{}", measure::preloadable_name(
                   measure::find_given_library(fmt::format("--on {}", on_), on_), scratch_));
  }
  return measure::preload_value(value);
}

measure::child_outcome recorded_program::run(trace::recorder& recorder,
                                             const std::function<void(std::uint32_t pid)>& begin) {
  drain_while_running drain(recorder);
  measure::child_request request;
  request.file = program_;
  request.arguments = command_;
  request.environment = measure::environment_with(
      {{"LD_PRELOAD", preloaded()}, {trace::spool_variable, recorder.spool_path()}});
  const auto begin_with = [&](pid_t pid) {
    recorder.set_program(static_cast<std::uint32_t>(pid));
    begin(static_cast<std::uint32_t>(pid));
  };
  request.meanwhile = [&](pid_t pid) {
    begin_with(pid);
    return drain();
  };
  measure::child_outcome outcome = measure::run_child(request, watch_);
  measure::require_started(outcome, program_);
  begin_with(outcome.pid);
  try {
    drain.finish();
  } catch (const std::exception& error) {
    failure_ = error.what();
  }
  return outcome;
}

std::string recorded_program::why_nothing(const measure::child_outcome& outcome) const {
  const measure::preload_effect effect = measure::effect_of_preload(program_, library_);
  if (effect != measure::preload_effect::works)
    return fmt::format("'{}' cannot be recorded: {}", program_, measure::describe(effect));
  const std::string complaint = measure::preload_complaint(recorder_name_, watch_);
  if (!complaint.empty()) {
    return fmt::format(
        "the loader does not take the recorder (build it for this machine; ASHLAR_RECORD_LIB names "
        "another): {}",
        complaint);
  }
  return fmt::format(
      "the program ({}) began without the recorder: the recorder or the loader said above why; "
      "where neither did, something that is statically linked runs the program, or a security "
      "policy keeps LD_PRELOAD from it",
      measure::describe_wait_status(outcome.wait_status));
}

int recorded_program::end(bool has_result, std::string_view missing,
                          const measure::child_outcome& outcome) const {
  if (has_result) return outcome.wait_status;
  return fail_beside(outcome.wait_status, fmt::format("no {}: {}", missing, why_nothing(outcome)));
}

namespace {

// Returns: the descriptor that the process left to its writer; -1: this is none.
int memory_from_process() {
  const char* const given = std::getenv(trace::spool_variable);
  constexpr std::string_view folder = "/proc/self/fd/";
  if (given == nullptr || !std::string_view(given).starts_with(folder)) return -1;
  return std::atoi(given + folder.size());
}

bool has_ended(int process) {
  pollfd end{process, POLLIN, 0};
  return ::poll(&end, 1, 0) > 0;
}

}  // namespace

attached_program::attached_program(pid_t pid, const std::string& trace)
    : pid_(pid),
      given_memory_(memory_from_process()),
      owner_(given_memory_ < 0 ? -1
                               : ::open((trace + agent::owner_end).c_str(),
                                        O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)) {
  if (given_memory_ < 0)
    attached_ = std::make_unique<attach::attached_process>(pid, measure::find_record_library());
  else
    process_ = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
}

attached_program::~attached_program() {
  if (process_ >= 0) ::close(process_);
}

int attached_program::memory() const {
  return attached_ != nullptr ? attached_->memory() : given_memory_;
}

bool attached_program::is_over(const trace::recorder& recorder) const {
  if (attached_ != nullptr) return attached_->ends_within(0);
  const bool lost_owner =
      owner_.descriptor() >= 0 && ::flock(owner_.descriptor(), LOCK_SH | LOCK_NB) == 0;
  return recorder.is_stopped() || process_ < 0 || has_ended(process_) || lost_owner;
}

attached_program::outcome attached_program::run(trace::recorder& recorder,
                                                std::optional<std::chrono::seconds> longest) {
  using clock = std::chrono::steady_clock;
  recorder.set_program(static_cast<std::uint32_t>(pid_));
  if (attached_ != nullptr) attached_->start();
  const clock::time_point begin = clock::now();
  drain_while_running drain(recorder);
  outcome result;
  while (!is_over(recorder) && !drain.has_failed()) {
    if (watch_.fetch_pending() != 0) break;
    if (longest && clock::now() - begin >= *longest) break;
    std::this_thread::sleep_for(drain());
  }
  if (attached_ != nullptr) {
    try {
      result.goes_on = attached_->stop();
    } catch (const std::exception& error) {
      result.goes_on = true;
      result.left = error.what();
    }
    result.pause_ms = attached_->pause_ms();
  }
  try {
    drain.finish();
  } catch (const std::exception& error) {
    result.failure = error.what();
  }
  return result;
}

namespace {

// Returns: where ashlar's heap has its own data in a process that runs on it. It has addresses of
// blocks that are free, or were.
std::vector<trace::address_range> data_of_heap(pid_t pid) {
  if (!files::has_drop_in(pid)) return {};
  try {
    return inspect::read_heaps(image::copy_process(pid).image).own;
  } catch (const std::exception&) {
    return {};  // another traces it, say: what the heap's own data leads to is then not told as lost
  }
}

// The memory of a process that exits, without the data of its heap.
class exiting_memory final : public trace::program_memory {
 public:
  explicit exiting_memory(const trace::exiting_process& process)
      : pid_(static_cast<pid_t>(process.pid)), memory_(pid_, process.stack_begin) {}
  std::vector<trace::address_range> places_of_pointers() override {
    return inspect::places_of_roots(memory_.places_of_pointers(), data_of_heap(pid_));
  }
  trace::address_range data_of_c_library() override { return memory_.data_of_c_library(); }
  std::size_t read(std::uint64_t address, std::span<std::uint64_t> to) override {
    return memory_.read(address, to);
  }

 private:
  pid_t pid_;
  trace::process_memory memory_;
};

}  // namespace

trace::exit_look search_at_exit(const trace::exiting_process& process, const std::string& trace,
                                const std::function<void()>& sign) noexcept try {
  trace::trace_reader reader(trace::open_file_source(trace));
  const trace::block_map blocks = trace::blocks_at_end(reader, sign);
  exiting_memory memory(process);
  std::map<std::uint32_t, trace::lost_blocks> by_stack;
  for (const trace::held_block& block : trace::find_unreachable(blocks, memory, sign)) {
    trace::lost_blocks& lost = by_stack[block.stack];
    lost.stack = block.stack;
    ++lost.blocks;
    lost.bytes += block.size;
  }
  trace::exit_look found;
  for (const auto& [stack, lost] : by_stack) found.lost.push_back(lost);
  return found;
} catch (const std::exception& error) {
  return {reason_of(error), {}};
}

}  // namespace ashlar::cli
