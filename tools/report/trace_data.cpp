// tools/report/trace_data.cpp. Layer: report.
#include "tools/report/trace_data.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <initializer_list>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "tools/files/text.hpp"
#include "tools/report/bins.hpp"
#include "tools/report/memory_rows.hpp"
#include "tools/report/timeline.hpp"
#include "tools/trace/resident_memory.hpp"
#include "tools/trace/step_counts.hpp"
#include "tools/trace/summary.hpp"

namespace ashlar::report {
namespace {

using nlohmann::json;

// A chart with more layers than that cannot be read; the classes that are left out are one layer.
constexpr std::size_t most_layers = 9;
// So many call sites have their bytes in each point; of the others there is the sum.
constexpr std::size_t most_site_courses = 24;

// Returns: an object with an empty list of each of these names.
json lists(std::initializer_list<const char*> names) {
  json all;
  for (const char* const name : names) all[name] = json::array();
  return all;
}

// What a set of classes would have done with the trace's blocks. The last entry is of what no class takes.
class set_account {
 public:
  explicit set_account(class_set set)
      : set_(std::move(set)),
        blocks_(set_.size() + 1),
        bytes_(set_.size() + 1),
        block_bytes_(set_.size() + 1),
        births_(set_.size() + 1),
        peak_blocks_(set_.size() + 1) {}

  [[nodiscard]] const class_set& set() const { return set_; }
  [[nodiscard]] std::size_t entries() const { return set_.size() + 1; }
  [[nodiscard]] std::uint64_t slack() const { return slack_; }
  [[nodiscard]] std::string name(std::size_t entry) const {
    return entry == set_.size() ? "no class" : std::to_string(set_[entry].block_size) + " B";
  }

  // Returns: the entry that took it.
  std::size_t birth(std::uint64_t size, std::uint64_t alignment) {
    const class_set::place place = change(size, alignment, 1);
    ++births_[place.index];
    peak_blocks_[place.index] = std::max(peak_blocks_[place.index], blocks_.now(place.index));
    slack_ += place.block_size - size;
    return place.index;
  }
  std::size_t death(std::uint64_t size, std::uint64_t alignment) {
    const class_set::place place = change(size, alignment, -1);
    slack_ -= place.block_size - size;
    return place.index;
  }
  void time_passes(double seconds) { slack_seconds_ += static_cast<double>(slack_) * seconds; }
  void mark() {
    blocks_.mark();
    bytes_.mark();
    block_bytes_.mark();
    slack_at_peak_ = slack_;
  }

  [[nodiscard]] json figures(double seconds) const {
    json classes = json::array();
    for (std::size_t i = 0; i < entries(); ++i) {
      if (births_[i] == 0 && (i == set_.size() || set_[i].capacity == 0)) continue;
      json each{{"name", name(i)},
                {"births", births_[i]},
                {"peak_blocks", peak_blocks_[i]},
                {"blocks_at_peak", blocks_.at_mark(i)},
                {"bytes_at_peak", bytes_.at_mark(i)},
                {"slack_at_peak", block_bytes_.at_mark(i) - bytes_.at_mark(i)}};
      if (i < set_.size()) {
        each["block_size"] = set_[i].block_size;
        if (set_[i].capacity != 0) each["capacity"] = set_[i].capacity;
      }
      classes.push_back(std::move(each));
    }
    return {{"name", set_.name()},
            {"classes", std::move(classes)},
            {"slack_at_peak", slack_at_peak_},
            {"slack_mean", seconds > 0 ? slack_seconds_ / seconds : 0.0}};
  }

 private:
  class_set::place change(std::uint64_t size, std::uint64_t alignment, std::int64_t sign) {
    const class_set::place place = set_.of(size, alignment);
    blocks_.add(place.index, sign);
    bytes_.add(place.index, sign * static_cast<std::int64_t>(size));
    block_bytes_.add(place.index, sign * static_cast<std::int64_t>(place.block_size));
    return place;
  }

