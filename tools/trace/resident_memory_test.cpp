#include "tools/trace/resident_memory.hpp"

#include <gtest/gtest.h>

#include "tools/trace/trace_test_files.hpp"

namespace ashlar::trace {
namespace {

using test::birth;
using test::death;
using test::other;

constexpr std::uint64_t mib = 1 << 20;
constexpr std::uint64_t at = 0x7f0000000000;

resident_memory found_in(const std::vector<event>& events, const std::vector<memory_look>& looks,
                         const std::vector<own_mapping>& mappings = {}) {
  std::string bytes;
  trace_writer out([&](std::string_view more) { bytes += more; }, test::header());
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

TEST(ResidentMemory, OfAnOldTraceIsNotKnown) {
  const resident_memory found = found_in({birth(1, 1, at, mib)}, {});
  EXPECT_EQ(found.peak, 0u);
  EXPECT_EQ(found.resident, 0u);
  EXPECT_TRUE(found.parts.empty());
}

TEST(ResidentMemory, HasThePeakAlsoWhereNobodySawTheMappings) {
  const resident_memory found =
      found_in({birth(1, 1, at, mib)}, {{5, 7 * mib, 0}, {6, mib, 9 * mib}});
  EXPECT_EQ(found.peak, 9 * mib);
  EXPECT_EQ(found.resident, 0u);
}

// One mapping of malloc's block and the program's own memory, as the system joins them.
TEST(ResidentMemory, OfAMappingThatIsMostlyNotMallocsIsAnothersBeyondItsBlocks) {
  const resident_memory found = found_in(
      {birth(1, 1, at + 200 * mib, mib), death(1, 90, at + 200 * mib)},
      {{50,
        203 * mib,
        203 * mib,
        {anonymous(at, 201 * mib, 201 * mib), {memory_kind::file, 0, 0, 2 * mib, "libc.so"}}}});
  EXPECT_EQ(found.resident, 203 * mib);
  EXPECT_EQ(found.malloc, mib);
  EXPECT_EQ(found.live, mib);
  EXPECT_EQ(found.beyond_live(), 0u);
  ASSERT_EQ(found.parts.size(), 2u);
  EXPECT_EQ(found.parts[0].kind, memory_kind::anonymous);
  EXPECT_EQ(found.parts[0].bytes, 200 * mib);
  EXPECT_EQ(found.parts[1].name, "libc.so");
}

TEST(ResidentMemory, OfBlocksThatNobodyTouchedIsLittle) {
  const resident_memory found =
      found_in({birth(1, 1, at, 800 * mib)}, {{50, mib, mib, {anonymous(at, 800 * mib, mib)}}});
  EXPECT_EQ(found.malloc, mib);
  EXPECT_EQ(found.live, 800 * mib);
  EXPECT_EQ(found.not_in_memory(), 799 * mib);
  EXPECT_EQ(found.beyond_live(), 0u);
}

// What blocks have left, malloc still has: the stretches where they lay are its own.
TEST(ResidentMemory, OfBlocksThatAreFreedIsMallocsBeyondLiveBytes) {
  std::vector<event> events;
  for (std::uint64_t i = 0; i < 100; ++i)
    events.push_back(birth(1, 1 + i, at + i * mib / 10, mib / 10));
  for (std::uint64_t i = 0; i < 90; ++i) events.push_back(death(1, 200 + i, at + i * mib / 10));
  const resident_memory found =
      found_in(events, {{500, 10 * mib, 0, {anonymous(at, 16 * mib, 10 * mib)}}});
  EXPECT_EQ(found.malloc, 10 * mib);
  EXPECT_EQ(found.live, 10 * (mib / 10));
  EXPECT_EQ(found.beyond_live(), 10 * mib - found.live);
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

// What is mapped by stack 3 was twice as much before, and stack 4 took its middle.
TEST(ResidentMemory, OfTheProgramsOwnMappingsIsByTheirStacks) {
  const std::vector<own_mapping> mapped{{1, at, 100 * mib, 3},
                                        {2, at + 40 * mib, 20 * mib, 4},
                                        {3, at + 60 * mib, 40 * mib, 0},
                                        {60, at + 30 * mib, mib, 9},  // behind the look
                                        {4, at + 200 * mib, 10 * mib, 5}};
  const resident_memory found = found_in({birth(1, 1, at + 70 * mib, mib)},
                                         {{50,
                                           72 * mib,
                                           0,
                                           {anonymous(at, 71 * mib, 61 * mib + mib / 2),
                                            anonymous(at + 200 * mib, 10 * mib, 10 * mib)}}},
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
  EXPECT_EQ(of(0), mib / 2);
}

TEST(ResidentMemory, OfMappingsBeforeAnImageIsNobodys) {
  const resident_memory found =
      found_in({other(event_kind::image, 1, 10, 0, "next")},
               {{50, 2 * mib, 0, {anonymous(at, 2 * mib, 2 * mib)}}}, {{5, at, 2 * mib, 3}});
  ASSERT_EQ(found.parts.size(), 1u);
  EXPECT_EQ(found.parts[0].stack, 0u);
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
