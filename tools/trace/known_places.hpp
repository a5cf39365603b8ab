// tools/trace/known_places.hpp: what was found of calls, for whoever names many profiles of the same
// programs. Layer: trace.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tools/trace/format.hpp"

namespace ashlar::trace {

/// Places by file, its build id and the offset in it, which no file has to be read for. Memory is
/// bounded: where there is no more room all is forgotten, and looked for again. Not thread-safe.
class known_places {
 public:
  explicit known_places(std::size_t bytes_max) : bytes_max_(bytes_max) {}

  /// Returns: null: nothing is known.
  [[nodiscard]] const std::vector<source_place>* find(const module_definition& file,
                                                      std::uint64_t offset) const {
    const auto places = files_.find({file.path, file.build_id});
    if (places == files_.end()) return nullptr;
    const auto found = places->second.find(offset);
    return found != places->second.end() ? &found->second : nullptr;
  }
  /// Requires: the file has a build id, and it was this one when the places were found.
  void add(const module_definition& file, std::uint64_t offset,
           const std::vector<source_place>& places) {
    constexpr std::size_t of_node = 64;
    std::size_t bytes = of_node + file.path.size() + file.build_id.size();
    for (const source_place& each : places)
      bytes += sizeof each + each.function.size() + each.file.size();
    if (bytes > bytes_max_) return;
    if (bytes_ + bytes > bytes_max_) {
      files_.clear();
      bytes_ = 0;
    }
    if (files_[{file.path, file.build_id}].emplace(offset, places).second) bytes_ += bytes;
  }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  using by_offset = std::map<std::uint64_t, std::vector<source_place>>;

  std::size_t bytes_max_;
  std::size_t bytes_ = 0;
  std::map<std::pair<std::string, std::string>, by_offset> files_;
};

}  // namespace ashlar::trace
