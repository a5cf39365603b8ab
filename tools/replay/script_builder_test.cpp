// tools/replay/script_builder_test.cpp: what stands in a script, of traces made by hand and at random.
#include "tools/replay/script_builder.hpp"

#include <tests/support/test_headers.hpp>

#include "tools/trace/trace_files_test.hpp"

namespace ashlar::replay {
namespace {

using trace::event;
using trace::event_kind;
using namespace trace::test;

event reborn(std::uint32_t thread, std::uint64_t time, std::uint64_t address, std::uint64_t size) {
  event e = birth(thread, time, address, size);
  e.kind = event_kind::by_realloc;
  return e;
}
event given_up(std::uint32_t thread, std::uint64_t time, std::uint64_t address) {
  event e = death(thread, time, address);
  e.kind = event_kind::from_realloc;
  return e;
}

struct script {
  script_summary summary;
  std::vector<script_thread> threads;  // the last: the inspection
  std::vector<std::vector<operation>> operations;
};

void read_at(int file, void* into, std::size_t bytes, std::uint64_t at) {
  ASSERT_EQ(::pread(file, into, bytes, static_cast<::off_t>(at)), static_cast<::ssize_t>(bytes));
}

script script_of(const std::vector<event>& events, script_order order = script_order::by_thread,
                 std::uint64_t largest = UINT64_MAX) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::tmpfile(), &std::fclose);
  const int descriptor = ::fileno(file.get());
  trace::trace_reader reader = trace::test::read(trace::test::written(events));
  script_builder builder(descriptor, order, largest);
  script made;
  made.summary = write_script(reader, builder, [](double) {});
  script_header header{};
  read_at(descriptor, &header, sizeof header, 0);
  EXPECT_EQ(header.operations, made.summary.header.operations);
  made.threads.resize(header.threads + std::size_t{1});
  const std::size_t threads_bytes = made.threads.size() * sizeof(script_thread);
  read_at(descriptor, made.threads.data(), threads_bytes, header.tables_at);
  std::vector<std::uint32_t> chunks(header.chunks);
  read_at(descriptor, chunks.data(), chunks.size() * sizeof(std::uint32_t),
          header.tables_at + threads_bytes);
  for (const script_thread& t : made.threads) {
    std::vector<operation>& all = made.operations.emplace_back(t.operations);
    for (std::size_t i = 0; i < all.size(); i += chunk_operations) {
      const std::size_t count = std::min<std::size_t>(chunk_operations, all.size() - i);
      read_at(descriptor, &all[i], count * sizeof(operation),
              chunks_at + chunks[t.first_chunk_entry + i / chunk_operations] * chunk_bytes);
    }
  }
  return made;
}

std::vector<operation_kind> kinds(const std::vector<operation>& operations) {
  std::vector<operation_kind> all;
  for (const operation& o : operations) all.push_back(o.kind);
  return all;
}

TEST(Script, SaysBirthsAndDeathsWithTheirSizesAndTurns) {
  const script s =
      script_of({birth(1, 1, 0x1000, 40), death(1, 2, 0x1000), birth(1, 3, 0x2000, 8)});
  ASSERT_EQ(s.threads.size(), 2u);
  const auto& all = s.operations[0];
  EXPECT_EQ(kinds(all), (std::vector{operation_kind::allocate, operation_kind::release,
                                     operation_kind::allocate}));
  for (std::uint32_t i = 0; i < 3; ++i) {
    EXPECT_EQ(all[i].slot, 0u);  // one block at a time: one slot
    EXPECT_EQ(all[i].turn, i);
  }
  EXPECT_EQ(all[1].size(), 40u);  // a death knows what the block had
  EXPECT_EQ(std::tuple(s.summary.header.slots, s.summary.births, s.summary.deaths),
            std::tuple(1u, 2u, 1u));
  ASSERT_EQ(s.operations[1].size(), 1u);  // what lives at the end is inspected
  EXPECT_EQ(std::tuple(s.operations[1][0].kind, s.operations[1][0].size(), s.operations[1][0].turn),
            std::tuple(operation_kind::inspect, 8u, 3u));
}

