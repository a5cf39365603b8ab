// tests/work_bound/search.cpp: looks for the program with the call that does most.
//
//   work_bound_search PROGRAMS SEED [low]    changes the best program so often, and prints what it found
//
// Steps are counted, by their costs; the best program's call is then stepped through. A line of what it
// prints is a line of worst.txt.
#include <cstdio>
#include <cstdlib>
#include <tests/work_bound/measure.hpp>

using namespace ashlar;
using namespace ashlar::work_bound;

int main(int argc, char** argv) {
  const unsigned long programs = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 100;
  std::mt19937_64 random(argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 1);
  const bool low = argc > 3 && std::strcmp(argv[3], "low") == 0;
  const heap_bounds bounds = low ? heap_bounds::low_latency() : heap_bounds{};
  test::be_ready_to_step();
  program best = random_program(random);
  std::size_t most = 0;
  for (unsigned long i = 0; i < programs; ++i) {
    const program next = random() % 8 == 0 ? random_program(random) : changed(best, random);
    const std::size_t cost = cost_of(heaviest(next, bounds, cost_of, false).of_call);
    if (cost < most || (cost == most && next.size() > best.size())) continue;
    most = cost;
    best = next;
  }
  const measured found = heaviest(best, bounds, cost_of, true);
  std::printf("%s# %llu instructions, steps of %zu:", text_of(best).c_str(),
              static_cast<unsigned long long>(found.instructions), cost_of(found.of_call));
  for (const std::size_t n : found.of_call) std::printf(" %zu", n);
  std::printf("; formula %zu\n", bounds.most_instructions());
}
