// tools/cli/statistics_sample_test.hpp: statistics as the drop-in library writes them, for the
// tests.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace ashlar::cli {

inline nlohmann::json sample_class(std::uint64_t block_size, std::uint64_t peak_in_use) {
  return {{"block_size", block_size},
          {"blocks_made", peak_in_use + 5},
          {"blocks_in_use", 1},
          {"peak_in_use", peak_in_use},
          {"peak_bytes", peak_in_use * block_size},
          {"allocations", peak_in_use * 2},
          {"frees", peak_in_use * 2 - 1},
          {"slack_bytes", 7},
          {"slabs", 2},
          {"committed_bytes", 65536}};
}

// `count` classes of 16, 32, ... bytes in falling order, each with as many peak blocks as its
// place.
inline nlohmann::json sample_statistics(std::uint64_t count) {
  nlohmann::json document{{"ashlar", "0.1.0"},
                          {"schema", 1},
                          {"accuracy", "batch"},
                          {"pid", 4711},
                          {"command", "work"}};
  document["total"] = {{"bytes_in_use", 1000},        {"peak_bytes_in_use", 5u << 20},
                       {"allocations", 10},           {"frees", 9},
                       {"slack_bytes", 100},          {"reserved_bytes", 1ull << 40},
                       {"committed_bytes", 1u << 20}, {"peak_committed_bytes", 6u << 20},
                       {"resident_bytes", 2u << 20},  {"given_back_bytes", 0},
                       {"metadata_bytes", 4096},      {"threads", 1},
                       {"guards_refused", 0},         {"limit_bytes", 0},
                       {"limit_refusals", 0}};
  document["large"] = sample_class(0, 3);
  document["classes"] = nlohmann::json::array();
  for (std::uint64_t i = count; i > 0; --i) document["classes"].push_back(sample_class(16 * i, i));
  return document;
}

}  // namespace ashlar::cli
