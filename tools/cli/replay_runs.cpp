// tools/cli/replay_runs.cpp. Layer: cli.
#include "tools/cli/replay_runs.hpp"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <memory>
#include <random>

#include <fmt/format.h>

#include "tools/cli/error.hpp"
#include "tools/measure/allocator_list.hpp"
#include "tools/measure/rounds.hpp"

namespace ashlar::cli {

namespace {

namespace fs = std::filesystem;

replay_target read_pools(const std::string& path) {
  try {
    return {path, {}, tune::read_configuration(files::read_input(path))};
  } catch (const tune::no_configuration& error) {
    throw command_error(status_usage, fmt::format("--on {}: {}", path, error.what()));
  }
}

bool names_a_library(const std::string& name) {
  return name.find_first_of("/=") != std::string::npos || name.find(".so") != std::string::npos;
}

replay_target given_library(const std::string& text) {
  if (text.find('=') == std::string::npos)
    return {fs::path(text).stem().string(), measure::find_given_library("--on " + text, text), {}};
  measure::allocator found = measure::parse_allocator("--on", text);
  return {std::move(found.name), std::move(found.library), {}};
}

replay_target installed(const std::string& name) {
  std::string known = "all, system, ashlar";
  for (measure::allocator& each : measure::installed_allocators()) {
    if (each.name == name) return {std::move(each.name), std::move(each.library), {}};
    known += ", " + each.name;
  }
  throw command_error(
      status_usage,
      fmt::format("--on {}: no allocator of that name is installed (there are {}); a library is "
                  "named by its path, or as NAME=LIBRARY, pools by the .json of ashlar tune",
                  name, known));
}

std::vector<replay_target> targets_of(const std::string& name) {
  if (name == "system" || name == "glibc") return {{"system", {}, {}}};
  if (name == "ashlar") return {{"ashlar", measure::find_ashlar_library(), {}}};
  if (name == "all") {
    std::vector<replay_target> all{{"system", {}, {}},
                                   {"ashlar", measure::find_ashlar_library(), {}}};
    for (measure::allocator& each : measure::installed_allocators())
      all.push_back({std::move(each.name), std::move(each.library), {}});
    return all;
  }
  if (name.ends_with(".json")) return {read_pools(name)};
  if (names_a_library(name)) return {given_library(name)};
  return {installed(name)};
}

}  // namespace

std::vector<replay_target> find_replay_targets(const std::vector<std::string>& names,
                                               const measure::signal_watch& watch) {
  std::vector<replay_target> found;
  for (const std::string& name : names) {
    for (replay_target& target : targets_of(name)) {
      if (std::ranges::any_of(found, [&](const replay_target& f) { return f.name == target.name; }))
        continue;
      const std::string complaint = target.library.empty()
                                        ? std::string{}
                                        : measure::preload_complaint(target.library, watch);
      if (!complaint.empty()) {
        throw command_error(status_usage, fmt::format("the loader does not take {} ({}): {}",
                                                      target.name, target.library, complaint));
      }
      found.push_back(std::move(target));
    }
  }
  return found;
}

std::string find_replay_worker(bool for_pools) {
  return measure::find_beside_command(
      for_pools ? "ashlar-replay-pool-worker" : "ashlar-replay-worker",
      {".", ASHLAR_CLI_LIBEXECDIR_FROM_BINDIR "/ashlar"}, {});
}

namespace {

struct worker_answer {
  std::unique_ptr<replay::run_result> result;  // null: there is none
  std::vector<replay::class_result> classes;
  std::string complaint;
};

worker_answer read_answer(const measure::child_outcome& ended, const files::open_file& out,
                          const files::open_file& err) {
  worker_answer answer;
  const std::string bytes = files::read_whole(out);
  auto result = std::make_unique<replay::run_result>();
  const bool whole =
      measure::exited_with(ended.wait_status, 0) && bytes.size() >= sizeof *result &&
      (std::memcpy(static_cast<void*>(result.get()), bytes.data(), sizeof *result), true) &&
      result->mark == replay::run_result::right_mark &&
      bytes.size() == sizeof *result + result->classes * sizeof(replay::class_result);
  if (!whole) {
    std::string said = files::read_whole(err);
    while (said.ends_with('\n')) said.pop_back();
    answer.complaint =
        measure::exited_with(ended.wait_status, 0)
            ? std::string("its result cannot be read (did the library write to standard output?)")
            : measure::describe_wait_status(ended.wait_status);
    if (!said.empty()) answer.complaint += ": " + said;
    return answer;
  }
  answer.classes.resize(result->classes);
  if (result->classes > 0)
    std::memcpy(answer.classes.data(), bytes.data() + sizeof *result,
                bytes.size() - sizeof *result);
  answer.result = std::move(result);
  return answer;
}

latency_summary summary_of(const replay::latency_counts& counts) {
  latency_summary summary;
  summary.calls = counts.calls();
  summary.average_ns = counts.bounded_average_ns(0.999);
  summary.longest_ns = counts.longest_ns();
  for (std::size_t i = 0; i < latency_shares.size(); ++i)
    summary.percentiles_ns[i] = counts.percentile_ns(latency_shares[i]);
  return summary;
}

void note_faults(const replay::run_result& result, replay_faults& faults) {
  faults.failures = std::max(faults.failures, result.counts.failures);
  faults.corrupted = std::max(faults.corrupted, result.counts.corrupted);
  faults.not_zero = std::max(faults.not_zero, result.counts.not_zero);
  faults.misaligned = std::max(faults.misaligned, result.counts.misaligned);
  if (result.has_bad == 0 || !faults.first_corrupted.empty()) return;
  faults.first_corrupted =
      result.bad_thread == 0
          ? fmt::format("a block of {} bytes that lives at the end", result.bad_size)
          : fmt::format("a block of {} bytes, at operation {} of thread {}", result.bad_size,
                        result.bad_operation, result.bad_thread);
}

class replays {
 public:
  replays(const replay_plan& plan, const std::vector<const replay_script*>& scripts,
          std::vector<replay_outcome>& outcomes, const measure::signal_watch& watch)
      : plan_(plan), scripts_(scripts), outcomes_(outcomes), watch_(watch) {}

