// bench/workloads/programs.cpp: the standard containers and strings, and what a process costs that
// hardly allocates.
#include <cstdint>
#include <list>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "workloads.hpp"

namespace bench {
namespace {

constexpr std::size_t elements = 10'000;

// Insert all, clear; the container itself lives on, so a hash table keeps its array. The sum of
// `content` over the elements is what the keys 0 .. elements-1 give.
template <class Container, class Insert, class Content>
void fill_and_clear(const char* name, Insert insert, Content content, std::size_t expected_sum) {
  const auto keys = shuffled_order(elements, 67);
  Container container;
  constexpr std::size_t rounds = 20;
  auto result = sample(repetitions(21), elements * rounds, [&] {
    for (std::size_t round = 0; round < rounds; ++round) {
      for (std::size_t i = 0; i < elements; ++i) insert(container, keys[i]);
      container.clear();
    }
  });
  for (std::size_t i = 0; i < elements; ++i) insert(container, keys[i]);
  std::size_t sum = 0;
  for (const auto& each : container) sum += content(each);
  if (container.size() != elements || sum != expected_sum) fail("a container lost elements");
  container.clear();
  report("containers", name, "ns/element", result, elements * rounds);
}

// Texts that grow piece by piece, as output buffers do; at 1,000 characters one begins anew.
void append_to_strings() {
  constexpr std::size_t texts = 1'000, count = 500'000, longest = 1'000;
  constexpr std::size_t longest_piece = 40;
  const auto letter = [](std::size_t which) { return static_cast<char>('a' + which % 26); };
  series result;
  {
    std::vector<std::string> all(texts);
    random_source random(139);
    result = sample(repetitions(9), count, [&] {
      for (std::size_t i = 0; i < count; ++i) {
        const std::size_t which = random.below(texts);
        std::string& text = all[which];
        if (text.size() > longest) std::string().swap(text);
        text.append(random.between(8, longest_piece), letter(which));
      }
    });
    for (std::size_t i = 0; i < texts; ++i)
      if (all[i].find_first_not_of(letter(i)) != std::string::npos) fail("a text has changed");
  }
  report("strings", "append", "ns/append", result, count);
}

// Words are joined to pairs, the pairs to one text, and the text is cut into words again.
void join_strings() {
  constexpr std::size_t words = 2'000, rounds = 20;
  series result;
  {
    std::vector<std::string> all;
    random_source random(149);
    for (std::size_t i = 0; i < words; ++i)
      all.emplace_back(random.between(10, 60), static_cast<char>('a' + i % 26));
    const std::vector<std::string> expected = all;
    result = sample(repetitions(15), words * rounds, [&] {
      for (std::size_t round = 0; round < rounds; ++round) {
        std::string joined;
        for (std::size_t i = 0; i < words; i += 2) joined += all[i] + "," + all[i + 1] + ",";
        all.clear();
        for (std::size_t from = 0; from < joined.size();) {
          const std::size_t comma = joined.find(',', from);
          all.push_back(joined.substr(from, comma - from));
          from = comma + 1;
        }
      }
    });
    if (all != expected) fail("the words are not those that were joined");
  }
  report("strings", "join", "ns/word", result, words * rounds);
}

}  // namespace

void strings(const arguments& given) {
  if (is(given[0], "append"))
    append_to_strings();
  else if (is(given[0], "join"))
    join_strings();
  else
    fail("strings: append or join");
}

void containers(const arguments& given) {
  constexpr std::size_t sum_of_keys = elements * (elements - 1) / 2;
  const auto add_pair = [](auto& c, std::uint32_t key) { c.emplace(key, key); };
  const auto of_pair = [](const auto& each) { return each.second; };
  if (is(given[0], "list")) {
    fill_and_clear<std::list<std::uint64_t>>(
        "list", [](auto& c, std::uint32_t key) { c.push_back(key); },
        [](std::uint64_t each) { return each; }, sum_of_keys);
  } else if (is(given[0], "map")) {
    fill_and_clear<std::map<std::uint64_t, std::uint64_t>>("map", add_pair, of_pair, sum_of_keys);
  } else if (is(given[0], "unordered_map")) {
    fill_and_clear<std::unordered_map<std::uint64_t, std::uint64_t>>("unordered_map", add_pair,
                                                                     of_pair, sum_of_keys);
  } else if (is(given[0], "strings")) {
    fill_and_clear<std::list<std::string>>(
        "strings",
        [](auto& c, std::uint32_t key) {
          c.emplace_back(20 + key % 100, static_cast<char>('a' + key % 26));
        },
        [](const std::string& each) {
          if (each.find_first_not_of(each[0]) != std::string::npos) fail("a string has changed");
          return each.size() - 20;
        },
        elements / 100 * (99 * 100 / 2));
  } else {
    fail("containers: list, map, unordered_map or strings");
  }
}

// The child is this program with the word `nothing`, so it loads what we load and what is
// preloaded. This process itself has hardly begun, so what it holds is what a start costs.
void startup(const arguments&) {
  const series resident(static_cast<double>(resident_kib()));
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
  report("startup", "rss", "KiB", resident, 1, kind::memory);
}

}  // namespace bench
