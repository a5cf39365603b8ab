// bench/workloads/programs.cpp: the standard containers, and what a process costs that hardly
// allocates.
#include <cstdint>
#include <cstdio>
#include <list>
#include <map>
#include <string>
#include <unordered_map>

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness.hpp"

namespace bench {
namespace {

constexpr std::size_t elements = 10'000;

// Insert all, clear; the container itself lives on, so a hash table keeps its array.
template <class Container, class Insert>
void fill_and_clear(const char* name, Insert insert) {
  const auto keys = shuffled_order(elements, 67);
  Container container;
  constexpr std::size_t rounds = 20;
  auto result = sample(repetitions(21), elements * rounds, [&] {
    for (std::size_t round = 0; round < rounds; ++round) {
      for (std::size_t i = 0; i < elements; ++i) insert(container, keys[i]);
      container.clear();
    }
  });
  report("containers", name, "ns/element", result, elements * rounds);
}

}  // namespace

void containers(const arguments& given) {
  if (is(given[0], "list")) {
    fill_and_clear<std::list<std::uint64_t>>("list",
                                             [](auto& c, std::uint32_t key) { c.push_back(key); });
  } else if (is(given[0], "map")) {
    fill_and_clear<std::map<std::uint64_t, std::uint64_t>>(
        "map", [](auto& c, std::uint32_t key) { c.emplace(key, key); });
  } else if (is(given[0], "unordered_map")) {
    fill_and_clear<std::unordered_map<std::uint64_t, std::uint64_t>>(
        "unordered_map", [](auto& c, std::uint32_t key) { c.emplace(key, key); });
  } else if (is(given[0], "strings")) {
    fill_and_clear<std::list<std::string>>(
        "strings", [](auto& c, std::uint32_t key) { c.emplace_back(20 + key % 100, 'a'); });
  } else {
    fail("containers: list, map, unordered_map or strings");
  }
}

void idle(const arguments&) {
  void* block = take(64);
  touch_first(block);
  series resident, page_tables;
  resident.add(static_cast<double>(status_kib("VmRSS")));
  page_tables.add(static_cast<double>(status_kib("VmPTE")));
  report("idle", "rss", "KiB", resident, 1);
  report("idle", "page_tables", "KiB", page_tables, 1);
  give(block);
}

// The child is this program with the word `nothing`, so it loads what we load and what is
// preloaded.
void startup(const arguments&) {
  constexpr std::size_t children = 10;
  auto result = sample(repetitions(15), children, [&] {
    for (std::size_t i = 0; i < children; ++i) {
      char name[] = "alloc_bench", word[] = "nothing";
      char* const command[] = {name, word, nullptr};
      pid_t child = 0;
      int status = 0;
      if (posix_spawn(&child, "/proc/self/exe", nullptr, nullptr, command, environ) != 0 ||
          waitpid(child, &status, 0) != child || status != 0)
        fail("the child process did not start or did not end well");
    }
  });
  report("startup", "process", "ns/process", result, children);
}

}  // namespace bench