  int run() {
    std::mt19937_64 generator(plan_.seed);
    for (std::size_t round = 0; round < plan_.rounds && stopped_by_ == 0; ++round)
      pass("time", generator, [](replay_outcome& o, worker_answer& answer) {
        const replay::run_result& r = *answer.result;
        const auto seconds = [](std::uint64_t ns) { return static_cast<double>(ns) / 1e9; };
        o.samples.push_back({seconds(r.wall_ns), seconds(r.user_ns), seconds(r.system_ns),
                             r.peak_rss_bytes, r.final_rss_bytes, r.counts.waits});
        o.classes = std::move(answer.classes);
      });
    pass_for_latencies(generator);
    pass("slack", generator, [](replay_outcome& o, worker_answer& answer) {
      const replay::run_result& r = *answer.result;
      o.slack = {r.slack_known != 0, r.counts.requested_bytes, r.counts.usable_bytes,
                 r.peak_requested_bytes, r.usable_bytes_at_peak};
    });
    return stopped_by_;
  }
  int run_latencies() {
    std::mt19937_64 generator(plan_.seed);
    pass_for_latencies(generator);
    return stopped_by_;
  }

 private:
  void pass_for_latencies(std::mt19937_64& generator) {
    pass("latency", generator, [](replay_outcome& o, worker_answer& answer) {
      for (std::size_t c = 0; c < replay::call_count; ++c)
        o.latencies[c] = summary_of(answer.result->latencies[c]);
      o.clock_ns = answer.result->clock_ns;
    });
  }
  template <class Take>
  void pass(const char* mode, std::mt19937_64& generator, Take&& take) {
    for (const std::size_t i : measure::shuffled_order(outcomes_.size(), generator)) {
      replay_outcome& outcome = outcomes_[i];
      if (stopped_by_ != 0 || !outcome.faults.worker.empty()) continue;
      worker_answer answer = execute(outcome, *scripts_[i], mode);
      if (stopped_by_ != 0) return;
      if (answer.result == nullptr) {
        outcome.faults.worker = answer.complaint;
        continue;
      }
      note_faults(*answer.result, outcome.faults);
      take(outcome, answer);
    }
  }

  worker_answer execute(const replay_outcome& outcome, const replay_script& script,
                        const char* mode) {
    const files::open_file out = scratch_.make_unnamed_file();
    const files::open_file err = scratch_.make_unnamed_file();
    measure::child_request request;
    request.file = find_replay_worker(outcome.target.pools.has_value());
    request.arguments = {request.file, mode, plan_.touch_all ? "all" : "ends"};
    if (outcome.target.pools) add_pools(*outcome.target.pools, request.arguments);
    const std::string& library = outcome.target.library;
    request.environment = measure::environment_with(
        {{"LD_PRELOAD", library.empty() ? library : measure::preloadable_name(library, scratch_)}});
    request.stdin_fd = script.file.descriptor();
    request.stdout_fd = out.descriptor();
    request.stderr_fd = err.descriptor();
    request.on_signal = measure::interrupted_child::dies_at_second;
    const measure::child_outcome ended = measure::run_child(request, watch_);
    measure::require_started(ended, request.file);
    stopped_by_ = ended.signal_seen != 0 ? ended.signal_seen : watch_.fetch_pending();
    return read_answer(ended, out, err);
  }

  static void add_pools(const tune::pool_configuration& pools, std::vector<std::string>& words) {
    words.push_back(std::to_string(pools.read_as.least_alignment));
    for (const tune::size_class& c : pools.classes)
      for (const std::uint64_t figure : {c.block_size, c.alignment, c.capacity})
        words.push_back(std::to_string(figure));
  }

  const replay_plan& plan_;
  const std::vector<const replay_script*>& scripts_;
  std::vector<replay_outcome>& outcomes_;
  const measure::signal_watch& watch_;
  files::scratch_directory scratch_;
  int stopped_by_ = 0;
};

}  // namespace

int run_replays(const replay_plan& plan, const std::vector<const replay_script*>& scripts,
                std::vector<replay_outcome>& outcomes, const measure::signal_watch& watch) {
  return replays(plan, scripts, outcomes, watch).run();
}

int run_latencies(const std::vector<const replay_script*>& scripts,
                  std::vector<replay_outcome>& outcomes, const measure::signal_watch& watch) {
  const replay_plan plan;
  return replays(plan, scripts, outcomes, watch).run_latencies();
}

}  // namespace ashlar::cli
