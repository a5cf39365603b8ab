// tools/measure/comparison_samples_test.hpp: a comparison of two allocators, for the tests.
#pragma once

#include "tools/measure/comparison.hpp"

namespace ashlar::measure {

inline run_sample sample(double wall, std::uint64_t rss, int wait_status = 0, bool warmup = false) {
  run_sample made;
  made.warmup = warmup;
  made.round = 1;
  made.outcome.wall_seconds = wall;
  made.outcome.user_seconds = wall / 2;
  made.outcome.peak_rss_bytes = rss;
  made.outcome.wait_status = wait_status;
  return made;
}

inline comparison two_allocators() {
  comparison compared;
  compared.label = "work, \"quoted\"";
  compared.command = {"work"};
  compared.rounds = 3;
  compared.allocators = {
      {{"system", ""},
       {sample(9, 9, 0, true), sample(1, 1 << 20), sample(3, 1 << 20), sample(2, 1 << 20)},
       ""},
      {{"other", "/lib/other.so"},
       {sample(9, 9, 0, true), sample(1, 1 << 21), sample(1, 1 << 21)},
       ""}};
  return compared;
}

}  // namespace ashlar::measure
