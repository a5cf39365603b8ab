// bench/workloads/main.cpp: alloc_bench, one process per workload and allocator.
#include <cstdio>
#include <string_view>

#include "catalogue.hpp"

namespace {

void usage(std::FILE* out) {
  std::fputs(
      "usage: alloc_bench [OPTION...] WORKLOAD [PARAMETER...]\n"
      "       alloc_bench --list         the cases that the runner runs, a tab, their tags\n\n"
      "  --quick              fewer repetitions\n"
      "  --count N            run the body N times and measure nothing, for instruction counts:\n"
      "                       two runs with N and 2N differ by N bodies\n"
      "  --histogram FILE     latency, first_fill: write the counts of each 10 ns there, as "
      "CSV\n\n",
      out);
  for (const auto& each : bench::workloads())
    std::fprintf(out, "  %-18s %-31s %s\n", each.name, each.parameters, each.what);
}

int wrong(const char* what, const char* argument) {
  std::fprintf(stderr, "alloc_bench: %s '%s'; alloc_bench --help lists what there is\n", what,
               argument);
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  int at = 1;
  for (; at < argc && std::string_view(argv[at]).starts_with("--"); ++at) {
    const std::string_view word = argv[at];
    const char* const value = at + 1 < argc ? argv[at + 1] : nullptr;
    if (word == "--list") {
      for (const auto& each : bench::listed_cases()) std::printf("%s\t%s\n", each.words, each.tags);
      return 0;
    }
    if (word == "--help") {
      usage(stdout);
      return 0;
    }
    if (word == "--quick") {
      bench::quick = true;
    } else if (word == "--count" || word == "--histogram") {
      if (value == nullptr) return wrong("no value after", argv[at]);
      if (word == "--count")
        bench::bodies_to_count = bench::number(value, 1, 1, 1'000'000'000);
      else
        bench::histogram_path = value;
      ++at;
    } else {
      return wrong("no option", argv[at]);
    }
  }
  if (at == argc) {
    usage(stderr);
    return 2;
  }
  const char* const name = argv[at++];
  if (bench::is(name, "nothing")) return 0;  // what `startup` starts
  if (bench::histogram_path != nullptr && !bench::is(name, "latency") &&
      !bench::is(name, "first_fill"))
    return wrong("no histogram is kept by", name);
  bench::arguments given{};
  if (static_cast<std::size_t>(argc - at) > given.size()) bench::fail("too many parameters");
  for (std::size_t i = 0; at < argc; ++i, ++at) given[i] = argv[at];
  for (const auto& each : bench::workloads()) {
    if (!bench::is(name, each.name)) continue;
    each.run(given);
    bench::print_results();
    return 0;
  }
  return wrong("no workload", name);
}
