#include "tools/trace/memory_map.hpp"

#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace ashlar::trace {
namespace {

/// A mapping as /proc/PID/smaps tells it, with the lines that are not looked at.
std::string mapping(const std::string& head, std::uint64_t kib) {
  return head + "\nSize:               9999 kB\nKernelPageSize:        4 kB\nRss:            " +
         std::to_string(kib) + " kB\nPss:                   1 kB\nVmFlags: rd wr mr\n";
}

std::string program() {
  return mapping("00400000-00452000 r-xp 00000000 08:02 173521      /usr/bin/some program", 328) +
         mapping("00651000-00652000 r--p 00051000 08:02 173521      /usr/bin/some program", 4) +
         mapping("00652000-00655000 rw-p 00052000 08:02 173521      /usr/bin/some program", 12) +
         mapping("00655000-02655000 rw-p 00000000 00:00 0 ", 4096) +  // its zero data
         mapping("02655000-02700000 rw-p 00000000 00:00 0           [heap]", 600) +
         mapping("7f0000000000-7f0000021000 rw-p 00000000 00:00 0 ", 100) +
         mapping("7f0000021000-7f0000022000 ---p 00000000 00:00 0 ", 0) +
         mapping("7f0000022000-7f0000822000 rw-p 00000000 00:00 0 ", 24) +  // behind a guard
         mapping("7f0000900000-7f0000a00000 rw-p 00000000 00:00 0   [anon:V8]", 512) +
         mapping("7f0000a00000-7f0000b00000 rw-p 00000000 00:00 0   [anon:V8]", 256) +
         mapping("7f0001000000-7f0001100000 rw-s 00000000 00:01 77  /memfd:frames (deleted)", 64) +
         mapping(
             "7f0001200000-7f0001300000 rw-s 00000000 00:01 78  "
             "/memfd:ashlar-record (deleted)",
             40) +
         mapping("7f0001400000-7f0001410000 r-xp 00000000 08:02 9   /opt/libashlar-record.so", 60) +
         mapping("7ffc00000000-7ffc00021000 rw-p 00000000 00:00 0   [stack]", 16) +
         mapping("ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0 [vsyscall]", 0);
}

struct expected {
  memory_kind kind;
  std::string name;
  std::uint64_t kib;
};

TEST(MemoryMap, SaysOfEachMappingWhatItIsWhereverTheTextIsCut) {
  const std::vector<expected> wanted{
      {memory_kind::file, "some program", 328 + 4 + 12 + 4096},
      {memory_kind::heap, "", 600},
      {memory_kind::anonymous, "", 100},
      {memory_kind::stack, "", 24 + 16},
      {memory_kind::anonymous, "V8", 512 + 256},
      {memory_kind::shared, "memfd:frames (deleted)", 64},
      {memory_kind::recorder, "", 40 + 60},
  };
  const std::string text = program();
  for (const std::size_t each : {std::size_t{1}, std::size_t{7}, std::size_t{4096}, text.size()}) {
    const auto map = std::make_unique<memory_map>();
    for (std::size_t at = 0; at < text.size(); at += each)
      map->add(text.data() + at, std::min(each, text.size() - at));
    ASSERT_EQ(map->size(), wanted.size());
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      const map_entry& found = map->begin()[i];
      EXPECT_EQ(found.kind, wanted[i].kind) << i;
      // A file's name may have no folder before it.
      EXPECT_EQ(found.name_view(), wanted[i].name) << i;
      EXPECT_EQ(found.resident, wanted[i].kib << 10) << i;
      sum += found.resident;
    }
    EXPECT_EQ(map->resident(), sum);
    EXPECT_TRUE(map->has_spool());
    // Neighbours of one name are one; what has no blocks has no place.
    EXPECT_EQ(map->begin()[4].begin, 0x7f0000900000u);
    EXPECT_EQ(map->begin()[4].end, 0x7f0000b00000u);
    EXPECT_EQ(map->begin()[0].end, 0u);
  }
}

TEST(MemoryMap, AddsUpWhatIsTooMuchForItsTable) {
  const auto map = std::make_unique<memory_map>();
  std::string text;
  for (int i = 0; i < 2000; ++i) {
    char head[100];
    std::snprintf(head, sizeof head, "%x000-%x000 rw-p 00000000 00:00 0 ", 16 + 2 * i, 17 + 2 * i);
    text += mapping(head, 4);
    std::snprintf(head, sizeof head, "7f%05x000-7f%05x000 r--p 0 08:02 1 /lib/%d.so", 2 * i,
                  2 * i + 1, i);
    text += mapping(head, 8);
  }
  map->add(text.data(), text.size());
  EXPECT_LE(map->size(), memory_map::entries_max);
  EXPECT_EQ(map->resident(), 2000u * 12 << 10);
  std::uint64_t sum = 0;
  for (const map_entry& each : *map) sum += each.resident;
  EXPECT_EQ(sum, map->resident());
}

TEST(MemoryMap, IgnoresWhatIsNoMapping) {
  const auto map = std::make_unique<memory_map>();
  const std::string text = "Rss: 4 kB\nxyz\n-\n12-\n12-34\n12-34 rw\n" + std::string(5000, 'f') +
                           "\n1000-2000 rw-p 0 0 0 [anon\nRss: 4 kB\n";
  map->add(text.data(), text.size());
  EXPECT_EQ(map->size(), 2u);  // the first one has no head
  EXPECT_FALSE(map->has_spool());
}

TEST(MemoryMap, ReadsTheLinesOfStatus) {
  EXPECT_EQ(kib_behind("VmPeak:\t 20 kB\nVmHWM:\t    1234 kB\nVmRSS:\t 8 kB\n", "VmHWM:"), 1234u);
  EXPECT_EQ(kib_behind("VmPeak:\t 20 kB\n", "VmHWM:"), 0u);
  EXPECT_EQ(number_at(" 17 4\n"), 17u);
  EXPECT_EQ(number_at(""), 0u);
}

}  // namespace
}  // namespace ashlar::trace
