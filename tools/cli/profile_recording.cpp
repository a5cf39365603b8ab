// tools/cli/profile_recording.cpp. Layer: cli.
#include "tools/cli/profile_recording.hpp"

#include <utility>

#include "tools/cli/process_files.hpp"
#include "tools/files/replaced_files.hpp"
#include "tools/profile/profile_builder.hpp"
#include "tools/profile/profile_file.hpp"
#include "tools/trace/lifetimes.hpp"

namespace ashlar::cli {

class profile_recording::process_profile final : public trace::stream_reader {
 public:
  process_profile(profile_recording& of, std::uint32_t pid, trace::event_source& from)
      : of_(of),
        pid_(pid),
        path_(of.path_of(pid)),
        steps_(from),
        builder_(from.ticks_per_second()),
        due_(clock::now() + of.each_) {}

  void read() override {
    for (trace::step s; steps_.next(s); has_news_ = true) builder_.take(s);
    if (!has_news_ || clock::now() < due_) return;
    profiling::profile now = builder_.snapshot();
    now.unfinished_runs = now.runs;
    of_.files_.replace(path_, profiling::encode(now));
    has_news_ = false;
    due_ = clock::now() + of_.each_;
  }

  void end() override {
    const profiling::profile whole = builder_.snapshot();
    std::string bytes = profiling::encode(whole);
    of_.results_.push_back({path_, pid_, whole.births(), whole.deaths(), bytes.size()});
    of_.files_.replace(path_, std::move(bytes));
  }

 private:
  using clock = std::chrono::steady_clock;

  profile_recording& of_;
  std::uint32_t pid_;
  std::string path_;
  trace::lifetimes steps_;
  profiling::profile_builder builder_;
  clock::time_point due_;
  bool has_news_ = false;  // since the last snapshot
};

profile_recording::profile_recording(std::string output, std::chrono::seconds each)
    : output_(std::move(output)), each_(each) {
  require_replaceable(output_, profiling::profile_magic, "profile");
  // A folder that is not there, or a name that is too long, is found before the program runs.
  files::replaced_files{}.prepare("-o", output_);
  files::replaced_files{}.prepare("-o", path_for_process(output_, UINT32_MAX, 0));
}

profile_recording::~profile_recording() = default;

std::unique_ptr<trace::stream_reader> profile_recording::open(std::uint32_t pid,
                                                              trace::event_source& from) {
  return std::make_unique<process_profile>(*this, pid, from);
}

// In weeks, a process may get the number of one that ended.
std::string profile_recording::path_of(std::uint32_t pid) {
  const std::string path =
      free_path_for_process(output_, pid, program_pid_, profiling::profile_magic);
  const std::uint32_t before = seen_[pid]++;
  return before == 0 ? path : path_for_process(path, before + 1, 0);
}

std::string profile_recording::finish() {
  std::string all;
  for (const std::string& failure : files_.finish()) all += (all.empty() ? "" : "; ") + failure;
  return all;
}

}  // namespace ashlar::cli
