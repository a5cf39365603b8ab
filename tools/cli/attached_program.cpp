// tools/cli/attached_program.cpp. Layer: cli.
#include "tools/cli/attached_program.hpp"

#include <cstdlib>
#include <exception>
#include <string_view>
#include <thread>

#include <fmt/format.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tools/cli/drain_while_running.hpp"
#include "tools/cli/error.hpp"
#include "tools/measure/allocator_list.hpp"
#include "tools/trace/spool.hpp"

namespace ashlar::cli {
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

attached_program::attached_program(pid_t pid) : pid_(pid), given_memory_(memory_from_process()) {
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
  return recorder.is_stopped() || process_ < 0 || has_ended(process_);
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

}  // namespace ashlar::cli