TEST(Script, KeepsHowABlockWasAskedFor) {
  event zeroed = birth(1, 1, 0x1000, std::uint64_t{5} << 32);
  zeroed.kind = event_kind::by_calloc;
  event aligned = birth(1, 2, 0x2000, 100);
  aligned.kind = event_kind::by_aligned;
  aligned.alignment = 4096;
  const script s = script_of({zeroed, aligned});
  EXPECT_EQ(s.operations[0][0].kind, operation_kind::zeroed);
  EXPECT_EQ(s.operations[0][0].size(), std::uint64_t{5} << 32);
  EXPECT_EQ(s.operations[0][1].kind, operation_kind::aligned);
  EXPECT_EQ(s.operations[0][1].alignment_shift, 12);
}

// A pool tells an alignment of each block; only what malloc does not give by itself needs another call.
TEST(Script, APoolsBlockIsAPlainOneUnlessItIsOverAligned) {
  std::vector<event> events;
  for (const std::uint64_t alignment : {1u, 4u, 16u, 32u}) {
    event e = birth(1, 1 + events.size(), 0x1000 * (1 + events.size()), 24);
    e.kind = event_kind::by_pool;
    e.alignment = alignment;
    events.push_back(e);
  }
  event back = death(1, 9, 0x1000);
  back.kind = event_kind::from_pool;
  events.push_back(back);
  const script s = script_of(events);
  EXPECT_EQ(kinds(s.operations[0]), (std::vector{operation_kind::allocate, operation_kind::allocate,
                                                 operation_kind::allocate, operation_kind::aligned,
                                                 operation_kind::release}));
}

TEST(Script, AReallocKeepsItsSlotThoughAnotherThreadComesBetween) {
  const script s =
      script_of({birth(1, 1, 0x1000, 40), given_up(1, 2, 0x1000), birth(2, 3, 0x1000, 7),
                 reborn(1, 4, 0x3000, 90), death(1, 5, 0x3000), death(2, 6, 0x1000)});
  EXPECT_EQ(kinds(s.operations[0]),
            (std::vector{operation_kind::allocate, operation_kind::resize_from,
                         operation_kind::resize, operation_kind::release}));
  for (const operation& o : s.operations[0]) EXPECT_EQ(o.slot, 0u);
  EXPECT_EQ(
      std::tuple(s.operations[0][1].size(), s.operations[0][2].size(), s.operations[1][0].slot),
      std::tuple(40u, 90u, 1u));
}

TEST(Script, AReallocThatGaveNothingBackIsADeath) {
  const script s =
      script_of({birth(1, 1, 0x1000, 40), given_up(1, 2, 0x1000), birth(1, 3, 0x2000, 50),
                 birth(1, 4, 0x3000, 50), given_up(1, 5, 0x3000)});
  EXPECT_EQ(kinds(s.operations[0]), (std::vector{operation_kind::allocate, operation_kind::release,
                                                 operation_kind::allocate, operation_kind::allocate,
                                                 operation_kind::release}));
}

TEST(Script, InOneSequenceAReallocIsADeathAndABirthAndThreadsAreOne) {
  const script s = script_of({birth(1, 1, 0x1000, 40), given_up(1, 2, 0x1000),
                              birth(2, 3, 0x1000, 7), reborn(1, 4, 0x3000, 90)},
                             script_order::one_sequence);
  ASSERT_EQ(s.summary.header.threads, 1u);
  EXPECT_EQ(kinds(s.operations[0]),
            (std::vector{operation_kind::allocate, operation_kind::release,
                         operation_kind::allocate, operation_kind::allocate}));
  EXPECT_EQ(s.summary.header.slots, 2u);
}

TEST(Script, SkipsWhatItCannotKnowAndSaysSo) {
  const script s = script_of(
      {death(1, 100, 0x9000), birth(1, 200, 0x1000, 40), birth(1, 300, 0x1000, 50),
       birth(1, 400, 0x2000, 5000), death(1, 500, 0x2000), other(event_kind::lost, 1, 600, 17)},
      script_order::one_sequence, 4096);
  EXPECT_EQ(std::tuple(s.summary.unknown_deaths, s.summary.missing_deaths, s.summary.left_out,
                       s.summary.lost),
            std::tuple(1u, 1u, 1u, 17u));
  EXPECT_EQ(kinds(s.operations[0]), (std::vector{operation_kind::allocate, operation_kind::release,
                                                 operation_kind::allocate}));
}

