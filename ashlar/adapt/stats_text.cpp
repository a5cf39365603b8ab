// adapt/stats_text.cpp: the statistics as text, JSON and Prometheus exposition.
// Layer: adapt. Each form walks the same table of fields, so a field is named once.
#include <cinttypes>
#include <cstdio>
#include <cstring>

#include <ashlar/adapt/c_api.h>
#include <ashlar/adapt/json_text.hpp>
#include <ashlar/check/sample_gap.hpp>
#include <ashlar/core/config.hpp>
#include <ashlar/core/stats_fields.hpp>
#include <ashlar/os/process.hpp>
#include <ashlar/os/small_file.hpp>
#include <ashlar/runtime/control.hpp>
#include <ashlar/runtime/sampling.hpp>

namespace {

using ashlar::class_stats_fields;
using ashlar::figure_kind;
using ashlar::named_heap_stats;
using ashlar::named_heap_stats_fields;
using ashlar::stats_field;
using ashlar::tag_stats;
using ashlar::tag_stats_fields;
using ashlar::total_stats_fields;

const char* accuracy_name(const ashlar_stats& stats) noexcept {
  return stats.total.accuracy == ASHLAR_ACCURACY_EXACT ? "exact" : "batch";
}

/// Effects: calls visit(class) for each class that was ever used, and for large blocks likewise.
template <class Visitor>
void for_each_used(const ashlar_stats& stats, Visitor visit) {
  for (std::uint32_t i = 0; i < stats.class_count; ++i)
    if (stats.classes[i].allocations != 0) visit(stats.classes[i]);
  if (stats.large.allocations != 0) visit(stats.large);
}

/// The tags under which a block was ever sampled.
struct tag_rows {
  /// Effects: calls visit(name, figures) for each, without the lock of the samples: writing
  /// allocates.
  template <class Visitor>
  void for_each([[maybe_unused]] Visitor visit) const {
    if constexpr (ashlar::is_drop_in) {
      ashlar::detail::sampled_tag tag;
      // None is negative, and lround is of a library that the drop-in does not link.
      // NOLINTNEXTLINE(bugprone-incorrect-roundings)
      const auto whole = [](double x) { return static_cast<std::uint64_t>(x + 0.5); };
      for (unsigned n = 1; ashlar::runtime::samples.read_tag(n, tag); ++n)
        visit(tag.name,
              tag_stats{whole(tag.live_bytes),
                        whole(ashlar::detail::square_root(tag.live_variance)), tag.limit_bytes});
    }
  }
};

/// The newest heaps of the program's own that have a name. Those of one name are one row.
class named_heap_rows {
 public:
  /// Effects: takes their figures, each heap's at one moment. `room`: for those of one heap.
  void take(ashlar_stats& room) noexcept {
    const auto ask = ashlar::runtime::ask_named_heap.load();
    ashlar::runtime::named_heap which;
    for (unsigned n = 0; n < heaps_max && ask != nullptr && ask(which, nullptr, room); ++n) {
      unsigned at = 0;
      while (at < count_ && std::strcmp(rows_[at].name, which.name) != 0) ++at;
      if (at == count_) std::memcpy(rows_[count_++].name, which.name, sizeof which.name);
      const ashlar_total_stats& now = room.total;
      ashlar::add_figures(rows_[at].figures,
                          {1, now.bytes_in_use, now.committed_bytes, now.limit_bytes},
                          named_heap_stats_fields);
    }
  }
  /// Effects: calls visit(name, figures) for each.
  template <class Visitor>
  void for_each(Visitor visit) const {
    for (unsigned i = 0; i < count_; ++i) visit(rows_[i].name, rows_[i].figures);
  }

 private:
  struct row {
    char name[sizeof ashlar::runtime::named_heap::name];
    named_heap_stats figures;
  };
  /// They are on the caller's stack. The drop-in library has none.
  static constexpr unsigned heaps_max = ashlar::is_drop_in ? 1 : 64;

