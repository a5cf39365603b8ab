// The JSON form, read by an independent parser and held against docs/statistics.md.
// Needs Linux.
#include <nlohmann/json.hpp>
#include <tests/support/test_headers.hpp>
#include <tests/support/written_stats.hpp>

#include <sys/prctl.h>

namespace {

using nlohmann::json;

json parsed() { return json::parse(ashlar::test::written_stats(ASHLAR_STATS_JSON)); }

std::set<std::string> keys_of(const json& object) {
  std::set<std::string> keys;
  for (const auto& [key, value] : object.items()) keys.insert(key);
  return keys;
}

const std::set<std::string> class_keys = {
    "block_size",  "blocks_made", "blocks_in_use", "peak_in_use", "peak_bytes",
    "allocations", "frees",       "slack_bytes",   "slabs",       "committed_bytes"};

TEST(StatsJson, HasTheFieldsOfTheDocumentAndNoOthers) {
  void* block = xmalloc(16);
  const json j = parsed();
  EXPECT_EQ(keys_of(j), (std::set<std::string>{"ashlar", "schema", "accuracy", "pid", "command",
                                               "total", "large", "classes"}));
  EXPECT_EQ(std::tuple(j["schema"], j["ashlar"], j["accuracy"]), std::tuple(1, "0.1.0", "batch"));
  EXPECT_EQ(j["pid"], ::getpid());
  EXPECT_EQ(keys_of(j["total"]),
            (std::set<std::string>{"bytes_in_use", "peak_bytes_in_use", "allocations", "frees",
                                   "slack_bytes", "reserved_bytes", "committed_bytes",
                                   "peak_committed_bytes", "resident_bytes", "given_back_bytes",
                                   "metadata_bytes", "threads", "guards_refused", "limit_bytes",
                                   "limit_refusals", "pinned_bytes"}));
  EXPECT_EQ(keys_of(j["large"]), class_keys);
  ASSERT_FALSE(j["classes"].empty());
  for (const json& c : j["classes"]) EXPECT_EQ(keys_of(c), class_keys);
  xfree(block);
}

TEST(StatsJson, ItsNumbersAreThoseOfTheStruct) {
  void* small = xmalloc(500);
  void* large = xmalloc(300'000);
  ashlar_stats s;
  ashlar_stats_get(&s);
  const json j = parsed();
  EXPECT_EQ(j["total"]["bytes_in_use"], s.total.bytes_in_use);
  EXPECT_EQ(j["total"]["threads"], s.total.threads);
  EXPECT_EQ(j["large"]["blocks_in_use"], s.large.blocks_in_use);
  EXPECT_EQ(j["large"]["block_size"], 0);
  std::size_t used = 0, found = 0;
  for (std::uint32_t i = 0; i < s.class_count; ++i) used += s.classes[i].allocations != 0 ? 1u : 0u;
  EXPECT_EQ(j["classes"].size(), used) << "only classes that were used are listed";
  for (const json& c : j["classes"]) {
    EXPECT_EQ(c["allocations"].get<std::uint64_t>() - c["frees"].get<std::uint64_t>(),
              c["blocks_in_use"].get<std::uint64_t>());
    if (c["block_size"] != 512) continue;
    ++found;
    EXPECT_GE(c["blocks_in_use"].get<std::uint64_t>(), 1u);
  }
  EXPECT_EQ(found, 1u);
  xfree(small);
  xfree(large);
}

TEST(StatsJson, AnyNameOfAProcessIsAString) {
  char before[16] = {};
  ASSERT_EQ(::prctl(PR_GET_NAME, before), 0);
  ASSERT_EQ(::prctl(PR_SET_NAME, "a\"b\\c\td\x7f"), 0);
  const json j = parsed();
  ::prctl(PR_SET_NAME, before);
  EXPECT_EQ(j["command"], "a\"b\\c\td\x7f");
}

}  // namespace
