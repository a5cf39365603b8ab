#include "tools/report/counter_tracks.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace ashlar::report {
namespace {

using nlohmann::json;

const json data = {
    {"trace", {{"program", "/bin/program"}, {"file", "a.atrace"}, {"pid", 7}}},
    {"timeline",
     {{"seconds", {0.0, 0.5, 1.0}},
      {"live_bytes", {100, 110, 110}},
      {"live_blocks", {1, 2, 2}},
      {"held", {{"sites", {{{"site", 1}, {"bytes", {0, 10, 10}}}}}, {"others", {100, 100, 100}}}}}},
    {"sites",
     {{"sites",
       {{{"name", "first"}, {"source", ""}}, {{"name", "f in p"}, {"source", "p.c:3"}}}}}}};

// "at microseconds: value" of a counter.
std::vector<std::string> counter(const json& tracks, const std::string& name) {
  std::vector<std::string> found;
  for (const json& event : tracks["traceEvents"])
    if (event["ph"] == "C" && event["name"] == name) {
      EXPECT_EQ(event["pid"], 7);
      found.push_back(event["ts"].dump() + ": " + event["args"].begin().value().dump() + " " +
                      event["args"].begin().key());
    }
  return found;
}

TEST(CounterTracks, ACounterChangesWhereItsValueDoes) {
  const json tracks = counter_tracks(data);
  using all = std::vector<std::string>;
  EXPECT_EQ(tracks["traceEvents"][0]["args"]["name"], "/bin/program");
  EXPECT_EQ(counter(tracks, "live bytes"), (all{"0.0: 100 bytes", "500000.0: 110 bytes"}));
  EXPECT_EQ(counter(tracks, "live blocks"), (all{"0.0: 1 blocks", "500000.0: 2 blocks"}));
  EXPECT_EQ(counter(tracks, "held: f in p at p.c:3"), (all{"0.0: 0 bytes", "500000.0: 10 bytes"}));
  EXPECT_EQ(counter(tracks, "held: other call sites"), (all{"0.0: 100 bytes"}));
}

TEST(CounterTracks, WithoutCallSitesThereAreTwoCounters) {
  json plain = data;
  plain["timeline"]["held"] = nullptr;
  EXPECT_EQ(counter_tracks(plain)["traceEvents"].size(), 1u + 2 + 2);
}

}  // namespace
}  // namespace ashlar::report
