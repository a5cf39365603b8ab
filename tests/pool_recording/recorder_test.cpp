// What trace_recorder writes, as the reader of traces reads it: every event, over ports that fail, clocks that wrap and
// several threads.

#include <tests/support/test_headers.hpp>

#include <ashlar/core/trace_recorder.hpp>
#include <ashlar/pool/pool_set.hpp>
#include <ashlar/pool/static_pool.hpp>

#include "tools/trace/lifetimes.hpp"

namespace {

using namespace ashlar;
using trace::event;
using trace::event_kind;

/// A port into memory, whose clock and thread the test sets, and which refuses while it is told to.
template <class Counter>
struct memory_port {
  static constexpr std::uint32_t ticks_per_second = 1'000'000;
  std::string written;
  std::size_t writes = 0;
  bool refuses = false;
  Counter clock = 0;
  unsigned running = 1;

  bool write(const std::byte* bytes, std::size_t count) noexcept {
    if (refuses) return false;
    written.append(reinterpret_cast<const char*>(bytes), count);
    ++writes;
    return true;
  }
  [[nodiscard]] Counter now() const noexcept { return clock; }
  [[nodiscard]] unsigned thread() const noexcept { return running; }
};

constexpr trace_limits small_frames{.frame_bytes = 256};
constexpr trace_limits three_threads{.frame_bytes = 256, .threads = 3, .pools = 2};

using plain_recorder = trace_recorder<memory_port<std::uint64_t>>;
using small_recorder = trace_recorder<memory_port<std::uint64_t>, no_lock, small_frames>;
using thread_recorder = trace_recorder<memory_port<std::uint64_t>, no_lock, three_threads>;

struct read_trace {
  trace::trace_header header;
  std::string warning;
  std::vector<event> events;
  std::vector<std::string> texts;  // of each event
  std::vector<trace::stack_definition> stacks;
  std::vector<trace::module_definition> modules;
};
read_trace read(const std::string& bytes) {
  trace::trace_reader reader(trace::memory_source("recorded.atrace", bytes));
  read_trace all{reader.header(), reader.warning(), {}, {}, reader.stacks(), reader.modules()};
  while (const event* e = reader.peek()) {
    all.events.push_back(*e);
    all.texts.emplace_back(e->text);
    all.events.back().text = {};
    reader.pop();
  }
  return all;
}
template <class Recorder>
read_trace ended(Recorder& recorder) {
  EXPECT_TRUE(recorder.end());
  read_trace all = read(recorder.port().written);
  EXPECT_EQ(all.warning, "");
  return all;
}

const void* at(std::uintptr_t address) { return reinterpret_cast<const void*>(address); }
const recorded_pool first_pool{at(0x20000010), "first"};
const recorded_pool second_pool{at(0x20000400), "second"};
const recorded_pool third_pool{at(0x20000800), nullptr};

event birth(std::uint64_t time, std::uint64_t address, std::uint64_t size, std::uint64_t alignment,
            std::uint32_t stack, std::uint32_t thread = 1) {
  return {event_kind::by_pool, thread, stack, time, address, size, alignment, {}};
}
event death(std::uint64_t time, std::uint64_t address, std::uint32_t thread = 1) {
  return {event_kind::from_pool, thread, 0, time, address, 0, 0, {}};
}
event other(event_kind kind, std::uint64_t time, std::uint64_t number, std::uint32_t thread = 1) {
  return {kind, thread, 0, time, 0, number, 0, {}};
}

TEST(TraceRecorder, WritesWhatHappenedWithTimesPoolsAndNames) {
  static plain_recorder recorder;
  ASSERT_TRUE(recorder.begin("board"));
  recorder.port().clock = 5;
  recorder.allocated(first_pool, at(0x1000), 24, 8);
  recorder.port().clock = 400;
  recorder.allocated(second_pool, at(0x2003), 100, 1);
  recorder.freed(first_pool, at(0x1000));
  recorder.refused(second_pool, 70000, 4);
  recorder.refused(third_pool, 8, 4);
  recorder.mark("a text");
  recorder.allocated(third_pool, at(0xfff8), 0, 64);
  const read_trace t = ended(recorder);
  EXPECT_EQ(t.header.get("program"), "board");
  EXPECT_EQ(t.header.get("ticks_per_second"), "1000000");
  EXPECT_EQ(t.header.get("word_bytes"), std::to_string(sizeof(void*)));
  EXPECT_EQ(t.header.get("options"), "pools");
  EXPECT_EQ(t.header.get("ashlar"), "0.1.0");
  EXPECT_EQ(t.events,
            (std::vector<event>{birth(5, 0x1000, 24, 8, 1), birth(400, 0x2003, 100, 1, 2),
                                death(400, 0x1000), other(event_kind::refused, 400, 70000),
                                other(event_kind::refused, 400, 8), other(event_kind::mark, 400, 0),
                                birth(400, 0xfff8, 0, 64, 3)}));
  EXPECT_EQ(t.texts, (std::vector<std::string>{"", "", "", "second", "", "a text", ""}));
  const auto stack = [](std::uint32_t number, const recorded_pool& pool) {
    return trace::stack_definition{number, {reinterpret_cast<std::uintptr_t>(pool.id)}};
  };
  EXPECT_EQ(t.stacks,
            (std::vector{stack(1, first_pool), stack(2, second_pool), stack(3, third_pool)}));
  EXPECT_EQ(t.modules,
            (std::vector<trace::module_definition>{{0x2000000f, 0x20000011, 0x20000010, "first"},
                                                   {0x200003ff, 0x20000401, 0x20000400, "second"},
                                                   {0x200007ff, 0x20000801, 0x20000800, "pool"}}));
  EXPECT_EQ(recorder.lost(), 0u);
}

// Random events, of every size that a varint and an address difference can have, against a list of them.
template <class Recorder>
void expect_every_event(std::uint64_t seed, std::size_t count) {
  const auto recorder = std::make_unique<Recorder>();
  ASSERT_TRUE(recorder->begin("random"));
  std::mt19937_64 random(seed);
  std::vector<event> expected;
  for (std::size_t i = 0; i < count; ++i) {
    recorder->port().clock += random() % 8 == 0 ? random() >> (20 + random() % 44) : random() % 200;
    const std::uint64_t time = recorder->port().clock;
    std::uint64_t address = random() >> (random() % 64);
    if (random() % 4 != 0) address &= ~std::uint64_t{7};
    if (address == 0) address = 8;
    switch (random() % 8) {
      case 0:
        recorder->refused(first_pool, i, 8);
        expected.push_back(other(event_kind::refused, time, i));
        break;
      case 1:
      case 2:
      case 3:
        recorder->freed(first_pool, at(address));
        expected.push_back(death(time, address));
        break;
      default: {
        const std::uint64_t size = random() % 8 == 0 ? random() >> (random() % 64) : random() % 700;
        const std::uint64_t alignment = std::uint64_t{1} << random() % 40;
        recorder->allocated(first_pool, at(address), size, alignment);
        expected.push_back(birth(time, address, size, alignment, 1));
      }
    }
  }
  const read_trace t = ended(*recorder);
  ASSERT_EQ(t.events.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) ASSERT_EQ(t.events[i], expected[i]) << i;
}

TEST(TraceRecorder, OfLongNamesAndTextsTheBeginningIsKept) {
  const std::string program(60, 'p'), pool(100, 'n'), text(10'000, 't');
  static small_recorder recorder;
  ASSERT_TRUE(recorder.begin(program.c_str()));
  recorder.allocated({at(0x20000010), pool.c_str()}, at(0x1000), 24, 8);
  recorder.mark(text);
  const read_trace t = ended(recorder);
  EXPECT_EQ(t.header.get("program"), program.substr(0, detail::recorded_name_bytes_max));
  ASSERT_EQ(t.modules.size(), 1u);
  EXPECT_EQ(t.modules[0].path, pool.substr(0, detail::recorded_name_bytes_max));
  ASSERT_EQ(t.texts.size(), 2u);
  EXPECT_GT(t.texts[1].size(), 0u);
  EXPECT_LT(t.texts[1].size(), small_frames.frame_bytes);
  EXPECT_EQ(t.texts[1], text.substr(0, t.texts[1].size()));
}

TEST(TraceRecorder, EveryEventComesBackWhateverTheFramesSize) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    expect_every_event<small_recorder>(seed, 2000);
    expect_every_event<plain_recorder>(seed, 2000);
  }
}

