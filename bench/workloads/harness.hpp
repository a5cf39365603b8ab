// bench/workloads/harness.hpp: what every workload of alloc_bench shares: calls that cannot be
// optimised away, a cheap random source, memory of its own, timing, and the line that is printed.
// Invariant: between two clock readings the harness allocates nothing itself; its arrays are pages
// mapped and populated beforehand, and their size is printed with each result (harness_kib).
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <thread>
#include <utility>

namespace bench {

[[noreturn]] void fail(const char* message);

// Calls into the allocator under test. The empty asm hides where the address came from, so that no
// compiler may pair the malloc with its free and drop both; the program is built with -fno-builtin
// for the same reason.
inline void* opaque(void* block) {
  asm volatile("" : "+r"(block));
  return block;
}
inline void* take(std::size_t size_bytes) {
  // NOLINTNEXTLINE(clang-analyzer-unix.Malloc): the analyser loses the address in the asm
  void* block = opaque(std::malloc(size_bytes));
  if (block == nullptr) [[unlikely]]
    fail("malloc returned null");
  return block;
}
inline void* take_zeroed(std::size_t size_bytes) {
  void* block = opaque(std::calloc(1, size_bytes));
  if (block == nullptr) [[unlikely]]
    fail("calloc returned null");
  return block;
}
inline void* resize(void* old, std::size_t size_bytes) {
  void* block = opaque(std::realloc(old, size_bytes));
  if (block == nullptr) [[unlikely]]
    fail("realloc returned null");
  return block;
}
inline void give(void* block) {
  std::free(block);
}

// Writes the first word, as a constructor would.
inline void touch_first(void* block, std::uint64_t value = 1) {
  *static_cast<volatile std::uint64_t*>(block) = value;
}
inline constexpr std::size_t page_bytes = 4096;
// Writes one byte in each page of [from, to), offsets in bytes.
inline void touch_pages(void* block, std::size_t from, std::size_t to) {
  auto* bytes = static_cast<volatile unsigned char*>(block);
  for (std::size_t at = from; at < to; at += page_bytes) bytes[at] = 1;
}

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
  // Log-uniform in [low, high]: each factor of two is equally likely. Slow; for tables.
  std::size_t log_uniform(std::size_t low, std::size_t high);

 private:
  std::uint64_t state_;
};

// Populated pages from the OS, not from the heap under test; counted in harness_kib.
void* map_pages(std::size_t size_bytes);

// A fixed array in such pages, zeroed, kept until the process ends.
template <class T>
class page_array {
 public:
  explicit page_array(std::size_t count)
      : data_(static_cast<T*>(map_pages(count * sizeof(T)))), count_(count) {}
  T& operator[](std::size_t index) { return data_[index]; }
  const T& operator[](std::size_t index) const { return data_[index]; }
  std::size_t size() const { return count_; }
  T* begin() { return data_; }
  T* end() { return data_ + count_; }

 private:
  T* data_;
  std::size_t count_;
};

// Frees what is left, so that the programs end clean under a leak checker.
template <class T>
void give_all(page_array<T*>& blocks) {
  for (T* block : blocks) give(block);
}

// A random order of 0 .. count-1.
page_array<std::uint32_t> shuffled_order(std::size_t count, std::uint64_t seed);

// Random sizes drawn ahead of time; small enough to stay in the first-level cache.
class size_table {
 public:
  size_table(std::size_t low, std::size_t high, std::uint64_t seed) {
    random_source random(seed);
    for (auto& size : sizes_) size = static_cast<std::uint16_t>(random.between(low, high));
  }
  std::size_t operator[](std::size_t index) const { return sizes_[index % sizes_.size()]; }

 private:
  std::array<std::uint16_t, 4096> sizes_;
};

using clock = std::chrono::steady_clock;
inline double nanoseconds(clock::duration elapsed) {
  return std::chrono::duration<double, std::nano>(elapsed).count();
}

