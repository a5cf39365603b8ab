// bench/workloads/main.cpp: alloc_bench, one process per workload and allocator.
// The tables below are the only list of workloads and of the cases that run_bench.py runs.
#include <array>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "harness.hpp"

namespace {

struct workload {
  const char* name;
  const char* parameters;
  const char* what;
  void (*run)(const bench::arguments&);
};

constexpr auto workloads = std::to_array<workload>({
    {"pair", "SIZE", "malloc, free, again: the hit path", bench::pair},
    {"lifo", "SIZE", "10,000 allocated, freed in reverse order", bench::lifo},
    {"fifo", "SIZE", "10,000 allocated, freed in the same order", bench::fifo},
    {"random", "SIZE", "10,000 allocated, freed in shuffled order", bench::random_order},
    {"random_1m", "[touch]", "1,000,000 of 64 bytes, freed in shuffled order", bench::random_1m},
    {"churn", "SIZE COUNT [touch]", "COUNT live; free a random one, allocate one", bench::churn},
    {"bulk", "COUNT SIZE|mixed", "COUNT objects built, then all freed; first and warm rounds",
     bench::bulk},
    {"latency", "", "churn of 50,000 live blocks of 16..1024 bytes: percentiles", bench::latency},
    {"producer_consumer", "", "one thread allocates 16..256 bytes, another frees",
     bench::producer_consumer},
    {"larson", "LOW HIGH", "two threads replace random blocks, arrays change hands", bench::larson},
    {"batches_2t", "SIZE [touch]", "two threads exchange batches of 1,000 and free the other's",
     bench::batches_2t},
    {"random_sizes", "", "two threads, 16..16,000 bytes, 500 live each", bench::random_sizes},
    {"threads_short", "", "10,000 threads, each allocates and frees 1,000 blocks",
     bench::threads_short},
    {"medium", "[touch]", "1 KiB..128 KiB log-uniform, 1,000 live", bench::medium},
    {"large", "[touch]", "32 KiB..64 MiB log-uniform, 16 live, at most 256 MiB", bench::large},
    {"calloc_large", "", "calloc of 64 KiB..4 MiB, each page written, 8 live", bench::calloc_large},
    {"realloc_growth", "vector|strings", "growth by half by realloc", bench::realloc_growth},
    {"containers", "list|map|unordered_map|strings", "insert 10,000, clear", bench::containers},
    {"idle", "", "resident memory and page tables after one malloc", bench::idle},
    {"startup", "", "start and end of a process that does nothing", bench::startup},
});

// What `--list` prints and run_bench.py runs.
constexpr auto default_cases = std::to_array<const char*>({
    "pair 16",
    "pair 64",
    "pair 256",
    "pair 1024",
    "lifo 16",
    "lifo 64",
    "lifo 256",
    "lifo 1024",
    "fifo 16",
    "fifo 64",
    "fifo 256",
    "fifo 1024",
    "random 16",
    "random 64",
    "random 256",
    "random 1024",
    "random_1m",
    "random_1m touch",
    "churn 64 10000",
    "churn 64 1000000",
    "churn 256 100000 touch",
    "bulk 1000000 16",
    "bulk 10000000 16",
    "bulk 10000000 mixed",
    "latency",
    "producer_consumer",
    "larson 10 500",
    "larson 16 1024",
    "batches_2t 64",
    "batches_2t 64 touch",
    "random_sizes",
    "threads_short",
    "medium",
    "medium touch",
    "large",
    "large touch",
    "calloc_large",
    "realloc_growth vector",
    "realloc_growth strings",
    "containers list",
    "containers map",
    "containers unordered_map",
    "containers strings",
    "idle",
    "startup",
});

void usage(std::FILE* out) {
  std::fputs(
      "usage: alloc_bench [--quick] WORKLOAD [PARAMETER...]\n"
      "       alloc_bench --list    (the cases that run_bench.py runs)\n\n",
      out);
  for (const auto& each : workloads)
    std::fprintf(out, "  %-18s %-31s %s\n", each.name, each.parameters, each.what);
}

}  // namespace

int main(int argc, char** argv) {
  int at = 1;
  if (at < argc && std::strcmp(argv[at], "--quick") == 0) {
    bench::quick = true;
    ++at;
  }
  const std::string_view name = at < argc ? argv[at++] : "";
  if (name == "--list") {
    for (const char* each : default_cases) std::puts(each);
    return 0;
  }
  if (name == "--help" || name.empty()) {
    usage(name.empty() ? stderr : stdout);
    return name.empty() ? 2 : 0;
  }
  if (name == "nothing") return 0;  // what `startup` starts
  bench::arguments given{};
  if (static_cast<std::size_t>(argc - at) > given.size()) bench::fail("too many parameters");
  for (std::size_t i = 0; at < argc; ++i, ++at) given[i] = argv[at];
  for (const auto& each : workloads) {
    if (name == each.name) {
      each.run(given);
      return 0;
    }
  }
  std::fprintf(stderr, "alloc_bench: no workload '%.*s'; alloc_bench --help lists them\n",
               static_cast<int>(name.size()), name.data());
  return 2;
}