// A frame is never larger than what was asked for, is written in one piece, and holds a fair number of events.
TEST(TraceRecorder, FramesAreWholeAndFull) {
  struct port : memory_port<std::uint64_t> {
    std::vector<std::size_t> sizes;
    bool write(const std::byte* bytes, std::size_t count) noexcept {
      sizes.push_back(count);
      return memory_port::write(bytes, count);
    }
  };
  static trace_recorder<port> recorder;
  ASSERT_TRUE(recorder.begin("sizes"));
  for (std::uintptr_t i = 0; i < 10000; ++i) {
    recorder.port().clock += 3;
    recorder.allocated(first_pool, at(0x20001000 + 48 * (i % 16)), 48, 8);
    recorder.freed(first_pool, at(0x20001000 + 48 * (i % 16)));
  }
  const read_trace t = ended(recorder);
  EXPECT_EQ(t.events.size(), 20000u);
  for (const std::size_t size : recorder.port().sizes) EXPECT_LE(size, 1024u);
  EXPECT_LT(recorder.port().written.size(), 20000u * 7);
  for (std::size_t i = 1; i < t.events.size(); i += 2)
    ASSERT_EQ(t.events[i].address, t.events[i - 1].address);
}

// ---- ports that refuse ----

TEST(TraceRecorder, WhatAPortRefusesIsCountedAndToldBehindIt) {
  static small_recorder recorder;
  recorder.allocated(first_pool, at(0x1000), 8, 8);  // before the beginning
  recorder.port().refuses = true;
  EXPECT_FALSE(recorder.begin("a"));
  recorder.port().refuses = false;
  ASSERT_TRUE(recorder.begin("a"));
  recorder.allocated(first_pool, at(0x2000), 8, 8);
  EXPECT_TRUE(recorder.flush());
  recorder.port().refuses = true;
  recorder.allocated(first_pool, at(0x3000), 8, 8);
  EXPECT_FALSE(recorder.flush());
  EXPECT_EQ(recorder.lost(), 2u);
  for (std::uintptr_t i = 0; i < 1000; ++i) recorder.freed(first_pool, at(0x4000 + i));
  EXPECT_FALSE(recorder.flush());
  EXPECT_EQ(recorder.lost(), 1002u);
  recorder.port().refuses = false;
  recorder.allocated(first_pool, at(0x5000), 8, 8);
  const read_trace t = ended(recorder);
  EXPECT_EQ(t.events,
            (std::vector<event>{other(event_kind::lost, 0, 1), birth(0, 0x2000, 8, 8, 1),
                                other(event_kind::lost, 0, 1001), birth(0, 0x5000, 8, 8, 1)}));
  EXPECT_EQ(recorder.lost(), 1002u);
}

