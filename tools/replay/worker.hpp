// tools/replay/worker.hpp: a whole script on one allocator: threads, measuring, the result. Layer: replay.
//
//   WORKER time|latency|slack ends|all [what the target reads]  < script > result
//
// The first thread is the process's own; another begins and joins the others, each when the trace did. Everything that
// the worker itself needs is there before the measuring begins, and none of it comes from malloc.
#pragma once

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <span>
#include <string_view>

#include <pthread.h>

#include "tools/replay/executor.hpp"
#include "tools/replay/worker_process.hpp"

namespace ashlar::replay {

/// What a thread of the worker needs; as many as threads that run at once.
struct lane {
  std::array<operation, chunk_operations> chunk;
  std::array<latency_counts, call_count> latencies;
  lane* next_free;
};

template <class Target>
class worker {
 public:
  worker(Target& target, int script, touch touched)
      : target_(target),
        script_(script),
        touched_(touched),
        slots_(resident_array<slot>(script_.header().slots)),
        counts_(resident_array<run_counts>(script_.header().threads + std::size_t{1})),
        bad_(resident_array<bad_block>(script_.header().threads + std::size_t{1})),
        states_(resident_array<thread_state>(script_.header().threads)),
        alive_(resident_array<std::size_t>(script_.header().most_threads_at_once)) {}

  /// Effects: executes all of it. Requires: called once.
  void run(std::string_view mode, run_result& result) {
    // One more: the first thread's, which is kept when the trace has ended it.
    lanes_ = resident_array<lane>(script_.header().most_threads_at_once + std::size_t{1});
    clock_.calibrate();
    result.clock_ns = clock_.ns(cheapest_reading());
    forget_peak_resident_bytes();
    result.start_rss_bytes = resident_bytes_now();
    const processor_time before = processor_time_now();
    const std::uint64_t begin = steady_ns();
    if (mode == "latency") {
      run_threads(&worker::run_thread<observe::latency>);
    } else if (mode == "slack") {
      run_threads(&worker::run_thread<observe::slack>);
    } else {
      run_threads(&worker::run_thread<observe::nothing>);
    }
    result.wall_ns = steady_ns() - begin;
    const processor_time after = processor_time_now();
    result.user_ns = after.user_ns - before.user_ns;
    result.system_ns = after.system_ns - before.system_ns;
    result.peak_rss_bytes = beyond(peak_resident_bytes(), result.start_rss_bytes);
    result.final_rss_bytes = beyond(resident_bytes_now(), result.start_rss_bytes);
    inspect();
    gather(result);
  }

 private:
  enum class observe { nothing, latency, slack };
  struct thread_state {
    worker* owner;
    pthread_t handle;
    lane* uses;
  };
  using thread_function = void (worker::*)(std::size_t, lane&);

  static std::uint64_t beyond(std::uint64_t value, std::uint64_t base) {
    return value > base ? value - base : 0;
  }
  static std::uint64_t cheapest_reading() {
    std::uint64_t least = UINT64_MAX;
    for (int i = 0; i < 1000; ++i) {
      const std::uint64_t begin = tick_clock::ticks();
      least = std::min(least, tick_clock::ticks() - begin);
    }
    return least;
  }

  template <observe What>
  auto make_observer(std::size_t thread, lane& uses) {
    if constexpr (What == observe::latency) {
      static_cast<void>(thread);
      return latency_observer(clock_, uses.latencies);
    } else if constexpr (What == observe::slack) {
      static_cast<void>(uses);
      return slack_observer<Target>(target_, slack_, counts_[thread]);
    } else {
      return no_observer{};
    }
  }

  template <class Observer, bool Alone>
  void execute(std::size_t index, const script_thread& thread, Observer observer, lane& uses) {
    script_thread_run<Target, Observer, Alone> run(target_, observer, slots_.data(), touched_,
                                                   counts_[index]);
    for (std::uint64_t chunk = 0;; ++chunk) {
      const auto operations = script_.read_chunk(thread, chunk, uses.chunk);
      if (operations.empty()) break;
      run.execute(operations);
    }
    bad_[index] = run.first_bad();
  }

  template <observe What>
  void run_thread(std::size_t index, lane& uses) {
    const script_thread& thread = script_.threads()[index];
    counts_[index].operations = thread.operations;
    if (script_.header().threads == 1) {
      execute<decltype(make_observer<What>(index, uses)), true>(
          index, thread, make_observer<What>(index, uses), uses);
    } else {
      execute<decltype(make_observer<What>(index, uses)), false>(
          index, thread, make_observer<What>(index, uses), uses);
    }
  }

