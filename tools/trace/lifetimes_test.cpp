#include "tools/trace/lifetimes.hpp"

#include <tests/support/test_headers.hpp>

#include "tools/trace/trace_files_test.hpp"

namespace ashlar::trace {
namespace {

using namespace test;
using what = step::what;

std::vector<step> steps_of(const std::vector<event>& events, std::size_t frame_each = 1000) {
  trace_reader reader = read(written(events, frame_each));
  lifetimes from(reader);
  std::vector<step> steps;
  for (step s; from.next(s);) {
    s.text = {};
    steps.push_back(s);
  }
  return steps;
}

event of_kind(event e, event_kind kind) {
  e.kind = kind;
  return e;
}

/// Addresses at random, each inserted where it is not there and erased where it is, in the map and in the standard's.
template <class RandomAddress>
void compare_with_model(RandomAddress random_address) {
  address_map map;
  std::map<std::uint64_t, std::uint32_t> model;
  std::vector<std::uint64_t> address_of;  // by slot
  for (std::uint32_t slot = 0; slot < 20'000; ++slot) {
    const std::uint64_t address = random_address();
    address_of.push_back(address);
    const auto has_it = [&](std::uint32_t each) { return address_of[each] == address; };
    const auto expected = model.find(address);
    const address_map::place found = map.find(address, has_it);
    if (expected == model.end()) {
      ASSERT_EQ(found.slot, address_map::none);
      map.insert(found, address, slot);
      model[address] = slot;
    } else {
      ASSERT_EQ(found.slot, expected->second);
      map.erase(found);
      ASSERT_EQ(map.find(address, has_it).slot, address_map::none);
      model.erase(expected);
    }
    ASSERT_EQ(map.size(), model.size());
  }
}

TEST(AddressMap, AgreesWithTheStandardsMap) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 20; ++round) {
    const std::uint64_t different = 1 + random() % 5000;  // few: addresses come again
    compare_with_model([&] { return random() % different * 16; });
  }
}

TEST(AddressMap, TellsAddressesOfOneHashApart) {
  std::uint64_t inverse = 1;  // of the hash's factor: each round has twice as many right bits
  for (int round = 0; round < 6; ++round) inverse *= 2 - 0x9e3779b97f4a7c15u * inverse;
  std::mt19937_64 random(2);
  // Products that differ in their low bits only, and some at the table's end, which goes on at its beginning.
  compare_with_model([&] { return random() % 200 * inverse; });
  compare_with_model([&] { return (random() % 200 - 100) * inverse; });
}

TEST(AddressMap, TheLikelySlotIsTheAddressesUnlessAnotherHasItsHash) {
  address_map map;
  const auto nobody = [](std::uint32_t) { return false; };
  for (std::uint32_t slot = 0; slot < 3000; ++slot)
    map.insert(map.find(48 * slot, nobody), 48 * slot, slot);
  for (std::uint32_t slot = 0; slot < 3000; ++slot) {
    ASSERT_EQ(map.likely_slot(48 * slot), slot);
    ASSERT_EQ(map.likely_slot(48 * slot + 16), address_map::none);
  }
}

TEST(Lifetimes, ADeathKnowsItsBirthAndItsSlotIsUsedAgain) {
  event aligned = birth(1, 20, 0x2000, 48);
  aligned.alignment = 64;
  aligned.stack = 5;
  const auto steps = steps_of({birth(1, 10, 0x1000, 24), aligned, death(2, 30, 0x2000),
                               birth(2, 40, 0x3000, 8), death(1, 50, 0x1000)});
  ASSERT_EQ(steps.size(), 5u);
  EXPECT_EQ(
      std::tuple(steps[0].happened, steps[0].slot, steps[1].slot, steps[2].happened, steps[2].slot,
                 steps[2].size, steps[2].alignment, steps[2].stack, steps[2].born_at,
                 steps[2].born_by, steps[2].thread, steps[3].slot, steps[4].slot, steps[4].size),
      std::tuple(what::birth, 0u, 1u, what::death, 1u, 48u, 64u, 5u, 20u, 1u, 2u, 1u, 0u, 24u));
}