TEST(TraceRecorder, WhatIsLostAtTheEndIsToldByTheEnd) {
  static small_recorder recorder;
  ASSERT_TRUE(recorder.begin("a"));
  recorder.allocated(first_pool, at(0x1000), 8, 8);
  recorder.port().refuses = true;
  EXPECT_FALSE(recorder.flush());
  recorder.port().refuses = false;
  const read_trace t = ended(recorder);
  EXPECT_EQ(t.events, (std::vector<event>{other(event_kind::lost, 0, 1)}));
  recorder.freed(first_pool, at(0x1000));  // after the end
  EXPECT_EQ(recorder.lost(), 2u);
  EXPECT_FALSE(recorder.end());
  EXPECT_FALSE(recorder.flush());
  EXPECT_FALSE(recorder.begin("again"));
}

// Whenever the port refuses: what is read and what was lost make up all that happened, in order.
TEST(TraceRecorder, NoRefusalHarmsTheTrace) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 300; ++round) {
    const auto recorder = std::make_unique<thread_recorder>();
    ASSERT_TRUE(recorder->begin("refusals"));
    std::map<unsigned, std::vector<std::uint64_t>> sizes;  // of each thread's births
    for (std::uint64_t i = 0; i < 600; ++i) {
      if (random() % 16 == 0) recorder->port().refuses = random() % 2 == 0;
      if (random() % 5 == 0) recorder->port().running = 1 + static_cast<unsigned>(random() % 3);
      recorder->port().clock += random() % 3;
      recorder->allocated(first_pool, at(0x1000 + 16 * i), i, 8);
      sizes[recorder->port().running].push_back(i);
    }
    recorder->port().refuses = false;
    const read_trace t = ended(*recorder);
    std::map<unsigned, std::size_t> place;
    std::uint64_t lost = 0;
    for (const event& e : t.events) {
      std::size_t& next = place[e.thread];
      if (e.kind == event_kind::lost) {
        next += e.size;
        lost += e.size;
      } else {
        ASSERT_LT(next, sizes[e.thread].size());
        ASSERT_EQ(e.size, sizes[e.thread][next++]);
      }
    }
    for (const auto& [thread, all] : sizes) EXPECT_EQ(place[thread], all.size());
    EXPECT_EQ(recorder->lost(), lost);
  }
}

