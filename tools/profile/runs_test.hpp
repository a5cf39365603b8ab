// tools/profile/runs_test.hpp: random runs for the tests of this folder.
#pragma once

#include <random>

#include "tools/profile/profile_builder.hpp"

namespace ashlar::profiling::test {

struct change {
  bool is_death = false;
  std::uint64_t time = 0;
  std::uint64_t size = 0;
  std::uint64_t alignment = 0;
  std::uint64_t born_at = 0;  ///< of a death
};
using run = std::vector<change>;

/// At most `kinds` kinds of requests, many sizes of many magnitudes, some over-aligned and of some bytes less than their
/// need; the number of live blocks goes up and down.
inline run random_run(std::mt19937_64& random, std::size_t changes, std::size_t kinds) {
  const auto below = [&random](std::uint64_t n) { return random() % n; };
  std::vector<std::pair<std::uint64_t, std::uint64_t>> requests(1 + below(kinds));
  for (auto& [size, alignment] : requests) {
    size = below(std::uint64_t{1} << (1 + below(below(8) == 0 ? 36u : 18u)));
    alignment = below(8) == 0 ? std::uint64_t{1} << below(21) : 0;
  }
  run made;
  std::vector<change> live;
  std::uint64_t time = below(1000);
  std::size_t favourite = 0;
  std::uint64_t deaths_in_hundred = 40;
  for (std::size_t c = 0; c < changes; ++c) {
    if (below(40) == 0) {
      favourite = below(requests.size());
      deaths_in_hundred = 20 + below(70);
    }
    time += below(3) * below(50);
    if (!live.empty() && below(100) < deaths_in_hundred) {
      const std::size_t which = below(live.size());
      change death = live[which];
      live[which] = live.back();
      live.pop_back();
      death.is_death = true;
      death.born_at = std::exchange(death.time, time);
      made.push_back(death);
    } else {
      const auto& [size, alignment] = requests[below(2) == 0 ? favourite : below(requests.size())];
      live.push_back({.time = time, .size = size, .alignment = alignment});
      made.push_back(live.back());
    }
  }
  return made;
}

inline void feed(profile_builder& builder, const run& from) {
  for (const change& c : from) {
    if (c.is_death) {
      builder.death(c.time, c.size, c.alignment, c.born_at);
    } else {
      builder.birth(c.time, c.size, c.alignment);
    }
  }
}

/// A tick is a microsecond.
inline profile profiled(const run& from) {
  profile_builder builder(1'000'000);
  feed(builder, from);
  return builder.snapshot();
}

/// Of one run, which has some of what can be odd in a trace.
inline profile random_profile(std::mt19937_64& random) {
  profile made = profiled(random_run(random, random() % 400, 60));
  made.unfinished_runs = random() % 2;
  for (const auto count : {&profile::left_out, &profile::unknown_deaths, &profile::missing_deaths,
                           &profile::lost_events, &profile::refused_requests})
    made.*count = random() % 3;
  return made;
}

}  // namespace ashlar::profiling::test
