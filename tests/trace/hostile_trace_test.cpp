// Traces that were made to fill memory, or to take for ever, as a user meets them: some kilobytes, read by a command that may
// take little memory.
#include <tests/support/test_folder.hpp>
#include <tests/support/test_headers.hpp>

#include "tools/trace/trace_files_test.hpp"

namespace {

using namespace support;
using namespace ashlar::trace;

class HostileTrace : public TestFolder {
 protected:
  void write(const std::string& frames, std::uint64_t events) const {
    ASSERT_LT(frames.size(), 100'000u);
    write_file(path("a.atrace"), encode(test::header()) + frames + encode_end(events));
  }
  // It has to end with this status. Returns: what it complains of. What a trace of 100 KB may unpack to is 90 MB; tables that
  // grow take three times that for a moment.
  std::string stat(int status = 0) const {
    const std::string line = "cd '" + folder_.string() +
                             "' && ulimit -v 327680 && "
                             "exec '" ASHLAR_COMMAND "' report --text a.atrace >out 2>err";
    const int ended = std::system(line.c_str());
    std::string err = read_file(path("err"));
    EXPECT_TRUE(WIFEXITED(ended) && WEXITSTATUS(ended) == status) << ended << err;
    return err;
  }
  void expect_refused() const {
    EXPECT_NE(stat(2).find(": more than a trace of this size may unpack to"), std::string::npos);
  }
};

constexpr std::uint64_t later = 1'000'000'000;

// Of each thread there is a frame of the most events that is open until all have begun.
TEST_F(HostileTrace, OfManyLargeFramesThatAreOpenAtOnceIsRefused) {
  constexpr std::uint32_t count = frame_events_max;
  std::array<std::string, column_count> columns;
  columns[column_kinds] = std::string(count - 1, static_cast<char>(1 | flag_aligned | flag_stack)) +
                          static_cast<char>(event_kind::thread_exit);
  columns[column_times] = std::string(count - 1, '\0');
  put_varint(columns[column_times], later);
  columns[column_sizes] = std::string(count, '\0');
  columns[column_addresses] = std::string(count - 1, '\0');
  columns[column_alignments] = std::string(count - 1, '\0');
  columns[column_stacks] = std::string(count - 1, '\1');
  std::string frames;
  constexpr std::uint32_t threads = 120;
  for (std::uint32_t thread = 1; thread <= threads; ++thread)
    frames += test::framed({.thread = thread, .count = count, .last_time = later}, columns);
  write(frames, std::uint64_t{threads} * count);
  expect_refused();
}

std::string text_frame(std::uint32_t thread, std::uint64_t first, std::uint64_t last,
                       const std::string& text) {
  std::array<std::string, column_count> columns;
  columns[column_kinds] = {static_cast<char>(event_kind::mark),
                           static_cast<char>(event_kind::thread_exit)};
  put_varint(columns[column_times], 0);
  put_varint(columns[column_times], last - first);
  columns[column_sizes] = std::string(2, '\0');
  put_string(columns[column_texts], text);
  return test::framed({.thread = thread, .count = 2, .first_time = first, .last_time = last},
                      columns);
}

TEST_F(HostileTrace, OfLongTextsThatAreOpenAtOnceIsRefused) {
  const std::string text(16u << 20, 'a');
  std::string frames;
  for (std::uint32_t thread = 1; thread <= 20; ++thread)
    frames += text_frame(thread, 0, later, text);
  write(frames, 40);
  expect_refused();
}

// They are open one after the other. What they needed is not kept for the small frames behind them.
TEST_F(HostileTrace, OfLongTextsOneAfterTheOtherIsRead) {
  const std::string text(16u << 20, 'a');
  std::string frames;
  for (std::uint32_t thread = 1; thread <= 30; ++thread)
    frames += text_frame(thread, thread, thread, text) + text_frame(thread, 100, later, "b");
  write(frames, 120);
  stat();
}

// All bytes of a process, again and again, each said to have blocks everywhere.
TEST_F(HostileTrace, OfLooksAtMappingsThatCannotBeIsReadInTime) {
  compressor with;
  memory_look look{later, 1, UINT64_MAX};
  for (std::uint64_t i = 0; i < 20'000; ++i)
    look.mappings.push_back({memory_kind::anonymous, i, UINT64_MAX, UINT64_MAX / 3});
  std::array<std::string, column_count> columns;
  constexpr std::uint32_t count = 500;
  columns[column_kinds] = std::string(count, static_cast<char>(event_kind::by_malloc));
  columns[column_times] = std::string(count, '\0');
  for (std::uint32_t i = 0; i < count; ++i) {
    put_varint(columns[column_sizes], UINT64_MAX);
    put_varint(columns[column_addresses], 2);
  }
  write(test::framed({.thread = 1, .count = count}, columns) +
            encode(std::vector<memory_look>{look}, with),
        count);
  stat();
}

/// Births of 16 bytes each, side by side from this address on.
std::string births(std::uint32_t thread, std::uint32_t count, std::uint64_t address,
                   std::uint64_t apart) {
  std::array<std::string, column_count> columns;
  columns[column_kinds] = std::string(count, static_cast<char>(event_kind::by_malloc));
  columns[column_times] = std::string(count, '\0');
  columns[column_sizes] = std::string(count, '\x10');
  put_varint(columns[column_addresses], zigzag(address / 8) << 1);
  for (std::uint32_t i = 1; i < count; ++i)
    put_varint(columns[column_addresses], zigzag(apart / 8) << 1);
  return test::framed({.thread = thread, .count = count}, columns);
}

// What a trace says that lives is not refused: a recording may say so.
TEST_F(HostileTrace, OfMoreLiveBlocksThanMemoryHoldsEndsTheCommandWithAWord) {
  std::string frames;
  constexpr std::uint64_t count = frame_events_max;
  for (std::uint64_t i = 0; i < 100; ++i)
    frames += births(1, frame_events_max, 0x10000 + 16 * count * i, 16);
  write(frames, 100 * count);
  EXPECT_EQ(stat(1), "ashlar: there is not enough memory\n");
}

// Births of one address by two threads at one time: each waits for the other's death, tick by tick.
TEST_F(HostileTrace, WhoseTicksAreTooFineToBeTrueIsReadInTime) {
  trace_header header;
  header.set(header_name::ticks_per_second, std::uint64_t{1'000'000'000'000'000'000});
  write_file(path("a.atrace"), encode(header) + births(1, 100, 0x1000, 0) +
                                   births(2, 100, 0x1000, 0) + encode_end(200));
  stat();
}

}  // namespace
