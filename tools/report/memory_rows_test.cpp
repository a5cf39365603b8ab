#include "tools/report/memory_rows.hpp"

#include <nlohmann/json.hpp>

#include <gtest/gtest.h>

namespace ashlar::report {
namespace {

using trace::memory_kind;

constexpr std::uint64_t mib = 1 << 20;

trace::trace_header program(const std::string& path) {
  trace::trace_header header;
  header.set(trace::header_name::program, path);
  return header;
}

trace::resident_memory mostly_anonymous() {
  trace::resident_memory memory;
  memory.peak = 210 * mib;
  memory.resident = 200 * mib;
  memory.malloc = 10 * mib;
  memory.live = 8 * mib;
  memory.parts = {
      {memory_kind::anonymous, "V8", 100 * mib}, {memory_kind::anonymous, "", 60 * mib},
      {memory_kind::file, "libc.so", 20 * mib},  {memory_kind::file, "program", 6 * mib},
      {memory_kind::stack, "", 3 * mib},         {memory_kind::recorder, "", mib}};
  return memory;
}

TEST(MemoryRows, AddUpToThePeakTheLargestOfOthersFirst) {
  const memory_rows all = memory_rows_of(mostly_anonymous(), program("/bin/x"));
  std::uint64_t sum = 0;
  std::string names;
  for (const memory_row& row : all.rows) {
    sum += row.bytes;
    names += row.name.substr(0, 9) + "|";
  }
  EXPECT_EQ(all.peak, 210 * mib);
  EXPECT_EQ(sum, all.peak);
  EXPECT_EQ(names, "blocks of|malloc be|anonymous|files|stacks|the recor|at the pe|");
  EXPECT_EQ(all.rows[0].bytes, 8 * mib);
  EXPECT_EQ(all.rows[1].bytes, 2 * mib);
  ASSERT_EQ(all.rows[2].parts.size(), 1u);
  EXPECT_EQ(all.rows[2].parts[0].name, "V8");
  EXPECT_EQ(all.rows[3].parts.size(), 2u);
}

TEST(MemoryRows, HaveTheLimitOfTheControlGroup) {
  trace::trace_header header = program("/bin/x");
  EXPECT_EQ(memory_rows_of(mostly_anonymous(), header).limit, 0u);
  header.set(trace::header_name::memory_limit, 512 * mib);
  const memory_rows all = memory_rows_of(mostly_anonymous(), header);
  EXPECT_EQ(all.limit, 512 * mib);
  EXPECT_EQ(memory_json(mostly_anonymous(), all, 1)["limit_bytes"], 512 * mib);
}

TEST(MemoryRows, NameTheRemedyOfTheRuntime) {
  const auto remedy = [](const std::string& path) {
    return memory_rows_of(mostly_anonymous(), program(path)).remedy;
  };
  for (const auto& [path, word] : {std::pair{"/usr/bin/php8.2", "USE_ZEND_ALLOC=0"},
                                   {"/usr/bin/python3.11", "PYTHONMALLOC=malloc"},
                                   {"node", "--max-old-space-size"},
                                   {"/usr/lib/gcc/x/12/cc1plus", "ggc-min-heapsize"},
                                   {"/usr/bin/java", "-Xmx"},
                                   {"/opt/own", "--stacks"}})
    EXPECT_NE(remedy(path).find(word), std::string::npos) << path << ": " << remedy(path);
}

TEST(MemoryRows, NameNoneWhereMallocHasMostOrTheRestIsFiles) {
  trace::resident_memory memory = mostly_anonymous();
  memory.parts[0].bytes -= 100 * mib;
  memory.parts[2].bytes += 100 * mib;  // files
  memory.parts[1].bytes -= 45 * mib;
  memory.parts[2].bytes += 45 * mib;
  EXPECT_EQ(memory_rows_of(memory, program("php")).remedy, "");
  memory = mostly_anonymous();
  memory.malloc = 140 * mib;
  memory.parts[0].bytes = 0;
  memory.parts[1].bytes = 30 * mib;
  EXPECT_EQ(memory_rows_of(memory, program("php")).remedy, "");
}

TEST(MemoryRows, NameNoneForLittle) {
  trace::resident_memory memory = mostly_anonymous();
  memory.parts = {{memory_kind::anonymous, "", 4 * mib}};
  memory.malloc = mib;
  memory.resident = memory.peak = 5 * mib;
  EXPECT_NE(memory_rows_of(memory, program("php")).remedy, "");
  memory.parts[0].bytes -= 1;
  EXPECT_EQ(memory_rows_of(memory, program("php")).remedy, "");
}

TEST(MemoryRows, OfWhatWasNotRecordedAreNone) {
  EXPECT_EQ(memory_rows_of({}, program("x")).peak, 0u);
  trace::resident_memory only_peak;
  only_peak.peak = 5;
  const memory_rows all = memory_rows_of(only_peak, program("x"));
  EXPECT_EQ(all.peak, 5u);
  EXPECT_TRUE(all.rows.empty());
}

}  // namespace
}  // namespace ashlar::report
