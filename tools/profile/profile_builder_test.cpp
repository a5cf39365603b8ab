#include "tools/profile/profile_builder.hpp"

#include <tests/support/test_headers.hpp>

#include "tools/profile/runs_test.hpp"
#include "tools/trace/trace_files_test.hpp"

namespace ashlar::profiling {
namespace {

using trace::event_kind;

std::uint64_t sum(const trace::log_histogram& counts) {
  std::uint64_t all = 0;
  for (const std::uint64_t count : counts) all += count;
  return all;
}

TEST(ProfileBuilder, CountsEachRequestOnceInEachPart) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const test::run made = test::random_run(random, random() % 500, 50);
    struct figures {
      std::uint64_t births = 0, deaths = 0, bytes = 0;
    };
    std::map<std::uint32_t, figures> needs;
    std::map<std::pair<std::uint64_t, std::uint32_t>, std::uint64_t> aligned;
    std::uint64_t births = 0;
    for (const test::change& c : made) {
      const std::uint32_t step = pool_grid::step_of(pool_grid::need_of(c.size, c.alignment));
      if (c.is_death) {
        ++needs[step].deaths;
        continue;
      }
      ++births;
      ++needs[step].births;
      needs[step].bytes += c.size;
      if (c.alignment <= 1) continue;
      std::uint64_t& smallest = aligned.try_emplace({c.alignment, step}, c.size).first->second;
      smallest = std::min(smallest, c.size);
    }
    const profile built = test::profiled(made);
    EXPECT_EQ(built.runs, 1u);
    EXPECT_EQ(built.births(), births);
    ASSERT_EQ(built.pools.size(), needs.size());
    auto need = needs.begin();
    for (const pool_row& row : built.pools) {
      EXPECT_EQ(row.step, need->first);
      EXPECT_EQ(row.births, need->second.births);
      EXPECT_EQ(row.requested_bytes, need->second.bytes);
      EXPECT_EQ(sum(row.lifetimes), need->second.deaths);
      ++need;
    }
    ASSERT_EQ(built.aligned.size(), aligned.size());
    auto request = aligned.begin();
    for (const aligned_row& row : built.aligned) {
      EXPECT_EQ(std::pair(row.alignment, row.step), request->first);
      EXPECT_EQ(row.smallest, request->second);
      ++request;
    }
    std::uint64_t heap_births = 0;
    for (const heap_row& row : built.heap) heap_births += row.births;
    EXPECT_EQ(heap_births, births);
  }
}

TEST(ProfileBuilder, ASnapshotIsTheProfileOfARunThatEndedThereAndChangesNothing) {
  for (std::uint64_t seed = 0; seed < support::times(30u); ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const test::run made = test::random_run(random, 300, 40);
    const test::run begin(made.begin(), made.begin() + static_cast<std::ptrdiff_t>(random() % 300));
    const test::run rest(made.begin() + std::ssize(begin), made.end());
    profile_builder builder(1'000'000);
    test::feed(builder, begin);
    ASSERT_EQ(builder.snapshot(), test::profiled(begin));
    test::feed(builder, rest);
    ASSERT_EQ(builder.snapshot(), test::profiled(made));
    ASSERT_EQ(builder.snapshot(), test::profiled(made));
  }
}

// Digits of the nanoseconds that a block of so many ticks lived.
std::size_t digits(std::uint64_t ticks_per_second, std::uint64_t ticks) {
  profile_builder builder(ticks_per_second);
  builder.birth(7, 1, 0);
  builder.death(7 + ticks, 1, 0, 7);
  const trace::log_histogram lifetimes = builder.snapshot().pools.at(0).lifetimes;
  return static_cast<std::size_t>(std::ranges::find(lifetimes, 1u) - lifetimes.begin());
}