// A board that loses power: the file is read up to its last whole frame, wherever it was cut.
TEST(TraceRecorder, ATraceThatWasCutIsReadUpToThere) {
  static small_recorder recorder;
  ASSERT_TRUE(recorder.begin("cut"));
  for (std::uintptr_t i = 0; i < 200; ++i)
    recorder.allocated(first_pool, at(0x1000 + 16 * i), 8, 8);
  EXPECT_TRUE(recorder.flush());
  const std::string whole = recorder.port().written;
  std::size_t before = 0;
  for (std::size_t size = 200; size <= whole.size(); ++size) {
    const read_trace t = read(whole.substr(0, size));
    EXPECT_NE(t.warning, "");
    ASSERT_GE(t.events.size(), before);
    for (std::size_t i = before; i < t.events.size(); ++i)
      ASSERT_EQ(t.events[i].address, 0x1000 + 16 * i);
    before = t.events.size();
  }
  EXPECT_EQ(before, 200u);
}

// ---- clocks ----

template <class Counter>
void expect_times_over_wraps() {
  static trace_recorder<memory_port<Counter>, no_lock, small_frames> recorder;
  constexpr Counter last = std::numeric_limits<Counter>::max();
  constexpr auto step = static_cast<Counter>(last / 3);
  recorder.port().clock = static_cast<Counter>(last - 10);
  ASSERT_TRUE(recorder.begin("wraps"));
  std::vector<event> expected;
  std::uint64_t time = 0;
  for (int i = 0; i < 100; ++i) {
    recorder.port().clock = static_cast<Counter>(recorder.port().clock + step);
    time += step;
    recorder.freed(first_pool, at(0x1000));
    expected.push_back(death(time, 0x1000));
  }
  EXPECT_EQ(ended(recorder).events, expected);
}
TEST(TraceRecorder, ACounterMayWrap) {
  expect_times_over_wraps<std::uint8_t>();
  expect_times_over_wraps<std::uint16_t>();
  expect_times_over_wraps<std::uint32_t>();
}

// ---- threads ----

// A clock of a millisecond knows no order of what happens within one: the trace has it.
TEST(TraceRecorder, ACoarseClockKeepsTheOrderOfThreads) {
  static thread_recorder recorder;
  ASSERT_TRUE(recorder.begin("coarse"));
  for (unsigned i = 0; i < 1000; ++i) {
    if (i % 100 == 0) recorder.port().clock += 50;
    recorder.port().running =
        2;  // a handler allocates, the program frees: never more than one block
    recorder.allocated(first_pool, at(0x1000 + 64 * (i % 7)), 32, 8);
    recorder.port().running = 1;
    recorder.freed(first_pool, at(0x1000 + 64 * (i % 7)));
  }
  EXPECT_TRUE(recorder.end());
  trace::trace_reader reader(trace::memory_source("coarse", recorder.port().written));
  trace::lifetimes blocks(reader);
  std::uint64_t most = 0;
  for (trace::step s; blocks.next(s);) {
    most = std::max(most, blocks.live_blocks());
    if (s.happened == trace::step::what::death) {
      ASSERT_EQ(s.born_by, 2u);
    }
  }
  EXPECT_EQ(most, 1u);
  EXPECT_EQ(blocks.unknown_deaths() + blocks.missing_deaths(), 0u);
}

// What keeps that order does not carry the time away: a thousand changes of thread fit a millisecond.
struct coarse_port : memory_port<std::uint64_t> {
  static constexpr std::uint32_t ticks_per_second = 1000;
};
TEST(TraceRecorder, AMillisecondIsCutWhereThreadsTakeTurns) {
  static trace_recorder<coarse_port, no_lock, three_threads> recorder;
  ASSERT_TRUE(recorder.begin("turns"));
  for (unsigned i = 0; i < 5000; ++i) {
    if (i % 1000 == 0) ++recorder.port().clock;
    recorder.port().running = 1 + i % 2;
    recorder.freed(first_pool, at(0x1000 + 8 * i));
  }
  const read_trace t = ended(recorder);
  EXPECT_EQ(t.header.get("ticks_per_second"), "1024000");
  ASSERT_EQ(t.events.size(), 5000u);
  for (std::size_t i = 0; i < t.events.size(); ++i) {
    ASSERT_EQ(t.events[i].address, 0x1000 + 8 * i);
    ASSERT_EQ(t.events[i].time / 1024, 1 + i / 1000);
  }
}

