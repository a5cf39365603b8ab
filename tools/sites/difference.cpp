// tools/sites/difference.cpp. Layer: sites.
#include "tools/sites/difference.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <filesystem>
#include <iterator>
#include <string_view>
#include <tuple>
#include <unordered_map>

#include <fmt/format.h>

#include "tools/sites/stack_keys.hpp"

namespace ashlar::sites {

namespace {

std::string file_of(const std::string& path) {
  return std::filesystem::path(path).filename().string();
}

// Where the offset begins in "file+0x1234".
std::size_t offset_in(const std::string& name) { return name.rfind("+0x"); }

equal_builds builds_of(const trace::trace_reader& reader) {
  equal_builds builds;
  for (const trace::module_definition& module : reader.modules())
    if (!module.build_id.empty()) builds.emplace(file_of(module.path), module.build_id);
  return builds;
}

}  // namespace

equal_builds builds_in_both(const trace::trace_reader& before, const trace::trace_reader& after) {
  const equal_builds a = builds_of(before);
  const equal_builds b = builds_of(after);
  equal_builds both;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::inserter(both, both.end()));
  return both;
}

std::string without_copy_mark(std::string function) {
  static constexpr std::array<std::string_view, 7> marks{
      " [clone ", ".isra.", ".constprop.", ".part.", ".cold", ".lto_priv.", ".llvm."};
  for (const std::string_view mark : marks)
    function.erase(std::min(function.find(mark), function.size()));
  return function;
}

std::string file_without_version(const std::string& path) {
  constexpr std::string_view ending = ".so";
  std::string file = file_of(path);
  const std::size_t at = file.find(".so.");
  if (at != std::string::npos) file.resize(at + ending.size());
  return file;
}

comparable_names::comparable_names(const trace::trace_reader& of, equal_builds builds)
    : program_(of.header().get(trace::header_name::program)), builds_(std::move(builds)) {
  for (const trace::module_definition& module : of.modules())
    build_ids_.emplace(module.path, module.build_id);
}

std::string comparable_names::of(const trace::named_call& call) const {
  // A line end is in no name.
  const std::string file =
      call.module == program_ ? std::string() : '\n' + file_without_version(call.module);
  if (!call.function.empty()) return without_copy_mark(call.function) + file;
  return (counts_offset(call) ? call.name.substr(offset_in(call.name)) : "?") + file;
}

bool comparable_names::counts_offset(const trace::named_call& call) const {
  const auto id = build_ids_.find(call.module);
  return id != build_ids_.end() && builds_.contains({file_of(call.module), id->second}) &&
         offset_in(call.name) != std::string::npos;
}

trace::named_call comparable_names::shown(trace::named_call call) const {
  if (!call.function.empty() || counts_offset(call)) return call;
  call.name = call.module.empty()
                  ? "code that is in no file"
                  : fmt::format("functions without a name in {}", file_of(call.module));
  return call;
}

namespace {

using trace::stack_figures;

constexpr measure measures[] = {
    &stack_figures::births,     &stack_figures::bytes,         &stack_figures::live_blocks,
    &stack_figures::live_bytes, &stack_figures::at_peak_bytes, &stack_figures::temporaries,
};

void add(stack_figures& to, const stack_figures& more) {
  for (const measure each : measures) to.*each += more.*each;
}
void subtract(stack_figures& from, const stack_figures& less) {
  for (const measure each : measures) from.*each -= std::min(from.*each, less.*each);
}

stack_figures all_of(const trace::trace_summary& s) {
  return {.births = s.births,
          .bytes = s.birth_bytes,
          .live_blocks = s.live_blocks,
          .live_bytes = s.live_bytes,
          .at_peak_bytes = s.peak_bytes,
          .temporaries = s.temporaries};
}

// One of the two, and what is looked up in it.
struct side {
  const recording& of;
  stack_figures compared_figures::* figures;
  comparable_names names;
  stack_keys keys;

  side(const recording& recorded, stack_figures compared_figures::* into,
       const equal_builds& builds, name_numbers& numbers)
      : of(recorded),
        figures(into),
        names(recorded.reader, builds),
        keys(recorded.names, numbers,
             [this](const trace::named_call& call) { return names.of(call); }) {}
  side(const side&) = delete;
  side& operator=(const side&) = delete;
};

// Finds where each call of a stack occurs first. In time that a stack's length limits, however long.
class first_calls {
 public:
  // Returns: the places from the inside out, `depth` at most.
  std::vector<std::size_t> places(const stack_key& calls, std::size_t depth) {
    ++now_;
    std::vector<std::size_t> found;
    for (std::size_t i = 0; i < calls.size() && found.size() < depth; ++i) {
      if (calls[i] >= seen_in_.size()) seen_in_.resize(2 * (std::size_t{calls[i]} + 1));
      if (seen_in_[calls[i]] == now_) continue;
      seen_in_[calls[i]] = now_;
      found.push_back(i);
    }
    return found;
  }