// Against a look at all threads whenever one begins.
TEST(Script, TheMostThreadsAtOnceAreThoseThatOverlap) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    std::mt19937_64 random(seed);
    std::vector<event> events;
    std::vector<std::uint32_t> running;
    std::size_t most = 0;
    std::uint32_t begun = 0;
    for (std::uint64_t time = 1; time < 60; ++time) {
      if (running.empty() || random() % 100 < 55) {
        running.push_back(++begun);
        most = std::max(most, running.size());
        events.push_back(birth(begun, time, 0x1000 * time));
      } else {
        std::swap(running[random() % running.size()], running.back());
        events.push_back(other(event_kind::thread_exit, running.back(), time));
        running.pop_back();
      }
    }
    EXPECT_EQ(script_of(events).summary.header.most_threads_at_once, most) << seed;
  }
}

// A heap of several threads that free each other's blocks, at random.
std::vector<event> random_program(std::uint64_t seed, std::uint32_t threads, std::size_t count) {
  std::mt19937_64 random(seed);
  std::vector<std::uint64_t> alive;
  std::uint64_t next_address = 0x1000;
  std::vector<event> events;
  for (std::uint64_t time = 1; events.size() < count; ++time) {
    const auto thread = static_cast<std::uint32_t>(1 + random() % threads);
    const std::uint64_t size = 1 + random() % 500;
    if (alive.empty() || random() % 100 < 45) {
      events.push_back(birth(thread, time, next_address, size));
      alive.push_back(next_address);
      next_address += 4096;
      continue;
    }
    std::swap(alive[random() % alive.size()], alive.back());
    if (random() % 4 == 0) {
      events.push_back(given_up(thread, time, alive.back()));
      events.push_back(reborn(thread, time, next_address, size));
      alive.back() = next_address;
      next_address += 4096;
    } else {
      events.push_back(death(thread, time, alive.back()));
      alive.pop_back();
    }
  }
  return events;
}

// Whatever thread is let go first, every one that waits for its turn gets it; and no slot has two blocks.
TEST(Script, AnyOrderThatTheTurnsAllowComesToTheEnd) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    const script s =
        script_of(random_program(seed, static_cast<std::uint32_t>(1 + seed % 5), 300 + 50 * seed));
    std::vector<std::uint32_t> turn(s.summary.header.slots, 0);
    std::vector<bool> lives(s.summary.header.slots, false);
    std::vector<std::size_t> at(s.operations.size() - 1, 0);
    std::mt19937_64 random(seed);
    std::uint64_t done = 0;
    while (done < s.summary.header.operations) {
      const std::size_t first = random() % at.size();
      bool moved = false;
      for (std::size_t i = 0; i < at.size() && !moved; ++i) {
        const std::size_t t = (first + i) % at.size();
        if (at[t] == s.operations[t].size()) continue;
        const operation& o = s.operations[t][at[t]];
        if (turn[o.slot] != o.turn) continue;
        const bool birth_here = o.kind == operation_kind::allocate;
        ASSERT_EQ(lives[o.slot], !birth_here) << seed;
        lives[o.slot] = o.kind != operation_kind::release;
        ++turn[o.slot];
        ++at[t];
        ++done;
        moved = true;
      }
      ASSERT_TRUE(moved) << "deadlock, seed " << seed;
    }
    EXPECT_EQ(static_cast<std::size_t>(std::ranges::count(lives, true)),
              s.operations.back().size());
  }
}

TEST(Script, LongThreadsAreReadBackChunkByChunk) {
  std::vector<event> events;
  constexpr std::uint64_t count = 3 * chunk_operations + 5;
  for (std::uint64_t i = 0; i < count; ++i)
    events.push_back(birth(static_cast<std::uint32_t>(1 + i % 2), i, 0x1000 + 64 * i, i));
  const script s = script_of(events);
  for (std::uint64_t i = 0; i < count; ++i) ASSERT_EQ(s.operations[i % 2][i / 2].size(), i);
}

}  // namespace
}  // namespace ashlar::replay
