// tools/report/attachments.cpp. Layer: report.
#include "tools/report/attachments.hpp"

#include <algorithm>
#include <limits>
#include <span>
#include <tuple>
#include <utility>

#include <ashlar/core/bits.hpp>
#include <ashlar/core/config.hpp>
#include <ashlar/heap/class_table.hpp>

#include "tools/files/json.hpp"
#include "tools/trace/serving_class.hpp"

namespace ashlar::report {

using ashlar::detail::class_table;
using ashlar::detail::standard_classes;

class_set class_set::process_heap() {
  class_set set;
  set.name_ = "process heap";
  set.is_process_heap_ = true;
  for (std::size_t c = 1; c < class_count; ++c)
    set.classes_.push_back(
        {standard_classes.block_size(static_cast<class_index>(c)), block_granule, 0});
  return set;
}

class_set::class_set(std::string name, std::vector<block_class> classes)
    : name_(std::move(name)), classes_(std::move(classes)) {
  std::ranges::sort(classes_, [](const block_class& a, const block_class& b) {
    return std::tie(a.block_size, a.alignment) < std::tie(b.block_size, b.alignment);
  });
}

class_set::place class_set::of_process_heap(std::uint64_t size, std::uint64_t alignment) const {
  if (class_table::serves(size, alignment)) {
    const class_index c = standard_classes.of_aligned_size(size, alignment);
    if (c != 0) return {c - std::size_t{1}, standard_classes.block_size(c)};
  }
  // A damaged trace may say anything; no such block ever lived.
  std::size_t pages = 0;
  if (!align_up_checked(std::max<std::uint64_t>(size, 1), std::size_t{1} << heap_page_shift, pages))
    pages = std::numeric_limits<std::size_t>::max();
  return {classes_.size(), pages};
}

class_set::place class_set::of_chosen(std::uint64_t size, std::uint64_t alignment) const {
  const std::size_t index =
      trace::serving_class(std::span<const block_class>(classes_), size, alignment);
  if (index == classes_.size()) {
    // Such a request still goes to the process heap.
    static const class_set others = process_heap();
    return {index, others.of_process_heap(size, alignment).block_size};
  }
  return {index, classes_[index].block_size};
}

namespace {

using files::count_at;
using nlohmann::json;

// Runs `read` on the parsed text; whatever it misses there is told with the file and the command that writes such files.
template <class Read>
auto read_document(const std::string& text, const std::string& file, const std::string& command,
                   Read read) {
  try {
    return read(json::parse(text));
  } catch (const json::exception& fault) {
    throw attachment_error("'" + file + "' is not what `" + command +
                           "` writes: " + files::reason_of(fault));
  } catch (const std::invalid_argument& fault) {
    throw attachment_error("'" + file + "' is not what `" + command + "` writes: " + fault.what());
  }
}

void require(bool condition, const char* otherwise) {
  if (!condition) throw std::invalid_argument(otherwise);
}

json spread(const json& from) {
  return {{"median", from.at("median").get<double>()},
          {"min", from.at("min").get<double>()},
          {"max", from.at("max").get<double>()}};
}

}  // namespace

chosen_pools read_pools(const std::string& text, const std::string& file) {
  return read_document(text, file, "ashlar tune", [&](const json& from) {
    require(count_at(from, "certificate") == 2,
            "its version is not 2, the only one that this version of ashlar knows");
    std::vector<block_class> classes;
    for (const json& each : from.at("classes")) {
      classes.push_back(
          {count_at(each, "block_size"), count_at(each, "alignment"), count_at(each, "capacity")});
      require(classes.back().block_size > 0, "a class has blocks of 0 bytes");
    }
    require(!classes.empty(), "it has no classes");
    json about{{"file", file},
               {"total_bytes", count_at(from, "total_bytes")},
               {"margin_percent", count_at(from, "margin_percent")},
               {"inputs", json::array()}};
    for (const json& each : from.at("inputs"))
      about["inputs"].push_back(each.at("file").get<std::string>());
    return chosen_pools{class_set("chosen classes", std::move(classes)), std::move(about)};
  });
}

json read_replay(const std::string& text, const std::string& file) {
  return read_document(text, file, "ashlar replay --json", [&](const json& from) {
    require(from.at("report").get<std::string>() == "replay", "it is another report");
    require(count_at(from, "schema") == 1,
            "its schema is not 1, the only one that this version of ashlar knows");
    json outcomes = json::array();
    for (const json& each : from.at("outcomes")) {
      json one{{"name", each.at("on").get<std::string>()},
               {"runs", count_at(each, "runs")},
               {"failed_requests", count_at(each, "failures")},
               {"latencies", json::object()}};
      if (each.contains("wall_seconds")) {  // not where the first run failed
        one["wall_seconds"] = spread(each.at("wall_seconds"));
        one["cpu_seconds"] = spread(each.at("processor_seconds"));
        one["peak_rss_bytes"] = spread(each.at("peak_rss_bytes"));
        for (const auto& [call, times] : each.at("latencies").items()) {
          json& of = one["latencies"][call];
          for (const char* figure :
               {"calls", "p50_ns", "p90_ns", "p99_ns", "p99.9_ns", "p99.99_ns", "longest_ns"})
            of[figure] = count_at(times, figure);
        }
      }
      outcomes.push_back(std::move(one));
    }
    require(!outcomes.empty(), "it has no outcomes");
    return json{{"file", file},
                {"trace", from.at("trace").get<std::string>()},
                {"outcomes", std::move(outcomes)}};
  });
}

}  // namespace ashlar::report