TEST(ProfileBuilder, LifetimesAreInNanosecondsOfEachTracesOwnTicks) {
  EXPECT_EQ(digits(1'000'000'000, 0), 0u);
  EXPECT_EQ(digits(1'000'000'000, 1), 1u);
  EXPECT_EQ(digits(1'000'000'000, 1023), 10u);
  EXPECT_EQ(digits(1'000'000'000, 1024), 11u);
  EXPECT_EQ(digits(1'000'000, 1), 10u);          // 1,000 ns
  EXPECT_EQ(digits(1, 1), 30u);                  // 10^9 ns
  EXPECT_EQ(digits(1, 1'000'000'000), 60u);      // 10^18 ns
  EXPECT_EQ(digits(1, 1'000'000'000'000), 64u);  // more than 64 bits hold
  EXPECT_EQ(digits(4'000'000'000, 4), 1u);       // a nanosecond
  EXPECT_EQ(digits(4'000'000'000, 3), 0u);       // less than one
  EXPECT_EQ(digits(78'125'000, 10), 8u);         // 128 ns
  EXPECT_EQ(digits(78'125'001, 10), 7u);         // a little less
}

TEST(ProfileBuilder, WhatNoPoolServesIsCountedAndNothingElse) {
  profile_builder builder(1'000'000);
  builder.birth(1, pool_grid::largest_size + 1, 0);
  builder.birth(2, 1, 2 * pool_grid::largest_alignment);
  builder.birth(3, UINT64_MAX, std::uint64_t{1} << 63);
  builder.death(4, UINT64_MAX, std::uint64_t{1} << 63, 3);
  const profile built = builder.snapshot();
  profile right;
  right.runs = 1;
  right.left_out = 3;
  EXPECT_EQ(built, right);
  builder.birth(5, pool_grid::largest_size, pool_grid::largest_alignment);
  EXPECT_EQ(builder.snapshot().births(), 1u);
}

TEST(ProfileOf, ATraceIsReadToItsEndWithAllThatIsOddInIt) {
  using trace::test::birth;
  using trace::test::death;
  using trace::test::other;
  const std::string bytes = trace::test::written({
      other(event_kind::thread_start, 1, 0),
      birth(1, 10, 0x1000, 24),
      birth(1, 20, 0x2000, 100),
      death(1, 30, 0x9000),                               // born before the recording
      birth(1, 40, 0x1000, 600),                          // the death of the first is missing
      other(event_kind::lost, 1, 45, 1000),               // of so many events nothing is known
      other(event_kind::refused, 1, 46, 24, "messages"),  // it stands for one request of 24 bytes
      other(event_kind::refused, 1, 47, 9000, "buffers"),
      death(1, 50, 0x2000),
      birth(1, 60, 0x3000, 24),
  });
  trace::trace_reader reader = trace::test::read(bytes);
  const profile built = profile_of(reader);
  EXPECT_EQ(std::tuple(built.runs, built.unfinished_runs, built.births(), built.deaths(),
                       built.unknown_deaths, built.missing_deaths, built.lost_events,
                       built.refused_requests),
            std::tuple(1u, 0u, 4u, 2u, 1u, 1u, 1000u, 2u));
  EXPECT_EQ(built.nanoseconds, 50'000u);  // a tick is a microsecond
  EXPECT_EQ(built.peak_blocks(), 2u);
  EXPECT_EQ(built.peak_bytes, 700u);
  ASSERT_EQ(built.pools.size(), 3u);
  EXPECT_EQ(pool_grid::size_of(built.pools[0].step), 24u);
  EXPECT_EQ(built.pools[0].births, 2u);
  EXPECT_EQ(built.pools[0].lifetimes[15], 1u);  // 30,000 ns

  trace::trace_reader cut = trace::test::read(bytes.substr(0, bytes.size() - 5));
  EXPECT_EQ(profile_of(cut).unfinished_runs, 1u);
}

TEST(ProfileOf, AnEmptyTraceIsARun) {
  trace::trace_reader reader = trace::test::read(trace::test::written({}));
  profile right;
  right.runs = 1;
  EXPECT_EQ(profile_of(reader), right);
}

}  // namespace
}  // namespace ashlar::profiling