// The values of the repetitions inside one process.
class series {
 public:
  void add(double value) {
    if (count_ < values_.size()) values_[count_++] = value;
  }
  std::size_t count() const { return count_; }
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

// Runs body once untimed, then `count` times; body does `operations` of them. Returns ns per
// operation.
template <class Body>
series sample(std::size_t count, std::size_t operations, Body body) {
  series result;
  body();
  for (std::size_t i = 0; i < count; ++i) {
    const auto start = clock::now();
    body();
    result.add(nanoseconds(clock::now() - start) / static_cast<double>(operations));
  }
  return result;
}
// The same for a body that stops the clock itself: it returns its nanoseconds.
template <class Body>
series sample_timed(std::size_t count, std::size_t operations, Body body) {
  series result;
  body();
  for (std::size_t i = 0; i < count; ++i) result.add(body() / static_cast<double>(operations));
  return result;
}

inline void pause_cpu() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#endif
}
// Spins, then yields: two threads may have to share one busy processor.
template <class Condition>
void wait_until(Condition condition) {
  for (unsigned spins = 0; !condition(); ++spins) {
    if (spins < 1000)
      pause_cpu();
    else
      std::this_thread::yield();
  }
}

// Two threads meet; everything written before wait() is seen by the other after it.
class meeting_point {
 public:
  void wait() {
    const unsigned round = round_.load(std::memory_order_relaxed);
    if (arrived_.fetch_add(1, std::memory_order_acq_rel) == 1) {
      arrived_.store(0, std::memory_order_relaxed);
      round_.store(round + 1, std::memory_order_release);
    } else {
      wait_until([&] { return round_.load(std::memory_order_acquire) != round; });
    }
  }

 private:
  alignas(64) std::atomic<unsigned> arrived_{0};
  alignas(64) std::atomic<unsigned> round_{0};
};

// Two threads run body(thread 0 or 1, meeting point) together, once untimed and `count` times
// timed. Returns the nanoseconds of each repetition, from the start of both to the end of the later
// one.
template <class Body>
series sample_two_threads(std::size_t count, Body body) {
  series result;
  meeting_point start_line, inside, finish;
  const auto run = [&](unsigned self) {
    for (std::size_t i = 0; i <= count; ++i) {
      start_line.wait();
      const auto start = clock::now();
      body(self, inside);
      finish.wait();
      if (self == 0 && i > 0) result.add(nanoseconds(clock::now() - start));
    }
  };
  std::thread other(run, 1u);
  run(0);
  other.join();
  return result;
}
// ns a repetition -> millions of operations a second.
series to_mops(series& nanoseconds_each, std::size_t operations);
series to_ns_per(series& nanoseconds_each, std::size_t operations);

// A line of /proc/self/status in KiB ("VmHWM", "VmRSS", "VmPTE"), 0 where there is none.
std::size_t status_kib(const char* field);

// Prints one line of key=value pairs. A unit that ends in "/s" is better when higher, any other
// when lower. Memory is read here: VmHWM (this address space's own peak; ru_maxrss would also know
// the peak of whoever started us) and VmPTE.
void report(const char* workload, const char* variant, const char* unit, series& values,
            std::size_t operations);

using arguments = std::array<const char*, 4>;  // absent ones are null
bool is(const char* argument, std::string_view word);
// The argument as a number within [low, high], or `otherwise` when absent; a clear end when
// neither.
std::size_t number(const char* argument, std::size_t otherwise, std::size_t low, std::size_t high);

// The workloads; each reads its arguments, measures and reports.
void pair(const arguments&);
void lifo(const arguments&);
void fifo(const arguments&);
void random_order(const arguments&);
void random_1m(const arguments&);
void churn(const arguments&);
void bulk(const arguments&);
void latency(const arguments&);
void producer_consumer(const arguments&);
void larson(const arguments&);
void batches_2t(const arguments&);
void random_sizes(const arguments&);
void threads_short(const arguments&);
void large(const arguments&);
void medium(const arguments&);
void realloc_growth(const arguments&);
void calloc_large(const arguments&);
void containers(const arguments&);
void idle(const arguments&);
void startup(const arguments&);

}  // namespace bench
