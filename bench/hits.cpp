// bench/hits.cpp: the time of a hit: nanoseconds of an allocation and its free that a cache serves.
//
// Usage: hits [alone|beside|both]     prints a line for each row: its name, and its nanoseconds
//
// Like alloc_bench it links no allocator: the one that is measured is preloaded. `beside` measures while
// a second thread lives that has used the heap. `both` has rows of its own, in which two threads work at
// once, and most exchange blocks. The figure of a row is the least of many short repetitions, since what
// else runs on the machine can only add to it. run_hits.py makes the table.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <latch>
#include <new>
#include <numeric>
#include <random>
#include <span>
#include <string_view>
#include <thread>
#include <utility>

#include "workloads/calls.hpp"
#include "workloads/threads.hpp"

namespace {

using bench::clock;
using bench::give;
using bench::nanoseconds;
using bench::take;

constexpr std::size_t batch = 10'000;
constexpr std::size_t pairs = 50'000;
constexpr std::size_t bulk_count = 1'000'000;

// The harness allocates nothing: these are written before the first measurement.
std::array<void*, bulk_count> blocks;
std::array<void*, batch> in_order;
std::array<std::uint32_t, batch> shuffled;
std::array<std::uint32_t, pairs> places;

// Returns: the least of `repetitions` results of `body`.
template <class Body>
double least(int repetitions, Body body) {
  double best = body();
  for (int i = 1; i < repetitions; ++i) best = std::min(best, body());
  return best;
}

// Returns: the least time that `body`, called `pairs` times, takes for each call.
template <class Body>
double each(Body body) {
  return least(100, [&] {
    const auto start = clock::now();
    for (std::size_t i = 0; i < pairs; ++i) body(i);
    return nanoseconds(clock::now() - start) / pairs;
  });
}

double pair(std::size_t size) {
  return each([=](std::size_t) { give(take(size)); });
}

// A batch is allocated, put into the order of its frees while the clock stands, and freed.
template <class Place>
double in_batches(std::size_t size, Place place_of) {
  return least(150, [&] {
    const auto start = clock::now();
    for (std::size_t i = 0; i < batch; ++i) blocks[i] = take(size);
    const auto allocated = clock::now();
    for (std::size_t i = 0; i < batch; ++i) in_order[i] = blocks[place_of(i)];
    const auto ordered = clock::now();
    for (void* block : in_order) give(block);
    return nanoseconds((allocated - start) + (clock::now() - ordered)) / batch;
  });
}
double lifo(std::size_t size) {
  return in_batches(size, [](std::size_t i) { return batch - 1 - i; });
}
double fifo(std::size_t size) {
  return in_batches(size, [](std::size_t i) { return i; });
}
double random(std::size_t size) {
  return in_batches(size, [](std::size_t i) { return std::size_t{shuffled[i]}; });
}

double churn(std::size_t size) {
  for (std::size_t i = 0; i < batch; ++i) blocks[i] = take(size);
  const double best = each([=](std::size_t i) {
    void*& block = blocks[places[i]];
    give(block);
    block = take(size);
  });
  for (std::size_t i = 0; i < batch; ++i) give(blocks[i]);
  return best;
}

// A million objects, each of whose first word is written.
double bulk(std::size_t size) {
  return least(4, [=] {
    const auto start = clock::now();
    for (void*& block : blocks) bench::touch_first(block = take(size));
    for (void* block : blocks) give(block);
    return nanoseconds(clock::now() - start) / bulk_count;
  });
}

// A list of objects, built and then freed from its head.
constexpr std::size_t list_length = 100'000;
void list_once(std::size_t size) {
  void* head = nullptr;
  for (std::size_t i = 0; i < list_length; ++i) {
    void* const object = take(size);
    *static_cast<void**>(object) = head;
    head = object;
  }
  while (head != nullptr) give(std::exchange(head, *static_cast<void**>(head)));
}
double list(std::size_t size) {
  return least(10, [=] {
    const auto start = clock::now();
    list_once(size);
    return nanoseconds(clock::now() - start) / list_length;
  });
}

double sized_delete(std::size_t size) {
  return each([=](std::size_t) { ::operator delete(bench::opaque(::operator new(size)), size); });
}
double zeroed(std::size_t size) {
  return each([=](std::size_t) { give(bench::take_zeroed(size)); });
}
// One reallocation that leaves its block where it is.
double realloc_stays(std::size_t size) {
  void* block = take(size);
  const double best = each([&](std::size_t i) { block = bench::resize(block, size - i % 2); });
  give(block);
  return best;
}

// ---- two threads that work at once

// Both threads call body(0 or 1, where they meet), `repetitions` times. Returns: the least time from when
// both had come until both were through.
template <class Body>
double least_of_two(std::size_t repetitions, Body body) {
  return bench::sample_threads(2, repetitions, body).quantile(0);
}

double pairs_of_two(std::size_t size) {
  return least_of_two(50,
                      [=](std::size_t, auto&) {
                        for (std::size_t i = 0; i < pairs; ++i) give(take(size));
                      }) /
         pairs;
}

// Each thread replaces blocks of 8 to `most` bytes, chosen at random. `Exchange`: from time to time the
// threads change places, so that each finds the other's blocks. `Sized`: by operator delete with a size.
enum class freed { plain, sized };
template <bool Exchange, freed How>
double replace(std::size_t most) {
  constexpr std::size_t live = 2000, rounds = 4, each_round = 4000;
  struct sized_block {
    void* block;
    std::size_t size;
  };
  static std::array<std::array<sized_block, live>, 2> arrays;
  const bench::size_table sizes(8, most, 29);
  const auto fresh = [&](std::size_t drawn) {
    const std::size_t size = sizes[drawn];
    void* const block = How == freed::sized ? bench::opaque(::operator new(size)) : take(size);
    bench::touch_first(block);
    return sized_block{block, size};
  };
  const auto end = [](sized_block old) {
    How == freed::sized ? ::operator delete(old.block, old.size) : give(old.block);
  };
  for (auto& array : arrays)
    for (std::size_t i = 0; i < live; ++i) array[i] = fresh(i);
  const double best = least_of_two(30, [&](std::size_t self, bench::meeting_point& inside) {
    bench::random_source random(31 + self);
    for (std::size_t round = 0; round < rounds; ++round) {
      auto& array = arrays[Exchange ? (self + round) % 2 : self];
      for (std::size_t i = 0; i < each_round; ++i) {
        const std::uint64_t drawn = random.next();
        sized_block& one = array[((drawn >> 32) * live) >> 32];
        end(one);
        one = fresh(drawn);
      }
      inside.wait();
    }
  });
  for (auto& array : arrays)
    for (const sized_block& each : array) end(each);
  return best / (rounds * each_round);
}

// One thread allocates batches, writes to each block, and hands them to the other one, which frees them.
double handoff(std::size_t size) {
  constexpr std::size_t handed = 4096, rounds = 4;
  return least_of_two(60,
                      [=](std::size_t self, bench::meeting_point& inside) {
                        for (std::size_t round = 0; round <= rounds; ++round) {
                          void** const begin = blocks.data() + (round + self) % 2 * handed;
                          for (void** place = begin; place != begin + handed; ++place) {
                            if (self == 0 && round != rounds)
                              bench::touch_first(*place = take(size));
                            if (self == 1 && round != 0) give(*place);
                          }
                          inside.wait();
                        }
                      }) /
         (rounds * handed);
}

double lists_of_two(std::size_t size) {
  return least_of_two(10, [=](std::size_t, auto&) { list_once(size); }) / list_length;
}

struct row {
  const char* name;
  double (*measure)(std::size_t size);
  std::size_t size;
};
// clang-format off
constexpr auto rows = std::to_array<row>({
    {"pair", pair, 16}, {"pair", pair, 64}, {"pair", pair, 256}, {"pair", pair, 1024},
    {"random", random, 16}, {"random", random, 64}, {"random", random, 256}, {"random", random, 1024},
    {"lifo", lifo, 64}, {"fifo", fifo, 64}, {"churn", churn, 64}, {"bulk", bulk, 16}, {"list", list, 64},
    {"sized_delete", sized_delete, 64}, {"calloc", zeroed, 64}, {"realloc_stays", realloc_stays, 64},
});
constexpr auto rows_of_two = std::to_array<row>({
    {"pair", pairs_of_two, 64}, {"list", lists_of_two, 64}, {"handoff", handoff, 64},
    {"replace", replace<false, freed::plain>, 1000}, {"larson", replace<true, freed::plain>, 1000},
    {"larson_sized", replace<true, freed::sized>, 1000}, {"larson", replace<true, freed::plain>, 16'000},
});
// clang-format on

void measure_all(std::span<const row> which) {
  for (const row& each : which)
    std::printf("%s_%zu %.3f\n", each.name, each.size, each.measure(each.size));
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view how = argc > 1 ? argv[1] : "alone";
  std::minstd_rand random_source(1);
  std::iota(shuffled.begin(), shuffled.end(), 0u);
  std::ranges::shuffle(shuffled, random_source);
  for (std::uint32_t& place : places) place = static_cast<std::uint32_t>(random_source() % batch);
  blocks.fill(&blocks);
  if (how == "beside") {
    std::latch ready(1), ended(1);
    std::thread other([&] {
      for (const row& each : rows) give(take(each.size));
      ready.count_down();
      ended.wait();
    });
    ready.wait();
    measure_all(rows);
    ended.count_down();
    other.join();
  } else {
    measure_all(how == "both" ? std::span<const row>(rows_of_two) : rows);
  }
}
