// bench/in_process/pools_bench.cpp: what a block of 64 bytes costs inside the program: ashlar's faces beside
// other pools and what nobody can beat. patterns.hpp tells the loops; run_pools.py makes the table.
#include <benchmark/benchmark.h>

#include "rows.hpp"

int main(int count, char** arguments) {
  benchmark::Initialize(&count, arguments);
  if (benchmark::ReportUnrecognizedArguments(count, arguments)) return 2;
  pools_bench::add_ashlar();
  pools_bench::add_peers();
  pools_bench::add_limits();
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