TEST(Lifetimes, ReallocIsADeathAndABirthThatKnowsIt) {
  const auto steps =
      steps_of({birth(1, 1, 0x1000, 24), of_kind(death(1, 2, 0x1000), event_kind::from_realloc),
                of_kind(birth(1, 3, 0x1000, 100), event_kind::by_realloc),
                of_kind(birth(1, 4, 0x5000, 7), event_kind::by_realloc),
                of_kind(death(1, 5, 0x9000), event_kind::from_realloc),
                of_kind(birth(1, 6, 0x9000, 9), event_kind::by_realloc)});
  ASSERT_EQ(steps.size(), 6u);
  EXPECT_EQ(std::tuple(steps[1].happened, steps[2].happened, steps[2].previous, steps[2].size),
            std::tuple(what::death, what::birth, 0u, 100u));
  EXPECT_EQ(steps[3].previous, no_slot);  // realloc of null
  EXPECT_EQ(steps[4].happened, what::unknown_death);
  EXPECT_EQ(steps[5].previous, no_slot);
}

// The clock of thread 2 is ahead by three: its birth and its death are told before what they follow.
TEST(Lifetimes, ABirthWaitsForTheDeathThatFreedItsAddress) {
  const auto steps =
      steps_of({birth(1, 10, 0x1000, 24), death(1, 23, 0x1000), birth(2, 20, 0x1000, 32),
                birth(1, 33, 0x2000, 40), death(2, 30, 0x2000), death(2, 50, 0x1000)});
  ASSERT_EQ(steps.size(), 6u);
  const std::vector<what> expected{what::birth, what::death, what::birth,
                                   what::birth, what::death, what::death};
  for (std::size_t i = 0; i < 6; ++i) EXPECT_EQ(steps[i].happened, expected[i]) << i;
  EXPECT_EQ(steps[1].size, 24u);
  EXPECT_EQ(steps[4].size, 40u);
}

// At one time the lower thread number comes first, unless that cannot be.
TEST(Lifetimes, AtOneTimeWhatIsPossibleComesFirst) {
  const auto steps = steps_of({birth(2, 1, 0x1000), birth(1, 5, 0x1000), death(2, 5, 0x1000)});
  ASSERT_EQ(steps.size(), 3u);
  EXPECT_EQ(steps[1].happened, what::death);
  EXPECT_EQ(steps[2].happened, what::birth);
}

// Its births wait for an event at the last time that there is, behind which nothing can wait.
TEST(Lifetimes, WhatHappensAtTheLastTimeThereIsHasAnEnd) {
  for (const std::uint64_t before : {0u, 1u, 5u, 6u}) {  // 5 ticks are what clocks may differ by
    SCOPED_TRACE(before);
    const auto steps =
        steps_of({birth(1, UINT64_MAX - before, 0x1000), birth(1, UINT64_MAX - before, 0x1000),
                  birth(2, UINT64_MAX, 0x2000), death(3, UINT64_MAX, 0x1000)});
    ASSERT_EQ(steps.size(), 5u);
    EXPECT_EQ(
        std::ranges::count_if(steps, [](const step& s) { return s.kind == event_kind::lost; }), 1);
  }
}

TEST(Lifetimes, ANoteIsOfTheBlockThatLivesThere) {
  event made = birth(1, 11, 0x1000, 4000);
  made.stack = 7;
  // The second thread's clock is behind, so its note and its death wait for the birth.
  const auto steps =
      steps_of({made, test::note(2, 10, 0x1000, 3000), death(2, 10, 0x1000),
                birth(1, 20, 0x2000, 100), test::note(1, 21, 0x2000, 101),  // no more than it has
                test::note(1, 22, 0x3000, 5)});
  ASSERT_EQ(steps.size(), 6u);
  EXPECT_EQ(steps[1].happened, what::other);
  EXPECT_EQ(steps[1].kind, event_kind::untouched);
  EXPECT_EQ(steps[1].slot, steps[0].slot);
  EXPECT_EQ(
      std::tuple(steps[1].stack, steps[1].size, steps[2].happened, steps[4].size, steps[5].slot),
      std::tuple(7u, 3000u, what::death, 100u, no_slot));
}

