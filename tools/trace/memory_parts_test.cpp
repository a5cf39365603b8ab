// What memory a process has, and what points to it: a part for each source.
#include <system_error>
#include <tests/support/test_headers.hpp>

#include "tools/trace/memory_looks.hpp"
#include "tools/trace/memory_map.hpp"
#include "tools/trace/process_memory.hpp"
#include "tools/trace/resident_memory.hpp"
#include "tools/trace/spool_program_test.hpp"
#include "tools/trace/trace_files_test.hpp"

namespace ashlar::trace {
namespace {

using namespace test;

// ---- memory_looks ------------------------------------------------------------------------------

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
    EXPECT_EQ(looks.look(static_cast<std::uint32_t>(::getpid()), [&] { return i; }, seen), 0u);
  EXPECT_TRUE(looks.take(true).empty());
  EXPECT_EQ(seen, 0u);
}

TEST(MemoryLooks, OfATreeAreThoseThatSeeMost) {
  const std::vector<std::uint32_t> pids(2, static_cast<std::uint32_t>(::getpid()));
  tree_looks looks;
  looks.look(pids, mib, 7);
  const memory_together first = looks.most();
  EXPECT_EQ(first.time, 7u);
  // It grows between the two looks by what the first one has made.
  EXPECT_NEAR(static_cast<double>(first.proportional),
              static_cast<double>(2 * first.of.at(pids.front())), static_cast<double>(mib));
  EXPECT_GT(first.proportional, 0u);
  EXPECT_LE(first.proportional, first.resident);
  looks.look(pids, mib, 8);    // as before: nobody looks
  looks.look({}, 2 * mib, 9);  // processes that are gone
  EXPECT_EQ(looks.most().time, 7u);
  EXPECT_EQ(looks.over_time(), (std::vector{std::pair(std::uint64_t{7}, first.proportional)}));
}

TEST(MemoryLooks, AddUpWhatIsSmallByKind) {
  memory_map map;
  const auto add = [&](const std::string& text) { map.add(text.data(), text.size()); };
  add("1000-2000 rw-p 0 0 0 [anon:V8]\nRss: 100000 kB\n");
  add("3000-4000 r--p 0 0 0 /lib/a.so\nRss: 4 kB\n5000-6000 r--p 0 0 0 /lib/b.so\nRss: 8 kB\n");
  const memory_look look = look_of(map, 7, 9);
  EXPECT_EQ(look.time, 7u);
  EXPECT_EQ(look.peak, 9u);
  EXPECT_EQ(look.resident, 100012u << 10);
  ASSERT_EQ(look.mappings.size(), 2u);
  EXPECT_EQ(look.mappings[0],
            (mapped_memory{memory_kind::anonymous, 0x1000, 0x2000, 100000u << 10, "V8"}));
  EXPECT_EQ(look.mappings[1], (mapped_memory{memory_kind::file, 0, 0, 12u << 10}));
}

// ---- memory_map --------------------------------------------------------------------------------

/// A mapping as /proc/PID/smaps tells it, with the lines that are not looked at.
std::string smaps_entry(const std::string& head, std::uint64_t kib) {
  return head + "\nSize:               9999 kB\nKernelPageSize:        4 kB\nRss:            " +
         std::to_string(kib) + " kB\nPss:                   1 kB\nVmFlags: rd wr mr\n";
}

std::string program() {
  return smaps_entry("00400000-00452000 r-xp 00000000 08:02 173521      /usr/bin/some program",
                     328) +
         smaps_entry("00651000-00652000 r--p 00051000 08:02 173521      /usr/bin/some program", 4) +
         smaps_entry("00652000-00655000 rw-p 00052000 08:02 173521      /usr/bin/some program",
                     12) +
         smaps_entry("00655000-02655000 rw-p 00000000 00:00 0 ", 4096) +  // its zero data
         smaps_entry("02655000-02700000 rw-p 00000000 00:00 0           [heap]", 600) +
         smaps_entry("7f0000000000-7f0000021000 rw-p 00000000 00:00 0 ", 100) +
         smaps_entry("7f0000021000-7f0000022000 ---p 00000000 00:00 0 ", 0) +
         smaps_entry("7f0000022000-7f0000822000 rw-p 00000000 00:00 0 ", 24) +  // behind a guard
         smaps_entry("7f0000900000-7f0000a00000 rw-p 00000000 00:00 0   [anon:V8]", 512) +
         smaps_entry("7f0000a00000-7f0000b00000 rw-p 00000000 00:00 0   [anon:V8]", 256) +
         smaps_entry("7f0001000000-7f0001100000 rw-s 00000000 00:01 77  /memfd:frames (deleted)",
                     64) +
         smaps_entry(
             "7f0001200000-7f0001300000 rw-s 00000000 00:01 78  "
             "/memfd:ashlar-record (deleted)",
             40) +
         smaps_entry("7f0001400000-7f0001410000 r-xp 00000000 08:02 9   /opt/libashlar-record.so",
                     60) +
         smaps_entry("7ffc00000000-7ffc00021000 rw-p 00000000 00:00 0   [stack]", 16) +
         smaps_entry("ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0 [vsyscall]", 0);
}

struct expected {
  memory_kind kind;
  std::string name;
  std::uint64_t kib;
};

TEST(MemoryMap, SaysOfEachMappingWhatItIsWhereverTheTextIsCut) {
  const std::vector<expected> wanted{
      {memory_kind::file, "some program", 328 + 4},
      {memory_kind::data, "some program", 12 + 4096},
      {memory_kind::heap, "", 600},
      {memory_kind::anonymous, "", 100},
      {memory_kind::stack, "", 24},
      {memory_kind::anonymous, "V8", 512 + 256},
      {memory_kind::shared, "memfd:frames (deleted)", 64},
      {memory_kind::recorder, "", 40 + 60},
      {memory_kind::stack, "the main thread", 16},
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
    EXPECT_EQ(std::tuple(map->begin()[5].begin, map->begin()[5].end, map->begin()[0].end),
              std::tuple(0x7f0000900000u, 0x7f0000b00000u, 0u));
  }
}

// As of git, whose thread had 50 MiB: a thread's arena grew between two reads of the file.
TEST(MemoryMap, CountsAMappingThatIsToldTwiceOnce) {
  const std::string text = smaps_entry("7f0000000000-7f0000100000 rw-p 00000000 00:00 0 ", 1024) +
                           smaps_entry("7f0000100000-7f0000200000 rw-p 00000000 00:00 0 ",
                                       512) +  // one with that before
                           smaps_entry("7f0000100000-7f0000300000 rw-p 00000000 00:00 0 ", 2048) +
                           smaps_entry("7f0038000000-7f003b372000 rw-p 00000000 00:00 0 ", 52616) +
                           smaps_entry("7f0038000000-7f003b386000 rw-p 00000000 00:00 0 ", 52704) +
                           smaps_entry("7f003b386000-7f003c000000 ---p 00000000 00:00 0 ", 0);
  const auto map = std::make_unique<memory_map>();
  map->add(text.data(), text.size());
  ASSERT_EQ(map->size(), 2u);
  const map_entry* const found = map->begin();
  EXPECT_EQ(std::tuple(found[0].begin, found[0].end, found[0].resident),
            std::tuple(0x7f0000000000u, 0x7f0000300000u, 3072u << 10));
  EXPECT_EQ(std::tuple(found[1].begin, found[1].end, found[1].resident),
            std::tuple(0x7f0038000000u, 0x7f003b386000u, 52704u << 10));
  EXPECT_EQ(map->resident(), (3072u + 52704u) << 10);
}

TEST(MemoryMap, AddsUpWhatIsTooMuchForItsTable) {
  const auto map = std::make_unique<memory_map>();
  std::string text;
  for (int i = 0; i < 2000; ++i) {
    char head[100];
    std::snprintf(head, sizeof head, "%x000-%x000 rw-p 00000000 00:00 0 ", 16 + 2 * i, 17 + 2 * i);
    text += smaps_entry(head, 4);
    std::snprintf(head, sizeof head, "7f%05x000-7f%05x000 r--p 0 08:02 1 /lib/%d.so", 2 * i,
                  2 * i + 1, i);
    text += smaps_entry(head, 8);
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

// ---- process_memory ----------------------------------------------------------------------------

bool has(const std::vector<address_range>& places, const volatile void* at) {
  const auto address = reinterpret_cast<std::uintptr_t>(at);
  for (const address_range& place : places)
    if (place.begin <= address && address < place.end) return true;
  return false;
}

class mapping {
 public:
  explicit mapping(int flags)
      : at_(static_cast<char*>(
            ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0))) {
    if (at_ == MAP_FAILED) throw std::runtime_error("no memory");
  }
  ~mapping() { ::munmap(at_, bytes); }
  mapping(const mapping&) = delete;
  mapping& operator=(const mapping&) = delete;
  char* at(std::size_t page) { return at_ + page * static_cast<std::size_t>(::getpagesize()); }

  static constexpr std::size_t bytes = 1 << 20;

 private:
  char* at_;
};

volatile std::uint64_t global = 0;
const char constant[] = "of the program's file";

TEST(ProcessMemory, PlacesAreThePagesThatTheProcessAloneHasWrittenTo) {
  if (support::sanitized) GTEST_SKIP() << "the sanitizer's mappings are too long";
  mapping own(MAP_PRIVATE);
  mapping shared(MAP_SHARED);
  *own.at(3) = 1;
  *shared.at(3) = 1;
  global = 1;
  volatile int local = 1;
  process_memory memory(::getpid(), 0);
  const std::vector<address_range> places = memory.places_of_pointers();
  EXPECT_TRUE(has(places, own.at(3)));
  EXPECT_FALSE(has(places, own.at(2)));
  EXPECT_FALSE(has(places, own.at(4)));
  EXPECT_FALSE(has(places, shared.at(3)));
  EXPECT_TRUE(has(places, &global));
  EXPECT_TRUE(has(places, &local));
  EXPECT_FALSE(has(places, constant));
  for (std::size_t i = 0; i < places.size(); ++i) {
    EXPECT_LT(places[i].begin, places[i].end);
    EXPECT_EQ(places[i].begin % 8, 0u);
    if (i > 0) {
      EXPECT_LE(places[i - 1].end, places[i].begin);
    }
  }
}

TEST(ProcessMemory, TheFirstStackBeginsWhereItIsInUse) {
  if (support::sanitized) GTEST_SKIP() << "the sanitizer's mappings are too long";
  volatile char local[64] = {};
  const auto begin = reinterpret_cast<std::uintptr_t>(&local[32]);
  process_memory memory(::getpid(), begin);
  const std::vector<address_range> places = memory.places_of_pointers();
  EXPECT_TRUE(has(places, &local[40]));
  EXPECT_FALSE(has(places, reinterpret_cast<const void*>(begin - 4096)));
}

TEST(ProcessMemory, AMappingThatIsTooLongIsRefused) {
  constexpr std::size_t bytes = std::size_t{300} << 30;
  void* const at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED) GTEST_SKIP() << "no addresses";
  process_memory memory(::getpid(), 0);
  EXPECT_THROW(static_cast<void>(memory.places_of_pointers()), std::runtime_error);
  ::munmap(at, bytes);
}

TEST(ProcessMemory, OfAProcessThatIsGone) {
  const auto pid = static_cast<pid_t>(test::ended_process());
  process_memory memory(pid, 0);
  EXPECT_THROW(static_cast<void>(memory.places_of_pointers()), std::system_error);
  std::array<std::uint64_t, 1> word{};
  EXPECT_THROW(memory.read(4096, word), std::system_error);
}

// ---- reachability ------------------------------------------------------------------------------

/// Words at addresses; all others are 0. What lies outside of `readable` cannot be read.
class test_memory final : public program_memory {
 public:
  explicit test_memory(std::vector<address_range> places, std::uint64_t readable_end = UINT64_MAX)
      : places_(std::move(places)), readable_end_(readable_end) {}
  std::uint64_t& operator[](std::uint64_t address) { return words_[address]; }

