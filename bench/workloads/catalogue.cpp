// bench/workloads/catalogue.cpp: see the header; README.md tells more of each workload.
#include "catalogue.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace bench {
namespace {

#define BENCH_ENTRY(name, parameters, what) {#name, parameters, what, name},
constexpr auto all_workloads = std::to_array<workload>({BENCH_WORKLOADS(BENCH_ENTRY)});
#undef BENCH_ENTRY

constexpr auto all_cases = std::to_array<listed_case>({
    {"pair 16", "single"},
    {"pair 64", "single,quick"},
    {"pair 256", "single"},
    {"pair 1024", "single"},
    {"lifo 16", "single"},
    {"lifo 64", "single,quick"},
    {"lifo 256", "single"},
    {"lifo 1024", "single"},
    {"fifo 16", "single"},
    {"fifo 64", "single"},
    {"fifo 256", "single"},
    {"fifo 1024", "single"},
    {"random 16", "single"},
    {"random 64", "single,quick"},
    {"random 256", "single"},
    {"random 1024", "single"},
    {"random_1m", "single"},
    {"random_1m touch", "single"},
    {"churn 64 10000", "single,quick"},
    {"churn 64 1000000", "single"},
    {"churn 256 100000 touch", "single,quick"},
    {"bulk 1000000 16", "single,quick"},
    {"bulk 10000000 16", ""},
    {"bulk 10000000 mixed", ""},
    {"bignum", "single,quick"},
    {"pareto 512K", "single"},
    {"pareto 8M", "single,fragmentation,quick"},
    {"pareto 512M", "fragmentation"},
    {"latency", "latency,quick"},
    {"first_fill", "latency"},
    {"growth 10000", "growth,quick"},
    {"growth 100000", "growth"},
    {"growth 1000000", "growth,quick"},
    {"growth 10000000", "growth"},
    {"growth 100000000", "growth"},
    {"producer_consumer", "threads,quick"},
    {"larson 10 500", "threads,quick"},
    {"larson 16 1024", "threads"},
    {"batches_2t 64", "threads"},
    {"batches_2t 64 touch", "threads"},
    {"random_sizes", "threads"},
    {"threads_short", "threads"},
    {"threads_short 512 4096", "threads"},
    {"server 2", "threads,quick"},
    {"server 8", "threads"},
    {"asymmetric 1 3", "threads"},
    {"asymmetric 3 1", "threads,quick"},
    {"phases", "threads,quick"},
    {"false_sharing active", "threads,quick"},
    {"false_sharing passive", "threads"},
    {"scaling 1", "scaling,quick"},
    {"scaling 2", "threads,scaling,quick"},
    {"scaling 4", "threads,scaling"},
    {"scaling 16", "threads,scaling"},
    {"scaling 64", "threads,scaling,quick"},
    {"medium", "single"},
    {"medium touch", "single,quick"},
    {"large", "single"},
    {"large touch", "single"},
    {"huge", "single"},
    {"huge touch", "single,quick"},
    {"calloc_large", "single"},
    {"realloc_growth vector", "single,quick"},
    {"realloc_growth strings", "single"},
    {"growing_buffers 512K 1M 10K", ""},
    {"growing_buffers 2M 4M 10K", ""},
    {"growing_buffers 4M 16M 50K", ""},
    {"growing_buffers 2M 4M 10K 2", "threads"},
    {"checkerboard 64", "single,fragmentation,quick"},
    {"checkerboard 1024", "single,fragmentation"},
    {"sawtooth", "single,fragmentation,quick"},
    {"robson", "fragmentation,quick"},
    {"drift", "fragmentation,quick"},
    {"survivors", "fragmentation,quick"},
    {"pinned", "single,fragmentation,quick"},
    {"containers list", "single"},
    {"containers map", "single,quick"},
    {"containers unordered_map", "single"},
    {"containers strings", "single"},
    {"strings append", "single"},
    {"strings join", "single,quick"},
    {"idle", "startup"},
    {"idle_after_peak quiet", "idle"},
    {"idle_after_peak ticking", "idle,quick"},
    {"idle_after_peak light", "idle"},
    {"startup", "startup,quick"},
});

constexpr auto known_tags =
    std::to_array<std::string_view>({"single", "threads", "quick", "latency", "fragmentation",
                                     "idle", "scaling", "growth", "startup"});

// A misspelt tag or name would leave a case out of a figure without a word.
constexpr bool cases_are_sound() {
  for (const auto& each : all_cases) {
    const std::string_view words = each.words;
    const auto has_name = [&](const workload& one) {
      return words.substr(0, words.find(' ')) == one.name;
    };
    if (std::ranges::none_of(all_workloads, has_name)) return false;
    for (std::string_view tags = each.tags; !tags.empty();) {
      const std::size_t comma = std::min(tags.find(','), tags.size());
      if (std::ranges::count(known_tags, tags.substr(0, comma)) != 1) return false;
      tags.remove_prefix(std::min(comma + 1, tags.size()));
    }
  }
  return true;
}
static_assert(cases_are_sound(), "a case has no workload of its name, or an unknown tag");

}  // namespace

std::span<const workload> workloads() { return all_workloads; }

std::span<const listed_case> listed_cases() { return all_cases; }

}  // namespace bench
