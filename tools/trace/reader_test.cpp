#include "tools/trace/reader.hpp"

#include <tests/support/test_headers.hpp>

#include <sys/stat.h>

#include "tools/trace/error.hpp"
#include "tools/trace/trace_files_test.hpp"

namespace ashlar::trace {
namespace {

using namespace test;

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

TEST(Reader, TellsHowFarItIs) {
  trace_reader reader =
      read(written({birth(1, 1, 16), birth(1, 2, 32), birth(2, 3, 48), birth(2, 4, 64)}, 1));
  std::vector<double> shares;
  reader.tell_progress([&](double share) { shares.push_back(share); });
  EXPECT_EQ(all_of(reader).size(), 4u);
  EXPECT_EQ(shares, (std::vector<double>{0.25, 0.5, 0.75, 1}));
}

TEST(Reader, WithoutAnotherUnitTimesAreNanoseconds) {
  trace_header header;
  EXPECT_EQ(header.ticks_per_second(), 1'000'000'000u);
  for (const char* none : {"0", "", "many", "-1", "99999999999999999999"}) {
    header.set(header_name::ticks_per_second, none);
    EXPECT_EQ(header.ticks_per_second(), 1'000'000'000u) << none;
  }
  header.set(header_name::ticks_per_second, 1);
  EXPECT_EQ(header.ticks_per_second(), 1u);
  EXPECT_EQ(read(small_trace()).ticks_per_second(), 1'000'000u);
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
    std::ranges::sort(events, [](const event& a, const event& b) {
      return std::tuple(a.time, a.thread, a.address) < std::tuple(b.time, b.thread, b.address);
    });
    const auto all = all_of(reader);
    ASSERT_EQ(all.size(), events.size());
    for (std::size_t i = 0; i < all.size(); ++i)
      ASSERT_EQ(all[i].e, events[i]) << round << " " << i;
  }
}

void expect_old_trace(std::string_view digits) {
  std::string bytes;
  for (std::size_t i = 0; i < digits.size(); i += 2)
    bytes.push_back(static_cast<char>(std::stoi(std::string(digits.substr(i, 2)), nullptr, 16)));
  trace_reader reader = read(bytes);
  EXPECT_EQ(reader.header().get(header_name::program), "/bin/old");
  const std::vector<stack_definition> stacks{{1, {0x55e1, 0x5602}}};
  EXPECT_EQ(reader.stacks(), stacks);
  event with_stack = birth(1, 5, 0x1000, 24);
  with_stack.stack = 1;
  event aligned = birth(1, 6, 0x2000, 100);
  aligned.kind = event_kind::by_aligned;
  aligned.alignment = 64;
  event again = with_stack;
  again.time = 9;
  const std::vector<event> events{other(event_kind::thread_start, 1, 1),
                                  with_stack,
                                  aligned,
                                  death(1, 7, 0x1000),
                                  again,
                                  death(1, 10, 0x777770),
                                  other(event_kind::mark, 1, 11)};
  const auto all = all_of(reader);
  ASSERT_EQ(all.size(), events.size());
  for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i].e, events[i]) << i;
  EXPECT_EQ(all.back().text, "two words");
}

// What `ashlar export --from-text` wrote when the format had these versions.
TEST(Reader, ATraceOfVersion3IsReadAsItWas) {
  expect_old_trace(
      "894154520d0a1a0a03000000110000000770726f6772616d082f62696e2f6f6c640d65f5f44146524d02"
      "000000000000000100000000000000000000000000000000000000080000006d782b29bc69e160060001"
      "02c2d702424146524d01000000010000000700000001000000000000000b00000000000000380000003f"
      "d2f379bccca775070020814450811024070000040101020101050000186418000a00801080200100b8f7"
      "ee01010006020001010a000974776f20776f7264734146524d0400000000000000000000000000000000"
      "000000000000000000000001000000ba37b78639673e0807");
}
TEST(Reader, ATraceOfVersion5IsReadAsItWas) {
  expect_old_trace(
      "894154520d0a1a0a05000000110000000770726f6772616d082f62696e2f6f6c6443dc4f104146524d02"
      "000000000000000100000000000000000000000000000000000000080000006d782b29bc69e160060001"
      "02c2d702424146524d07000000010000000700000001000000000000000b000000000000003900000095"
      "bd6e168c0af90900070020814450891024070000040101020101050000186418000a00801080200100b8"
      "f7ee01010006020001010a000974776f20776f7264734146524d04000000000000000000000000000000"
      "00000000000000000000000001000000ba37b78639673e0807");
}

TEST(Reader, EmptyForeignAndNewerFilesAreRefusedByName) {
  EXPECT_EQ(fault_of(""), "a.atrace: at byte 0: the file is empty");
  EXPECT_TRUE(
      contains(fault_of("#!/bin/sh\necho no trace\n"), "a.atrace: at byte 0: this is no trace"));
  std::string newer = small_trace();
  newer[8] = 8;
  EXPECT_TRUE(contains(fault_of(newer),
                       "at byte 8: the trace has version 8, and this ashlar reads up to 7"));
}

std::string fault_of_file(const std::string& path) {
  try {
    return open_file_source(path)->name();
  } catch (const trace_error& error) {
    return error.what();
  }
}

TEST(Reader, WhatCannotBeOpenedOrIsNoFileIsRefusedWithoutAnOffset) {
  EXPECT_EQ(fault_of_file("/nowhere/a.atrace"),
            "/nowhere/a.atrace: cannot be opened: No such file or directory");
  EXPECT_TRUE(fault_of_file("/dev/null").starts_with("/dev/null: is not a file;"));
  const std::filesystem::path pipe =
      std::filesystem::temp_directory_path() / ("ashlar-reader-test." + std::to_string(::getpid()));
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_TRUE(contains(fault_of_file(pipe.string()), ": is not a file;"));  // nobody writes there
  std::filesystem::remove(pipe);
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

// Events are decoded ahead of their turn, and faults are not told ahead.
TEST(Reader, EventsBeforeAFaultyOneAreRead) {
  std::vector<event> events;
  for (std::uint64_t time = 1; time <= 300; ++time) events.push_back(birth(1, time, 16 * time));
  const std::string whole = written(events);
  const std::string head = encode(test::header());
  for (const std::uint64_t last_good : {1u, 63u, 64u, 65u, 150u, 299u}) {
    // The header lies about the time of its last event, and every checksum is right.
    frame_header header;
    ASSERT_TRUE(decode(view_of(whole).subspan(head.size(), frame_header_bytes), header));
    header.last_time = last_good;
    trace_reader reader =
        read(head + encode(header) + whole.substr(head.size() + frame_header_bytes));
    std::uint64_t read_events = 0;
    EXPECT_THROW(
        {
          for (; reader.peek() != nullptr; reader.pop()) ++read_events;
        },
        trace_error);
    EXPECT_EQ(read_events, last_good);
  }
}

/// So many stacks of 500 frames, all the same, which are 4,032 bytes in memory.
std::string same_stacks(std::size_t count) {
  compressor pack;
  return encode(std::vector<stack_definition>(count, {1, std::vector<std::uint64_t>(500)}), pack);
}

TEST(Reader, DefinitionsAreReadAsFarAsTheFilesSizeMakesThemCredible) {
  const auto with = [](const std::string& definitions, const std::string& trace) {
    const std::size_t header = encode(test::header()).size();
    return trace.substr(0, header) + definitions + trace.substr(header);
  };
  const std::string fault = "more than a trace of this size may unpack to";
  EXPECT_EQ(fault_of(with(same_stacks(1u << 14), small_trace())), "");  // 63 MiB from 3 KB
  EXPECT_TRUE(contains(fault_of(with(same_stacks(1u << 15), small_trace())), fault));
  // All of them count, however many frames they are in.
  const std::string frame = same_stacks(1'560);  // 6 MiB
  std::string frames;
  for (int i = 0; i < 12; ++i) frames += frame;
  EXPECT_TRUE(contains(fault_of(with(frames, small_trace())), fault));
  // In a larger file they may be right.
  std::mt19937_64 random(3);
  std::string noise;
  for (int i = 0; i < 1 << 16; ++i) noise += static_cast<char>(random());
  const std::string larger = written({other(event_kind::mark, 1, 5, 0, noise)});
  EXPECT_EQ(fault_of(with(frames, larger)), "");
}

/// So many threads, each with a mark of 1 MiB in a frame of its own, which is open until `end` says.
template <class End>
std::string traces_of_marks(std::uint32_t threads, End end) {
  const std::string text(1u << 20, 'a');
  std::string bytes = encode(test::header());
  compressor with;
  for (std::uint32_t t = 1; t <= threads; ++t) {
    frame_encoder encoder;
    encoder.add(other(event_kind::mark, t, t, 0, text));
    end(encoder, t);
    encoder.finish(t, with, bytes);
  }
  return bytes + encode_end(2 * threads);
}

TEST(Reader, FramesAreOpenAtOnceAsFarAsTheFilesSizeMakesThemCredible) {
  const auto until_all_have_begun = [](frame_encoder& frame, std::uint32_t t) {
    frame.add(other(event_kind::thread_exit, t, 1000));
  };
  EXPECT_EQ(fault_of(traces_of_marks(60, until_all_have_begun)), "");
  const std::string fault = fault_of(traces_of_marks(80, until_all_have_begun));
  EXPECT_TRUE(contains(fault, "a.atrace: at byte ")) << fault;
  EXPECT_TRUE(contains(fault, ": more than a trace of this size may unpack to")) << fault;
  // What was closed has given its room back.
  EXPECT_EQ(fault_of(traces_of_marks(200,
                                     [](frame_encoder& frame, std::uint32_t t) {
                                       frame.add(other(event_kind::thread_exit, t, t));
                                     })),
            "");
}

// The order over threads begins with what frames say of their first events.
TEST(Reader, AFrameThatLiesAboutItsFirstTimeIsRefused) {
  frame_header header;
  header.thread = 1;
  header.count = 1;
  header.first_time = 3;
  header.last_time = 10;
  const std::string start(1, static_cast<char>(event_kind::thread_start));
  const std::string number(1, '\0');
  const std::string early = test::framed(header, {start, "\x07", number, "", "", "", ""});
  header.thread = 2;
  header.last_time = 3;
  const std::string right = test::framed(header, {start, number, number, "", "", "", ""});
  const std::string head = encode(test::header());
  EXPECT_EQ(fault_of(head + right + encode_end(1)), "");
  EXPECT_EQ(fault_of(head + early + right + encode_end(2)),
            "a.atrace: at byte " + std::to_string(head.size() + frame_header_bytes) +
                ": another first time than the frame says");
}

TEST(Reader, AHeaderHasSoManyNamesAndNoMore) {
  trace_header header;
  for (std::size_t i = 0; i < header_names_max; ++i) header.set("name " + std::to_string(i), i);
  EXPECT_EQ(fault_of(encode(header) + encode_end(0)), "");
  header.set("one more", 1);
  EXPECT_EQ(fault_of(encode(header) + encode_end(0)),
            "a.atrace: at byte 16: the header has more than 1024 names");
}

TEST(Writer, FramesOfManyLongTextsAndDefinitionsAreOnesThatAReaderTakes) {
  const std::string text(event_text_max, 'a');
  constexpr std::uint64_t marks = 70;  // in one frame they would be more bytes than there may be
  std::string bytes;
  trace_writer out([&](std::string_view more) { bytes += more; }, test::header());
  for (std::uint64_t time = 0; time < marks; ++time)
    out.add(other(event_kind::mark, 1, time, 0, text));
  std::vector<stack_definition> stacks(5000);
  for (std::uint32_t i = 0; i < stacks.size(); ++i) stacks[i] = {i + 1, {16 * i, 32 * i}};
  out.add(stacks);
  out.close();
  std::size_t most_definitions = 0;
  for (std::size_t at = encode(test::header()).size(); at < bytes.size();) {
    frame_header header;
    ASSERT_TRUE(decode(view_of(bytes).subspan(at, frame_header_bytes), header));
    if (header.kind == frame_kind::stacks)
      most_definitions = std::max<std::size_t>(most_definitions, header.count);
    at += frame_header_bytes + header.payload_bytes;
  }
  EXPECT_EQ(most_definitions, trace_writer::definitions_each);
  trace_reader reader = read(bytes, unfinished::refuse);
  EXPECT_EQ(reader.stacks(), stacks);
  std::uint64_t read_marks = 0;
  for (; const event* const e = reader.peek(); reader.pop()) {
    ASSERT_EQ(e->text, text);
    ++read_marks;
  }
  EXPECT_EQ(read_marks, marks);
}

}  // namespace
}  // namespace ashlar::trace
