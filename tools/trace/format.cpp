// tools/trace/format.cpp. Layer: trace.
#include "tools/trace/format.hpp"

#include <algorithm>

#include "tools/files/text.hpp"

namespace ashlar::trace {

std::string_view trace_header::get(std::string_view name) const {
  const auto found = std::ranges::find(pairs_, name, &pair::first);
  return found == pairs_.end() ? std::string_view{} : found->second;
}

std::uint64_t trace_header::number(std::string_view name, std::uint64_t otherwise) const {
  return files::number_in(get(name)).value_or(otherwise);
}

std::uint64_t trace_header::ticks_per_second() const {
  const std::uint64_t said = number(header_name::ticks_per_second, 0);
  return said != 0 ? said : 1'000'000'000;
}

void trace_header::set(std::string_view name, std::string_view value) {
  const auto found = std::ranges::find(pairs_, name, &pair::first);
  if (found == pairs_.end()) {
    pairs_.emplace_back(name, value);
  } else {
    found->second = value;
  }
}

}  // namespace ashlar::trace
