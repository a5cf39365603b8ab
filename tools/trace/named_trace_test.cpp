#include "tools/trace/named_trace.hpp"

#include <gtest/gtest.h>

#include "tools/trace/error.hpp"
#include "tools/trace/text.hpp"
#include "tools/trace/trace_test_files.hpp"

namespace ashlar::trace {
namespace {

using names = std::vector<name_definition>;

// More events than a frame has, two threads, three calls of one file and one of none.
std::string recorded(const names& known = {}) {
  std::string bytes;
  trace_writer out([&](std::string_view more) { bytes += more; }, test::header());
  for (std::uint64_t i = 0; i < 20'000; ++i) {
    event e = test::birth(1 + i % 2, i, 16 * i);
    e.stack = 1 + i % 2;
    out.add(e);
  }
  out.add(std::vector<stack_definition>{{1, {0x1500, 0x1600, cut_frame}}, {2, {0x1700, 0x9000}}});
  out.add(known);
  out.add(std::vector<module_definition>{{0x1000, 0x2000, 0x1000, "/no/such/program", "an id"}});
  out.close();
  return bytes;
}

const names three{{0x1500, {{"inlined", "a.h", 3}, {"f", "a.c", 5}}},
                  {0x1600, {{"g", "", 0}}},
                  {0x1700, {{"h", "b.c", 7}}}};

std::string copy_with(const std::string& trace, const names& with) {
  const trace_reader reader = test::read(trace);
  const auto source = memory_source("a.atrace", trace);
  std::string copy;
  write_with_names(*source, reader.header(), with, [&](std::string_view more) { copy += more; });
  return copy;
}

std::string text_of(const std::string& trace) {
  trace_reader reader = test::read(trace);
  std::string text;
  write_text(reader, [&](std::string_view more) { text += more; });
  return text;
}

TEST(NamedTrace, HasTheNamesAndAllElseAsItWas) {
  const std::string copy = copy_with(recorded(), three);
  trace_reader reader = test::read(copy, unfinished::refuse);
  EXPECT_EQ(reader.names(), three);
  EXPECT_EQ(text_of(copy_with(copy, {})), text_of(recorded()));
  EXPECT_EQ(copy_with(recorded({{0x1500, {{"old", "a.c", 1}}}}), three), copy) << "no old names";
  EXPECT_EQ(copy_with(copy, three), copy);
}

TEST(NamedTrace, ManyNamesAreInSeveralFrames) {
  names many;
  for (std::uint64_t i = 0; i < 2 * trace_writer::definitions_each + 1; ++i)
    many.push_back({i, {{"f" + std::to_string(i), "a.c", 1}}});
  EXPECT_EQ(test::read(copy_with(recorded(), many)).names(), many);
}

TEST(NamedTrace, OfATraceWithoutItsEndAllWholeFramesAreThere) {
  const std::string whole = recorded();
  ASSERT_GT(whole.size(), 500u);
  for (const std::size_t missing : {1u, 20u, 60u, 200u, 400u}) {
    const std::string cut = whole.substr(0, whole.size() - missing);
    const std::string copy = copy_with(cut, three);
    trace_reader before = test::read(cut);
    trace_reader after = test::read(copy);
    EXPECT_EQ(after.names(), three);
    EXPECT_EQ(after.events(), before.events());
    EXPECT_NE(after.warning(), "");
    EXPECT_EQ(text_of(copy_with(copy, {})), text_of(cut));
  }
}

TEST(NamedTrace, ADamagedFrameIsNotTakenOver) {
  const std::string whole = recorded();
  const trace_reader reader = test::read(whole);
  std::string damaged = whole;
  damaged[200] = static_cast<char>(damaged[200] ^ 1);  // in the first events
  const auto source = memory_source("a.atrace", damaged);
  EXPECT_THROW(write_with_names(*source, reader.header(), three, [](std::string_view) {}),
               trace_error);
}

TEST(NamedTrace, CallsAreNamedOnceAndCounted) {
  const trace_reader reader = test::read(recorded(three));
  call_names by(reader);
  double last = 0;
  const found_names found = find_names(reader, by, [&](double share) {
    EXPECT_GE(share, last);
    EXPECT_LE(share, 1);
    last = share;
  });
  EXPECT_EQ(found.names, three);
  EXPECT_EQ(found.calls, 4u);
  EXPECT_EQ(found.with_lines, 2u);
  EXPECT_TRUE(found.without_lines.empty()) << "some of the program's calls have lines";
  EXPECT_TRUE(by.lost().empty());

  const trace_reader nameless = test::read(recorded());
  call_names by_nothing(nameless);
  const found_names none = find_names(nameless, by_nothing, [](double) {});
  EXPECT_TRUE(none.names.empty());
  EXPECT_EQ(none.without_lines, std::vector<std::string>{"/no/such/program"});
  EXPECT_EQ(by_nothing.lost().size(), 1u);
}

// What a frame says is not believed.
TEST(NamedTrace, NamesThatLieAreRefused) {
  compressor with;
  const auto fault_of = [&](const std::string& payload) {
    frame_header header;
    header.kind = frame_kind::names;
    header.count = 1;
    std::string column;
    with.put_column(column, view_of(payload));
    header.payload_bytes = static_cast<std::uint32_t>(column.size());
    header.payload_checksum = checksum(view_of(column));
    try {
      test::read(encode(test::header()) + encode(header) + column);
      return std::string();
    } catch (const trace_error& error) {
      return std::string(error.what());
    }
  };
  std::string good;
  put_varint(good, zigzag(0x1500));
  put_varint(good, 1);
  put_string(good, "f");
  put_string(good, "a.c");
  EXPECT_EQ(fault_of(good + '\x05'), "");
  for (std::size_t length = 0; length <= good.size(); ++length)
    EXPECT_NE(fault_of(good.substr(0, length)), "") << length;
  EXPECT_NE(fault_of(good + "\x05 more").find("bytes behind the last name"), std::string::npos);
  EXPECT_NE(fault_of(good + "\x80\x80\x80\x80\x10").find("without its function, file or line"),
            std::string::npos);
}

}  // namespace
}  // namespace ashlar::trace
