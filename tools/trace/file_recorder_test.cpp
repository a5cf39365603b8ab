#include "tools/trace/file_recorder.hpp"

#include <tests/support/test_headers.hpp>

#include "tools/trace/reader.hpp"
#include "tools/trace/spool_program_test.hpp"

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

// What is still written is read up to now, and its rest later: each event once.
TEST(FileRecorder, AChunkIsReadInPartsWhileItIsWritten) {
  recorded_trace t;
  const std::uint32_t pid = static_cast<std::uint32_t>(::getpid());
  const std::uint32_t a = t.program.begin_process(pid);
  t.program.describe(0, a, std::string_view("/bin/a\0a\0", 9));
  const auto system_thread = static_cast<std::uint32_t>(::gettid());
  t.program.take_chunk(1, a, 1, 0, system_thread);
  t.recorder.drain();
  std::vector<std::uint64_t> told;
  const auto put = [&](std::uint32_t chunk) {
    told.push_back(0x1000 * (told.size() + 1));
    t.program.put(chunk, by_malloc, 10 * told.size(), told.back());
  };
  put(1);
  t.program.put(1, spool_kind::alignment, 64);  // of the next one, which is not there yet
  t.recorder.take_unsealed();
  EXPECT_EQ(t.addresses(), told);
  put(1);
  put(1);
  t.recorder.take_unsealed();
  EXPECT_EQ(t.addresses(), told);
  put(1);
  t.program.seal(1);
  t.program.take_chunk(2, a, 1, 1, system_thread);
  put(2);
  t.recorder.drain();
  t.recorder.take_unsealed();
  EXPECT_EQ(t.addresses(), told);
  put(2);
  t.recorder.finish();
  EXPECT_EQ(t.addresses(), told);
  trace_reader reader(memory_source("a.atrace", t.bytes), unfinished::refuse);
  ASSERT_NE(reader.peek(), nullptr);
  reader.pop();
  ASSERT_NE(reader.peek(), nullptr);
  EXPECT_EQ(reader.peek()->alignment, 64u);
}

// A thread that is alone has times within 16 us. From a second thread on, and in what the process
// executes later, all times are exact: they say whose event was first.
TEST(FileRecorder, TimesAreExactAsSoonAsThereAreThreads) {
  recorded_trace t;
  const std::uint32_t pid = test::ended_process();
  const std::uint32_t a = t.program.begin_process(pid);
  t.program.describe(0, a, std::string_view("/bin/a\0a\0", 9));
  std::vector<std::uint64_t> times;
  const auto fill_chunk = [&](std::uint32_t chunk, std::uint32_t image, std::uint32_t thread,
                              std::uint32_t sequence) {
    t.program.take_chunk(chunk, image, thread, sequence);
    for (const std::uint64_t ticks : {0u, 1u, 3u, 4u, 1'000'000u}) {
      times.push_back(chunk * 10'000'000 + ticks);
      t.program.put(chunk, by_malloc, times.back(), 0x1000 * times.size());
    }
    t.program.seal(chunk);
  };
  fill_chunk(1, a, 1, 0);
  t.recorder.drain();
  fill_chunk(2, a, 1, 1);
  fill_chunk(3, a, 2, 0);
  t.recorder.drain();
  const std::uint32_t b = t.program.begin_process(pid);
  t.program.describe(4, b, std::string_view("/bin/b\0b\0", 9));
  fill_chunk(5, b, 1, 0);
  t.recorder.finish();
  std::vector<std::uint64_t> read;
  trace_reader reader(memory_source("a.atrace", t.bytes));
  const std::uint64_t step = reader.ticks_per_second() * 16 / 1'000'000;
  while (const event* const e = reader.peek()) {
    if (e->kind == by_malloc) read.push_back(e->time);
    reader.pop();
  }
  ASSERT_EQ(read.size(), times.size());
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_LE(std::max(read[i], times[i]) - std::min(read[i], times[i]), step) << i;
  }
  EXPECT_NE(read[1], times[1]);
  read.erase(read.begin(), read.begin() + 5);
  times.erase(times.begin(), times.begin() + 5);
  EXPECT_EQ(read, times);
}

