// heap/figures.hpp: a heap's statistics, put together from what its parts have counted.
// Layer: heap.
//
//   a class   centrals: handed out, came back    caches: what they published, which nobody uses
//   large     page heap
//   total     all of these, and `held_bytes`
//
// Law: figures cost the hit path nothing. A cache publishes its counts when it misses, so a figure
// may be a few blocks old; no difference of two counts is ever below zero.
// Invariant: blocks in use == allocations - frees, for each class.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include <ashlar/core/size_class.hpp>
#include <ashlar/core/stats.h>
#include <ashlar/heap/central.hpp>
#include <ashlar/heap/exact_counting.hpp>
#include <ashlar/heap/thread_cache.hpp>
#include <ashlar/pages/page_heap.hpp>
#include <ashlar/pages/run.hpp>

namespace ashlar::detail {

/// Bytes that callers and caches hold. Thread-safe.
class held_bytes {
 public:
  void note(std::int64_t bytes) noexcept {
    const std::int64_t now = now_.fetch_add(bytes, std::memory_order_relaxed) + bytes;
    if (bytes <= 0) return;
    std::int64_t peak = peak_.load(std::memory_order_relaxed);
    while (now > peak && !peak_.compare_exchange_weak(peak, now, std::memory_order_relaxed)) {
    }
  }
  /// Effects: notes that a large block has `after` pages instead of `before`; 0: there is none.
  void note_large(std::size_t before, std::size_t after) noexcept {
    note((static_cast<std::int64_t>(after) - static_cast<std::int64_t>(before)) *
         static_cast<std::int64_t>(page_size));
  }
  /// Returns: the bytes; 0 where misuses that the process went on from made them fewer.
  [[nodiscard]] std::size_t now() const noexcept {
    const std::int64_t now = now_.load(std::memory_order_relaxed);
    return now < 0 ? 0 : static_cast<std::size_t>(now);
  }
  [[nodiscard]] std::uint64_t peak() const noexcept {
    return static_cast<std::uint64_t>(peak_.load(std::memory_order_relaxed));
  }

 private:
  std::atomic<std::int64_t> now_{0};
  std::atomic<std::int64_t> peak_{0};
};

/// Effects: `out` has no figures, but the block sizes.
template <class Classes>
void begin_figures(ashlar_stats& out) noexcept {
  out = {};
  out.class_count = static_cast<std::uint32_t>(Classes::count() - 1);
  for (std::size_t c = 1; c < Classes::count(); ++c)
    out.classes[c - 1].block_size = Classes::block_size(static_cast<class_index>(c));
}

/// Effects: `out` has the figures of every class, and their sums in its total.
template <class Classes, class Caches, class Centrals, class Counting>
void collect_classes(ashlar_stats& out, Caches& caches, Centrals& centrals,
                     const Counting& counting) noexcept {
  std::uint64_t cached[class_count] = {};
  out.total.threads = 0;
  caches.for_each([&](const thread_cache& cache) {
    ++out.total.threads;
    for (std::size_t c = 1; c < Classes::count(); ++c)
      cached[c] += cache.published[c].load(std::memory_order_relaxed);
  });
  for (std::size_t i = 1; i < Classes::count(); ++i) {
    const auto c = static_cast<class_index>(i);
    const class_counts n = centrals[c].counts();
    const std::uint64_t held = n.taken - n.given;
    // A cache may have changed since it was published: never let the difference wrap.
    const std::uint64_t in_caches = std::min(held, cached[c]);
    const std::uint64_t smallest_request =
        i == 1 ? 0 : Classes::block_size(static_cast<class_index>(i - 1)) + 1;
    ashlar_class_stats& s = out.classes[i - 1];
    s = {.block_size = Classes::block_size(c),
         .blocks_made = n.made_peak,
         .blocks_in_use = held - in_caches,
         .peak_in_use = n.held_peak,
         .peak_bytes = n.held_peak * Classes::block_size(c),
         .allocations = n.taken,
         .frees = n.given + in_caches,
         .slack_bytes = (held - in_caches) * (Classes::block_size(c) - smallest_request),
         .slabs = n.slabs,
         .committed_bytes = n.slabs * (std::uint64_t{Classes::shape(c).pages} << page_shift)};
    counting.overwrite(s, c);
    out.total.bytes_in_use += s.blocks_in_use * s.block_size;
    out.total.allocations += s.allocations;
    out.total.frees += s.frees;
    out.total.slack_bytes += s.slack_bytes;
    const std::uint64_t in_use = s.blocks_in_use * s.block_size;
    const std::uint64_t kept = (n.slabs - n.empty_slabs) * Classes::shape(c).bytes();
    out.total.pinned_bytes += kept - std::min(kept, in_use);
  }
}

/// Effects: `out` has the figures of large blocks and of pages, and a whole total but for the bytes
/// of the heap's own data. Requires: collect_classes was called.
template <class Counting>
void collect_pages(ashlar_stats& out, const page_heap_stats& p, const held_bytes& held,
                   const Counting& counting) noexcept {
  out.large = {.block_size = 0,
               .blocks_made = p.large_runs_peak,
               .blocks_in_use = p.large_runs,
               .peak_in_use = p.large_runs_peak,
               .peak_bytes = p.large_pages_peak << page_shift,
               .allocations = p.large_made,
               .frees = p.large_freed,
               .slack_bytes = p.large_runs * (page_size - 1),
               .slabs = p.large_runs,
               .committed_bytes = p.large_pages << page_shift};
  counting.overwrite(out.large, 0);
  ashlar_total_stats& t = out.total;
  t.bytes_in_use += out.large.committed_bytes;
  t.peak_bytes_in_use = std::max(t.bytes_in_use, held.peak());
  t.allocations += out.large.allocations;
  t.frees += out.large.frees;
  t.slack_bytes += out.large.slack_bytes;
  t.reserved_bytes = p.reserved_bytes;
  t.committed_bytes = p.committed_bytes;
  t.peak_committed_bytes = p.peak_committed_bytes;
  t.given_back_bytes = p.given_back_bytes;
  t.guards_refused = p.closes_refused;
  t.limit_bytes = p.limit_bytes;
}

}  // namespace ashlar::detail
