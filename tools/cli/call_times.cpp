// tools/cli/call_times.cpp. Layer: cli.
#include "tools/cli/call_times.hpp"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <system_error>

#include <fmt/format.h>

#include "tools/cli/error.hpp"
#include "tools/cli/text.hpp"

namespace ashlar::cli {
namespace {

// So much is replayed: a fraction of a second, in little memory.
constexpr std::uint64_t calls_replayed = 500'000;
constexpr std::uint64_t most_live_bytes = 256u << 20;
constexpr std::uint64_t largest_block = 16u << 20;

// The average of these calls, without what reading the clock takes.
double average(const replay_outcome& of, std::initializer_list<replay::call> which) {
  double calls = 0, ns = 0;
  for (const replay::call c : which) {
    const latency_summary& latency = of.latencies[static_cast<std::size_t>(c)];
    calls += static_cast<double>(latency.calls);
    ns += static_cast<double>(latency.calls) * latency.average_ns;
  }
  return calls == 0 ? 0 : std::max(ns / calls - static_cast<double>(of.clock_ns), 0.0);
}

call_times times_of(const replay_outcome& of) {
  using enum replay::call;
  call_times times;
  times.allocate = average(of, {malloc_call, calloc_call, aligned_call});
  times.resize = average(of, {realloc_call});
  times.release = average(of, {free_call});
  return times;
}

// What runs fastest is disturbed least.
double faster(double a, double b) { return a == 0 ? b : std::min(a, b); }

std::string processor() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("model name")) continue;
    const std::size_t colon = line.find(": ");
    return colon == std::string::npos ? std::string() : line.substr(colon + 2);
  }
  return {};
}

}  // namespace

double milliseconds_saved(const findings::finding& of, const call_times& times) {
  const bool are_resized = of.kind == findings::finding_kind::growth &&
                           of.how_sure == findings::sureness::seen && times.resize != 0;
  const double ns = are_resized ? times.resize : times.allocate + times.release;
  return static_cast<double>(of.allocations_saved) * ns / 1e6;
}

call_timer::call_timer()
    : script_{scratch_.make_unnamed_file(), {}},
      builder_(script_.file.descriptor(), replay::script_order::by_thread, largest_block) {}

void call_timer::count(const trace::step& s) {
  if (is_full_) return;
  using what = trace::step::what;
  if (s.happened == what::birth && s.size <= largest_block) live_bytes_ += s.size;
  if (s.happened == what::death && s.size <= largest_block) live_bytes_ -= s.size;
  if (s.happened == what::birth || s.happened == what::death) ++calls_;
  is_full_ = calls_ > calls_replayed || live_bytes_ > most_live_bytes;
  if (is_full_) return;
  try {
    builder_.add(s);
  } catch (const std::system_error& error) {
    throw command_error(status_failed, error.what());
  }
}

std::optional<call_times> call_timer::measure() {
  constexpr std::size_t rounds = 3;
  const measure::signal_watch watch;
  std::vector<replay_outcome> outcomes(rounds);  // of the system's allocator, each
  int signal = 0;
  try {
    script_.summary = builder_.finish();
    const std::vector<const replay_script*> scripts(rounds, &script_);
    signal = run_latencies(scripts, outcomes, watch);
  } catch (const std::system_error&) {
    return std::nullopt;
  } catch (const command_error&) {  // there is no worker
    return std::nullopt;
  }
  if (signal != 0)
    throw command_error(128 + signal, "ended early by " + measure::signal_name(signal));
  call_times best;
  for (const replay_outcome& outcome : outcomes) {
    if (!outcome.faults.worker.empty()) return std::nullopt;
    const call_times times = times_of(outcome);
    best.allocate = faster(best.allocate, times.allocate);
    best.resize = faster(best.resize, times.resize);
    best.release = faster(best.release, times.release);
  }
  best.calls = script_.summary.header.operations;
  best.machine = processor();
  return best;
}

std::string sentence_of(const std::optional<call_times>& times) {
  if (!times) return {};
  std::string text = fmt::format(
      "Times are estimates. In a replay of the first {} calls on the system's allocator, on this "
      "machine{}, an allocation took {:.0f} ns and a free {:.0f} ns",
      format_count(times->calls),
      times->machine.empty() ? std::string() : fmt::format(" ({})", times->machine),
      times->allocate, times->release);
  if (times->resize != 0) text += fmt::format(", a realloc {:.0f} ns", times->resize);
  return text + ".";
}

nlohmann::json call_times_json(const std::optional<call_times>& times) {
  if (!times) return nullptr;
  return {{"machine", times->machine},     {"allocator", "system"},
          {"calls", times->calls},         {"allocate_ns", times->allocate},
          {"realloc_ns", times->resize},   {"free_ns", times->release},
          {"sentence", sentence_of(times)}};
}

}  // namespace ashlar::cli
