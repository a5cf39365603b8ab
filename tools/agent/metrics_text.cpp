// tools/agent/metrics_text.cpp. Layer: agent.
//
// Both formats have a HELP and a TYPE line before the samples of a family. OpenMetrics names a
// counter's family without its _total, and ends with # EOF.
#include "tools/agent/metrics_text.hpp"

#include <charconv>
#include <iterator>

#include <fmt/format.h>

#include "tools/files/text.hpp"

namespace ashlar::agent {

std::string escaped_label(std::string_view value) {
  return files::escaped(value, {{'\\', "\\\\"}, {'"', "\\\""}, {'\n', "\\n"}});
}

namespace {

class metrics_writer {
 public:
  explicit metrics_writer(metrics_format format) : format_(format) {}

  void family(std::string_view name, figure_kind kind, std::string_view help) {
    const bool is_counter = kind == figure_kind::counter;
    sample_ = fmt::format("ashlar_{}{}", name, is_counter ? "_total" : "");
    const std::string shown = format_ == metrics_format::openmetrics && is_counter
                                  ? fmt::format("ashlar_{}", name)
                                  : sample_;
    text_ += fmt::format("# HELP {} {}\n# TYPE {} {}\n", shown, help, shown,
                         is_counter ? "counter" : "gauge");
  }
  template <class Value>
  void sample(const std::string& labels, Value value) {
    if (value == static_cast<Value>(not_told)) return;
    fmt::format_to(std::back_inserter(text_), "{}{} {}\n", sample_, labels, value);
  }
  std::string end() {
    if (format_ == metrics_format::openmetrics) text_ += "# EOF\n";
    return std::move(text_);
  }

 private:
  metrics_format format_;
  std::string sample_, text_;
};

std::string labels_of(const process_figures& p, std::string_view more = {}) {
  return fmt::format(R"({{pid="{}",comm="{}",service="{}",version="{}",cgroup="{}"{}}})",
                     p.socket.pid, escaped_label(p.facts.comm), escaped_label(p.facts.service),
                     escaped_label(p.facts.version), escaped_label(p.facts.cgroup), more);
}

// Returns: the quality that an Accept header gives to a type, 0 to 1; below 0: it does not name it.
double quality_of(std::string_view accept, std::string_view type) {
  const std::size_t at = accept.find(type);
  if (at == std::string_view::npos) return -1;
  const std::string_view part = accept.substr(at, accept.find(',', at) - at);
  const std::size_t q = part.find("q=");
  double quality = 1;
  if (q != std::string_view::npos)
    std::from_chars(part.data() + q + 2, part.data() + part.size(), quality);
  return quality;
}

}  // namespace

metrics_format preferred_format(std::string_view accept) {
  const double open = quality_of(accept, "application/openmetrics-text");
  return open > 0 && open >= quality_of(accept, "text/plain") ? metrics_format::openmetrics
                                                              : metrics_format::prometheus;
}

const char* content_type(metrics_format format) {
  return format == metrics_format::openmetrics
             ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
             : "text/plain; version=0.0.4; charset=utf-8";
}

std::string metrics_text(const fleet_look& of, metrics_format format, const push_counts* pushed) {
  metrics_writer to(format);
  std::vector<std::string> labels;
  labels.reserve(of.processes.size());
  for (const process_figures& p : of.processes) labels.push_back(labels_of(p));
  const auto each = [&](auto value) {
    for (std::size_t i = 0; i < labels.size(); ++i) to.sample(labels[i], value(of.processes[i]));
  };
  for (const auto& f : total_stats_fields) {
    to.family(f.metric, f.kind, f.help);
    each([&](const process_figures& p) { return p.total.*f.value; });
  }
  const auto each_named = [&](const char* label, const auto& fields, auto list) {
    for (const auto& f : fields) {
      to.family(f.metric, f.kind, f.help);
      for (const process_figures& p : of.processes)
        for (const auto& [name, stats] : p.*list)
          to.sample(labels_of(p, fmt::format(R"(,{}="{}")", label, escaped_label(name))),
                    stats.*f.value);
    }
  };
  each_named("tag", tag_stats_fields, &process_figures::tags);
  each_named("heap", named_heap_stats_fields, &process_figures::heaps);
  to.family("process_minor_faults", figure_kind::counter,
            "Pages that were not there, and came without a disk.");
  each([](const process_figures& p) { return p.facts.minor_faults; });
  to.family("process_major_faults", figure_kind::counter,
            "Pages that were not there, and came from a disk.");
  each([](const process_figures& p) { return p.facts.major_faults; });
  to.family("process_info", figure_kind::gauge,
            "Of ashlar in the process: its version, and how allocations are counted.");
  for (const process_figures& p : of.processes)
    to.sample(
        labels_of(p, fmt::format(R"(,library="{}",accuracy="{}")", escaped_label(p.library),
                                 p.total.accuracy == ASHLAR_ACCURACY_EXACT ? "exact" : "batch")),
        1);
  const auto own = [&](std::string_view name, std::string_view help, auto value,
                       figure_kind kind = figure_kind::gauge) {
    to.family(name, kind, help);
    to.sample("", value);
  };
  own("agent_processes", "Processes that answered.", of.processes.size());
  own("agent_silent_processes", "Processes that gave no answer in time.", of.silent);
  own("agent_wrong_answers", "Sockets at which something else than ashlar answered.", of.wrong);
  own("agent_left_out_sockets", "Sockets above the agent's bound, which were not asked.",
      of.left_out);
  own("agent_look_seconds", "How long it took to ask them all.", of.seconds);
  if (pushed != nullptr) {
    own("agent_pushed_profiles", "Profiles that arrived where --push says.", pushed->pushed,
        figure_kind::counter);
    own("agent_dropped_profiles", "Profiles that were refused, or for which there was no room.",
        pushed->dropped, figure_kind::counter);
    own("agent_waiting_bytes", "Bytes of profiles that wait to be pushed.", pushed->waiting_bytes);
    own("agent_push_fails", "Whether the last push failed, and profiles wait.",
        pushed->is_failing ? 1 : 0);
  }
  return to.end();
}

}  // namespace ashlar::agent
