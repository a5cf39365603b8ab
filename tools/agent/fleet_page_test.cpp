// Holders by site, of a profile that a process has sent: of a right one, and of damaged ones.
#include "tools/agent/fleet_page.hpp"

#include <array>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <random>

#include <gtest/gtest.h>

#include <ashlar/core/pprof.hpp>

#include "tools/agent/otlp_profile.hpp"
#include "tools/trace/profile_fields.hpp"

namespace ashlar::agent {
namespace {

struct text_sink {
  std::string bytes;
  void put(const void* from, std::size_t count) {
    bytes.append(static_cast<const char*>(from), count);
  }
};

std::string profile() {
  text_sink to;
  pprof::profile_writer writer(to);
  pprof::begin_heap_profile(writer, 512);
  const pprof::text_index outer = writer.text("outer"), inner = writer.text("inner");
  writer.add(pprof::function{.id = 1, .name = outer, .file = 0});
  writer.add(pprof::function{.id = 2, .name = inner, .file = 0});
  const std::array<pprof::line, 2> lines{
      {{.function = 2, .number = 1}, {.function = 1, .number = 2}}};
  writer.add(pprof::location{.id = 1, .mapping = 0, .address = 0x10, .lines = lines});
  writer.add(pprof::location{.id = 2, .mapping = 0, .address = 0x20, .lines = {}});
  const std::array<std::uint64_t, 2> both{1, 2}, one{2, 2};
  writer.sample(one, std::array<std::int64_t, 5>{1, 10, 1, 10, 0});
  const pprof::text_index key = writer.text("tag"), tag = writer.text("parser");
  writer.sample(both, std::array<std::int64_t, 5>{9, 900, 3, 300, 0}, key, tag);
  writer.sample(both, std::array<std::int64_t, 5>{9, 900, 0, 0, 0});
  return to.bytes;
}

TEST(FleetPage, SitesHoldMostFirst) {
  const auto found = nlohmann::json::parse(sites_json(profile(), 20));
  EXPECT_EQ(found["every_bytes"], 512);
  ASSERT_EQ(found["sites"].size(), 2u);  // one has nothing live
  EXPECT_EQ(found["sites"][0]["live_bytes"], 300);
  EXPECT_EQ(found["sites"][0]["live_blocks"], 3);
  EXPECT_EQ(found["sites"][0]["allocated_bytes"], 900);
  EXPECT_EQ(found["sites"][0]["tag"], "parser");
  EXPECT_EQ(found["sites"][1]["tag"], "");
  EXPECT_EQ(found["sites"][0]["frames"], (nlohmann::json{"inner", "outer", "?"}));
  EXPECT_EQ(nlohmann::json::parse(sites_json(profile(), 1))["sites"].size(), 1u);
}

// Effects: makes of it all that the agent makes of a profile, if it is one.
void use(const std::string& profile) {
  static_cast<void>(sites_json(profile, 20));
  try {
    static_cast<void>(otlp_request(profile, {}, {}));
  } catch (const trace::damaged_profile&) {
    return;
  }
}

TEST(FleetPage, DamagedProfilesDoNoHarm) {
  const std::string whole = profile();
  for (std::size_t bytes = 0; bytes < whole.size(); ++bytes) use(whole.substr(0, bytes));
  std::mt19937 random(1);
  for (int round = 0; round < 20'000; ++round) {
    std::string changed = whole;
    for (int i = 0; i < 3; ++i) changed[random() % changed.size()] = static_cast<char>(random());
    use(changed);
  }
  EXPECT_EQ(sites_json("no profile", 20), "");
}

}  // namespace
}  // namespace ashlar::agent
