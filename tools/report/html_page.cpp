// tools/report/html_page.cpp. Layer: report.
#include "tools/report/html_page.hpp"

#include "tools/files/json.hpp"
#include "tools/report/page_parts.hpp"

namespace ashlar::report {

std::string json_for_script(const nlohmann::json& data) {
  std::string text;
  // A browser ends the element at "</script" wherever it stands, and begins a comment at "<!--"; '<' is only in strings.
  for (const char c : files::json_text(data)) {
    if (c == '<') {
      text += "\\u003c";
    } else {
      text += c;
    }
  }
  return text;
}

std::string html_page(const nlohmann::json& data) {
  std::string page;
  for (const std::string_view part : page_parts) {
    if (part == data_place) {
      page += json_for_script(data);
    } else {
      page += part;
    }
  }
  return page;
}

}  // namespace ashlar::report
