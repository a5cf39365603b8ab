// bench/workloads/latency.cpp: single calls, each between two clock readings, counted in buckets of
// 10 ns. Reading the clock is in every figure; `empty` is what two readings with nothing between
// them show. The means of other workloads are the better means: this is for the tail.
//
// Before the first reading the harness's own stores are waited for. Without that, their cache misses
// fall into whatever interval comes when the processor has no room for more of them: two readings with
// nothing between them, put after the free, then showed 90 ns instead of 20 (AMD EPYC).
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <span>

#include "workloads.hpp"

namespace bench {
namespace {

class histogram {
 public:
  static constexpr std::size_t bucket_ns = 10;

  void add(clock::duration elapsed) {
    const auto ns = static_cast<std::uint64_t>(std::max<std::int64_t>(
        0, std::chrono::duration_cast<std::chrono::nanoseconds>(elapsed).count()));
    ++counts_[std::min<std::uint64_t>(ns / bucket_ns, counts_.size() - 1)];
    sum_ns_ += ns;
    longest_ns_ = std::max(longest_ns_, ns);
    ++samples_;
  }
  std::size_t samples() const { return samples_; }
  double mean() const { return static_cast<double>(sum_ns_) / static_cast<double>(samples_); }
  double longest() const { return static_cast<double>(longest_ns_); }
  // The lower end of the bucket in which the share p of the samples is reached; the longest where
  // that is the last bucket, which has no upper end.
  double quantile(double p) const {
    const auto rank = static_cast<std::size_t>(p * static_cast<double>(samples_ - 1));
    std::size_t seen = 0;
    for (std::size_t i = 0; i + 1 < counts_.size(); ++i)
      if ((seen += counts_[i]) > rank) return static_cast<double>(i * bucket_ns);
    return longest();
  }
  void write(std::FILE* file, const char* operation) const {
    for (std::size_t i = 0; i < counts_.size(); ++i)
      if (counts_[i] != 0) std::fprintf(file, "%s,%zu,%u\n", operation, i * bucket_ns, counts_[i]);
  }

 private:
  page_array<std::uint32_t> counts_{1'000'000};  // up to 10 ms; the last one counts what is longer
  std::size_t samples_ = 0;
  std::uint64_t sum_ns_ = 0, longest_ns_ = 0;
};

// Two clock readings and nothing between them.
histogram empty_operations(std::size_t count) {
  histogram empty;
  for (std::size_t i = 0; i < count; ++i) {
    const auto start = clock::now();
    empty.add(clock::now() - start);
  }
  return empty;
}

struct named_histogram {
  const char* operation;
  const histogram& counted;
};

// A figure of a histogram.
struct point {
  const char* name;
  double (*of)(const histogram&);
};

// Reports each point of each histogram with that of two clock readings beside it, and writes the histogram's file.
void report_all(const char* workload, std::span<const named_histogram> all,
                std::span<const point> points) {
  const std::size_t count = all[0].counted.samples();
  const histogram empty = empty_operations(count);
  for (const auto& [operation, counted] : all)
    for (const auto& [name, of] : points)
      report(workload, label("%s/%s", operation, name), "ns", series(of(counted)), count,
             kind::latency, {"empty", of(empty)});
  if (histogram_path == nullptr) return;
  std::FILE* file = std::fopen(histogram_path, "w");
  if (file == nullptr) fail("the histogram's file cannot be opened for writing");
  std::fputs("operation,from_ns,count\n", file);
  for (const auto& each : all) each.counted.write(file, each.operation);
  empty.write(file, "empty");
  if (std::fclose(file) != 0) fail("the histogram's file cannot be written");
}

constexpr std::size_t live = 50'000;

}  // namespace

void latency(const arguments&) {
  never_counted("latency");
  const std::size_t count = quick ? 1'000'000 : 10'000'000;
  const size_table sizes(16, 1024, 17);
  page_array<void*> blocks(live);
  histogram allocating, freeing;
  for (std::size_t i = 0; i < live; ++i) mark(blocks[i] = take(sizes[i]), sizes[i], i);
  random_source random(19);
  const auto replace_some = [&](std::size_t times, auto freed, auto allocated) {
    for (std::size_t i = 0; i < times; ++i) {
      const std::size_t place = random.below(live);
      const std::size_t size_bytes = sizes[random.below(size_table::count)];
      void*& block = blocks[place];
      std::atomic_thread_fence(std::memory_order_seq_cst);
      const auto start = clock::now();
      give(block);
      const auto between = clock::now();
      block = take(size_bytes);
      const auto end = clock::now();
      mark(block, size_bytes, place);
      freed(between - start);
      allocated(end - between);
    }
  };
  const auto ignore = [](clock::duration) {};
  replace_some(10 * live, ignore, ignore);  // warm
  replace_some(
      count, [&](clock::duration elapsed) { freeing.add(elapsed); },
      [&](clock::duration elapsed) { allocating.add(elapsed); });
  check_and_give_all(blocks);

  constexpr auto points = std::to_array<point>({
      {"p50", [](const histogram& h) { return h.quantile(0.5); }},
      {"p90", [](const histogram& h) { return h.quantile(0.9); }},
      {"p99", [](const histogram& h) { return h.quantile(0.99); }},
      {"p99.9", [](const histogram& h) { return h.quantile(0.999); }},
      {"p99.99", [](const histogram& h) { return h.quantile(0.9999); }},
      {"p99.999", [](const histogram& h) { return h.quantile(0.99999); }},
      {"max", [](const histogram& h) { return h.longest(); }},
  });
  report_all("latency", std::to_array<named_histogram>({{"malloc", allocating}, {"free", freeing}}),
             points);
}

// The first blocks of a process. The kernel's page faults are paid by whoever writes to a page
// first, the allocator or the program: so malloc is timed alone, and with the program's first
// write.
void first_fill(const arguments&) {
  never_counted("first_fill");
  constexpr std::size_t count = 200'000;
  const size_table sizes(16, 1024, 83);
  page_array<void*> blocks(count);
  histogram allocating, with_write;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t size_bytes = sizes[i];
    std::atomic_thread_fence(std::memory_order_seq_cst);
    const auto start = clock::now();
    void* block = take(size_bytes);
    const auto taken = clock::now();
    mark(block, size_bytes, i);
    const auto written = clock::now();
    blocks[i] = block;
    allocating.add(taken - start);
    with_write.add(written - start);
  }
  check_and_give_all(blocks);
  constexpr auto points = std::to_array<point>({
      {"mean", [](const histogram& h) { return h.mean(); }},
      {"p99.99", [](const histogram& h) { return h.quantile(0.9999); }},
  });
  report_all("first_fill",
             std::to_array<named_histogram>({{"malloc", allocating}, {"malloc+write", with_write}}),
             points);
}

}  // namespace bench
