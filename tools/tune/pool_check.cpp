// tools/tune/pool_check.cpp. Layer: tune.
#include "tools/tune/pool_check.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>

#include <fmt/format.h>

#include <ashlar/core/bits.hpp>

#include "tools/files/json.hpp"
#include "tools/trace/serving_class.hpp"
#include "tools/tune/partition.hpp"
#include "tools/tune/pool_files.hpp"
#include "tools/tune/tuning.hpp"

namespace ashlar::tune {

namespace {

using json = nlohmann::json;
using files::count_at;
using profiling::pool_grid;

size_class read_class(const json& in) {
  const size_class read{count_at(in, "block_size"), count_at(in, "alignment"), count_at(in, "peak"),
                        count_at(in, "capacity"), count_at(in, "bytes")};
  const auto refuse = [](const char* member, std::uint64_t value) {
    throw no_configuration(
        fmt::format("a class has '{}' {}, which no class can have", member, value));
  };
  if (read.block_size == 0 || read.block_size > workload_builder::largest_size)
    refuse("block_size", read.block_size);
  if (!is_power_of_two(read.alignment) || read.alignment > largest_alignment)
    refuse("alignment", read.alignment);
  if (read.capacity == 0 ||
      class_bytes({read.block_size, read.alignment}, read.capacity) >= too_many_bytes)
    refuse("capacity", read.capacity);
  return read;
}

pool_configuration read_classes(const json& all) {
  pool_configuration pools;
  if (all.value("mode", json()) == "heap") {
    throw no_configuration(
        "written by `ashlar tune --mode heap`: a heap's classes have no capacities that could be "
        "too small");
  }
  if (count_at(all, "certificate") != certificate_version || all.at("mode") != "static") {
    throw no_configuration(
        fmt::format("written for another version (this one reads static pools of version {}): tune "
                    "again",
                    certificate_version));
  }
  pools.read_as.least_alignment = count_at(all, "alignment");
  pools.read_as.largest = count_at(all, "largest");
  if (all.at("spill") != "never") throw no_configuration("'spill' is not never: tune again");
  try {
    pools.read_as.sizes = resolution_of(all.at("resolution").get<std::string>());
  } catch (const std::out_of_range&) {
    throw no_configuration("'resolution' is neither exact nor profile");
  }
  for (const json& c : all.at("classes")) {
    const size_class next = read_class(c);
    if (!pools.classes.empty() && next.block_size <= pools.classes.back().block_size) {
      throw no_configuration(fmt::format("the classes are not sorted: {} behind {}",
                                         next.block_size, pools.classes.back().block_size));
    }
    pools.classes.push_back(next);
  }
  if (pools.classes.empty()) throw no_configuration("there is no class");
  if (!is_power_of_two(pools.read_as.least_alignment) ||
      pools.read_as.least_alignment > largest_alignment ||
      pools.read_as.largest > workload_builder::largest_size)
    throw no_configuration("'alignment' or 'largest' cannot be");
  return pools;
}

// Returns: the class of such a request; the number of classes where none serves it.
std::size_t class_for_request(const pool_configuration& pools, std::uint64_t size,
                              std::uint64_t alignment) {
  return trace::serving_class(std::span<const size_class>(pools.classes), size, alignment);
}

// Returns: the fewest bytes that a request with this need of the grid can need.
std::uint64_t least_of_step(const block_need& need, std::uint64_t least_alignment) {
  const std::uint32_t first_step = pool_grid::step_of(need.size - least_alignment + 1);
  return align_up(first_step == 0 ? 1 : pool_grid::size_of(first_step - 1) + 1, least_alignment);
}

void note_unserved(pool_use& use, const unserved_need& need) {
  const auto place = [](const unserved_need& of) { return std::pair(of.perhaps, of.size); };
  if (!use.unserved || place(need) < place(*use.unserved)) use.unserved = need;
}

// Whether requests of this need may be among those that the pools leave out.
bool is_partly_left_out(const pool_configuration& pools, const block_need& need) {
  return need.size > pools.read_as.largest;
}

// Whether a request of this need may have a class, or not count, where class_for_request() has none for the need.
bool is_perhaps_served(const pool_configuration& pools, const block_need& need) {
  const std::uint64_t least_alignment = pools.read_as.least_alignment;
  const std::uint64_t least = least_of_step(need, least_alignment);
  // There is a request of this alignment that counts, if it is more than any block has.
  if (need.alignment > least_alignment)
    return class_for_request(pools, least, need.alignment) != pools.classes.size();
  return is_partly_left_out(pools, need) ||
         class_for_request(pools, least, least_alignment) != pools.classes.size();
}

// Requests of one need have their classes between that of the smallest and that of the largest and most aligned. A class
// has at most as many blocks as all needs together from the first to the last that may ask for it.
// Requires: load.profiled.
void add_profiled(pool_use& use, const pool_configuration& pools, const workload& load,
                  const std::vector<std::uint32_t>& class_of) {
  const std::uint64_t alignment = pools.read_as.least_alignment;
  std::vector<std::size_t> least_class;
  least_class.reserve(load.needs.size());
  for (const block_need& need : load.needs)
    least_class.push_back(class_for_request(pools, least_of_step(need, alignment), alignment));
  for (std::size_t c = 0; c < use.classes.size(); ++c) {
    std::optional<interval> asking;
    for (std::size_t n = 0; n < load.needs.size(); ++n) {
      if (c < least_class[n] || c > class_of[n]) continue;
      if (!asking) asking = interval{n, n};
      asking->last = n;
    }
    if (!asking) continue;
    use.classes[c].peak = load.profiled->at(asking->first, asking->last);
    for (std::size_t n = asking->first; n <= asking->last; ++n)
      if (least_class[n] != c || class_of[n] != c || is_partly_left_out(pools, load.needs[n]))
        use.classes[c].at_most = true;
  }
}

}  // namespace

input_request request_for(const pool_configuration& pools, input_kind kind) {
  input_request request = pools.read_as;
  if (kind == input_kind::trace) return request;
  request.largest_is_of_exact_sizes = request.sizes == resolution::exact;
  request.sizes = resolution::profile;
  return request;
}

pool_configuration read_configuration(std::string_view json_text) {
  try {
    return read_classes(json::parse(json_text));
  } catch (const json::exception& error) {
    throw no_configuration(
        fmt::format("not what `ashlar tune` writes as JSON: {}", files::reason_of(error)));
  }
}

pool_use use_of(const pool_configuration& pools, const workload& load, std::uint64_t percent) {
  pool_use use;
  for (const size_class& c : pools.classes)
    use.classes.push_back({c.block_size, c.capacity, 0, false});
  std::vector<std::uint32_t> class_of;
  for (const block_need& need : load.needs) {
    const std::size_t c = class_for_request(pools, need.size, need.alignment);
    if (c == pools.classes.size()) {
      const bool perhaps = load.profiled && is_perhaps_served(pools, need);
      note_unserved(use, {need.size, need.alignment, perhaps});
    }
    class_of.push_back(static_cast<std::uint32_t>(c));
  }
  if (load.profiled) add_profiled(use, pools, load, class_of);
  for (const series& trace : load.traces) {
    std::vector<std::uint64_t> alive(pools.classes.size() +
                                     1);  // the last: of those that none serves
    for (const std::int32_t change : trace) {
      const std::size_t c = class_of[static_cast<std::size_t>(need_of(change))];
      alive[c] += is_birth(change) ? 1 : ~std::uint64_t{0};
      if (c < use.classes.size()) use.classes[c].peak = std::max(use.classes[c].peak, alive[c]);
    }
  }
  if (use.unserved) return use;
  use.serves = std::ranges::none_of(use.classes,
                                    [percent](const class_use& c) { return c.passes(percent); });
  return use;
}

void join(pool_use& into, const pool_use& other) {
  for (std::size_t c = 0; c < into.classes.size(); ++c) {
    class_use& most = into.classes[c];
    if (other.classes[c].peak > most.peak) most = other.classes[c];
  }
  if (other.unserved) note_unserved(into, *other.unserved);
  into.serves = into.serves && other.serves;
}

}  // namespace ashlar::tune