  class_set set_;
  trace::marked_counts blocks_;
  trace::marked_counts bytes_;        // asked for
  trace::marked_counts block_bytes_;  // of the blocks that hold them
  std::vector<std::uint64_t> births_;
  std::vector<std::int64_t> peak_blocks_;
  std::uint64_t slack_ = 0, slack_at_peak_ = 0;
  double slack_seconds_ = 0;
};

class trace_account {
 public:
  trace_account(trace::trace_reader& reader, const trace_request& request)
      : reader_(reader),
        request_(request),
        programs_(reader.header()),
        seconds_per_tick_(1.0 / static_cast<double>(reader.ticks_per_second())),
        resident_(reader),
        heap_(class_set::process_heap()),
        over_time_(reader.times().second - reader.times().first),
        size_births_(size_bins::count),
        size_blocks_(size_bins::count),
        size_bytes_(size_bins::count) {
    if (request.chosen) chosen_.emplace(*request.chosen);
    for (std::size_t i = 0; i < shown().entries(); ++i) over_time_.add_layer();
  }

  void read() {
    trace::lifetimes life(reader_);
    trace::step s;
    while (life.next(s)) {
      pass_time(s.time);
      if (request_.also) request_.also(s);
      programs_.count(s);
      resident_.count(s);
      calls_.count(s);
      const bool is_peak = counts_.count(s);
      if (s.happened == trace::step::what::birth) birth(s);
      if (s.happened == trace::step::what::death) death(s);
      if (is_peak) mark_peak();
    }
    over_time_.close();
    memory_ = resident_.finish();
    missing_deaths_ = life.missing_deaths();
    unknown_deaths_ = life.unknown_deaths();
  }

  [[nodiscard]] json data() const {
    json all{{"trace", about()},        {"peak", peak()},
             {"memory", memory()},      {"timeline", time_figures()},
             {"sizes", size_figures()}, {"lifetimes", lifetime_figures()}};
    all["class_sets"] = json::array({heap_.figures(seconds())});
    if (chosen_) all["class_sets"].push_back(chosen_->figures(seconds()));
    put_call_figures(all);
    return all;
  }

 private:
  [[nodiscard]] double seconds() const { return static_cast<double>(now_) * seconds_per_tick_; }
  [[nodiscard]] const set_account& shown() const { return chosen_ ? *chosen_ : heap_; }

  void pass_time(std::uint64_t ticks) {
    if (!begin_) begin_ = ticks;
    const std::uint64_t time = ticks - std::min(ticks, *begin_);
    if (time <= now_) return;
    const double passed = static_cast<double>(time - now_) * seconds_per_tick_;
    byte_seconds_ += static_cast<double>(counts_.live_bytes) * passed;
    heap_.time_passes(passed);
    if (chosen_) chosen_->time_passes(passed);
    now_ = time;
    over_time_.go_to(time);
  }

  void birth(const trace::step& s) {
    const std::size_t bin = size_bins::of(s.size);
    ++size_births_[bin];
    change_size(bin, s.size, 1);
    std::size_t layer = heap_.birth(s.size, s.alignment);
    if (chosen_) layer = chosen_->birth(s.size, s.alignment);
    changed(layer, s.stack, static_cast<std::int64_t>(s.size));
  }

  void death(const trace::step& s) {
    change_size(size_bins::of(s.size), s.size, -1);
    // Threads' clocks may differ by a little.
    const std::size_t bin =
        static_cast<std::size_t>(std::bit_width(s.time - std::min(s.time, s.born_at)));
    ++lifetime_blocks_[bin];
    lifetime_bytes_[bin] += s.size;
    std::size_t layer = heap_.death(s.size, s.alignment);
    if (chosen_) layer = chosen_->death(s.size, s.alignment);
    changed(layer, s.stack, -static_cast<std::int64_t>(s.size));
  }

  // More bytes live than ever before.
  void mark_peak() {
    peak_time_ = now_;
    blocks_at_peak_ = counts_.live_blocks;
    size_blocks_.mark();
    size_bytes_.mark();
    calls_.mark();
    heap_.mark();
    if (chosen_) chosen_->mark();
  }

