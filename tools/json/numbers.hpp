// tools/json/numbers.hpp: numbers of a file that somebody else may have written. Layer: json. Includes nothing of the
// project.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>

namespace ashlar::json_files {

/// Returns: the whole number at `name`. Throws: nlohmann::json::exception where there is none. (Its own get() converts
/// whatever number there is: of 1e40 that is undefined, and of -1 it is 18446744073709551615.)
[[nodiscard]] inline std::uint64_t count_at(const nlohmann::json& object, const char* name) {
  return object.at(name).get_ref<const nlohmann::json::number_unsigned_t&>();
}

}  // namespace ashlar::json_files
