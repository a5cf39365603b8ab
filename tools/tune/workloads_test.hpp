// tools/tune/workloads_test.hpp: random workloads for the tests of this folder.
#pragma once

#include <random>

#include "tools/tune/workload.hpp"

namespace ashlar::tune {

/// At most `most_sizes` sizes, in traces of `births` births each whose number of live blocks goes up and down; a few
/// requests are over-aligned.
inline workload random_workload(std::mt19937& random, std::size_t most_sizes, std::size_t births,
                                std::size_t traces) {
  const auto below = [&random](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  struct request {
    std::uint64_t size;
    std::uint64_t alignment;
  };
  std::vector<request> kinds(1 + below(most_sizes));
  for (request& kind : kinds) {
    kind.size = below(most_sizes * 16);
    kind.alignment = below(8) == 0 ? std::uint64_t{1} << below(9) : 0;
  }
  workload_builder builder(std::uint64_t{1} << (3 + below(3)));
  for (std::size_t t = 0; t < traces; ++t) {
    builder.begin_trace();
    std::vector<std::uint32_t> live;
    std::vector<std::uint32_t> free;
    std::uint32_t next = 0;
    std::size_t favourite = 0;
    std::size_t deaths_in_hundred = 50;
    for (std::size_t made = 0; made < births;) {
      if (below(40) == 0) {
        favourite = below(kinds.size());
        deaths_in_hundred = 20 + below(60);
      }
      if (!live.empty() && below(100) < deaths_in_hundred) {
        const std::size_t which = below(live.size());
        builder.death(live[which]);
        free.push_back(live[which]);
        live[which] = live.back();
        live.pop_back();
        continue;
      }
      const request& kind = kinds[below(2) == 0 ? favourite : below(kinds.size())];
      std::uint32_t slot = next;
      if (free.empty()) {
        ++next;
      } else {
        slot = free.back();
        free.pop_back();
      }
      builder.birth(slot, kind.size, kind.alignment);
      live.push_back(slot);
      ++made;
    }
  }
  return builder.finish();
}

/// One that every partition can be tried on.
inline workload small_random_workload(std::mt19937& random) {
  const std::size_t births = 1 + random() % 60;
  return random_workload(random, 7, births, 1 + random() % 3);
}

}  // namespace ashlar::tune