TEST(TraceRecorder, AThreadBeyondTheLimitIsTheLastOne) {
  static thread_recorder recorder;
  ASSERT_TRUE(recorder.begin("many"));
  for (const unsigned thread : {1u, 3u, 9u, 0u}) {
    recorder.port().running = thread;
    recorder.freed(first_pool, at(0x1000));
  }
  const read_trace t = ended(recorder);
  std::vector<std::uint32_t> threads;
  for (const event& e : t.events) threads.push_back(e.thread);
  EXPECT_EQ(threads, (std::vector<std::uint32_t>{1, 3, 3, 3}));
}

TEST(TraceRecorder, PoolsBeyondTheLimitHaveNoName) {
  static thread_recorder recorder;
  ASSERT_TRUE(recorder.begin("pools"));
  for (const recorded_pool* pool : {&first_pool, &second_pool, &third_pool, &second_pool})
    recorder.allocated(*pool, at(0x1000), 8, 8);
  const read_trace t = ended(recorder);
  std::vector<std::uint32_t> numbers;
  for (const event& e : t.events) numbers.push_back(e.stack);
  EXPECT_EQ(numbers, (std::vector<std::uint32_t>{1, 2, 0, 2}));
  EXPECT_EQ(t.stacks.size(), 2u);
}

// Real threads on one pool: the trace has all of it, and no block with two owners.
struct shared_port {
  static constexpr std::uint64_t ticks_per_second = 1'000'000'000;
  static inline thread_local unsigned number = 0;
  std::string written;
  std::uint64_t clock = 0;
  bool write(const std::byte* bytes, std::size_t count) noexcept {
    written.append(reinterpret_cast<const char*>(bytes), count);
    return true;
  }
  std::uint64_t now() noexcept { return clock / 4; }
  [[nodiscard]] unsigned thread() noexcept {
    ++clock;
    return number;
  }
};
trace_recorder<shared_port, std::mutex, trace_limits{.frame_bytes = 512, .threads = 4, .pools = 2}>
    shared_recorder;
static_pool<std::uint64_t, 6, lock_free<>, recording::to<shared_recorder>, named<"shared">>
    shared_pool;
static_pool_set<blocks<16, 8>, blocks<64, 4>, std::mutex, recording::to<shared_recorder>>
    shared_set;

TEST(TraceRecorder, ThreadsShareOne) {
  ASSERT_TRUE(shared_recorder.begin("threads"));
  constexpr int rounds = 5000;
  std::vector<std::thread> threads;
  for (unsigned number = 1; number <= 4; ++number) {
    threads.emplace_back([number] {
      shared_port::number = number;
      std::mt19937 random(number);
      for (int i = 0; i < rounds; ++i) {
        void* const a = shared_pool.allocate();
        const std::size_t size = random() % 64 + 1;
        void* const b = shared_set.allocate(size, 8);
        shared_pool.deallocate(a);
        shared_set.deallocate(b, size, 8);
      }
    });
  }
  for (std::thread& t : threads) t.join();
  ASSERT_TRUE(shared_recorder.end());
  trace::trace_reader reader(trace::memory_source("threads", shared_recorder.port().written));
  trace::lifetimes blocks(reader);
  std::uint64_t births = 0, refused = 0;
  std::map<std::uint32_t, std::uint64_t> live;  // by pool
  std::map<std::uint32_t, std::uint64_t> most;
  for (trace::step s; blocks.next(s);) {
    if (s.happened == trace::step::what::birth) {
      ++births;
      most[s.stack] = std::max(most[s.stack], ++live[s.stack]);
    } else if (s.happened == trace::step::what::death) {
      --live[s.stack];
    } else {
      ASSERT_EQ(s.kind, event_kind::refused);
      ++refused;
    }
  }
  EXPECT_EQ(births + refused, 4u * 2 * rounds);
  EXPECT_EQ(births, shared_pool.stats().allocations + shared_set.stats().allocations());
  EXPECT_EQ(blocks.live_blocks(), 0u);
  EXPECT_EQ(blocks.unknown_deaths() + blocks.missing_deaths(), 0u);
  // A birth is told a little later than it was, a death a little earlier: never more are alive than there are.
  ASSERT_EQ(reader.stacks().size(), 2u);
  for (const trace::stack_definition& pool : reader.stacks()) {
    const bool is_pool = pool.frames.at(0) == reinterpret_cast<std::uintptr_t>(&shared_pool);
    EXPECT_LE(most[pool.number], is_pool ? 6u : 12u);
  }
}

}  // namespace
