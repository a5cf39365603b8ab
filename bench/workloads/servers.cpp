// bench/workloads/servers.cpp: programs of several threads: objects that wander between them, work
// that is handed out or gathered, generations of threads, and threads that share nothing.
#include <algorithm>
#include <array>
#include <atomic>
#include <barrier>
#include <ctime>
#include <utility>
#include <vector>

#include <malloc.h>
#include <pthread.h>

#include "ring.hpp"
#include "threads.hpp"
#include "workloads.hpp"

namespace bench {
namespace {

// Small strings and nodes mostly, messages now and then, seldom a buffer.
size_table server_sizes(std::uint64_t seed) {
  return size_table([random = random_source(seed)]() mutable {
    const std::size_t share = random.below(100);
    if (share < 70) return random.log_uniform(16, 128);
    if (share < 95) return random.log_uniform(128, 1024);
    return random.log_uniform(1024, 16 << 10);
  });
}

struct marked_block {
  void* block;
  std::uint32_t identity;
};

// Consistent marks, and no two blocks share a byte. Sorts the addresses.
void check_disjoint(page_array<void*>& blocks) {
  std::sort(blocks.begin(), blocks.end());
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    check_mark(blocks[i], marked_identity(blocks[i]));
    if (i > 0 && static_cast<char*>(blocks[i - 1]) + marked_size(blocks[i - 1]) > blocks[i])
      fail("two live blocks overlap");
  }
}

}  // namespace

void server(const arguments& given) {
  const std::size_t threads = number(given[0], 2, 1, most_threads);
  constexpr std::size_t live_each = 2'000, operations_in_all = 1'600'000;
  const std::size_t each = operations_in_all / threads;
  const size_table sizes = server_sizes(97);
  // All objects of all threads, one part a thread; behind them those on exchange, which any thread
  // may swap for one of its own.
  constexpr std::size_t exchanged = 64;
  page_array<void*> objects(threads * live_each + exchanged);
  std::array<std::atomic<void*>, exchanged> slots{};
  for (std::size_t i = 0; i < objects.size(); ++i) mark(objects[i] = take(sizes[i]), sizes[i], i);
  for (std::size_t i = 0; i < exchanged; ++i) slots[i] = objects[threads * live_each + i];

  auto elapsed = sample_threads(threads, repetitions(7), [&](std::size_t self, meeting_point&) {
    random_source random(101 + self);
    void** own = &objects[self * live_each];
    for (std::size_t i = 0; i < each; ++i) {
      const std::uint64_t drawn = random.next();
      void*& object = own[((drawn >> 32) * live_each) >> 32];
      if (drawn % 16 == 0) {
        object = slots[(drawn >> 4) % exchanged].exchange(object, std::memory_order_acq_rel);
        check_mark(object, marked_identity(object));  // a request is read by who serves it
      }
      const std::size_t size_bytes = sizes[(drawn >> 10) % size_table::count];
      give(object);
      mark(object = take(size_bytes), size_bytes, self);
    }
  });
  for (std::size_t i = 0; i < exchanged; ++i) objects[threads * live_each + i] = slots[i];
  check_disjoint(objects);
  give_all(objects);
  auto rate = to_mops(elapsed, each * threads);
  report("server", label("%zu", threads), "Mops/s", rate, each * threads);
}

