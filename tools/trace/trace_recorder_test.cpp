#include "tools/trace/trace_recorder.hpp"

#include <vector>

#include <gtest/gtest.h>

#include "tools/trace/reader.hpp"
#include "tools/trace/spool_test_program.hpp"

namespace ashlar::trace {
namespace {

using enum event_kind;

// The second image has filled a chunk and begun another before anybody looked, and has ended.
TEST(TraceRecorder, AnImageThatWasShortIsReadFromItsBegin) {
  std::string bytes;
  trace_recorder recorder({}, [&](std::uint32_t) -> byte_sink {
    return [&](std::string_view more) { bytes += more; };
  });
  test::spool_program program(recorder);
  const std::uint32_t pid = test::ended_process();
  const std::uint32_t a = program.begin_process(pid);
  program.describe(0, a, std::string_view("/bin/a\0a\0", 9));
  program.take_chunk(1, a, 1, 0);
  program.put(1, by_malloc, 10, 0x1000);
  recorder.drain();
  const std::uint32_t b = program.begin_process(pid);
  program.describe(2, b, std::string_view("/bin/b\0b\0", 9));
  for (std::uint32_t i = 0; i < 3; ++i) {
    program.take_chunk(3 + i, b, 1, i);
    program.put(3 + i, by_malloc, 20 + i, 0x2000 + i * 0x1000);
    if (i < 2) program.seal(3 + i);
  }
  recorder.finish();
  trace_reader reader(memory_source("a.atrace", bytes));
  std::vector<std::uint64_t> addresses;  // of the image: 0
  while (const event* const e = reader.peek()) {
    addresses.push_back(e->address);
    reader.pop();
  }
  EXPECT_EQ(addresses, (std::vector<std::uint64_t>{0x1000, 0, 0x2000, 0x3000, 0x4000}));
}

}  // namespace
}  // namespace ashlar::trace
