// What a program has in memory, as a user meets it: the first screen adds up to it, and says what is
// not malloc's.
#include <nlohmann/json.hpp>
#include <tests/support/command_in_folder.hpp>
#include <tests/support/limited_group.hpp>
#include <tests/support/test_headers.hpp>

#include <fmt/format.h>

#include "tools/trace/trace_test_files.hpp"

namespace {

using namespace support;
using nlohmann::json;

constexpr std::uint64_t mib = 1 << 20;
const std::string program = ASHLAR_TEST_HELD_OTHERWISE;

class Memory : public CommandInFolder {
 protected:
  [[nodiscard]] json report_of(const std::string& trace) const {
    const auto result = finish(start({"report", "--text", "--json", trace}));
    EXPECT_EQ(result.exit_status(), 0) << result.err;
    return json::parse(result.out);
  }
  [[nodiscard]] std::string text_of(const std::string& trace) const {
    return finish(start({"report", "--text", trace})).out;
  }
  [[nodiscard]] json memory_of(const std::string& what, int status = 0) const {
    EXPECT_EQ(finish(start({"record", "--no-stacks", "--", program, what})).exit_status(), status);
    const json memory = report_of("run.atrace")["memory"];
    expect_sum(memory);
    return memory;
  }
  /// The rows add up to the peak.
  static void expect_sum(const json& memory) {
    ASSERT_TRUE(memory.is_object());
    std::uint64_t sum = 0;
    for (const json& row : memory["rows"]) sum += row["bytes"].get<std::uint64_t>();
    EXPECT_EQ(sum, memory["peak_bytes"].get<std::uint64_t>());
  }
  /// Returns: what a row may lack of the memory that was written last: of the looks that saw nearly
  /// as much as the most, the first is shown (resident_counter).
  static std::uint64_t unseen(const json& memory) {
    return memory["peak_bytes"].get<std::uint64_t>() / 64;
  }
  static std::uint64_t row(const json& memory, const std::string& begin) {
    for (const json& each : memory["rows"])
      if (each["name"].get<std::string>().starts_with(begin)) return each["bytes"];
    return 0;
  }
  static void expect_near(std::uint64_t found, std::uint64_t wanted, std::uint64_t by,
                          std::uint64_t unseen = 0) {
    EXPECT_GE(found + by + unseen, wanted);
    EXPECT_LE(found, wanted + by);
  }
};

TEST_F(Memory, ThatTheProgramMapsByItselfIsNotMallocs) {
  const json memory = memory_of("mapped");
  expect_near(memory["peak_bytes"], 204 * mib, 8 * mib);
  expect_near(row(memory, "blocks of malloc"), mib, mib / 4);
  expect_near(row(memory, "anonymous memory"), 200 * mib, mib, unseen(memory));
  expect_near(memory["live_bytes"], mib, mib / 4);
  has(memory["remedy"].get<std::string>(), "a recording with stacks names the lines");
  const std::string text = text_of("run.atrace");
  has(text, "\n  peak RSS 20");
  const double mapped = static_cast<double>(row(memory, "anonymous memory")) / mib;
  has(text, fmt::format("{:.1f} MiB", mapped));
  EXPECT_LT(text.find("peak RSS"), text.find("  events "));
}

// With stacks, the lines that mapped it are named. What was given back is not there.
TEST_F(Memory, ThatTheProgramMapsByItselfIsByLine) {
  EXPECT_EQ(finish(start({"record", "--", program, "moved"})).exit_status(), 0);
  const json memory = report_of("run.atrace")["memory"];
  expect_sum(memory);
  for (const json& row : memory["rows"]) {
    if (!row["name"].get<std::string>().starts_with("anonymous")) continue;
    ASSERT_EQ(row["parts"].size(), 2u) << row;
    EXPECT_TRUE(row["parts"][0]["name"].get<std::string>().starts_with("grow")) << row;
    expect_near(row["parts"][0]["bytes"], 64 * mib, mib);
    EXPECT_TRUE(row["parts"][1]["name"].get<std::string>().starts_with("map")) << row;
    expect_near(row["parts"][1]["bytes"], 16 * mib, mib, unseen(memory));
  }
  has(memory["remedy"].get<std::string>(), "in the lines");
  has(text_of("run.atrace"), "%    grow at held_otherwise.c:");
}

TEST_F(Memory, ThatNobodyTouchesIsNotInMemory) {
  const json memory = memory_of("untouched");
  EXPECT_LT(memory["peak_bytes"].get<std::uint64_t>(), 16 * mib);
  expect_near(memory["live_bytes"], 801 * mib, mib);
  expect_near(row(memory, "blocks of malloc"), mib, mib);
  has(text_of("run.atrace"), "never touched, or are in swap");
}

TEST_F(Memory, ThatIsFreedAndResidentIsMallocsBeyondItsBlocks) {
  const json memory = memory_of("freed");
  const std::uint64_t all = row(memory, "blocks of malloc") + row(memory, "malloc beyond");
  expect_near(all, 64 * mib, 3 * mib);
  EXPECT_LT(row(memory, "anonymous memory"), mib);
  EXPECT_EQ(memory["remedy"], "");
}

TEST_F(Memory, OfAPlainProgramIsItsFiles) {
  const json memory = memory_of("shown");
  EXPECT_LT(memory["peak_bytes"].get<std::uint64_t>(), 16 * mib);
  EXPECT_GT(row(memory, "files"), mib / 2);
  EXPECT_GT(row(memory, "stacks"), 0u);
  EXPECT_GT(row(memory, "the recorder"), 0u);
  EXPECT_EQ(memory["remedy"], "");
}

TEST_F(Memory, OfAForkedProcessIsItsOwn) {
  EXPECT_EQ(finish(start({"record", "-o", "run.atree", "--", program, "fork"})).exit_status(), 0);
  std::vector<std::uint64_t> mapped;
  for (const auto& entry : std::filesystem::directory_iterator(path("run.atree"))) {
    if (entry.path().extension() != ".atrace") continue;
    const json memory = report_of(entry.path().string())["memory"];
    expect_sum(memory);
    mapped.push_back(row(memory, "anonymous memory"));
  }
  std::sort(mapped.begin(), mapped.end());
  ASSERT_EQ(mapped.size(), 2u);
  expect_near(mapped[0], 20 * mib, mib);
  expect_near(mapped[1], 61 * mib, 2 * mib);  // a block of its parent's is not known to be malloc's
}

TEST_F(Memory, OfATreeHasWhatProcessesShareOnce) {
  EXPECT_EQ(finish(start({"record", "-o", "run.atree", "--", program, "shared"})).exit_status(), 0);
  const json together = report_of("run.atree")["tree"]["memory_together"];
  EXPECT_EQ(together["processes"], 3);
  expect_near(together["resident_bytes"], 3 * 40 * mib + 2 * 10 * mib, 12 * mib);
  expect_near(together["proportional_bytes"], 40 * mib + 2 * 10 * mib, 8 * mib);
  has(text_of("run.atree"), " MiB of 3 processes together, at ");
  EXPECT_EQ(finish(start({"record", "-o", "run.atree", "--", program, "killed"})).signal(), 9);
  lacks(text_of("run.atree"), "PSS");
}

TEST_F(Memory, OfAProgramThatIsKilledWasSeenBefore) {
  const auto result = finish(start({"record", "--", program, "killed"}));
  EXPECT_EQ(result.signal(), 9);
  const json memory = report_of("run.atrace")["memory"];
  expect_sum(memory);
  expect_near(row(memory, "anonymous memory"), 50 * mib, mib);
}

// With a look for pointers at the end and without.
TEST_F(Memory, IsTheFirstLineOfLeaksToo) {
  for (const words& options : {words{"leaks"}, words{"leaks", "--all"}}) {
    const auto result = finish(start(options + words{"--", program, "mapped"}));
    EXPECT_TRUE(result.err.starts_with("ashlar: peak RSS 20")) << result.err;
    has(result.err, "anonymous memory beside malloc");
  }
}

// Where Python asks malloc, however it was told to, there is nothing to say.
TEST_F(Memory, OfPythonSaysWhatShowsItsObjects) {
  const std::string python = path("python3.11");
  std::filesystem::copy_file(program, python);
  has(finish(start({"record", "--", python, "mapped"})).err,
      "PYTHONMALLOC=malloc in the environment");
  lacks(finish(start({"record", "--", python, "freed"})).err, "PYTHONMALLOC");
}

TEST_F(Memory, IsBesideWhatTheControlGroupMayHave) {
  const limited_group group(512 * mib);
  if (!group.exists()) GTEST_SKIP() << "no control group can be made here";
  const std::string line =
      fmt::format("echo $$ > {}/cgroup.procs && exec {} record -o {} -- {} mapped 2>{}",
                  group.path(), ASHLAR_COMMAND, path("run.atrace"), program, path("said"));
  EXPECT_EQ(std::system(line.c_str()), 0) << said("said");
  EXPECT_EQ(report_of("run.atrace")["memory"]["limit_bytes"], 512 * mib);
  has(text_of("run.atrace"), " MiB of 512.0 MiB that the control group may have");
}

TEST_F(Memory, OfATraceFromBeforeIsSaidToBeUnknown) {
  ashlar::trace::trace_header header = ashlar::trace::test::header();
  header.set(ashlar::trace::header_name::pid, 17);
  std::string bytes =
      ashlar::trace::test::written({ashlar::trace::test::birth(1, 1, 64)}, 1, header);
  // Version 5: the same, but for the number and the checksum of the header.
  const std::size_t head = encode(header).size();
  bytes[8] = 5;
  std::string before = bytes.substr(0, head - 4);
  ashlar::trace::put_fixed(before, ashlar::trace::checksum(ashlar::trace::view_of(before)));
  write_file(path("old.atrace"), before + bytes.substr(head));
  const json report = report_of("old.atrace");
  EXPECT_TRUE(report["memory"].is_null());
  EXPECT_EQ(report["births"], 1);
  has(text_of("old.atrace"), "resident memory was not recorded");
}

TEST_F(Memory, OfAPageIsInItsData) {
  EXPECT_EQ(finish(start({"record", "--", program, "mapped"})).exit_status(), 0);
  EXPECT_EQ(finish(start({"report", "--json=page.json", "run.atrace"})).exit_status(), 0);
  const json memory = json::parse(said("page.json"))["memory"];
  expect_sum(memory);
  EXPECT_FALSE(memory["over_time"]["seconds"].empty());
}

}  // namespace
