// bench/workloads/harness.hpp: what every workload of alloc_bench shares: a cheap random source,
// tables of sizes, timing, and the lines that are printed.
// Invariant: between two clock readings the harness allocates nothing itself; its arrays are pages
// mapped and populated beforehand, and their size is printed with each result (harness_kib).
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "calls.hpp"
#include "memory.hpp"

namespace bench {

// xorshift64*: three shifts and a multiplication; the seed is fixed by the workload.
class random_source {
 public:
  explicit random_source(std::uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15u | 1) {}
  std::uint64_t next() {
    state_ ^= state_ >> 12;
    state_ ^= state_ << 25;
    state_ ^= state_ >> 27;
    return state_ * 0x2545f4914f6cdd1du;
  }
  // In [0, bound), bound below 2^32; by multiplication, since a division would cost more than a
  // malloc.
  std::size_t below(std::size_t bound) {
    return static_cast<std::size_t>(((next() >> 32) * bound) >> 32);
  }
  std::size_t between(std::size_t low, std::size_t high) { return low + below(high - low + 1); }
  // In [0, 1).
  double unit() { return static_cast<double>(next() >> 11) * 0x1p-53; }
  // Log-uniform in [low, high]: each factor of two is equally likely. Slow; for tables.
  std::size_t log_uniform(std::size_t low, std::size_t high);
  // Pareto's distribution cut off at high: P(size > x) falls as x^-alpha. Slow; for tables.
  std::size_t pareto(std::size_t low, std::size_t high, double alpha);

 private:
  std::uint64_t state_;
};

// Frees what is left, so that the programs end clean under a leak checker.
template <class T>
void give_all(page_array<T*>& blocks) {
  for (T* block : blocks) give(block);
}
// Ends the process unless each block's first word is its place in the array.
inline void check_first_words(page_array<void*>& blocks) {
  for (std::size_t i = 0; i < blocks.size(); ++i)
    if (first_word(blocks[i]) != i) fail("a live block's content has changed");
}
// Frees blocks that have been marked with their places in the array; checked first.
inline void check_and_give_all(page_array<void*>& blocks) {
  for (std::size_t i = 0; i < blocks.size(); ++i) check_mark(blocks[i], i);
  give_all(blocks);
}
// For workloads that write nothing that could be checked: what the allocator gives after them is
// still sound. blocks is free before and after.
inline void check_fresh(page_array<void*>& blocks, std::size_t size_bytes) {
  for (std::size_t i = 0; i < blocks.size(); ++i) mark(blocks[i] = take(size_bytes), size_bytes, i);
  check_and_give_all(blocks);
}

// A random order of 0 .. count-1.
page_array<std::uint32_t> shuffled_order(std::size_t count, std::uint64_t seed);

// Random sizes below 64 KiB drawn ahead of time; small enough to stay in the first-level cache.
class size_table {
 public:
  static constexpr std::size_t count = 4096;
  template <class Draw>
  explicit size_table(Draw draw) {
    for (auto& size : sizes_) size = static_cast<std::uint16_t>(draw());
  }
  size_table(std::size_t low, std::size_t high, std::uint64_t seed)
      : size_table([random = random_source(seed), low, high]() mutable {
          return random.between(low, high);
        }) {}
  std::size_t operator[](std::size_t index) const { return sizes_[index % count]; }

 private:
  std::array<std::uint16_t, count> sizes_;
};

using clock = std::chrono::steady_clock;
inline double nanoseconds(clock::duration elapsed) {
  return std::chrono::duration<double, std::nano>(elapsed).count();
}

// The values of the repetitions inside one process.
class series {
 public:
  series() = default;
  explicit series(double only) { add(only); }
  void add(double value) {
    if (count_ < values_.size()) values_[count_++] = value;
  }
  std::size_t count() const { return count_; }
  template <class Convert>
  series converted(Convert convert) const {
    series result;
    for (std::size_t i = 0; i < count_; ++i) result.add(convert(values_[i]));
    return result;
  }
  // p in [0, 1]; the series is sorted by it.
  double quantile(double p);

 private:
  std::array<double, 64> values_{};
  std::size_t count_ = 0;
};

extern bool quick;  // fewer repetitions
inline std::size_t repetitions(std::size_t full) {
  return !quick ? full : full > 9 ? full / 3 : full > 3 ? 3 : full;
}

// Not 0 under --count: so many bodies run and nothing is timed, for those who count instructions.
extern std::size_t bodies_to_count;
template <class Body>
bool only_counted(Body body) {
  for (std::size_t i = 0; i < bodies_to_count; ++i) body();
  return bodies_to_count != 0;
}

// Ends the process under --count: for workloads that have no body to repeat.
void never_counted(const char* workload);

// Runs body once untimed, then `count` times; body does `operations` of them, and returns its
// nanoseconds. Returns ns per operation.
template <class Body>
series sample_timed(std::size_t count, std::size_t operations, Body body) {
  series result;
  if (only_counted(body)) return result;
  body();
  for (std::size_t i = 0; i < count; ++i) result.add(body() / static_cast<double>(operations));
  return result;
}
// The same for a body that is timed as a whole.
template <class Body>
series sample(std::size_t count, std::size_t operations, Body body) {
  return sample_timed(count, operations, [&body] {
    const auto start = clock::now();
    body();
    return nanoseconds(clock::now() - start);
  });
}

// ns a repetition -> millions of operations a second.
series to_mops(const series& nanoseconds_each, std::size_t operations);

// A variant's name, put together as printf does; without blanks.
class label {
 public:
  [[gnu::format(printf, 2, 3)]] explicit label(const char* format, ...);
  operator const char*() const { return text_.data(); }

 private:
  std::array<char, 48> text_;
};

// What a result is about; the runner groups by it.
enum class kind { time, memory, latency, ratio };  // names_of_kinds has the names
// One more figure on the line of a result.
struct fact {
  const char* key = nullptr;
  double value = 0;
};

// Keeps a result; workload, unit and the fact's key must outlive the process's work. A unit that
// ends in "/s" is better when higher, any other when lower.
void report(const char* workload, const char* variant, const char* unit, series values,
            std::size_t operations, kind about = kind::time, fact more = {});
// Prints each result as a line of key=value pairs. Memory is read here, once, when the workload has
// freed all: VmHWM (this address space's own peak; ru_maxrss would also know the peak of whoever
// started us), Rss, VmPTE, and the page faults since the process began.
void print_results();

// A file that the latency workloads write their histograms to; null when not asked for.
extern const char* histogram_path;

using arguments = std::array<const char*, 4>;  // absent ones are null
bool is(const char* argument, std::string_view word);
// True when the argument is the word, false when it is absent; a clear end when it is another.
bool option(const char* argument, std::string_view word);
// The argument as a number within [low, high], or `otherwise` when absent; a clear end when
// neither. K and M after it multiply by 2^10 and 2^20.
std::size_t number(const char* argument, std::size_t otherwise, std::size_t low, std::size_t high);

}  // namespace bench