  void run_threads(thread_function function) {
    function_ = function;
    if (script_.threads().empty()) return;
    pthread_t starter{};
    const bool several = script_.threads().size() > 1;
    if (several)
      start(
          starter,
          [](void* self) -> void* {
            static_cast<worker*>(self)->start_and_join();
            return nullptr;
          },
          this);
    (this->*function)(0, lanes_[0]);
    if (several) ::pthread_join(starter, nullptr);
  }

  static void start(pthread_t& handle, void* (*function)(void*), void* argument) {
    const int error = ::pthread_create(&handle, nullptr, function, argument);
    if (error != 0) give_up("cannot begin a thread", error);
  }

  // A thread that the trace began when others had ended begins when they are joined.
  void start_and_join() {
    const auto threads = script_.threads();
    std::size_t alive = 0;  // so many of alive_ are begun and not joined
    for (std::size_t t = 1; t < threads.size(); ++t) {
      for (std::size_t i = alive; i-- > 0;) {
        if (threads[alive_[i]].ended_at > threads[t].first_at) continue;
        join(states_[alive_[i]]);
        alive_[i] = alive_[--alive];
      }
      alive_[alive++] = t;
      states_[t].owner = this;
      states_[t].uses = take_lane();
      start(
          states_[t].handle,
          [](void* state) -> void* {
            auto& own = *static_cast<thread_state*>(state);
            worker& all = *own.owner;
            (all.*all.function_)(static_cast<std::size_t>(&own - all.states_.data()), *own.uses);
            return nullptr;
          },
          &states_[t]);
    }
    for (std::size_t i = 0; i < alive; ++i) join(states_[alive_[i]]);
  }
  lane* take_lane() {
    if (free_lanes_ == nullptr) return &lanes_[lanes_used_++];
    lane* const taken = free_lanes_;
    free_lanes_ = taken->next_free;
    return taken;
  }
  void join(thread_state& of) {
    ::pthread_join(of.handle, nullptr);
    of.uses->next_free = free_lanes_;
    free_lanes_ = of.uses;
  }

  void inspect() {
    const std::size_t index = script_.header().threads;
    execute<no_observer, true>(index, script_.inspection(), no_observer{}, lanes_[0]);
  }

  void gather(run_result& result) {
    for (const run_counts& c : counts_) {
      result.counts.operations += c.operations;
      result.counts.failures += c.failures;
      result.counts.corrupted += c.corrupted;
      result.counts.not_zero += c.not_zero;
      result.counts.misaligned += c.misaligned;
      result.counts.waits += c.waits;
      result.counts.births += c.births;
      result.counts.requested_bytes += c.requested_bytes;
      result.counts.usable_bytes += c.usable_bytes;
    }
    for (std::size_t t = 0; t < bad_.size() && result.has_bad == 0; ++t) {
      if (!bad_[t].found) continue;
      const bool alive_at_end = t == script_.header().threads;
      result.has_bad = 1;
      result.bad_thread = alive_at_end ? 0 : script_.threads()[t].number;
      result.bad_operation = bad_[t].operation;
      result.bad_size = bad_[t].size;
    }
    for (const lane& each : lanes_)
      for (std::size_t c = 0; c < call_count; ++c) result.latencies[c].add(each.latencies[c]);
    result.peak_requested_bytes = slack_.peak_requested.load();
    result.usable_bytes_at_peak = slack_.usable_at_peak.load();
  }

  Target& target_;
  script_file script_;
  touch touched_;
  std::span<slot> slots_;
  std::span<run_counts> counts_;
  std::span<bad_block> bad_;
  std::span<thread_state> states_;
  std::span<std::size_t> alive_;  // threads by their place, as many as can be at once
  std::span<lane> lanes_;
  std::size_t lanes_used_ = 1;
  lane* free_lanes_ = nullptr;
  slack_counts slack_;
  tick_clock clock_;
  thread_function function_ = nullptr;
};

/// Effects: reads the words of the command line that every worker has, executes, fills in the result.
template <class Target>
void run_worker(Target& target, int argc, char** argv, run_result& result) {
  const std::string_view mode = argc > 1 ? argv[1] : "";
  const std::string_view touched = argc > 2 ? argv[2] : "";
  if ((mode != "time" && mode != "latency" && mode != "slack") ||
      (touched != "ends" && touched != "all"))
    give_up("it is started by `ashlar replay`, with other words than these", EINVAL);
  constexpr int standard_input = 0;
  worker<Target> work(target, standard_input, touched == "all" ? touch::all : touch::ends);
  work.run(mode, result);
  result.slack_known = mode == "slack" && target.knows_usable_size() ? 1 : 0;
  result.mark = run_result::right_mark;
}

}  // namespace ashlar::replay
