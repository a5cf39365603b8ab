// tools/inspect/call_modules.cpp. Layer: inspect.
#include "tools/inspect/call_modules.hpp"

#include <algorithm>
#include <cstdint>

#include "tools/trace/symbols.hpp"

namespace ashlar::inspect {

std::vector<trace::module_definition> call_modules(const image::memory_image& image) {
  std::vector<trace::module_definition> modules;
  for (const image::loaded_file& file : image::loaded_files(image)) {
    std::uint64_t end = file.begin;
    for (const image::mapping& m : image.mappings())
      if (m.path == file.path) end = std::max(end, m.end);
    const std::string& place = image.place_of(file.path);
    modules.push_back({file.begin, end, file.begin - trace::lowest_address(place), place,
                       image::build_id_at(image, file.begin)});
  }
  return modules;
}

}  // namespace ashlar::inspect
