// bench/classic/main.cpp: runs one benchmark on one side, several times in this process.
// Usage: classic_bench --list | classic_bench NAME SIDE [RUNS=1]
// Prints one line a run: the run's number and a figure in microseconds for each part. --list prints
// one line a benchmark: its name, how many runs a process can do (0: any number), its sides with
// commas, and its parts.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <vector>

#include "benchmark.hpp"

namespace {

std::vector<classic::benchmark> all() {
  std::vector<classic::benchmark> list;
  for (auto* of_document : {classic::xallocator_benchmarks, classic::stl_allocator_benchmarks,
                            classic::mem_manager_benchmarks, classic::memory_pool_benchmarks,
                            classic::arena_benchmarks})
    for (const auto& b : of_document()) list.push_back(b);
  return list;
}

int fail(const char* why, const char* what) {
  std::fprintf(stderr,
               "classic_bench: %s '%s'\n"
               "usage: classic_bench --list | classic_bench NAME SIDE [RUNS]\n",
               why, what);
  return 2;
}

int list() {
  for (const auto& b : all()) {
    std::printf("%.*s %d", static_cast<int>(b.name.size()), b.name.data(), b.once ? 1 : 0);
    const char* before = " ";
    for (const auto& s : b.sides) {
      std::printf("%s%.*s", before, static_cast<int>(s.name.size()), s.name.data());
      before = ",";
    }
    for (const auto part : b.parts)
      std::printf(" %.*s", static_cast<int>(part.size()), part.data());
    std::printf("\n");
  }
  return 0;
}

}  // namespace

int main(int count, char** arguments) {
  if (count == 2 && std::strcmp(arguments[1], "--list") == 0) return list();
  if (count < 3) return fail("missing argument after", arguments[count - 1]);
  const std::string_view name = arguments[1];
  const int runs = count > 3 ? std::atoi(arguments[3]) : 1;
  if (runs < 1) return fail("RUNS must be a positive number, not", arguments[3]);
  for (const auto& b : all()) {
    if (b.name != name) continue;
    if (b.once && runs > 1) return fail("one run a process, no more, for", arguments[1]);
    const auto side =
        std::ranges::find(b.sides, std::string_view(arguments[2]), &classic::side::name);
    if (side == b.sides.end()) return fail("no such side", arguments[2]);
    for (int run = 1; run <= runs; ++run) {
      const classic::figures measured = side->run();
      std::printf("%d", run);
      for (const auto part : measured.parts) std::printf(" %.3f", part.count());
      std::printf("\n");
    }
    return 0;
  }
  return fail("no such benchmark", arguments[1]);
}