void asymmetric(const arguments& given) {
  constexpr std::size_t most = 4, burst = 64;
  const std::size_t producers = number(given[0], 1, 1, most);
  const std::size_t consumers = number(given[1], 3, 1, most);
  if (producers > 1 && consumers > 1)
    fail("asymmetric: one of the two numbers of threads must be 1");
  static std::array<ring, most> ways;  // one for each thread of the larger side
  const std::size_t sides = std::max(producers, consumers);
  const std::size_t bursts = 12'000 / sides;  // on each way
  const size_table sizes = server_sizes(103);

  const auto send = [&](ring& way, std::size_t& sent) {
    for (std::size_t i = 0; i < burst; ++i, ++sent) {
      const std::size_t size_bytes = sizes[sent];
      void* block = take(size_bytes);
      mark(block, size_bytes, sent);
      way.push(block);
    }
    way.publish();
  };
  const auto receive = [&](ring& way, std::size_t& received) {
    for (std::size_t i = 0; i < burst; ++i, ++received) {
      void* block = way.pop();
      check_mark(block, received);  // a message is read by who receives it
      give(block);
    }
  };
  // Threads 0 .. producers-1 send. The one on the smaller side serves all ways in turn.
  auto elapsed =
      sample_threads(producers + consumers, repetitions(7), [&](std::size_t self, meeting_point&) {
        const bool sending = self < producers;
        const bool alone = (sending ? producers : consumers) == 1;
        const std::size_t first = alone ? 0 : sending ? self : self - producers;
        const std::size_t end = alone ? sides : first + 1;
        std::array<std::size_t, most> done{};
        for (std::size_t i = 0; i < bursts; ++i)
          for (std::size_t way = first; way < end; ++way)
            sending ? send(ways[way], done[way]) : receive(ways[way], done[way]);
      });
  const std::size_t operations = sides * bursts * burst;
  auto rate = to_mops(elapsed, operations);
  report("asymmetric", label("%zu-to-%zu", producers, consumers), "Mops/s", rate, operations);
}

void phases(const arguments&) {
  constexpr std::size_t threads = 2, bytes_each = 4 << 20, survivor_each = 16;
  struct range {
    std::size_t low, high;
  };
  constexpr auto generations = std::to_array<range>({{16, 64},
                                                     {32, 256},
                                                     {128, 1024},
                                                     {512, 4096},
                                                     {2048, 16384},
                                                     {256, 2048},
                                                     {64, 512},
                                                     {16, 128}});
  const auto blocks_in = [](const range& sizes) {
    return bytes_each / ((sizes.low + sizes.high) / 2);
  };
  constexpr std::size_t most_blocks = bytes_each / 40;
  std::array<page_array<void*>, threads> own{page_array<void*>(most_blocks),
                                             page_array<void*>(most_blocks)};
  using heritage = page_array<marked_block>;
  std::array<std::array<heritage, threads>, 2> left_behind{
      std::array{heritage(most_blocks), heritage(most_blocks)},
      std::array{heritage(most_blocks), heritage(most_blocks)}};
  std::array<std::array<std::size_t, threads>, 2> left_count{};
  const auto give_heritage = [&](std::size_t generation, std::size_t owner) {
    heritage& blocks = left_behind[generation % 2][owner];
    for (std::size_t i = 0; i < left_count[generation % 2][owner]; ++i) {
      check_mark(blocks[i].block, blocks[i].identity);
      give(blocks[i].block);
    }
    left_count[generation % 2][owner] = 0;
  };

  std::size_t operations = 0;
  for (const auto& sizes : generations)
    operations += threads * (blocks_in(sizes) + blocks_in(sizes) / 2);
  auto result = sample(repetitions(5), operations, [&] {
    left_count = {};
    for (std::size_t generation = 0; generation < generations.size(); ++generation) {
      const range sizes = generations[generation];
      const std::size_t count = blocks_in(sizes);
      // New threads each time: the ones of the last generation have ended.
      const auto life = [&](std::size_t self) {
        random_source random(107 + generation * threads + self);
        auto& blocks = own[self];
        const auto fresh = [&](std::size_t place) {
          const std::size_t size_bytes = random.between(sizes.low, sizes.high);
          mark(blocks[place] = take(size_bytes), size_bytes, place);
        };
        for (std::size_t i = 0; i < count; ++i) fresh(i);
        for (std::size_t i = 0; i < count / 2; ++i) {
          const std::size_t place = random.below(count);
          give(blocks[place]);
          fresh(place);
        }
        // What the other thread of the last generation left is freed here.
        if (generation > 0) give_heritage(generation - 1, 1 - self);
        heritage& survivors = left_behind[generation % 2][self];
        std::size_t survived = 0;
        for (std::size_t i = 0; i < count; ++i) {
          if (i % survivor_each == 0)
            survivors[survived++] = {blocks[i], static_cast<std::uint32_t>(i)};
          else
            give(blocks[i]);
        }
        left_count[generation % 2][self] = survived;
      };
      std::thread first(life, 0), second(life, 1);
      first.join();
      second.join();
    }
    for (std::size_t owner = 0; owner < threads; ++owner)
      give_heritage(generations.size() - 1, owner);
  });
  report("phases", "16-16384", "ns/op", result, operations);
}

