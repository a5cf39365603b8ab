// tools/tune/pool_check.hpp: what a new trace or profile would use of classes that were chosen before. Layer: tune.
#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "tools/tune/sizing.hpp"
#include "tools/tune/workload.hpp"

namespace ashlar::tune {

struct no_configuration : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct pool_configuration {
  std::vector<size_class> classes;
  input_request read_as;
};

/// Reads what certificate() wrote; one that somebody has changed, too. Throws: no_configuration.
[[nodiscard]] pool_configuration read_configuration(std::string_view json_text);

/// Returns: how an input is to be read for use_of().
[[nodiscard]] input_request request_for(const pool_configuration& pools, input_kind kind);

struct class_use {
  std::uint64_t block_size;
  std::uint64_t capacity;
  std::uint64_t peak;  ///< of the requests that have this class
  /// There may be fewer: a step of a profile's sizes may have requests of two classes, or left-out ones.
  bool at_most = false;
  [[nodiscard]] bool passes(std::uint64_t percent) const noexcept {
    return peak * 100 > capacity * percent;
  }
};

/// What no class serves.
struct unserved_need {
  std::uint64_t size;
  std::uint64_t alignment;
  /// It is of a step of a profile's sizes of which some requests may be served or left out.
  bool perhaps = false;
};

struct pool_use {
  std::vector<class_use> classes;
  /// The smallest; one that is only perhaps unserved comes behind all others.
  std::optional<unserved_need> unserved;
  /// Whether `percent` of each capacity, rounded down, would do.
  bool serves = false;
};

/// Requires: `load` is of one input, read as request_for() says.
[[nodiscard]] pool_use use_of(const pool_configuration& pools, const workload& load,
                              std::uint64_t percent);

/// Effects: `into` is the use of the inputs of both, one after the other. Requires: of the same pools.
void join(pool_use& into, const pool_use& other);

}  // namespace ashlar::tune
