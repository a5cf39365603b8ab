// bench/classic/main.cpp: the documents' benchmarks as Google's, NAME/SIDE. Each part of a run is a counter, in
// microseconds. A repetition is one run, and they follow each other in this process; what a process can do only once
// (its pool never uses a block again) has one.
#include <string>

#include <benchmark/benchmark.h>

#include "benchmark.hpp"

namespace {

void add(const classic::benchmark& of, const classic::side& on) {
  const auto run = [of, on](benchmark::State& state) {
    for (auto _ : state) {
      const classic::figures measured = on.run();
      classic::microseconds all{};
      for (std::size_t i = 0; i < measured.parts.size(); ++i) {
        state.counters[std::string(of.parts[i])] = measured.parts[i].count();
        all += measured.parts[i];
      }
      state.SetIterationTime(std::chrono::duration<double>(all).count());
    }
  };
  benchmark::RegisterBenchmark((std::string(of.name) + "/" + std::string(on.name)).c_str(), run)
      ->Iterations(1)
      ->Repetitions(of.once ? 1 : 3)
      ->UseManualTime();
}

}  // namespace

int main(int count, char** arguments) {
  benchmark::Initialize(&count, arguments);
  if (benchmark::ReportUnrecognizedArguments(count, arguments)) return 2;
  for (auto* of_document : {classic::xallocator_benchmarks, classic::stl_allocator_benchmarks,
                            classic::mem_manager_benchmarks, classic::memory_pool_benchmarks,
                            classic::arena_benchmarks})
    for (const classic::benchmark& of : of_document())
      for (const classic::side& on : of.sides) add(of, on);
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