  std::vector<address_range> places_of_pointers() override { return places_; }
  address_range data_of_c_library() override { return c_library; }
  address_range c_library;
  std::size_t read(std::uint64_t address, std::span<std::uint64_t> to) override {
    std::size_t n = 0;
    for (; n < to.size() && address + 8 * n < readable_end_; ++n) {
      const auto found = words_.find(address + 8 * n);
      to[n] = found == words_.end() ? 0 : found->second;
    }
    return n;
  }

 private:
  std::vector<address_range> places_;
  std::uint64_t readable_end_;
  std::map<std::uint64_t, std::uint64_t> words_;
};

std::vector<std::uint64_t> lost(const block_map& blocks, test_memory& memory) {
  std::vector<std::uint64_t> addresses;
  for (const held_block& b : find_unreachable(blocks, memory, [] {}))
    addresses.push_back(b.address);
  return addresses;
}
using addresses = std::vector<std::uint64_t>;

block_map of(std::vector<held_block> live) {
  block_map map;
  map.live = std::move(live);
  return map;
}

// glibc's malloc has the begin of what is behind a block in the block's last word.
TEST(Reachability, APointerOfMallocToWhatIsBehindABlockIsNoRoot) {
  const block_map blocks =
      of({{0x1000, 5000, 1}, {0x3000, 24, 1}, {0x4000, 40, 1}, {0x5000, 40, 1}});
  test_memory memory({{0x8000, 0x9000}});
  memory.c_library = {0x8000, 0x8800};
  memory[0x8000] = 0x1000 + 4992;
  memory[0x8008] = 0x3000 + 16;
  memory[0x8010] = 0x4000 + 32;
  memory[0x8018] = 0x5000 + 16;  // elsewhere in the block
  EXPECT_EQ(lost(blocks, memory), (addresses{0x1000, 0x3000, 0x4000}));
  memory[0x8800] = 0x3000 + 16;  // of somebody else
  EXPECT_EQ(lost(blocks, memory), (addresses{0x1000, 0x4000}));
}

TEST(Reachability, WhatIsBehindABlocksLastWordIsARoot) {
  const block_map blocks = of({{0x1000, 60, 1}, {0x2000, 64, 1}});
  test_memory memory({{0x1000, 0x1100}});
  memory[0x1000 + 56] = 0x2000;
  EXPECT_EQ(lost(blocks, memory), addresses{0x1000});
}

TEST(Reachability, ABlockOfNoBytesIsReachedByItsAddress) {
  const block_map blocks = of({{0x1000, 0, 1}, {0x1010, 0, 1}});
  test_memory memory({{0x8000, 0x9000}});
  memory[0x8000] = 0x1010;
  EXPECT_EQ(lost(blocks, memory), addresses{0x1000});
}

TEST(Reachability, WhatFreedBlocksStillHaveIsNoRoot) {
  block_map blocks = of({{0x1000, 64, 1}, {0x2000, 64, 1}});
  blocks.freed.add(0x3008, 0x2000);
  test_memory memory({{0x3000, 0x6000}});
  memory[0x3008] = memory[0x4ff8] = 0x1000;
  memory[0x5010] = 0x2000;
  EXPECT_EQ(lost(blocks, memory), addresses{0x1000});
}

TEST(Reachability, MemoryThatCannotBeReadEndsNothing) {
  const block_map blocks = of({{0x1000, 64, 1}, {0x2000, 64, 1}});
  test_memory memory({{0x8000, 0xa000}, {0x7000, 0x7100}}, 0x9000);
  memory[0x7000] = 0x1000;
  memory[0x9000] = 0x2000;
  EXPECT_EQ(lost(blocks, memory), addresses{0x2000});
}

TEST(Reachability, TheBlocksAtTheEndOfATrace) {
  trace_reader reader = test::read(test::written(
      {birth(1, 10, 0x3000, 32), birth(1, 20, 0x1000, 100), birth(2, 30, 0x2000, 40),
       death(1, 40, 0x1000), birth(2, 50, 0x10'0000, 1 << 20), death(2, 60, 0x10'0000)}));
  const block_map blocks = blocks_at_end(reader, [] {});
  ASSERT_EQ(blocks.live.size(), 2u);
  EXPECT_EQ(std::tuple(blocks.live[0].address, blocks.live[0].size, blocks.live[1].address),
            std::tuple(0x2000u, 40u, 0x3000u));
  EXPECT_TRUE(blocks.freed.has(0x1000));
  EXPECT_TRUE(blocks.freed.has(0x1000 + 99));
  EXPECT_FALSE(blocks.freed.has(0x1000 + 112));
  EXPECT_FALSE(blocks.freed.has(0x10'0000)) << "a large one may have gone back to the system";
}

// Blocks that point at each other at random, beside a plain search.
TEST(Reachability, AgreesWithAModel) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 200; ++round) {
    std::vector<held_block> live;
    for (std::uint64_t at = 0x10000; live.size() < 60; at += 16 * (2 + random() % 8))
      live.push_back({at, 16 + random() % 16, 1});
    test_memory memory({{0x1000, 0x1080}, {0x10000, live.back().address + 64}});
    std::vector<std::set<std::size_t>> to(live.size());
    std::vector<std::size_t> next;
    std::vector<bool> reached(live.size());
    for (int i = 0; i < 4; ++i) {
      next.push_back(random() % live.size());
      memory[0x1000 + 32 * static_cast<std::uint64_t>(i)] =
          live[next.back()].address + random() % 16;
    }
    for (std::size_t i = 0; i < live.size(); ++i) {
      const std::size_t target = random() % live.size();
      memory[live[i].address + 8 * (random() % 2)] = live[target].address;
      to[i].insert(target);
    }
    while (!next.empty()) {
      const std::size_t i = next.back();
      next.pop_back();
      if (reached[i]) continue;
      reached[i] = true;
      next.insert(next.end(), to[i].begin(), to[i].end());
    }
    addresses expected;
    for (std::size_t i = 0; i < live.size(); ++i)
      if (!reached[i]) expected.push_back(live[i].address);
    EXPECT_EQ(lost(of(live), memory), expected) << round;
  }
}

// ---- resident_memory ---------------------------------------------------------------------------

constexpr std::uint64_t at = 0x7f0000000000;

resident_memory found_in(const std::vector<event>& events, const std::vector<memory_look>& looks,
                         const std::vector<own_mapping>& mappings = {},
                         const std::vector<module_definition>& modules = {}) {
  std::string bytes;
  trace_writer out([&](std::string_view more) { bytes += more; }, test::header());
  out.add(modules);
  for (const event& e : events) out.add(e);
  out.add(looks);
  out.add(mappings);
  out.close();
  trace_reader reader = test::read(bytes, unfinished::refuse);
  resident_counter counter(reader);
  lifetimes steps(reader);
  for (step s; steps.next(s);) counter.count(s);
  const resident_memory found = counter.finish();
  std::uint64_t sum = found.malloc;
  for (const resident_part& part : found.parts) sum += part.bytes;
  EXPECT_EQ(sum, found.resident);
  EXPECT_GE(found.peak, found.resident);
  return found;
}

mapped_memory anonymous(std::uint64_t begin, std::uint64_t bytes, std::uint64_t resident) {
  return {memory_kind::anonymous, begin, begin + bytes, resident};
}

TEST(ResidentMemory, HasThePeakAlsoWhereNobodySawTheMappings) {
  const resident_memory found =
      found_in({birth(1, 1, at, mib)}, {{5, 7 * mib, 0}, {6, mib, 9 * mib}});
  EXPECT_EQ(found.peak, 9 * mib);
  EXPECT_EQ(found.resident, 0u);
}

TEST(ResidentMemory, IsThatOfTheLookThatSawMostAtItsTime) {
  const std::vector<memory_look> looks{{10, mib, 0, {anonymous(at, 8 * mib, mib)}},
                                       {20, 4 * mib, 5 * mib, {anonymous(at, 8 * mib, 4 * mib)}},
                                       {30, 2 * mib, 0, {anonymous(at, 8 * mib, 2 * mib)}}};
  const resident_memory found = found_in(
      {birth(1, 5, at, mib), birth(1, 15, at + 2 * mib, 3 * mib), birth(1, 25, at + 5 * mib, mib)},
      looks);
  EXPECT_EQ(found.time, 20u);
  EXPECT_EQ(found.live, 4 * mib);
  EXPECT_EQ(found.resident, 4 * mib);
  EXPECT_EQ(found.peak, 5 * mib);
}

// The peak was at 15. The look is later, and a look between them saw as much.
TEST(ResidentMemory, OfBlocksThatWereFreedBeforeTheLookIsTheirsAtThePeak) {
  const std::vector<memory_look> looks{
      {10, 2 * mib, 0}, {16, 8 * mib, 0}, {20, 8 * mib, 0, {anonymous(at, 8 * mib, 8 * mib)}}};
  const resident_memory found =
      found_in({birth(1, 5, at, 2 * mib), birth(1, 15, at + 2 * mib, 5 * mib),
                death(1, 17, at + 2 * mib), birth(1, 18, at + 2 * mib, mib)},
               looks);
  EXPECT_EQ(found.malloc, 8 * mib);
  EXPECT_EQ(found.live, 7 * mib);
  EXPECT_EQ(found.time, 15u);
}

TEST(ResidentMemory, OfAnImageThatEndedHasNoBlocks) {
  const resident_memory found =
      found_in({birth(1, 5, at, mib), other(event_kind::image, 1, 10, 0, "next")},
               {{20, 2 * mib, 0, {anonymous(at, 2 * mib, 2 * mib)}}});
  EXPECT_EQ(found.malloc, 0u);
  EXPECT_EQ(found.live, 0u);
}

TEST(ResidentMemory, WhatIsCalledHeapIsMallocsThoughNoBlockIsKnown) {
  const resident_memory found =
      found_in({other(event_kind::thread_start, 1, 1)},
               {{20, 3 * mib, 0, {{memory_kind::heap, 0x1000, 0x1000 + 4 * mib, 3 * mib}}}});
  EXPECT_EQ(found.malloc, 3 * mib);
  EXPECT_TRUE(found.parts.empty());
}

// An allocator's memory may lie behind a page without access, as a thread's stack does.
TEST(ResidentMemory, WhatHasBlocksIsNoStack) {
  const auto stack_at = [](std::uint64_t begin) {
    return mapped_memory{memory_kind::stack, begin, begin + 8 * mib, 2 * mib};
  };
  const resident_memory found =
      found_in({birth(1, 1, at, mib)}, {{5, 4 * mib, 0, {stack_at(at), stack_at(2 * at)}}});
  EXPECT_EQ(found.malloc, mib);
  ASSERT_EQ(found.parts.size(), 2u);
  EXPECT_EQ(found.parts[0].kind, memory_kind::stack);
  EXPECT_EQ(found.parts[0].bytes, 2 * mib);
  EXPECT_EQ(found.parts[1].kind, memory_kind::anonymous);
}

// What is mapped by stack 3 was twice as much before, and stack 4 took its middle. All of stack 6 is gone.
TEST(ResidentMemory, OfTheProgramsOwnMappingsIsByTheirStacks) {
  const std::vector<own_mapping> mapped{{1, at, 100 * mib, 3},
                                        {2, at + 40 * mib, 20 * mib, 4},
                                        {3, at + 60 * mib, 40 * mib, 0},
                                        {60, at + 30 * mib, mib, 9},  // behind the look
                                        {4, at + 200 * mib, 10 * mib, 5},
                                        {5, at + 300 * mib, 10 * mib, 6},
                                        {6, at + 300 * mib, 0, 0}};
  const resident_memory found = found_in(
      {birth(1, 1, at + 70 * mib, mib)},
      {{50,
        82 * mib,
        0,
        {anonymous(at, 71 * mib, 61 * mib + mib / 2), anonymous(at + 200 * mib, 10 * mib, 10 * mib),
         anonymous(at + 300 * mib, 10 * mib, 10 * mib)}}},
      mapped);
  EXPECT_EQ(found.malloc, mib);
  ASSERT_EQ(found.parts.size(), 4u);
  const auto of = [&](std::uint32_t stack) {
    for (const resident_part& part : found.parts)
      if (part.stack == stack) return part.bytes;
    return std::uint64_t{0};
  };
  EXPECT_EQ(of(3), 40 * mib);
  EXPECT_EQ(of(4), 20 * mib);
  EXPECT_EQ(of(5), 10 * mib);
  EXPECT_EQ(of(0), 10 * mib + mib / 2);
}

TEST(ResidentMemory, OfMappingsBeforeAnImageIsNobodys) {
  const resident_memory found =
      found_in({other(event_kind::image, 1, 10, 0, "next")},
               {{50, 2 * mib, 0, {anonymous(at, 2 * mib, 2 * mib)}}}, {{5, at, 2 * mib, 3}});
  ASSERT_EQ(found.parts.size(), 1u);
  EXPECT_EQ(found.parts[0].stack, 0u);
}

TEST(ResidentMemory, OfSharedMemoryIsByTheStacksThatMappedIt) {
  const mapped_memory shared{memory_kind::shared, at, at + 4 * mib, 3 * mib, "log"};
  const resident_memory found = found_in({birth(1, 1, at + 9 * mib, mib)},
                                         {{50, 3 * mib, 0, {shared}}}, {{1, at, 4 * mib, 3}});
  ASSERT_EQ(found.parts.size(), 1u);
  EXPECT_EQ(std::tuple(found.parts[0].name, found.parts[0].bytes, found.parts[0].stack),
            std::tuple("log", 3 * mib, 3u));
}

// A header of 8 bytes, blocks of 16, the least one; and alignments as measured.
TEST(ResidentMemory, RoundingIsGlibcs) {
  EXPECT_EQ(rounding_of_glibc(1, 0), 31u);
  EXPECT_EQ(rounding_of_glibc(24, 0), 8u);
  EXPECT_EQ(rounding_of_glibc(25, 16), 23u);
  EXPECT_EQ(rounding_of_glibc(4096, 4096), 4096u);
  EXPECT_EQ(rounding_of_glibc(100, 65536), 8192u - 100);
  const mapped_memory all = anonymous(at, 8 * mib, 4 * mib);
  EXPECT_EQ(found_in({birth(1, 1, at, 24), birth(1, 2, at + mib, 100)}, {{5, 4 * mib, 0, {all}}})
                .rounding,
            8u + 12);
  // A program that is linked to another allocator.
  EXPECT_EQ(found_in({birth(1, 1, at, 24)}, {{5, 4 * mib, 0, {all}}}, {},
                     {{0x1000, 0x2000, 0, "/usr/lib/libtcmalloc_minimal.so.4.5.10"}})
                .rounding,
            0u);
}

// Ranges without end, over each other, and more of them than any process has.
TEST(ResidentMemory, OfMappingsThatCannotBeIsCountedInTime) {
  memory_look look{50, 0, UINT64_MAX};
  for (std::uint64_t i = 0; i < 100'000; ++i) {
    look.mappings.push_back({memory_kind::anonymous, i, UINT64_MAX, UINT64_MAX});
    look.mappings.push_back({static_cast<memory_kind>(77), 0, 0, 1, std::to_string(i)});
  }
  std::vector<event> events;
  for (std::uint64_t i = 0; i < 1000; ++i)
    events.push_back(birth(1, 1 + i, i << 44, UINT64_MAX - i));
  std::vector<own_mapping> mappings;
  for (std::uint64_t i = 0; i < 10'000; ++i)
    mappings.push_back({i, i * 16, UINT64_MAX - i * 16, static_cast<std::uint32_t>(i)});
  static_cast<void>(found_in(events, {look}, mappings));
}

}  // namespace

}  // namespace ashlar::trace
