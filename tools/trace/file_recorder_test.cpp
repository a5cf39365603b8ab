#include "tools/trace/file_recorder.hpp"

#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

#include "tools/trace/reader.hpp"
#include "tools/trace/spool_test_program.hpp"

namespace ashlar::trace {
namespace {

using enum event_kind;

struct recorded_trace {
  std::string bytes;
  file_recorder recorder{{}, [this](std::uint32_t) -> byte_sink {
                           return [this](std::string_view more) { bytes += more; };
                         }};
  test::spool_program program{recorder};

  // Of all events; of those that have none: 0.
  [[nodiscard]] std::vector<std::uint64_t> addresses() const {
    trace_reader reader(memory_source("a.atrace", bytes));
    std::vector<std::uint64_t> all;
    while (const event* const e = reader.peek()) {
      all.push_back(e->address);
      reader.pop();
    }
    return all;
  }
};

// The second image has filled a chunk and begun another before anybody looked, and has ended.
TEST(FileRecorder, AnImageThatWasShortIsReadFromItsBegin) {
  recorded_trace t;
  const std::uint32_t pid = test::ended_process();
  const std::uint32_t a = t.program.begin_process(pid);
  t.program.describe(0, a, std::string_view("/bin/a\0a\0", 9));
  t.program.take_chunk(1, a, 1, 0);
  t.program.put(1, by_malloc, 10, 0x1000);
  t.recorder.drain();
  const std::uint32_t b = t.program.begin_process(pid);
  t.program.describe(2, b, std::string_view("/bin/b\0b\0", 9));
  for (std::uint32_t i = 0; i < 3; ++i) {
    t.program.take_chunk(3 + i, b, 1, i);
    t.program.put(3 + i, by_malloc, 20 + i, 0x2000 + i * 0x1000);
    if (i < 2) t.program.seal(3 + i);
  }
  t.recorder.finish();
  EXPECT_EQ(t.addresses(), (std::vector<std::uint64_t>{0x1000, 0, 0x2000, 0x3000, 0x4000}));
}

TEST(FileRecorder, WhatAThreadLeftIsTakenAndItsChunkUsedAgain) {
  recorded_trace t;
  const std::uint32_t p = t.program.begin_process(static_cast<std::uint32_t>(::getpid()));
  t.program.describe(0, p, std::string_view("/bin/a\0a\0", 9));
  t.program.take_chunk(1, p, 1, 0, static_cast<std::uint32_t>(::getpid()));
  t.program.take_chunk(2, p, 2, 0, test::ended_thread());
  t.program.put(1, by_malloc, 10, 0x1000);
  t.program.put(2, by_malloc, 20, 0x2000);
  for (int i = 0; i < 64; ++i) t.recorder.drain();  // one of them looks
  EXPECT_EQ(t.program.state(1), chunk_state::taken);
  EXPECT_EQ(t.program.state(2), chunk_state::free);
  t.recorder.finish();
  EXPECT_EQ(t.addresses(), (std::vector<std::uint64_t>{0x1000, 0x2000}));
}

}  // namespace
}  // namespace ashlar::trace
