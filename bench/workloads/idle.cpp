// bench/workloads/idle.cpp: what a process holds that has little live: hardly begun, and after a
// peak.
#include <array>
#include <chrono>
#include <thread>

#include "workloads.hpp"

namespace bench {

void idle(const arguments&) {
  never_counted("idle");
  void* block = take(64);
  touch_first(block);
  const series resident(static_cast<double>(resident_kib()));
  const series page_tables(static_cast<double>(status_kib("VmPTE")));
  give(block);
  report("idle", "rss", "KiB", resident, 1, kind::memory);
  report("idle", "page_tables", "KiB", page_tables, 1, kind::memory);
}

// The survivors are scattered over all pages, so that the ratio cannot be 1: where pages hold five
// blocks, a quarter of them holds a survivor.
void idle_after_peak(const arguments& given) {
  never_counted("idle_after_peak");
  // Blocks taken and freed each tick: none, one, or what a server does for a few requests.
  const bool light = is(given[0], "light");
  const bool ticking = light || is(given[0], "ticking");
  if (!ticking) option(given[0], "quiet");
  std::array<void*, 500> at_work{};
  const std::size_t work = light ? at_work.size() : 1;
  constexpr std::size_t peak_bytes = std::size_t{512} << 20, survivor_each = 20;
  const size_table sizes(
      [random = random_source(131)]() mutable { return random.log_uniform(16, 4096); });
  std::size_t count = 0;
  for (std::size_t bytes = 0; bytes < peak_bytes; ++count) bytes += sizes[count];
  page_array<void*> blocks(count);
  page_array<bool> survives(count);
  random_source random(137);
  for (bool& each : survives) each = random.below(survivor_each) == 0;

  const resident_growth held;
  for (std::size_t i = 0; i < count; ++i) mark(blocks[i] = take(sizes[i]), sizes[i], i);
  std::size_t live_bytes = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (survives[i])
      live_bytes += sizes[i];
    else
      give(blocks[i]);
  }

  using std::chrono::milliseconds;
  constexpr auto tick = milliseconds(250);
  constexpr auto seconds = std::to_array<unsigned>({0, 1, 2, 5, 10});
  const std::size_t points = quick ? 2 : seconds.size();
  const auto start = clock::now();
  std::array<double, seconds.size()> ratios{};
  for (std::size_t i = 0; i < points; ++i) {
    const auto due = start + std::chrono::seconds(seconds[i]);
    while (clock::now() < due) {
      std::this_thread::sleep_until(ticking ? std::min<clock::time_point>(clock::now() + tick, due)
                                            : due);
      if (ticking) {
        for (std::size_t k = 0; k < work; ++k) {
          const std::size_t size_bytes = sizes[random.below(size_table::count)];
          mark(at_work[k] = take(size_bytes), size_bytes, k);
        }
        for (std::size_t k = 0; k < work; ++k) give(at_work[k]);
      }
    }
    ratios[i] = held.now_bytes() / static_cast<double>(live_bytes);
  }
  for (std::size_t i = 0; i < count; ++i) {
    if (!survives[i]) continue;
    check_mark(blocks[i], i);
    give(blocks[i]);
  }
  for (std::size_t i = 0; i < points; ++i)
    report("idle_after_peak", label("%s/%us", given[0], seconds[i]), "ratio", series(ratios[i]),
           count, kind::ratio, {"live_kib", static_cast<double>(live_bytes) / 1024});
}

}  // namespace bench
