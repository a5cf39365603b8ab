// What xalloc_stats says, to the block: each case is a process of its own.
#include <condition_variable>
#include <iostream>
#include <mutex>
#include <sstream>
#include <tests/support/require.hpp>
#include <thread>

#include <tests/support/programs.h>

#include "xallocator.h"

namespace {

/// Returns: the report, as a program reads it that has redirected std::cout.
std::string report() {
  std::ostringstream text;
  std::streambuf* const before = std::cout.rdbuf(text.rdbuf());
  xalloc_stats();
  std::cout.rdbuf(before);
  return text.str();
}

void as_it_should_be() { std::puts("as it should be"); }

std::string row(const char* size, int count, int in_use) {
  return "xallocator Block Size: " + std::string(size) + " Block Count: " + std::to_string(count) +
         " Blocks In Use: " + std::to_string(in_use) + "\n";
}

void expect(const std::string& wanted) {
  const std::string got = report();
  if (got == wanted) return;
  std::printf("the report is\n%snot\n%s", got.c_str(), wanted.c_str());
  REQUIRE(got == wanted);
}

std::vector<void*> allocate(std::size_t count, std::size_t size) {
  std::vector<void*> blocks(count);
  for (void*& block : blocks) {
    block = xmalloc(size);
    REQUIRE(block != nullptr);
  }
  return blocks;
}
void release(std::vector<void*>& blocks, std::size_t kept) {
  for (std::size_t i = kept; i < blocks.size(); ++i) xfree(blocks[i]);
  blocks.resize(kept);
}

PROGRAM(nothing) {
  expect("");
  as_it_should_be();
}

PROGRAM(the_document) {
  auto blocks = allocate(10'001, 110);
  release(blocks, 1);
  expect(row("112", 10'001, 1));
  as_it_should_be();
}

/// A block that came back is used again: only the first call creates one.
PROGRAM(one_block) {
  for (int i = 0; i < 1000; ++i) xfree(xmalloc(24));
  expect(row("32", 1, 0));
  as_it_should_be();
}

/// Any number of frees at any depth of a cache: what is created is the most that was ever in use.
PROGRAM(waves) {
  for (const std::size_t count : {3u, 700u, 20u, 5'000u, 1u, 4'999u}) {
    auto blocks = allocate(count, 40);
    release(blocks, 0);
  }
  auto blocks = allocate(17, 40);
  expect(row("48", 5'000, 17));
  release(blocks, 0);
  expect(row("48", 5'000, 0));
  as_it_should_be();
}

PROGRAM(each_call) {
  void* const zeroed = xcalloc(4, 10);
  void* const aligned = xaligned_alloc(64, 64);
  void* const large = xmalloc(1 << 20);
  void* grown = xmalloc(100);
  expect(row("48", 1, 1) + row("64", 1, 1) + row("112", 1, 1) + row("large", 1, 1));
  grown = xrealloc(grown, 1000);
  REQUIRE(grown != nullptr);
  expect(row("48", 1, 1) + row("64", 1, 1) + row("112", 1, 0) + row("1024", 1, 1) +
         row("large", 1, 1));
  REQUIRE(xrealloc(grown, 0) == nullptr);
  xfree(zeroed);
  xfree(aligned);
  xfree(large);
  xfree(nullptr);
  expect(row("48", 1, 0) + row("64", 1, 0) + row("112", 1, 0) + row("1024", 1, 0) +
         row("large", 1, 0));
  as_it_should_be();
}

/// What does not come from xmalloc is not in its report.
PROGRAM(other_faces) {
  xalloc_init();
  std::vector<std::string> texts(100, std::string(100, 'x'));
  xalloc_destroy();
  expect("");
  as_it_should_be();
}

/// Threads that have ended are as exact as the calling one: blocks that they created, kept or freed
/// for another.
PROGRAM(ended_threads) {
  std::vector<void*> from_thread;
  std::thread([&] {
    from_thread = allocate(500, 200);
    release(from_thread, 300);
  }).join();
  expect(row("208", 500, 300));
  release(from_thread, 100);
  expect(row("208", 500, 100));
  std::thread([&] { release(from_thread, 0); }).join();
  expect(row("208", 500, 0));
  // Those that others have freed are used before new ones are created.
  auto again = allocate(500, 200);
  expect(row("208", 500, 500));
  release(again, 0);
  expect(row("208", 500, 0));
  as_it_should_be();
}

/// A thread that still runs may rest on free blocks: the report says so, and by how many it can be
/// wrong.
PROGRAM(running_thread) {
  std::mutex mutex;
  std::condition_variable changed;
  int step = 0;
  const auto go_to = [&](int next) {
    const std::lock_guard guard(mutex);
    step = next;
    changed.notify_all();
  };
  const auto wait_for = [&](int wanted) {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return step == wanted; });
  };
  void* const own = xmalloc(400);
  std::thread other([&] {
    auto blocks = allocate(100, 200);
    release(blocks, 90);
    go_to(1);
    wait_for(2);
    release(blocks, 0);
  });
  wait_for(1);
  const std::string text = report();
  REQUIRE(text.find("xallocator Note: ") != std::string::npos);
  REQUIRE(text.find(" 1 other thread") != std::string::npos);
  int count = 0, in_use = 0;
  const std::size_t at = text.find("xallocator Block Size: 208 ");
  REQUIRE(at != std::string::npos);
  REQUIRE(std::sscanf(text.c_str() + at,
                      "xallocator Block Size: 208 Block Count: %d Blocks In Use: %d", &count,
                      &in_use) == 2);
  REQUIRE(count == 100);
  REQUIRE(in_use >= 90 && in_use <= 100);
  go_to(2);
  other.join();
  expect(row("208", 100, 0) + row("416", 1, 1));
  xfree(own);
  as_it_should_be();
}

/// One thread allocates, another frees: blocks are used again though their count goes round.
PROGRAM(producer_and_consumer) {
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<void*> handed;
  bool done = false;
  constexpr std::size_t batch = 50;
  std::thread consumer([&] {
    for (;;) {
      std::vector<void*> mine;
      {
        std::unique_lock lock(mutex);
        changed.wait(lock, [&] { return !handed.empty() || done; });
        if (handed.empty()) return;
        for (void* const block : handed) xfree(block);
        handed.clear();
      }
      changed.notify_all();
    }
  });
  for (int round = 0; round < 1'000; ++round) {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return handed.empty(); });
    handed.reserve(batch);
    for (std::size_t i = 0; i < batch; ++i) handed.push_back(xmalloc(1000));
    changed.notify_all();
  }
  {
    const std::lock_guard guard(mutex);
    done = true;
  }
  changed.notify_all();
  consumer.join();
  int count = 0, in_use = -1;
  REQUIRE(std::sscanf(report().c_str(),
                      "xallocator Block Size: 1024 Block Count: %d Blocks In Use: %d", &count,
                      &in_use) == 2);
  REQUIRE(in_use == 0);
  REQUIRE(count >= 50 && count <= 50 + 127);
  as_it_should_be();
}

/// Without a redirection the lines are on standard output, in order with what the program writes
/// there.
PROGRAM(standard_output) {
  auto blocks = allocate(2, 110);
  std::fputs("before\n", stdout);
  std::cout << "between\n";
  xalloc_stats();
  std::fputs("after\n", stdout);
  release(blocks, 0);
  as_it_should_be();
}

}  // namespace
