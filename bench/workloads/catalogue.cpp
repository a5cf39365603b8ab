// bench/workloads/catalogue.cpp: see the header; README.md tells more of each workload.
#include "catalogue.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace bench {
namespace {

constexpr auto all_workloads = std::to_array<workload>({
    {"pair", "SIZE", "malloc, free, again: the hit path", pair},
    {"lifo", "SIZE", "10,000 allocated, freed in reverse order", lifo},
    {"fifo", "SIZE", "10,000 allocated, freed in the same order", fifo},
    {"random", "SIZE", "10,000 allocated, freed in shuffled order", random_order},
    {"random_1m", "[touch]", "1,000,000 of 64 bytes, freed in shuffled order", random_1m},
    {"churn", "SIZE COUNT [touch]", "COUNT live; free a random one, allocate one", churn},
    {"bulk", "COUNT SIZE|mixed", "COUNT objects built, then all freed; first and warm rounds",
     bulk},
    {"bignum", "", "8..64 bytes that live for a few operations: values of expressions", bignum},
    {"pareto", "LIVE_BYTES", "16 bytes..64 KiB, Pareto; random replacement", pareto},
    {"latency", "", "churn of 50,000 live blocks of 16..1024 bytes: percentiles", latency},
    {"first_fill", "", "the first 200,000 blocks of a process: mean and p99.99", first_fill},
    {"growth", "LIVE", "16-byte blocks: build and churn as their number grows", growth},
    {"producer_consumer", "", "one thread allocates 16..256 bytes, another frees",
     producer_consumer},
    {"larson", "LOW HIGH", "two threads replace random blocks, arrays change hands", larson},
    {"batches_2t", "SIZE [touch]", "two threads exchange batches of 1,000 and free the other's",
     batches_2t},
    {"random_sizes", "", "two threads, 16..16,000 bytes, 500 live each", random_sizes},
    {"threads_short", "", "10,000 threads, each allocates and frees 1,000 blocks", threads_short},
    {"server", "THREADS", "each replaces its objects; one in 16 is swapped with other threads",
     server},
    {"asymmetric", "PRODUCERS CONSUMERS", "one thread allocates for several, or several for one",
     asymmetric},
    {"phases", "", "sizes shift, threads end, survivors are freed by the next threads", phases},
    {"false_sharing", "active|passive", "two threads write to their own blocks", false_sharing},
    {"scaling", "THREADS", "threads that share nothing, 1,000 live each", scaling},
    {"medium", "[touch]", "1 KiB..128 KiB log-uniform, 1,000 live", medium},
    {"large", "[touch]", "32 KiB..64 MiB log-uniform, 16 live, at most 256 MiB", large},
    {"huge", "[touch]", "1 MiB..64 MiB log-uniform, 8 live, at most 128 MiB", huge},
    {"calloc_large", "", "calloc of 64 KiB..4 MiB, each page written, 8 live", calloc_large},
    {"realloc_growth", "vector|strings", "growth by half by realloc", realloc_growth},
    {"growing_buffers", "LOW HIGH STEP [THREADS]",
     "100 buffers that grow in turn by realloc, from LOW to HIGH bytes", growing_buffers},
    {"checkerboard", "SIZE", "every second block freed, then blocks too wide for the holes",
     checkerboard},
    {"sawtooth", "", "ramps of rising sizes, 2 % of each stays", sawtooth},
    {"robson", "", "powers of two, keeping the blocks that spoil the most places", robson},
    {"drift", "", "random replacement while the sizes go from 200 to 1,200 bytes", drift},
    {"survivors", "", "15 of 16 small blocks freed at random, then larger ones", survivors},
    {"pinned", "", "batches of 500 blocks, of which one each stays", pinned},
    {"containers", "list|map|unordered_map|strings", "insert 10,000, clear", containers},
    {"strings", "append|join", "texts that grow by pieces; words joined and cut", strings},
    {"idle", "", "resident memory and page tables after one malloc", idle},
    {"idle_after_peak", "quiet|ticking|light",
     "512 MiB built, 95 % freed: what is held 0..10 s later", idle_after_peak},
    {"startup", "", "start and end of a process that does nothing", startup},
});

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

std::span<const workload> workloads() {
  return all_workloads;
}

std::span<const listed_case> listed_cases() {
  return all_cases;
}

}  // namespace bench