  void change_size(std::size_t bin, std::uint64_t size, std::int64_t sign) {
    size_blocks_.add(bin, sign);
    size_bytes_.add(bin, sign * static_cast<std::int64_t>(size));
  }

  void changed(std::size_t class_layer, std::uint32_t stack, std::int64_t bytes) {
    over_time_.add(class_layer, bytes);
    over_time_.add(layer_of_stack(stack), bytes);
    over_time_.reach(
        {counts_.live_bytes, counts_.live_blocks, {heap_.slack(), chosen_ ? chosen_->slack() : 0}});
  }
  // The layers of stacks are behind those of classes.
  std::size_t layer_of_stack(std::uint32_t stack) {
    if (stack >= stack_layers_.size()) stack_layers_.resize(stack + 1, no_layer);
    std::size_t& layer = stack_layers_[stack];
    if (layer == no_layer) layer = over_time_.add_layer();
    return layer;
  }

  [[nodiscard]] const trace::trace_header& of_peak() const {
    return programs_.at(memory_.resident != 0 ? memory_.time : peak_time_ + begin_.value_or(0));
  }

  [[nodiscard]] json about() const {
    return {{"file", request_.file},
            {"warning", reader_.warning()},
            {"program", std::string(of_peak().get(trace::header_name::program))},
            {"arguments", files::parts_of(of_peak().get(trace::header_name::arguments), '\0')},
            {"pid", of_peak().number(trace::header_name::pid, 0)},
            {"started", of_peak().number(trace::header_name::started, 0)},
            {"seconds", seconds()},
            {"events", reader_.events()},
            {"births", counts_.births},
            {"birth_bytes", counts_.birth_bytes},
            {"deaths", counts_.deaths},
            {"deaths_in_another_thread", counts_.cross_thread_deaths},
            {"unknown_deaths", unknown_deaths_},
            {"missing_deaths", missing_deaths_},
            {"lost_events", counts_.lost},
            {"refused_requests", counts_.refused},
            {"threads", counts_.threads},
            {"live_bytes_at_end", counts_.live_bytes},
            {"live_blocks_at_end", counts_.live_blocks},
            {"live_bytes_mean", seconds() > 0 ? byte_seconds_ / seconds() : 0.0}};
  }

  [[nodiscard]] json peak() const {
    return {{"seconds", static_cast<double>(peak_time_) * seconds_per_tick_},
            {"live_bytes", counts_.peak_bytes},
            {"live_blocks", blocks_at_peak_},
            {"most_blocks", counts_.peak_blocks}};
  }

  // With it, the course of what was in memory, as far as it was seen.
  [[nodiscard]] json memory() const {
    trace::resident_memory named = memory_;
    name_parts(named, reader_.stacks(), [&](const trace::stack_definition& stack) {
      return place_of(request_.site_of(request_.names_of(stack)));
    });
    const std::uint64_t first = begin_.value_or(0);
    const auto time = static_cast<double>(named.time - std::min(named.time, first));
    json all = memory_json(named, memory_rows_of(named, of_peak()), time * seconds_per_tick_);
    if (!all.is_null())
      all["over_time"] = resident_over_time(reader_.looks(), first, seconds_per_tick_);
    return all;
  }

  [[nodiscard]] static std::int64_t highest(const std::vector<std::int64_t>& course) {
    return course.empty() ? 0 : *std::ranges::max_element(course);
  }

  // The entries that get a layer of their own: those with the most bytes in any point, by size.
  [[nodiscard]] std::vector<std::size_t> layered_entries() const {
    std::vector<std::pair<std::int64_t, std::size_t>> by_most;
    for (std::size_t i = 0; i < shown().entries(); ++i)
      if (const std::int64_t most = highest(over_time_.course(i)); most > 0)
        by_most.emplace_back(-most, i);
    std::ranges::sort(by_most);
    // One more would be the only one that is left out.
    if (by_most.size() > most_layers + 1) by_most.resize(most_layers);
    std::vector<std::size_t> entries;
    entries.reserve(by_most.size());
    for (const auto& [most, entry] : by_most) entries.push_back(entry);
    std::ranges::sort(entries);
    return entries;
  }

