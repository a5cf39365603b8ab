// core/stats_fields.hpp: the fields of core/stats.h by name: told once, for every form that is
// written or read.
// Layer: core.
#pragma once

#include <cstddef>
#include <cstdint>

#include <ashlar/core/stats.h>

namespace ashlar {

/// How a figure behaves over time (the words are Prometheus's).
enum class figure_kind : std::uint8_t { label, gauge, counter };

template <class Stats>
struct stats_field {
  // No pointers: the loader would write to a page of every process for them.
  char name[24];
  std::uint64_t Stats::* value;
  figure_kind kind;
  char metric[28];  ///< Prometheus's name of it, without the prefix and the end _total
  char help[92];
};

inline constexpr stats_field<ashlar_class_stats> class_stats_fields[] = {
    {"block_size", &ashlar_class_stats::block_size, figure_kind::label, "block_size",
     "Bytes of a block of the class."},
    {"blocks_made", &ashlar_class_stats::blocks_made, figure_kind::gauge, "class_peak_blocks_made",
     "Most blocks that existed at once, free ones included."},
    {"blocks_in_use", &ashlar_class_stats::blocks_in_use, figure_kind::gauge, "class_blocks_in_use",
     "Blocks in use now."},
    {"peak_in_use", &ashlar_class_stats::peak_in_use, figure_kind::gauge,
     "class_peak_blocks_in_use", "Most blocks that were in use at once."},
    {"peak_bytes", &ashlar_class_stats::peak_bytes, figure_kind::gauge, "class_peak_bytes",
     "Most bytes that blocks in use had at once."},
    {"allocations", &ashlar_class_stats::allocations, figure_kind::counter, "class_allocations",
     "Blocks that left the heap for a thread's cache or a caller."},
    {"frees", &ashlar_class_stats::frees, figure_kind::counter, "class_frees",
     "Blocks that came back."},
    {"slack_bytes", &ashlar_class_stats::slack_bytes, figure_kind::gauge, "class_slack_bytes",
     "Bytes of blocks in use beyond what was asked for."},
    {"slabs", &ashlar_class_stats::slabs, figure_kind::gauge, "class_slabs",
     "Slabs, or runs of large blocks, that exist now."},
    {"committed_bytes", &ashlar_class_stats::committed_bytes, figure_kind::gauge,
     "class_committed_bytes", "Bytes of these slabs."},
};

/// Without `accuracy`, which is no number outside of C.
inline constexpr stats_field<ashlar_total_stats> total_stats_fields[] = {
    {"bytes_in_use", &ashlar_total_stats::bytes_in_use, figure_kind::gauge, "heap_used_bytes",
     "Bytes of all blocks in use."},
    {"peak_bytes_in_use", &ashlar_total_stats::peak_bytes_in_use, figure_kind::gauge,
     "heap_peak_used_bytes", "Most bytes that blocks in use had at once."},
    {"allocations", &ashlar_total_stats::allocations, figure_kind::counter, "heap_allocations",
     "Blocks that left the heap for a thread's cache or a caller."},
    {"frees", &ashlar_total_stats::frees, figure_kind::counter, "heap_frees",
     "Blocks that came back."},
    {"slack_bytes", &ashlar_total_stats::slack_bytes, figure_kind::gauge, "heap_slack_bytes",
     "Bytes of blocks in use beyond what was asked for."},
    {"reserved_bytes", &ashlar_total_stats::reserved_bytes, figure_kind::gauge,
     "heap_reserved_bytes", "Bytes of address space."},
    {"committed_bytes", &ashlar_total_stats::committed_bytes, figure_kind::gauge,
     "heap_committed_bytes", "Bytes that are backed by memory, or ready to be."},
    {"peak_committed_bytes", &ashlar_total_stats::peak_committed_bytes, figure_kind::gauge,
     "heap_peak_committed_bytes", "Most bytes that were so at once."},
    {"resident_bytes", &ashlar_total_stats::resident_bytes, figure_kind::gauge,
     "process_resident_bytes", "Bytes of the whole process that are in memory."},
    {"given_back_bytes", &ashlar_total_stats::given_back_bytes, figure_kind::counter,
     "heap_given_back_bytes", "Bytes that were returned to the system."},
    {"metadata_bytes", &ashlar_total_stats::metadata_bytes, figure_kind::gauge,
     "heap_metadata_bytes", "Bytes of the heap's own tables and caches."},
    {"threads", &ashlar_total_stats::threads, figure_kind::gauge, "heap_threads",
     "Threads that have a cache."},
    {"guards_refused", &ashlar_total_stats::guards_refused, figure_kind::counter,
     "heap_guards_refused", "Guarded blocks and closed pages that were refused."},
    {"limit_bytes", &ashlar_total_stats::limit_bytes, figure_kind::gauge, "heap_limit_bytes",
     "Most bytes that may be backed by memory; 0: no limit."},
    {"limit_refusals", &ashlar_total_stats::limit_refusals, figure_kind::counter,
     "heap_limit_refusals", "Requests that found no room within the limit."},
    {"pinned_bytes", &ashlar_total_stats::pinned_bytes, figure_kind::gauge, "heap_pinned_bytes",
     "Bytes of slabs beside their blocks in use, which keep them from going back."},
};

/// Estimates of what lives under a tag (adapt/tags.h), in the drop-in library's texts alone.
struct tag_stats {
  std::uint64_t live_bytes = 0;
  std::uint64_t live_error_bytes = 0;  ///< its standard error
  std::uint64_t limit_bytes = 0;       ///< 0: none
};
inline constexpr stats_field<tag_stats> tag_stats_fields[] = {
    {"live_bytes", &tag_stats::live_bytes, figure_kind::gauge, "tag_live_bytes",
     "Bytes of live blocks that were allocated under the tag, estimated from samples."},
    {"live_error_bytes", &tag_stats::live_error_bytes, figure_kind::gauge, "tag_live_error_bytes",
     "The standard error of that estimate."},
    {"limit_bytes", &tag_stats::limit_bytes, figure_kind::gauge, "tag_limit_bytes",
     "What may live under the tag until a line says so; 0: there is no limit."},
};

/// Of the living heaps of a program's own that have one name, in libashlar's texts alone.
struct named_heap_stats {
  std::uint64_t heaps = 0;
  std::uint64_t bytes_in_use = 0;
  std::uint64_t committed_bytes = 0;
  std::uint64_t budget_bytes = 0;  ///< of those that have one
};
inline constexpr stats_field<named_heap_stats> named_heap_stats_fields[] = {
    {"heaps", &named_heap_stats::heaps, figure_kind::gauge, "named_heaps",
     "Heaps of the program's own that have the name."},
    {"bytes_in_use", &named_heap_stats::bytes_in_use, figure_kind::gauge, "named_heap_used_bytes",
     "Bytes of their blocks in use."},
    {"committed_bytes", &named_heap_stats::committed_bytes, figure_kind::gauge,
     "named_heap_committed_bytes", "Bytes that they hold."},
    {"budget_bytes", &named_heap_stats::budget_bytes, figure_kind::gauge, "named_heap_budget_bytes",
     "Sum of their budgets; 0: none has one."},
};

/// Effects: adds each figure of `more` to that of `sum`. Labels stay.
template <class Stats, std::size_t N>
constexpr void add_figures(Stats& sum, const Stats& more,
                           const stats_field<Stats> (&fields)[N]) noexcept {
  for (const auto& f : fields)
    if (f.kind != figure_kind::label) sum.*f.value += more.*f.value;
}

}  // namespace ashlar
