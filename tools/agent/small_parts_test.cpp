// The tests of the small sources of tools/agent: a part for each, with its name.
// Needs Linux.
#include <nlohmann/json.hpp>
#include <tests/support/test_headers.hpp>

#include <ashlar/core/pprof.hpp>

#include "tools/agent/fleet_page.hpp"
#include "tools/agent/metrics_text.hpp"
#include "tools/agent/otlp_profile.hpp"
#include "tools/agent/spool.hpp"
#include "tools/trace/profile_fields.hpp"

namespace ashlar::agent {
namespace {

// ---- fleet_page --------------------------------------------------------------------------------
// Holders by site, of a profile that a process has sent: of a right one, and of damaged ones.

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
  writer.add(pprof::function{.id = 2, .name = inner, .file = writer.text("/src/shop.cpp")});
  writer.add(pprof::function{
      .id = 3, .name = inner, .file = writer.text("/usr/include/c++/12/bits/allocator.h")});
  const std::array<pprof::line, 3> lines{
      {{.function = 3, .number = 9}, {.function = 2, .number = 1}, {.function = 1, .number = 2}}};
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
  EXPECT_EQ(std::tuple(found["sites"][0]["live_bytes"], found["sites"][0]["live_blocks"],
                       found["sites"][0]["allocated_bytes"], found["sites"][0]["tag"],
                       found["sites"][1]["tag"]),
            std::tuple(300, 3, 900, "parser", ""));
  EXPECT_EQ(found["sites"][0]["frames"], (nlohmann::json{"inner at shop.cpp:1", "outer", "?"}));
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

// ---- metrics_text ------------------------------------------------------------------------------
// Which format an Accept header asks for. What each says: tests/agent.

TEST(MetricsText, AcceptHeaders) {
  const auto is_open = [](const char* accept) {
    return preferred_format(accept) == metrics_format::openmetrics;
  };
  EXPECT_FALSE(is_open(""));
  EXPECT_FALSE(is_open("*/*"));
  EXPECT_FALSE(is_open("text/plain"));
  EXPECT_TRUE(is_open("application/openmetrics-text; version=1.0.0"));
  EXPECT_TRUE(
      is_open("application/openmetrics-text;version=1.0.0;q=0.8,text/plain;q=0.5,*/*;q=0.1"));
  EXPECT_FALSE(is_open("application/openmetrics-text;q=0.4,text/plain;q=0.5"));
  EXPECT_FALSE(is_open("application/openmetrics-text;q=0"));
  EXPECT_FALSE(is_open("application/openmetrics-text;q=x0,text/plain;q=2"));
}

// ---- process_facts -----------------------------------------------------------------------------
// What a label may hold.

TEST(ProcessFacts, LabelsAreUtf8) {
  EXPECT_EQ(label_value("a\nb \xC3\xA9\xF0\x9F\x98\x80"), "a\nb \xC3\xA9\xF0\x9F\x98\x80");
  for (const char* const wrong : {"\x80", "\xC0", "\xC1", "\xF5", "\xFF", "\xC3"})
    EXPECT_EQ(label_value(wrong), "\xEF\xBF\xBD") << wrong;
  EXPECT_EQ(label_value("\xED\xA0\x80"),
            "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");  // half a character
  EXPECT_EQ(label_value("\xE0\x80\xAF"),
            "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");       // longer than need be
  EXPECT_EQ(label_value("\xF4\x90\x80\x80").size(), 12u);  // beyond the last one
}

TEST(ProcessFacts, LabelsAreBounded) {
  EXPECT_EQ(label_value(std::string(5000, 'x')).size(), label_bytes_max);
  // A character is there whole or not at all.
  const std::string cut = label_value(std::string(label_bytes_max - 1, 'x') + "\xC3\xA9");
  EXPECT_EQ(cut, std::string(label_bytes_max - 1, 'x'));
}

TEST(ProcessFacts, LabelsOfRandomBytesStayWhatTheyAre) {
  std::mt19937 random(1);
  for (int round = 0; round < 20'000; ++round) {
    std::string bytes(random() % 40, '\0');
    for (char& c : bytes) c = static_cast<char>(random());
    const std::string once = label_value(bytes);
    ASSERT_EQ(label_value(once), once);
    ASSERT_LE(once.size(), label_bytes_max);
  }
}

TEST(ProcessFacts, AttributesOfOpenTelemetry) {
  const char* const list = "service.name=web,service.version=1%2C2%,x=%4,y,=z";
  EXPECT_EQ(attribute(list, "service.name"), "web");
  EXPECT_EQ(attribute(list, "service.version"), "1,2%");
  EXPECT_EQ(attribute(list, "x"), "%4");
  EXPECT_EQ(attribute(list, "y"), "");
  EXPECT_EQ(attribute("", "y"), "");
}

TEST(ProcessFacts, ServicesAreUnits) {
  EXPECT_EQ(unit_of("/system.slice/web.service"), "web");
  EXPECT_EQ(unit_of("/user.slice/user-7.slice/user@7.service/app.slice/shop.service"), "shop");
  EXPECT_EQ(unit_of("/user.slice/user@7.service/session.scope"), "");
  EXPECT_EQ(unit_of("/"), "");
}

// ---- spool -------------------------------------------------------------------------------------
// What waits for a collector that is away is bounded, and nothing is lost uncounted.

constexpr std::size_t room = 10'000;

pushed_profile of_bytes(std::size_t bytes, char name) {
  return {std::string(1, name), std::string(bytes, 'x')};
}

TEST(Spool, DropsTheOldestWhereThereIsNoRoom) {
  spool waiting(room);
  for (const char name : {'a', 'b', 'c', 'd'}) waiting.add(of_bytes(3000, name));
  EXPECT_LE(waiting.bytes(), room);
  EXPECT_EQ(waiting.dropped(), 1u);
  for (const char name : {'b', 'c', 'd'}) {
    ASSERT_FALSE(waiting.is_empty());
    EXPECT_EQ(waiting.oldest().place, std::string(1, name));
    waiting.pop();
  }
  EXPECT_TRUE(waiting.is_empty());
  EXPECT_EQ(waiting.bytes(), 0u);
}

TEST(Spool, DropsWhatIsLargerThanAllRoomAndNothingElse) {
  spool waiting(room);
  waiting.add(of_bytes(3000, 'a'));
  waiting.add(of_bytes(room, 'b'));
  EXPECT_EQ(waiting.dropped(), 1u);
  EXPECT_EQ(waiting.oldest().place, "a");
}

TEST(Spool, CountsSmallOnesToo) {
  spool waiting(room);
  for (int i = 0; i < 1000; ++i) waiting.add({});
  EXPECT_LE(waiting.bytes(), room);
  EXPECT_EQ(waiting.dropped(), 1000 - room / sizeof(pushed_profile));
}

}  // namespace

}  // namespace ashlar::agent