  unsigned count_ = 0;
  row rows_[heaps_max] = {};
};

// ---- text ---------------------------------------------------------------------------------------

void write_text(std::FILE* out, const ashlar_stats& stats) {
  for_each_used(stats, [out](const ashlar_class_stats& c) {
    // The first three columns are the classic report's, word for word, for scripts that read it.
    std::fprintf(out, "xallocator Block Size: ");
    if (c.block_size != 0)
      std::fprintf(out, "%" PRIu64, c.block_size);
    else
      std::fprintf(out, "large");
    std::fprintf(out,
                 " Block Count: %" PRIu64 " Blocks In Use: %" PRIu64 " Peak: %" PRIu64
                 " Allocations: %" PRIu64 " Frees: %" PRIu64 " Slack: %" PRIu64 " Slabs: %" PRIu64
                 " Committed: %" PRIu64 "\n",
                 c.blocks_made, c.blocks_in_use, c.peak_in_use, c.allocations, c.frees,
                 c.slack_bytes, c.slabs, c.committed_bytes);
  });
  std::fprintf(out, "xallocator Total (%s accuracy)", accuracy_name(stats));
  for (const auto& f : total_stats_fields)
    std::fprintf(out, " %s: %" PRIu64, f.name, stats.total.*f.value);
  std::fprintf(out, "\n");
}

// ---- JSON ---------------------------------------------------------------------------------------

template <class Stats, std::size_t N>
void write_object(std::FILE* out, const Stats& stats, const stats_field<Stats> (&fields)[N],
                  const char* separator = "{") {
  for (const auto& f : fields) {
    std::fprintf(out, "%s\"%s\": %" PRIu64, separator, f.name, stats.*f.value);
    separator = ", ";
  }
  std::fprintf(out, "}");
}

/// Effects: stores the process's short name; "unknown" where the system does not tell.
void read_command(char (&name)[64]) {
  std::snprintf(name, sizeof name, "unknown");
  char text[sizeof name];
  const ashlar::os::file_text got =
      ashlar::os::read_small_file("/proc/self/comm", text, sizeof text - 1);
  if (got.size == 0) return;
  text[got.size] = '\0';
  text[std::strcspn(text, "\n")] = '\0';
  std::strcpy(name, text);
}

/// Effects: ends the list before, and begins one of `rows` with a name; nothing if there are none.
template <class Stats, std::size_t N, class Rows>
void write_named_list(std::FILE* out, const char* label, const stats_field<Stats> (&fields)[N],
                      const Rows& rows) {
  bool is_begun = false;
  rows.for_each([&](const char* name, const Stats& figures) {
    if (!is_begun) std::fprintf(out, "],\n \"%ss\": [", label);
    std::fprintf(out, "%s\n  {\"%s\": \"", is_begun ? "," : "", label);
    is_begun = true;
    ashlar::detail::write_escaped(out, name);
    write_object(out, figures, fields, "\", ");
  });
}

void write_json(std::FILE* out, const ashlar_stats& stats, const named_heap_rows& heaps) {
  char command[64];
  read_command(command);
  std::fprintf(out, "{\"ashlar\": \"%d.%d.%d\", \"schema\": 1, \"accuracy\": \"%s\", \"pid\": %ld,",
               ASHLAR_VERSION_MAJOR, ASHLAR_VERSION_MINOR, ASHLAR_VERSION_PATCH,
               accuracy_name(stats), static_cast<long>(ashlar::os::process_number()));
  std::fprintf(out, " \"command\": \"");
  ashlar::detail::write_escaped(out, command);
  std::fprintf(out, "\",\n \"total\": ");
  write_object(out, stats.total, total_stats_fields);
  std::fprintf(out, ",\n \"large\": ");
  write_object(out, stats.large, class_stats_fields);
  std::fprintf(out, ",\n \"classes\": [");
  const char* separator = "\n  ";
  for (std::uint32_t i = 0; i < stats.class_count; ++i) {
    if (stats.classes[i].allocations == 0) continue;
    std::fprintf(out, "%s", separator);
    write_object(out, stats.classes[i], class_stats_fields);
    separator = ",\n  ";
  }
  write_named_list(out, "tag", tag_stats_fields, tag_rows());
  write_named_list(out, "heap", named_heap_stats_fields, heaps);
  std::fprintf(out, "]}\n");
}

// ---- Prometheus ---------------------------------------------------------------------------------

/// Effects: writes the two lines that describe a metric. Returns: the end of its name.
template <class Stats>
const char* describe_metric(std::FILE* out, const stats_field<Stats>& f) {
  const bool is_counter = f.kind == figure_kind::counter;
  const char* const end = is_counter ? "_total" : "";
  std::fprintf(out, "# HELP ashlar_%s%s %s\n# TYPE ashlar_%s%s %s\n", f.metric, end, f.help,
               f.metric, end, is_counter ? "counter" : "gauge");
  return end;
}

/// Effects: writes each field of `rows` with a name; nothing if there are none.
template <class Stats, std::size_t N, class Rows>
void write_named_metrics(std::FILE* out, const char* label, const stats_field<Stats> (&fields)[N],
                         const Rows& rows) {
  for (const auto& f : fields) {
    bool is_described = false;
    rows.for_each([&](const char* name, const Stats& figures) {
      if (!is_described) describe_metric(out, f);
      is_described = true;
      std::fprintf(out, "ashlar_%s{%s=\"", f.metric, label);
      ashlar::detail::write_escaped(out, name, R"(\\)");
      std::fprintf(out, "\"} %" PRIu64 "\n", figures.*f.value);
    });
  }
}

void write_prometheus(std::FILE* out, const ashlar_stats& stats, const named_heap_rows& heaps) {
  for (const auto& f : total_stats_fields) {
    const char* const end = describe_metric(out, f);
    std::fprintf(out, "ashlar_%s%s %" PRIu64 "\n", f.metric, end, stats.total.*f.value);
  }
  for (const auto& f : class_stats_fields) {
    if (f.kind == figure_kind::label) continue;
    const char* const end = describe_metric(out, f);
    for_each_used(stats, [&](const ashlar_class_stats& c) {
      std::fprintf(out, "ashlar_%s%s{block_size=\"", f.metric, end);
      if (c.block_size != 0)
        std::fprintf(out, "%" PRIu64, c.block_size);
      else
        std::fprintf(out, "large");
      std::fprintf(out, "\"} %" PRIu64 "\n", c.*f.value);
    });
  }
  write_named_metrics(out, "tag", tag_stats_fields, tag_rows());
  write_named_metrics(out, "heap", named_heap_stats_fields, heaps);
}

}  // namespace

extern "C" int ashlar_stats_write(std::FILE* stream, ashlar_stats_format format) noexcept {
  // Taken first, at one moment: writing allocates a buffer for the stream.
  ashlar_stats stats;
  named_heap_rows heaps;
  if (format != ASHLAR_STATS_TEXT) heaps.take(stats);
  ashlar_stats_get(&stats);
  switch (format) {
    case ASHLAR_STATS_JSON:
      write_json(stream, stats, heaps);
      break;
    case ASHLAR_STATS_PROMETHEUS:
      write_prometheus(stream, stats, heaps);
      break;
    case ASHLAR_STATS_TEXT:
      write_text(stream, stats);
      break;
  }
  return std::fflush(stream) == 0 && std::ferror(stream) == 0 ? 0 : -1;
}