  [[nodiscard]] std::vector<std::int64_t> live_bytes_of_points() const {
    std::vector<std::int64_t> all;
    all.reserve(over_time_.points().size());
    for (const timeline::point& p : over_time_.points())
      all.push_back(static_cast<std::int64_t>(p.state.bytes));
    return all;
  }
  static void take_from(std::vector<std::int64_t>& from, const std::vector<std::int64_t>& course) {
    for (std::size_t p = 0; p < from.size(); ++p) from[p] -= course[p];
  }

  // What the call sites held in each point of the timeline: those with the most bytes in any point
  // first. `index_of` has the sites of the table; what is of no site there is "others".
  [[nodiscard]] json site_courses(const sites_by_stack& sites,
                                  const std::map<call_site, std::size_t>& index_of) const {
    std::map<std::size_t, std::vector<std::int64_t>> by_site;
    std::vector<std::int64_t> others = live_bytes_of_points();
    for (const auto& [stack, site] : sites) {
      const auto index = index_of.find(site);
      if (index == index_of.end() || stack >= stack_layers_.size() ||
          stack_layers_[stack] == no_layer)
        continue;
      const std::vector<std::int64_t> course = over_time_.course(stack_layers_[stack]);
      std::vector<std::int64_t>& sum = by_site[index->second];
      sum.resize(course.size());
      std::transform(course.begin(), course.end(), sum.begin(), sum.begin(), std::plus<>());
    }
    std::vector<std::pair<std::int64_t, std::size_t>> by_most;
    for (const auto& [site, course] : by_site)
      if (const std::int64_t most = highest(course); most > 0) by_most.emplace_back(-most, site);
    std::ranges::sort(by_most);
    if (by_most.size() > most_site_courses) by_most.resize(most_site_courses);
    json courses = json::array();
    for (const auto& [most, site] : by_most) {
      take_from(others, by_site[site]);
      courses.push_back({{"site", site}, {"bytes", by_site[site]}});
    }
    return {{"sites", std::move(courses)}, {"others", others}};
  }

  [[nodiscard]] json time_figures() const {
    json all = lists({"seconds", "live_bytes", "live_blocks", "layers", "slack_bytes"});
    all["interval_seconds"] = static_cast<double>(over_time_.interval_ticks()) * seconds_per_tick_;
    all["classes_of"] = shown().set().name();
    json& slack = all["slack_bytes"];
    slack.push_back(json::array());
    if (chosen_) slack.push_back(json::array());
    for (const timeline::point& p : over_time_.points()) {
      all["seconds"].push_back(static_cast<double>(p.time) * seconds_per_tick_);
      all["live_bytes"].push_back(p.state.bytes);
      all["live_blocks"].push_back(p.state.blocks);
      for (std::size_t set = 0; set < slack.size(); ++set) slack[set].push_back(p.state.slack[set]);
    }
    json& layers = all["layers"];
    std::vector<std::int64_t> others = live_bytes_of_points();
    for (const std::size_t entry : layered_entries()) {
      const std::vector<std::int64_t> course = over_time_.course(entry);
      take_from(others, course);
      layers.push_back({{"name", shown().name(entry)}, {"bytes", course}});
    }
    if (std::ranges::any_of(others, [](std::int64_t left) { return left != 0; }))
      layers.push_back({{"name", "other classes"}, {"bytes", others}});
    return all;
  }

  [[nodiscard]] json size_figures() const {
    json all = lists({"first", "last", "births", "blocks_at_peak", "bytes_at_peak"});
    for (std::size_t bin = 0; bin < size_bins::count; ++bin) {
      if (size_births_[bin] == 0) continue;
      all["first"].push_back(size_bins::begin(bin));
      all["last"].push_back(size_bins::last(bin));
      all["births"].push_back(size_births_[bin]);
      all["blocks_at_peak"].push_back(size_blocks_.at_mark(bin));
      all["bytes_at_peak"].push_back(size_bytes_.at_mark(bin));
    }
    return all;
  }

