// tools/tune/pool_check.cpp. Layer: tune.
#include "tools/tune/pool_check.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include <fmt/format.h>

#include <ashlar/core/bits.hpp>

#include "tools/tune/borrowing.hpp"
#include "tools/tune/certificate.hpp"

namespace ashlar::tune {

namespace {

using json = nlohmann::json;

// As whole numbers only: json's own get() takes -1 and 1e40, too.
std::uint64_t whole(const json& in, const char* name) {
  return in.at(name).get_ref<const json::number_unsigned_t&>();
}

pool_configuration read_classes(const json& all) {
  pool_configuration pools;
  if (whole(all, "certificate") != certificate_version || all.at("mode") != "static") {
    throw no_configuration(
        fmt::format("written for another version (this one reads static pools of version {})",
                    certificate_version));
  }
  pools.read_as.least_alignment = whole(all, "alignment");
  pools.read_as.largest = whole(all, "largest");
  pools.borrow = all.at("spill") == "take_larger";
  if (!pools.borrow && all.at("spill") != "never")
    throw no_configuration("'spill' is neither never nor take_larger");
  if (pools.borrow) pools.read_as.kept = workload_builder::keep::needs_and_slots;
  for (const json& c : all.at("classes")) {
    pools.classes.push_back({whole(c, "block_size"), whole(c, "alignment"), whole(c, "peak"),
                             whole(c, "capacity"), whole(c, "bytes")});
    const std::uint64_t capacity = pools.classes.back().capacity;
    if (capacity == 0 || capacity > too_many_bytes)
      throw no_configuration("a class has no block, or more than can be");
  }
  if (pools.classes.empty()) throw no_configuration("there is no class");
  if (!is_power_of_two(pools.read_as.least_alignment) ||
      pools.read_as.least_alignment > largest_alignment ||
      pools.read_as.largest > workload_builder::largest_size)
    throw no_configuration("'alignment' or 'largest' cannot be");
  return pools;
}

}  // namespace

pool_configuration read_configuration(std::string_view json_text) {
  try {
    return read_classes(json::parse(json_text));
  } catch (const json::exception& error) {
    throw no_configuration(fmt::format("not what `ashlar tune` writes as JSON: {}", error.what()));
  }
}

pool_use use_of(const pool_configuration& pools, const workload& load, std::uint64_t percent) {
  pool_use use;
  for (const size_class& c : pools.classes) use.classes.push_back({c.block_size, c.capacity, 0});
  std::vector<std::uint32_t> class_of;
  for (const block_need& need : load.needs) {
    const auto serving =
        std::find_if(pools.classes.begin(), pools.classes.end(), [&](const size_class& c) {
          return c.block_size >= need.size && c.alignment >= need.alignment;
        });
    if (serving == pools.classes.end() && !use.unserved) use.unserved = need;
    class_of.push_back(static_cast<std::uint32_t>(serving - pools.classes.begin()));
  }
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
  if (pools.borrow) {
    std::vector<size_class> reduced = pools.classes;
    for (size_class& c : reduced) c.capacity = c.capacity * percent / 100;
    use.serves = serves_by_borrowing(load, class_of, reduced);
  } else {
    use.serves = std::none_of(use.classes.begin(), use.classes.end(),
                              [percent](const class_use& c) { return c.passes(percent); });
  }
  return use;
}

}  // namespace ashlar::tune
