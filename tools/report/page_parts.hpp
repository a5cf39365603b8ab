// tools/report/page_parts.hpp: the page's text in pieces, as join_page.cmake put them together. Layer: report.
#pragma once

#include <span>
#include <string_view>

namespace ashlar::report {

extern const std::span<const std::string_view> page_parts;

/// The piece in whose place the data are put.
inline constexpr std::string_view data_place = "@data@";

}  // namespace ashlar::report
