// bench/workloads/catalogue.hpp: the only list of workloads, and of the cases that the runner runs.
#pragma once

#include <span>

#include "workloads.hpp"

namespace bench {

struct workload {
  const char* name;
  const char* parameters;
  const char* what;
  void (*run)(const arguments&);
};
std::span<const workload> workloads();

// A workload with its parameters. Tags, separated by commas:
//   single         one thread, the same calls each time: fit for counting instructions (--count)
//   threads        more than one thread
//   quick          part of the three-minute mode, all parts of which together take about 18 s
//   latency, fragmentation, idle, scaling, growth, startup: the figure that it belongs to
struct listed_case {
  const char* words;
  const char* tags;
};
std::span<const listed_case> listed_cases();

}  // namespace bench