  [[nodiscard]] json lifetime_figures() const {
    json all = lists({"from_seconds", "below_seconds", "blocks", "bytes"});
    all["tick_seconds"] = seconds_per_tick_;
    for (std::size_t bin = 0; bin < lifetime_blocks_.size(); ++bin) {
      if (lifetime_blocks_[bin] == 0) continue;
      const double below = std::ldexp(1, static_cast<int>(bin));
      all["from_seconds"].push_back(bin == 0 ? 0.0 : below / 2 * seconds_per_tick_);
      all["below_seconds"].push_back(below * seconds_per_tick_);
      all["blocks"].push_back(lifetime_blocks_[bin]);
      all["bytes"].push_back(lifetime_bytes_[bin]);
    }
    return all;
  }

  static void put(json& to, const call_counts& counts) {
    to["births"] = counts.births;
    to["bytes"] = counts.bytes;
    to["blocks_at_peak"] = counts.blocks_at_peak;
    to["bytes_at_peak"] = counts.bytes_at_peak;
    to["blocks_at_end"] = counts.blocks_at_end;
    to["bytes_at_end"] = counts.bytes_at_end;
    to["temporaries"] = counts.temporaries;
  }

  void put_call_figures(json& all) const {
    all["call_sites"] = all["sites"] = all["timeline"]["held"] = nullptr;
    if (reader_.stacks().empty()) return;
    const std::vector<call_counter::entry> entries = calls_.counts();
    // Each stack is named once: for the tree and for the table.
    sites_by_stack sites_of_stacks;
    const auto names_of = [&](const trace::stack_definition& stack) {
      std::vector<trace::named_call> calls = request_.names_of(stack);
      sites_of_stacks[stack.number] = request_.site_of(calls);
      return calls;
    };
    json& tree = all["call_sites"] = json::array();
    for (const call_node& node : call_tree(reader_.stacks(), entries, names_of)) {
      tree.push_back({{"name", node.name},
                      {"brief", node.brief},
                      {"source", node.source},
                      {"parent", node.parent}});
      put(tree.back(), node.counts);
    }
    const site_figures found = site_rows(entries, sites_of_stacks);
    json sites = json::array();
    for (const call_site& site : found.sites) sites.push_back(site_json(site));
    json rows = json::array();
    for (const site_row& row : found.rows) {
      rows.push_back({{"site", row.site}, {"thread", row.thread}});
      put(rows.back(), row.counts);
    }
    all["sites"] = {{"sites", std::move(sites)}, {"rows", std::move(rows)}};
    std::map<call_site, std::size_t> index_of;
    for (std::size_t i = 0; i < found.sites.size(); ++i) index_of.emplace(found.sites[i], i);
    all["timeline"]["held"] = site_courses(sites_of_stacks, index_of);
  }

  trace::trace_reader& reader_;
  const trace_request& request_;
  trace::program_course programs_;
  double seconds_per_tick_;
  trace::resident_counter resident_;
  trace::resident_memory memory_;
  set_account heap_;
  std::optional<set_account> chosen_;
  call_counter calls_;
  static constexpr std::size_t no_layer = SIZE_MAX;
  timeline over_time_;
  std::vector<std::size_t> stack_layers_;  // of over_time_, by the stack's number
  trace::step_counts counts_;
  std::optional<std::uint64_t> begin_;  // the first event's time
  std::uint64_t now_ =
      0;  // since then; never goes back, though threads' clocks may differ by a little
  std::uint64_t peak_time_ = 0;  // of this clock
  std::uint64_t blocks_at_peak_ = 0;
  double byte_seconds_ = 0;
  std::vector<std::uint64_t> size_births_;
  trace::marked_counts size_blocks_;
  trace::marked_counts size_bytes_;
  trace::log_histogram lifetime_blocks_{};
  trace::log_histogram lifetime_bytes_{};
  std::uint64_t unknown_deaths_ = 0, missing_deaths_ = 0;
};

}  // namespace

nlohmann::json trace_data(trace::trace_reader& reader, const trace_request& request) {
  trace_account account(reader, request);
  account.read();
  return account.data();
}

}  // namespace ashlar::report
