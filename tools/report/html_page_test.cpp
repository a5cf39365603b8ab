#include "tools/report/html_page.hpp"

#include <gtest/gtest.h>

namespace ashlar::report {
namespace {

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++count;
  return count;
}

TEST(HtmlPage, NamesInATraceCannotEndTheScript) {
  const nlohmann::json data{{"program", "</script><script>alert(1)</script><!-- "}};
  EXPECT_EQ(count_of(html_page(data), "</script"),
            count_of(html_page(nlohmann::json()), "</script"));
  EXPECT_EQ(json_for_script(data).find('<'), std::string::npos);
  EXPECT_EQ(nlohmann::json::parse(json_for_script(data)), data);
}

TEST(HtmlPage, WhatIsNoUtf8IsReplaced) {
  EXPECT_TRUE(nlohmann::json::accept(json_for_script({{"program", "caf\xe9"}})));
}

TEST(HtmlPage, IsWhole) {
  const std::string page = html_page({{"answer", 42}});
  EXPECT_TRUE(page.starts_with("<!doctype html>"));
  EXPECT_TRUE(page.ends_with("</html>\n"));
  EXPECT_EQ(count_of(page, "@include") + count_of(page, "@data"), 0u);  // no place is left
  EXPECT_EQ(count_of(page, "{\"answer\":42}"), 1u);
  EXPECT_EQ(count_of(page, "The MIT License (MIT)"), 1u);
  EXPECT_EQ(count_of(page, "var uPlot="), 1u);
}

}  // namespace
}  // namespace ashlar::report