TEST(Lifetimes, ADeathThatNeverComesIsCounted) {
  trace_reader reader =
      read(written({birth(1, 10, 0x1000, 24), birth(2, 20, 0x1000, 32), death(1, 5000, 0x1000)}));
  lifetimes from(reader);
  step s;
  ASSERT_TRUE(from.next(s));
  ASSERT_TRUE(from.next(s));
  EXPECT_EQ(std::tuple(s.happened, s.kind, s.size), std::tuple(what::death, event_kind::lost, 24u));
  ASSERT_TRUE(from.next(s));
  EXPECT_EQ(s.happened, what::birth);
  ASSERT_TRUE(from.next(s));
  EXPECT_EQ(s.size, 32u);
  EXPECT_EQ(from.missing_deaths(), 1u);
}

// The end of an image looks at its own slots: a trace of a thousand blocks and of many images behind them takes no time for
// each of the thousand and each image.
TEST(Lifetimes, AnImageBeginsWithTheFirstSlotAgain) {
  std::vector<event> events;
  for (std::uint64_t i = 0; i < 1000; ++i) events.push_back(birth(1, i, 16 * i));
  for (std::uint64_t time = 1000; time < 1005; ++time) {
    events.push_back(other(event_kind::image, 1, time));
    events.push_back(birth(1, time, 0x10));
    events.push_back(birth(1, time, 0x20));
    events.push_back(death(1, time, 0x10));
  }
  trace_reader reader = read(written(events));
  lifetimes from(reader);
  std::size_t ended_by_images = 0;
  for (step s; from.next(s);) {
    if (s.happened == what::death && s.kind == event_kind::image) ++ended_by_images;
    if (s.time < 1000) continue;
    if (s.happened == what::birth) {
      EXPECT_EQ(s.slot, s.address == 0x10 ? 0u : 1u) << s.time;
    }
  }
  EXPECT_EQ(ended_by_images, 1000u + 4);
  EXPECT_EQ(from.slots(), 1000u);
  EXPECT_EQ(from.live_blocks(), 1u);
}

// Threads that wait for each other do it tick by tick: what a trace says of its ticks must not make them wait for ever.
TEST(Lifetimes, HoweverFineTheTicksAreOfATraceWaitingEnds) {
  EXPECT_EQ(clock_difference(1'000'000'000), 5000u);
  EXPECT_EQ(clock_difference(UINT64_MAX), 5000u);
  EXPECT_EQ(clock_difference(93'750'000), 465u);
  EXPECT_EQ(clock_difference(1), 1u);
}

// Random programs of several threads against a model: each address lives or does not, and slots are dense.
TEST(Lifetimes, RandomProgramsAreReadAsTheyWere) {
  std::mt19937_64 random(2);
  for (int round = 0; round < support::times(20); ++round) {
    std::vector<event> events;
    std::map<std::uint64_t, event> live;
    std::size_t peak = 0;
    for (std::uint64_t time = 0; time < 5000; ++time) {
      const std::uint64_t address = 16 * (1 + random() % 300);
      const auto thread = static_cast<std::uint32_t>(1 + random() % 4);
      if (live.contains(address)) {
        events.push_back(death(thread, time, address));
        live.erase(address);
      } else {
        events.push_back(birth(thread, time, address, random() % 1000));
        live[address] = events.back();
      }
      peak = std::max(peak, live.size());
    }
    trace_reader reader = read(written(events, 1 + random() % 500));
    lifetimes from(reader);
    std::map<std::uint32_t, event> by_slot;
    step s;
    for (const event& e : events) {
      ASSERT_TRUE(from.next(s));
      ASSERT_EQ(s.time, e.time);
      ASSERT_EQ(s.address, e.address);
      if (is_birth(e.kind)) {
        ASSERT_TRUE(by_slot.emplace(s.slot, e).second);
        ASSERT_LT(s.slot, peak);
      } else {
        ASSERT_EQ(s.happened, what::death);
        ASSERT_EQ(s.size, by_slot.at(s.slot).size);
        ASSERT_EQ(s.born_at, by_slot.at(s.slot).time);
        by_slot.erase(s.slot);
      }
    }
    ASSERT_FALSE(from.next(s));
    ASSERT_EQ(from.slots(), peak);
    ASSERT_EQ(from.live_blocks(), live.size());
  }
}

}  // namespace
}  // namespace ashlar::trace
