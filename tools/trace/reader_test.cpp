#include "tools/trace/reader.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <tuple>

#include <gtest/gtest.h>

#include "tools/trace/error.hpp"
#include "tools/trace/trace_test_files.hpp"

namespace ashlar::trace {
namespace {

using test::birth;
using test::death;
using test::other;
using test::read;
using test::written;

/// An event with a text of its own: the reader's is gone with the next event.
struct read_event {
  event e;  // its text is empty
  std::string text;

  friend bool operator==(const read_event&, const read_event&) = default;
};

std::vector<read_event> all_of(trace_reader& reader) {
  std::vector<read_event> all;
  while (const event* e = reader.peek()) {
    all.push_back({*e, std::string(e->text)});
    all.back().e.text = {};
    reader.pop();
  }
  return all;
}

std::string fault_of(const std::string& bytes, unfinished about = unfinished::read_what_is_there) {
  try {
    trace_reader reader = read(bytes, about);
    while (reader.peek() != nullptr) reader.pop();
    return reader.warning();
  } catch (const trace_error& error) {
    return error.what();
  }
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::string small_trace() {
  return written({other(event_kind::thread_start, 1, 5), birth(1, 6, 0x1000),
                  birth(1, 7, 0x2000, 40), other(event_kind::mark, 1, 8, 0, "here"),
                  other(event_kind::thread_start, 2, 8), death(2, 9, 0x1000), death(1, 12, 0x2000)},
                 2);
}

TEST(Reader, HeaderAndEventsComeBack) {
  trace_reader reader = read(small_trace());
  EXPECT_EQ(reader.header(), test::header());
  EXPECT_EQ(reader.header().number(header_name::ticks_per_second, 0), 1'000'000u);
  EXPECT_EQ(reader.header().number(header_name::program, 3), 3u);
  EXPECT_EQ(reader.events(), 7u);
  EXPECT_EQ(reader.warning(), "");
  const auto all = all_of(reader);
  ASSERT_EQ(all.size(), 7u);
  EXPECT_EQ(all[3].text, "here");
  EXPECT_EQ(all[5].e, death(2, 9, 0x1000));
}

TEST(Reader, AllThreadsAreInOneOrderHoweverTheirFramesLie) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 50; ++round) {
    std::vector<event> events;
    std::vector<std::uint64_t> times(1 + random() % 6, 0);
    for (int i = 0; i < 600; ++i) {
      const auto thread = static_cast<std::uint32_t>(random() % times.size());
      times[thread] += random() % 20;
      events.push_back(birth(thread + 1, times[thread], static_cast<std::uint64_t>(i) * 16));
    }
    trace_reader reader = read(written(events, 1 + random() % 100));
    // Of one thread the order stays, whatever its times are: here it is that of the addresses.
    std::sort(events.begin(), events.end(), [](const event& a, const event& b) {
      return std::tuple(a.time, a.thread, a.address) < std::tuple(b.time, b.thread, b.address);
    });
    const auto all = all_of(reader);
    ASSERT_EQ(all.size(), events.size());
    for (std::size_t i = 0; i < all.size(); ++i)
      ASSERT_EQ(all[i].e, events[i]) << round << " " << i;
  }
}

TEST(Reader, EmptyForeignAndNewerFilesAreRefusedByName) {
  EXPECT_EQ(fault_of(""), "a.atrace: at byte 0: the file is empty");
  EXPECT_TRUE(
      contains(fault_of("#!/bin/sh\necho no trace\n"), "a.atrace: at byte 0: this is no trace"));
  std::string newer = small_trace();
  newer[8] = 2;
  EXPECT_TRUE(contains(fault_of(newer),
                       "at byte 8: the trace has version 2, and this ashlar reads up to 1"));
  EXPECT_THROW(open_file_source("/nowhere/a.atrace"), trace_error);
  EXPECT_THROW(open_file_source("/dev/null"), trace_error);
}

TEST(Reader, AFileThatEndsAnywhereIsReadUpToThere) {
  const std::string whole = small_trace();
  trace_reader reader = read(whole);
  const auto all = all_of(reader);
  std::size_t most = 0;
  for (std::size_t length = 1; length < whole.size(); ++length) {
    SCOPED_TRACE(length);
    const std::string cut = whole.substr(0, length);
    EXPECT_TRUE(contains(fault_of(cut, unfinished::refuse), "a.atrace: at byte "))
        << fault_of(cut, unfinished::refuse);
    std::vector<read_event> some;
    try {
      trace_reader part = read(cut);
      some = all_of(part);
      EXPECT_TRUE(contains(part.warning(), "ends without its end"));
    } catch (const trace_error& error) {
      EXPECT_TRUE(contains(error.what(), "in the middle of its header"));
    }
    // Frames are written as they fill: what is read is in the whole, in its order.
    std::size_t at = 0;
    for (const read_event& e : some) {
      while (at < all.size() && all[at] != e) ++at;
      ASSERT_LT(at++, all.size());
    }
    EXPECT_GE(some.size(), most);
    most = std::max(most, some.size());
  }
  EXPECT_EQ(most, all.size());
}

TEST(Reader, AnyByteChangedIsFoundAndToldWithItsOffset) {
  const std::string whole = small_trace();
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (const int change : {1, 0x80, 0xff}) {
      std::string damaged = whole;
      damaged[at] = static_cast<char>(damaged[at] ^ change);
      EXPECT_TRUE(contains(fault_of(damaged, unfinished::refuse), "a.atrace: at byte ")) << at;
      EXPECT_NE(fault_of(damaged), "") << at;
    }
  }
}

TEST(Reader, BytesBehindTheEndAndMissingEventsAreFaults) {
  const std::string whole = small_trace();
  EXPECT_TRUE(contains(fault_of(whole + "x"),
                       "at byte " + std::to_string(whole.size()) + ": there are bytes behind"));
  // The first frame is left out, and every checksum is right.
  const std::string head = encode(test::header());
  frame_header first;
  ASSERT_TRUE(decode(view_of(whole).subspan(head.size(), frame_header_bytes), first));
  const std::string without =
      head + whole.substr(head.size() + frame_header_bytes + first.payload_bytes);
  EXPECT_TRUE(contains(fault_of(without), "not as many events"));
}

TEST(Reader, AFileOnDiskIsReadLikeBytes) {
  const std::filesystem::path path =
      std::filesystem::temp_directory_path() / "ashlar-reader-test.atrace";
  std::ofstream(path, std::ios::binary) << small_trace();
  trace_reader reader(open_file_source(path.string()));
  EXPECT_EQ(all_of(reader).size(), 7u);
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace ashlar::trace