void scaling(const arguments& given) {
  const std::size_t threads = number(given[0], 1, 1, most_threads);
  constexpr std::size_t live_each = 1'000, operations_in_all = 1'600'000;
  const std::size_t each = operations_in_all / threads;
  const size_table sizes(16, 512, 109);
  page_array<void*> blocks(threads * live_each);
  auto elapsed = sample_threads(threads, repetitions(9), [&](std::size_t self, meeting_point&) {
    random_source random(113 + self);
    void** own = &blocks[self * live_each];
    for (std::size_t i = 0; i < each; ++i) {
      const std::uint64_t drawn = random.next();
      const std::size_t place = ((drawn >> 32) * live_each) >> 32;
      const std::size_t size_bytes = sizes[drawn % size_table::count];
      if (own[place] != nullptr) give(own[place]);
      mark(own[place] = take(size_bytes), size_bytes, self * live_each + place);
    }
  });
  for (std::size_t i = 0; i < blocks.size(); ++i)
    if (blocks[i] != nullptr) check_mark(blocks[i], i);
  give_all(blocks);
  auto rate = to_mops(elapsed, each * threads);
  report("scaling", label("%zu", threads), "Mops/s", rate, each * threads);
}

// Each thread has 200 blocks of 16 bytes to 16 + SIZE - 1. Idle: it has used them three times, and waits.
// Busy: it replaces random ones.
void many_threads(const arguments& given) {
  never_counted("many_threads");
  const bool busy = is(given[0], "busy");
  if (!busy && !is(given[0], "idle")) fail("many_threads: idle or busy");
  const std::size_t threads = number(given[1], 1'000, 1, 100'000);
  const std::size_t spread = number(given[2], 8'000, 1, 1 << 20);
  const std::size_t each = number(given[3], 4'000'000, threads, 1'000'000'000) / threads;
  std::barrier all_there(static_cast<std::ptrdiff_t>(threads + 1));
  std::barrier measured(static_cast<std::ptrdiff_t>(threads + 1));
  const auto life = [&](std::size_t self) {
    random_source random(self + 1);
    std::array<void*, 200> blocks{};
    const auto fresh = [&](std::size_t place) {
      const std::size_t size_bytes = 16 + random.below(spread);
      mark(blocks[place] = take(size_bytes), size_bytes, place);
    };
    const auto end = [&](std::size_t place) {
      if (blocks[place] == nullptr) return;
      check_mark(blocks[place], place);
      give(std::exchange(blocks[place], nullptr));
    };
    for (int round = 0; !busy && round < 3; ++round) {
      for (std::size_t i = 0; i < blocks.size(); ++i) fresh(i);
      for (std::size_t i = 0; i < blocks.size(); ++i) end(i);
    }
    all_there.arrive_and_wait();
    for (std::size_t i = 0; busy && i < each; ++i) {
      const std::size_t place = random.below(blocks.size());
      end(place);
      fresh(place);
    }
    for (std::size_t i = 0; i < blocks.size(); ++i) end(i);
    measured.arrive_and_wait();
  };
  pthread_attr_t small;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, 65536);
  pthread_setattr_default_np(&small);
  std::vector<std::thread> all;
  all.reserve(threads);
  for (std::size_t self = 0; self < threads; ++self) all.emplace_back(life, self);
  all_there.arrive_and_wait();
  const series idle(static_cast<double>(resident_kib()));
  if (!busy) malloc_trim(0);
  const series trimmed(static_cast<double>(resident_kib()));
  measured.arrive_and_wait();
  for (std::thread& each_thread : all) each_thread.join();
  const label what("%s/%zu/%zu", given[0], threads, spread);
  if (busy) {
    const series spent(static_cast<double>(std::clock()) / CLOCKS_PER_SEC);
    return report("many_threads", what, "s", spent, each * threads);
  }
  report("many_threads", what, "KiB", idle, 1, kind::memory);
  report("many_threads", label("%s/trimmed", static_cast<const char*>(what)), "KiB", trimmed, 1,
         kind::memory);
}

}  // namespace bench