 private:
  std::uint64_t now_ = 0;               // number of the stack
  std::vector<std::uint64_t> seen_in_;  // by call: the last stack that has it
};

// What is known of a call site before its calls are named.
struct merged_site : compared_figures {
  side* shown = nullptr;  // whose stack is shown
  const trace::stack_definition* stack = nullptr;
  std::uint64_t most = 0;  // of that stack
};

class site_table {
 public:
  site_table(measure by, std::size_t depth) : by_(by), depth_(depth) {}

  // Effects: adds the stacks of a side. Of the last side that has a call site, its stack with the
  // most is the one that is shown.
  void add_stacks(side& from) {
    for (const trace::stack_definition& stack : from.of.reader.stacks()) {
      const auto found = from.of.summary.stacks.find(stack.number);
      if (found == from.of.summary.stacks.end()) continue;
      const stack_key calls = from.keys.of(stack);
      stack_key key;
      for (const std::size_t place : first_.places(calls, depth_)) key += calls[place];
      merged_site& site = sites_[key];
      add(site.*from.figures, found->second);
      const std::uint64_t much = found->second.*by_;
      if (site.shown == &from && much <= site.most) continue;
      site.shown = &from;
      site.stack = &stack;
      site.most = much;
    }
  }

  // Effects: adds those that differ, sorted, and behind them what no stack has.
  void add_to(difference& found) {
    compared_figures left_over = found.all;
    std::vector<std::pair<stack_key, const merged_site*>> order;
    for (const auto& [key, site] : sites_) {
      if (site.is_equal())
        ++found.equal_sites;
      else
        order.emplace_back(key, &site);
      subtract(left_over.before, site.before);
      subtract(left_over.after, site.after);
    }
    std::ranges::sort(order, [&](const auto& a, const auto& b) {
      return std::forward_as_tuple(b.second->change(by_), b.second->after.bytes, a.first) <
             std::forward_as_tuple(a.second->change(by_), a.second->after.bytes, b.first);
    });
    for (const auto& [key, site] : order) {
      found.sites.push_back({*site, {}});
      const auto calls = site->shown->of.names.of(*site->stack);
      for (const std::size_t place : first_.places(site->shown->keys.of(*site->stack), depth_))
        found.sites.back().calls.push_back(site->shown->names.shown(calls[place]));
    }
    if (!left_over.is_equal()) found.sites.push_back({left_over, {}});
  }

 private:
  measure by_;
  std::size_t depth_;
  first_calls first_;
  std::unordered_map<stack_key, merged_site> sites_;
};

using size_ranges = std::map<std::uint64_t, compared_size>;  // by the least size

compared_size& range_from(std::uint64_t least, std::uint64_t most, size_ranges& ranges) {
  compared_size& range = ranges[least];
  range.least = least;
  range.most = most;
  return range;
}

// The doublings are 0 and 1, 2, 3 and 4, 5 to 8, ...
compared_size& doubling_of(std::uint64_t size, size_ranges& ranges) {
  if (size <= 1) return range_from(0, 1, ranges);
  const std::uint64_t below = std::bit_floor(size - 1);
  return range_from(below + 1, below > UINT64_MAX / 2 ? UINT64_MAX : 2 * below, ranges);
}

compared_size& range_of(std::uint64_t size, size_ranges& ranges) {
  constexpr std::uint64_t most_alone = 1024;
  return size <= most_alone ? range_from(size, size, ranges) : doubling_of(size, ranges);
}

void add_sizes(const trace::trace_summary& s, stack_figures compared_figures::* into,
               size_ranges& ranges, size_ranges& doublings) {
  for (const auto& [size, f] : s.sizes) {
    const stack_figures figures{.births = f.births,
                                .bytes = f.births * size,
                                .live_blocks = f.live,
                                .live_bytes = f.live * size,
                                .at_peak_bytes = f.at_peak * size,
                                .temporaries = f.temporaries};
    add(range_of(size, ranges).*into, figures);
    add(doubling_of(size, doublings).*into, figures);
  }
}

}  // namespace

bool compared_figures::is_equal() const {
  return std::ranges::all_of(measures, [&](measure each) { return before.*each == after.*each; });
}

compared_figures& compared_figures::operator+=(const compared_figures& more) {
  add(before, more.before);
  add(after, more.after);
  return *this;
}

difference differ(const recording& before, const recording& after, measure by, std::size_t depth) {
  difference found;
  found.all = {all_of(before.summary), all_of(after.summary)};

  const equal_builds builds = builds_in_both(before.reader, after.reader);
  name_numbers numbers;
  side first(before, &compared_figures::before, builds, numbers);
  side second(after, &compared_figures::after, builds, numbers);
  site_table sites(by, depth);
  sites.add_stacks(first);
  sites.add_stacks(second);
  sites.add_to(found);

  size_ranges ranges;
  size_ranges doublings;
  add_sizes(before.summary, &compared_figures::before, ranges, doublings);
  add_sizes(after.summary, &compared_figures::after, ranges, doublings);
  for (const auto& [least, range] : doublings) found.doublings.push_back(range);
  for (const auto& [least, range] : ranges)
    if (!range.is_equal()) found.sizes.push_back(range);
  std::ranges::sort(found.sizes, [&](const compared_size& a, const compared_size& b) {
    return std::pair(b.change(by), a.least) < std::pair(a.change(by), b.least);
  });
  return found;
}

}  // namespace ashlar::sites