// Between two images there is one that told nothing, and one comes last.
TEST(FileRecorder, AnImageThatToldNothingIsInTheTraceAtItsPlace) {
  recorded_trace t;
  const std::uint32_t pid = test::ended_process();
  std::uint32_t chunk = 0;
  for (const std::uint64_t address : {0x1000u, 0u, 0x2000u, 0u}) {
    const std::uint32_t image = t.program.begin_process(pid);
    t.program.describe(chunk++, image, std::string_view("/bin/a\0a\0", 9));
    if (address == 0) continue;
    t.program.take_chunk(chunk, image, 1, 0);
    t.program.put(chunk++, by_malloc, 10, address);
  }
  t.recorder.finish();
  EXPECT_EQ(t.addresses(), (std::vector<std::uint64_t>{0x1000, 0, 0, 0x2000, 0}));
}

TEST(FileRecorder, TheProgramHasATraceThoughItToldNothing) {
  for (const bool is_program : {true, false}) {
    recorded_trace t;
    const std::uint32_t pid = test::ended_process();
    t.recorder.set_program(is_program ? pid : pid + 1);
    t.program.describe(0, t.program.begin_process(pid), std::string_view("/bin/a\0a\0", 9));
    t.recorder.drain();
    t.recorder.finish();
    ASSERT_EQ(t.recorder.results().size(), is_program ? 1u : 0u);
    if (!is_program) continue;
    EXPECT_EQ(t.recorder.results()[0].pid, pid);
    EXPECT_EQ(t.recorder.results()[0].events, 0u);
    EXPECT_TRUE(t.addresses().empty());
    trace_reader reader(memory_source("a.atrace", t.bytes), unfinished::refuse);
    EXPECT_EQ(reader.header().get(header_name::program), "/bin/a");
  }
}

// A process exits, and one of its threads still has a chunk. It is looked at when all is in its trace.
TEST(FileRecorder, AProcessThatExitsIsLookedAtOnceAndThenGoesOn) {
  std::string bytes;
  std::vector<std::string> seen;
  const exit_look found{"", {{0, 1, 10}}};
  const auto pid = static_cast<std::uint32_t>(::getpid());  // it is there, until the test says so
  file_recorder recorder(
      {}, [&](std::uint32_t) -> byte_sink { return [&](std::string_view more) { bytes += more; }; },
      [&](const exiting_process& process, const std::function<void()>& sign) {
        EXPECT_EQ(process.pid, pid);
        EXPECT_EQ(process.stack_begin, 0x7ff0u);
        sign();
        seen.push_back(bytes);
        return found;
      });
  test::spool_program program(recorder);
  const std::uint32_t index = program.begin_process(pid);
  program.describe(0, index, std::string_view("/bin/a\0a\0", 9));
  program.take_chunk(1, index, 1, 0);
  program.put(1, by_malloc, 10, 0x1000);
  recorder.drain();
  EXPECT_TRUE(seen.empty());
  program.wait_at_exit(index, 0x7ff0);
  recorder.drain();
  recorder.drain();
  EXPECT_TRUE(program.goes_on(index));
  ASSERT_EQ(seen.size(), 1u);
  trace_reader then(memory_source("a.atrace", seen.front()));
  EXPECT_EQ(then.events(), 1u);
  // A thread that was in the middle of a record may still write, into its own chunk. It is too late.
  EXPECT_EQ(program.state(1), chunk_state::taken);
  program.put(1, by_malloc, 20, 0x2000);
  program.seal(1);
  recorder.drain();
  EXPECT_EQ(program.state(1), chunk_state::free);
  recorder.finish();
  trace_reader whole(memory_source("a.atrace", bytes));
  EXPECT_TRUE(whole.warning().empty()) << whole.warning();
  EXPECT_EQ(whole.events(), 1u);
  EXPECT_EQ(whole.look_at_exit(), found);
}

}  // namespace
}  // namespace ashlar::trace
