#include "tools/report/attachments.hpp"

#include <functional>

#include <gtest/gtest.h>

namespace ashlar::report {
namespace {

using nlohmann::json;

const json times{{"median", 2.0}, {"min", 1.0}, {"max", 3.0}};

json pools() {
  return {{"certificate", 2},
          {"total_bytes", 1000},
          {"margin_percent", 5},
          {"classes", {{{"block_size", 32}, {"alignment", 16}, {"capacity", 10}}}},
          {"inputs", {{{"file", "run.atrace"}}}}};
}
json comparison() {
  return {{"report", "compare"},
          {"schema", 1},
          {"label", "ls"},
          {"command", {"ls"}},
          {"allocators",
           {{{"name", "system"},
             {"runs", 3},
             {"failure", ""},
             {"wall_seconds", times},
             {"cpu_seconds", times},
             {"peak_rss_bytes", times}},
            {{"name", "broken"}, {"runs", 0}, {"failure", "exit status 1"}}}}};
}
json replay() {
  json latency{{"calls", 5}};
  for (const char* name : {"p50_ns", "p90_ns", "p99_ns", "p99.9_ns", "p99.99_ns", "longest_ns"})
    latency[name] = 20;
  return {{"report", "replay"},
          {"schema", 1},
          {"trace", "run.atrace"},
          {"outcomes",
           {{{"on", "system"},
             {"runs", 3},
             {"failures", 0},
             {"wall_seconds", times},
             {"processor_seconds", times},
             {"peak_rss_bytes", times},
             {"latencies", {{"malloc", latency}}}}}}};
}

TEST(Attachments, AreRead) {
  const chosen_pools chosen = read_pools(pools().dump(), "pools.json");
  EXPECT_EQ(chosen.classes.of(20, 0).block_size, 32u);
  EXPECT_EQ(chosen.classes[0].capacity, 10u);
  EXPECT_EQ(chosen.about["total_bytes"], 1000);
  const json compared = read_comparison(comparison().dump(), "compare.json");
  EXPECT_EQ(compared["allocators"][0]["wall_seconds"]["median"], 2.0);
  EXPECT_FALSE(compared["allocators"][1].contains("wall_seconds"));
  const json replayed = read_replay(replay().dump(), "replay.json");
  EXPECT_EQ(replayed["outcomes"][0]["latencies"]["malloc"]["p99.9_ns"], 20);
}

// Each member is taken out, and each is made a text where it is a number (and a number where it is a text).
void refuse_each_change(const json& right, const std::function<void(const std::string&)>& read) {
  const json flat = right.flatten();
  for (const auto& [pointer, value] : flat.items()) {
    json wrong = flat;
    wrong[pointer] = value.is_string() ? json(-1) : json("many");
    EXPECT_THROW(read(wrong.unflatten().dump()), attachment_error) << pointer;
  }
  for (const auto& [name, value] : right.items()) {
    json wrong = right;
    wrong.erase(name);
    EXPECT_THROW(read(wrong.dump()), attachment_error) << name;
  }
}

TEST(Attachments, WhatIsNotAsItShouldBeIsRefused) {
  // What the report does not say of a comparison it does not read.
  refuse_each_change(pools(), [](const std::string& text) { (void)read_pools(text, "x"); });
  refuse_each_change(comparison(),
                     [](const std::string& text) { (void)read_comparison(text, "x"); });
  refuse_each_change(replay(), [](const std::string& text) { (void)read_replay(text, "x"); });
}

// Its page would compare all with the first.
TEST(Attachments, WhatHasNoAllocatorIsRefused) {
  json compared = comparison();
  compared["allocators"] = json::array();
  EXPECT_THROW((void)read_comparison(compared.dump(), "x"), attachment_error);
  json replayed = replay();
  replayed["outcomes"] = json::array();
  EXPECT_THROW((void)read_replay(replayed.dump(), "x"), attachment_error);
}

TEST(Attachments, TheMessageNamesFileFaultAndCommand) {
  const auto message = [](const std::string& text) -> std::string {
    try {
      (void)read_comparison(text, "out.json");
    } catch (const attachment_error& error) {
      return error.what();
    }
    return "none";
  };
  for (const char* text : {"", "{", "[]", "{\"report\": \"compare\", \"schema\": 2}"}) {
    EXPECT_NE(message(text).find("'out.json'"), std::string::npos) << message(text);
    EXPECT_NE(message(text).find("ashlar compare --json"), std::string::npos) << message(text);
  }
  EXPECT_NE(message("{\"report\": \"compare\", \"schema\": 2}").find("schema"), std::string::npos);
}

}  // namespace
}  // namespace ashlar::report
