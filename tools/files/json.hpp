// tools/files/json.hpp: JSON as text, and the numbers in a JSON file that somebody else may have
// written. Layer: files. Whoever includes it links nlohmann-json.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

namespace ashlar::files {

/// Returns: the text; `indent` -1: in one line, without blanks. JSON is UTF-8, and the name of a
/// file or a program may be any bytes: what is none is U+FFFD.
[[nodiscard]] inline std::string json_text(const nlohmann::json& all, int indent = -1) {
  return all.dump(indent, ' ', false, nlohmann::json::error_handler_t::replace);
}

/// Returns: why a text is not the JSON that it should be, in words for who wrote it.
[[nodiscard]] inline std::string reason_of(const nlohmann::json::exception& error) {
  if (const auto* const text = dynamic_cast<const nlohmann::json::parse_error*>(&error))
    return "no JSON from byte " + std::to_string(text->byte) + " on";
  const std::string said = error.what();  // "[...] key 'label' not found"
  const std::size_t key = said.find("key '");
  return key != std::string::npos ? said.substr(key) : "a member is missing or of another kind";
}

/// Returns: the whole number at `name`. Throws: nlohmann::json::exception where there is none. (Its
/// own get() converts whatever number there is: of 1e40 that is undefined, and of -1 it is
/// 18446744073709551615.)
[[nodiscard]] inline std::uint64_t count_at(const nlohmann::json& object, const char* name) {
  return object.at(name).get_ref<const nlohmann::json::number_unsigned_t&>();
}
/// Returns: the same; `otherwise` where there is nothing of that name, as in a text of an older release.
[[nodiscard]] inline std::uint64_t count_or(const nlohmann::json& object, const char* name,
                                            std::uint64_t otherwise) {
  return object.contains(name) ? count_at(object, name) : otherwise;
}

}  // namespace ashlar::files
