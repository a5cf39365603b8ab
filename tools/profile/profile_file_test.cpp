#include "tools/profile/profile_file.hpp"

#include <tests/support/test_headers.hpp>

#include "tools/profile/runs_test.hpp"
#include "tools/trace/error.hpp"
#include "tools/trace/trace_files_test.hpp"

namespace ashlar::profiling {
namespace {

constexpr std::size_t preamble_bytes = 20;

profile read(const std::string& bytes) { return decode(*trace::memory_source("a.aprof", bytes)); }

std::string fault_of(const std::string& bytes) {
  try {
    static_cast<void>(read(bytes));
    return "none";
  } catch (const trace::trace_error& error) {
    EXPECT_LE(error.offset, bytes.size()) << error.what();
    return error.what();
  }
}

void expect_refused(const std::string& bytes, const std::string& fault) {
  EXPECT_NE(fault_of(bytes).find(fault), std::string::npos) << fault_of(bytes);
}

/// A file with this body, whose length and checksum are right.
std::string framed(const std::string& body) {
  std::string file = encode({}).substr(0, 16);
  trace::put_fixed(file, static_cast<std::uint32_t>(body.size()));
  file += body;
  trace::put_fixed(file, trace::checksum(trace::view_of(file)));
  return file;
}
std::string framed(const std::vector<std::uint64_t>& numbers) {
  std::string body;
  for (const std::uint64_t number : numbers) trace::put_varint(body, number);
  return framed(body);
}

/// Numbers of a run of three blocks: two of 38 bytes, of which one lived 4 to 7 ns, then one of 70 bytes at alignment 32.
/// docs/profile-format.md says what each is.
struct numbers {
  std::vector<std::uint64_t> counts = {1, 0, 9, 0, 0, 0, 0, 5, 108};
  std::vector<std::uint64_t> pools = {2,                  //
                                      4, 2, 76, 3, 1, 1,  // 40 bytes
                                      6, 1, 70, 0, 0};    // 96 bytes
  std::vector<std::uint64_t> peaks = {1, 2, 0};           // of the second; of the first; of both
  std::vector<std::uint64_t> aligned = {1, 5, 11, 70};    // at alignment 32 need 96 bytes
  std::vector<std::uint64_t> heap = {2,                   //
                                     2, 0, 2, 1, 38, 1536, 57'000,   // 48 bytes
                                     2, 5, 1, 1, 70, 512,  35'840};  // 80 bytes at alignment 32
  [[nodiscard]] std::string file() const {
    std::vector<std::uint64_t> all;
    for (const auto* const part : {&counts, &pools, &peaks, &aligned, &heap})
      all.insert(all.end(), part->begin(), part->end());
    return framed(all);
  }
};

TEST(ProfileFile, WhatIsWrittenIsReadAgain) {
  for (std::uint64_t seed = 0; seed < support::times(200u); ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const profile made = test::random_profile(random);
    const std::string bytes = encode(made);
    ASSERT_EQ(read(bytes), made);
    ASSERT_EQ(encode(read(bytes)), bytes);
  }
  EXPECT_EQ(read(encode({})), profile{});
}

TEST(ProfileFile, NumbersLieWhereTheFormatSays) {
  const profile made = read(numbers{}.file());
  EXPECT_EQ(std::tuple(made.runs, made.nanoseconds, made.refused_requests, made.peak_bytes),
            std::tuple(1u, 9u, 5u, 108u));
  ASSERT_EQ(made.pools.size(), 2u);
  EXPECT_EQ(pool_grid::size_of(made.pools[0].step), 40u);
  EXPECT_EQ(pool_grid::size_of(made.pools[1].step), 96u);
  EXPECT_EQ(
      std::tuple(made.pools[0].births, made.pools[0].requested_bytes, made.pools[0].lifetimes[3]),
      std::tuple(2u, 76u, 1u));
  EXPECT_EQ(made.peaks.at(0, 0), 2u);
  EXPECT_EQ(made.peaks.at(1, 1), 1u);
  EXPECT_EQ(made.peaks.at(0, 1), 2u);
  EXPECT_EQ(made.aligned,
            (std::vector<aligned_row>{{.alignment = 32, .step = 11, .smallest = 70}}));
  ASSERT_EQ(made.heap.size(), 2u);
  EXPECT_EQ(heap_grid::size_of(made.heap[0].step), 48u);
  EXPECT_EQ(made.heap[0].at_peak, (alive{1, 38}));
  EXPECT_EQ(made.heap[1], (heap_row{.step = 4,
                                    .alignment = 32,
                                    .births = 1,
                                    .at_peak = {1, 70},
                                    .mean_1024 = {512, 35'840}}));
}

TEST(ProfileFile, EmptyForeignAndNewerFilesAreRefused) {
  const std::string whole = numbers{}.file();
  expect_refused("", "a.aprof: at byte 0: the file is empty");
  expect_refused("#!/bin/sh\n", "a.aprof: at byte 0: this is no profile of ashlar's");
  expect_refused(trace::test::written({}), "at byte 0: this is a trace: `ashlar tune profile`");
  expect_refused(whole.substr(0, 19), "at byte 19: the file ends in the middle of its first 20");
  std::string other = whole;
  other[8] = 2;
  expect_refused(other, "at byte 8: the profile has version 2, and this ashlar reads up to 1");
  other[8] = 0;
  expect_refused(other, "at byte 8: the profile is damaged");
  other = whole;
  other[12] = 2;
  expect_refused(other, "at byte 12: the profile's sizes are those of grid 2");
  other = whole;
  other[19] = 1;
  expect_refused(other, "at byte 16: the profile is longer than any can be");
  expect_refused(whole + '\0', "bytes behind the end of the profile");
  EXPECT_THROW(static_cast<void>(read_profile("/nowhere/a.aprof")), trace::trace_error);
  EXPECT_THROW(static_cast<void>(is_profile("/dev/null")), trace::trace_error);
}

TEST(ProfileFile, AFileThatEndsAnywhereIsRefused) {
  std::mt19937_64 random(1);
  const std::string whole = encode(test::random_profile(random));
  for (std::size_t length = 0; length < whole.size(); ++length)
    ASSERT_NE(fault_of(whole.substr(0, length)), "none") << length;
}

TEST(ProfileFile, AnyBitThatChangesIsNoticed) {
  const std::string whole = numbers{}.file();
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string damaged = whole;
      damaged[at] = static_cast<char>(static_cast<unsigned char>(damaged[at]) ^ 1u << bit);
      ASSERT_NE(fault_of(damaged), "none") << at << ", bit " << bit;
    }
  }
}

// Each has a right checksum: somebody else may have written it.
TEST(ProfileFile, WhatNoRunCanHaveIsRefusedAtItsPlace) {
  const struct {
    std::vector<std::uint64_t> numbers::* part;
    std::size_t place;
    std::uint64_t value;
    const char* fault;
  } cases[] = {
      {&numbers::counts, 1, 2, "at byte 28: there are more unfinished runs than runs"},
      {&numbers::counts, 0, 0, "there are figures of no run"},
      {&numbers::pools, 0, 267, "at byte 29: the number of pool sizes: 267 is not from 0 to 266"},
      {&numbers::pools, 1, 266, "at byte 30: a pool size: 266 is not from 0 to 265"},
      {&numbers::pools, 1, 265, "there is no size behind the last one"},
      {&numbers::pools, 2, 0, "births: 0 is not from 1"},
      {&numbers::pools, 3, 81, "more bytes were requested than the blocks have"},
      {&numbers::pools, 4, 65, "the shortest lifetime: 65 is not from 0 to 64"},
      {&numbers::pools, 5, 63, "the number of lifetimes: 63 is not from 0 to 62"},
      {&numbers::pools, 6, 3, "there are more deaths than births"},
      {&numbers::peaks, 0, 0, "a peak: 0 is not from 1"},
      {&numbers::peaks, 2, 2,
       "a peak: 2 is not from 0 to 1"},  // 4 of both: the most of each are 2 and 1
      {&numbers::peaks, 1, std::uint64_t{1} << 31,
       "a peak: 2147483648 is not from 1 to 2147483647"},
      {&numbers::aligned, 1, 21, "an alignment: 21 is not from 1 to 20"},
      {&numbers::aligned, 2, 9, "an aligned need that no request had"},
      {&numbers::aligned, 3, 64, "the smallest request needs another size"},
      {&numbers::heap, 1, 2154, "a heap size: 2154 is not from 0 to 2153"},
      {&numbers::heap, 2, 4, "an alignment that every block has"},
      {&numbers::heap, 3, 0, "births: 0 is not from 1"},
      {&numbers::heap, 5, 49, "there are more bytes than the blocks have"},
      {&numbers::heap, 7, 1536 * 48 + 1, "there are more bytes than the blocks have"},
      {&numbers::heap, 0, 1, "there are bytes behind the last row"},
      {&numbers::heap, 0, 3, "a heap size: no number is there"},
  };
  for (const auto& wrong : cases) {
    numbers n;
    (n.*wrong.part)[wrong.place] = wrong.value;
    expect_refused(n.file(), wrong.fault);
  }
  numbers n;
  n.aligned = {2, 5, 11, 70, 5, 11, 70};
  expect_refused(n.file(), "aligned needs are not in their order");
  n = {};
  n.heap[8] = n.heap[9] = 0;
  expect_refused(n.file(), "heap sizes are not in their order");
}

TEST(ProfileFile, ThereIsOneWayToWriteANumber) {
  const std::string whole = numbers{}.file();
  const std::string body = whole.substr(preamble_bytes, whole.size() - preamble_bytes - 4);
  ASSERT_EQ(body[2], 9);
  std::string longer = body;
  longer.replace(2, 1, std::string("\x89\x00", 2));
  expect_refused(framed(longer), "at byte 22: a number is not written in its shortest way");
  numbers n;
  n.pools = {2, 4, 2, 76, 2, 2, 0, 1, 6, 1, 70, 0, 0};  // a lifetime that no block had is written
  expect_refused(n.file(), "at byte 33: a number is not written in its shortest way");
}

// Whatever was merged must be readable: the largest there can be.
TEST(ProfileFile, TheLargestProfileIsBelowTheLimit) {
  profile largest;
  for (const auto count : {&profile::runs, &profile::unfinished_runs, &profile::nanoseconds,
                           &profile::left_out, &profile::unknown_deaths, &profile::missing_deaths,
                           &profile::lost_events, &profile::refused_requests, &profile::peak_bytes})
    largest.*count = UINT64_MAX;
  largest.peaks = interval_table(pool_grid::count);
  for (std::uint32_t step = 0; step < pool_grid::count; ++step) {
    largest.pools.push_back({.step = step, .births = UINT64_MAX, .requested_bytes = UINT64_MAX});
    largest.pools.back().lifetimes.fill(UINT64_MAX);
    for (std::uint32_t last = step; last < pool_grid::count; ++last)
      largest.peaks.at(step, last) = INT32_MAX / pool_grid::count * (last - step + 1);
  }
  for (std::uint64_t alignment = 2; alignment <= pool_grid::largest_alignment; alignment *= 2) {
    for (std::uint32_t step = 0; step < pool_grid::count; ++step) {
      const std::uint64_t size = pool_grid::size_of(step);
      if (size % alignment == 0) largest.aligned.push_back({alignment, step, size});
    }
  }
  for (std::uint32_t step = 0; step < heap_grid::count; ++step) {
    for (std::uint64_t alignment = 16; alignment <= pool_grid::largest_alignment; alignment *= 2) {
      const alive most{UINT64_MAX, UINT64_MAX};
      largest.heap.push_back({step, heap_grid::alignment_of(alignment), UINT64_MAX, most, most});
    }
  }
  const std::string bytes = encode(largest);
  EXPECT_LT(bytes.size(), profile_bytes_max);
  EXPECT_GT(bytes.size(), profile_bytes_max / 8);
  EXPECT_EQ(read(bytes), largest);
  profile twice = largest;
  merge(twice, largest);
  EXPECT_EQ(read(encode(twice)), twice);
}

}  // namespace
}  // namespace ashlar::profiling
