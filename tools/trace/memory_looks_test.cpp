#include "tools/trace/memory_looks.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include "tools/trace/memory_map.hpp"

namespace ashlar::trace {
namespace {

constexpr std::uint64_t mib = 1 << 20;

memory_look look_at(std::uint64_t time, std::uint64_t resident) {
  return {time, resident, 0, {{memory_kind::anonymous, 0, resident, resident}}};
}

TEST(MemoryLooks, KeepsTheFirstOfThoseThatSawMostAndWritesItWhereItGrewOrAtTheEnd) {
  memory_looks looks;
  looks.add(look_at(1, 100 * mib));
  ASSERT_EQ(looks.take(false).size(), 1u);
  looks.add(look_at(2, 120 * mib));
  EXPECT_TRUE(looks.take(false).empty());  // less than a quarter more
  looks.add(look_at(3, 121 * mib));        // nearly the same: a sample
  looks.add(look_at(4, 50 * mib));         // less: a sample
  const auto samples = looks.take(false);
  ASSERT_EQ(samples.size(), 2u);
  EXPECT_TRUE(samples[0].mappings.empty());
  const auto last = looks.take(true);
  ASSERT_EQ(last.size(), 1u);
  EXPECT_EQ(last[0], look_at(2, 120 * mib));
  EXPECT_TRUE(looks.take(true).empty());
}

TEST(MemoryLooks, KeepsSamplesThatDiffer) {
  memory_looks looks;
  for (std::uint64_t i = 0; i < 1000; ++i) looks.add({i, 100 * mib + i, 0});
  EXPECT_EQ(looks.take(false).size(), 1u);
  looks.add({2000, 102 * mib, 0});
  looks.add({2001, 100 * mib, 0});
  looks.add({2002, 100 * mib, 130 * mib});  // what the system says of the peak is never left out
  EXPECT_EQ(looks.take(false).size(), 3u);
}

// This process has no recorder's memory: its number could be of another namespace.
TEST(MemoryLooks, SeesNothingOfAProcessThatIsNotRecorded) {
  memory_looks looks;
  std::atomic<std::uint64_t> seen{0};
  for (std::uint64_t i = 0; i < 10; ++i)
    EXPECT_EQ(looks.look(static_cast<std::uint32_t>(::getpid()), i, seen), 0u);
  EXPECT_TRUE(looks.take(true).empty());
  EXPECT_EQ(seen, 0u);
}

TEST(MemoryLooks, OfATreeAreThoseThatSeeMost) {
  const std::vector<std::uint32_t> pids(2, static_cast<std::uint32_t>(::getpid()));
  tree_looks looks;
  looks.look(pids, mib, 7);
  const memory_together first = looks.most();
  EXPECT_EQ(first.time, 7u);
  EXPECT_EQ(first.processes, 2u);
  EXPECT_GT(first.proportional, 0u);
  EXPECT_LE(first.proportional, first.resident);
  looks.look(pids, mib / 2, 8);  // less: nobody looks
  looks.look({}, 2 * mib, 9);    // processes that are gone
  EXPECT_EQ(looks.most().time, 7u);
}

TEST(MemoryLooks, AddUpWhatIsSmallByKind) {
  memory_map map;
  const auto add = [&](const std::string& text) { map.add(text.data(), text.size()); };
  add("1000-2000 rw-p 0 0 0 [anon:V8]\nRss: 100000 kB\n");
  add("3000-4000 rw-p 0 0 0 /lib/a.so\nRss: 4 kB\n5000-6000 rw-p 0 0 0 /lib/b.so\nRss: 8 kB\n");
  const memory_look look = look_of(map, 7, 9);
  EXPECT_EQ(look.time, 7u);
  EXPECT_EQ(look.peak, 9u);
  EXPECT_EQ(look.resident, 100012u << 10);
  ASSERT_EQ(look.mappings.size(), 2u);
  EXPECT_EQ(look.mappings[0],
            (mapped_memory{memory_kind::anonymous, 0x1000, 0x2000, 100000u << 10, "V8"}));
  EXPECT_EQ(look.mappings[1], (mapped_memory{memory_kind::file, 0, 0, 12u << 10}));
}

}  // namespace
}  // namespace ashlar::trace
