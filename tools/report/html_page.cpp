// tools/report/html_page.cpp. Layer: report.
#include "tools/report/html_page.hpp"

#include "tools/files/json.hpp"
#include "tools/files/text.hpp"

namespace ashlar::report {

std::string json_for_script(const nlohmann::json& data) {
  // A browser ends the element at "</script" wherever it stands, and begins a comment at "<!--"; '<' is only in strings.
  return files::escaped(files::json_text(data), {{'<', "\\u003c"}});
}

std::string html_page(const nlohmann::json& data) {
  std::string page;
  for (const std::string_view part : page_parts)
    page += part == data_place ? json_for_script(data) : std::string(part);
  return page;
}

}  // namespace ashlar::report
