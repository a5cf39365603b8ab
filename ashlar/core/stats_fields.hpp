// core/stats_fields.hpp: the fields of core/stats.h by name: told once, for every form that is written
// or read.
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
  const char* name;
  std::uint64_t Stats::* value;
  figure_kind kind;
};

inline constexpr stats_field<ashlar_class_stats> class_stats_fields[] = {
    {"block_size", &ashlar_class_stats::block_size, figure_kind::label},
    {"blocks_made", &ashlar_class_stats::blocks_made, figure_kind::gauge},
    {"blocks_in_use", &ashlar_class_stats::blocks_in_use, figure_kind::gauge},
    {"peak_in_use", &ashlar_class_stats::peak_in_use, figure_kind::gauge},
    {"peak_bytes", &ashlar_class_stats::peak_bytes, figure_kind::gauge},
    {"allocations", &ashlar_class_stats::allocations, figure_kind::counter},
    {"frees", &ashlar_class_stats::frees, figure_kind::counter},
    {"slack_bytes", &ashlar_class_stats::slack_bytes, figure_kind::gauge},
    {"slabs", &ashlar_class_stats::slabs, figure_kind::gauge},
    {"committed_bytes", &ashlar_class_stats::committed_bytes, figure_kind::gauge},
};

/// Without `accuracy`, which is no number outside of C.
inline constexpr stats_field<ashlar_total_stats> total_stats_fields[] = {
    {"bytes_in_use", &ashlar_total_stats::bytes_in_use, figure_kind::gauge},
    {"peak_bytes_in_use", &ashlar_total_stats::peak_bytes_in_use, figure_kind::gauge},
    {"allocations", &ashlar_total_stats::allocations, figure_kind::counter},
    {"frees", &ashlar_total_stats::frees, figure_kind::counter},
    {"slack_bytes", &ashlar_total_stats::slack_bytes, figure_kind::gauge},
    {"reserved_bytes", &ashlar_total_stats::reserved_bytes, figure_kind::gauge},
    {"committed_bytes", &ashlar_total_stats::committed_bytes, figure_kind::gauge},
    {"peak_committed_bytes", &ashlar_total_stats::peak_committed_bytes, figure_kind::gauge},
    {"resident_bytes", &ashlar_total_stats::resident_bytes, figure_kind::gauge},
    {"given_back_bytes", &ashlar_total_stats::given_back_bytes, figure_kind::counter},
    {"metadata_bytes", &ashlar_total_stats::metadata_bytes, figure_kind::gauge},
    {"threads", &ashlar_total_stats::threads, figure_kind::gauge},
    {"guards_refused", &ashlar_total_stats::guards_refused, figure_kind::counter},
};

/// Effects: adds each figure of `more` to that of `sum`. Labels stay.
template <class Stats, std::size_t N>
constexpr void add_figures(Stats& sum, const Stats& more,
                           const stats_field<Stats> (&fields)[N]) noexcept {
  for (const auto& f : fields)
    if (f.kind != figure_kind::label) sum.*f.value += more.*f.value;
}

}  // namespace ashlar
