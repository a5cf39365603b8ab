// tools/report/html_page.hpp: the data inside the page that shows them. Layer: report.
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>

namespace ashlar::report {

// The page's text in pieces, as join_page.cmake put them together.

extern const std::span<const std::string_view> page_parts;

/// The piece in whose place the data are put.
inline constexpr std::string_view data_place = "@data@";

/// Returns: the data as JSON that may stand in a script element: no '<' is in it. What is no UTF-8 is replaced.
[[nodiscard]] std::string json_for_script(const nlohmann::json& data);

/// Returns: the page, whole.
[[nodiscard]] std::string html_page(const nlohmann::json& data);

}  // namespace ashlar::report
