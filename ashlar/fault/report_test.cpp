#include <tests/support/test_headers.hpp>

#include <ashlar/fault/report.hpp>

namespace {

using namespace ashlar;

std::string text_of(const fault& what, const detail::fault_history* history) {
  line_writer<4096> text;
  detail::append_text(text, what, history);
  return {text.data(), text.size()};
}
std::string json_of(const fault& what, const detail::fault_history* history) {
  line_writer<4096> text;
  detail::append_json(text, what, history, "fault", "abort");
  return {text.data(), text.size()};
}
const void* at(std::uintptr_t address) { return reinterpret_cast<const void*>(address); }

TEST(FaultReport, SaysWhereAnAddressLies) {
  const detail::fault_history block = {.block = at(0x1000), .size = 100};
  const auto place = [&](std::uintptr_t address) {
    const std::string text =
        text_of({.kind = fault_kind::overflow, .call = "free", .address = at(address)}, &block);
    return text.substr(0, text.find('\n'));
  };
  EXPECT_EQ(place(0xfff), "ashlar: 0xfff is 1 byte before the block of 100 bytes at 0x1000");
  EXPECT_EQ(place(0xff0), "ashlar: 0xff0 is 16 bytes before the block of 100 bytes at 0x1000");
  EXPECT_EQ(place(0x1000), "ashlar: 0x1000 is byte 0 of the block of 100 bytes at 0x1000");
  EXPECT_EQ(place(0x1063), "ashlar: 0x1063 is byte 99 of the block of 100 bytes at 0x1000");
  EXPECT_EQ(place(0x1064),
            "ashlar: 0x1064 is 1 byte past the end of the block of 100 bytes at 0x1000");
}

TEST(FaultReport, TellsWhoDidWhatBeforeTheFaultItself) {
  const detail::deed found{.call = "free", .thread = 7, .at = {}};
  const detail::deed made{.call = "malloc", .thread = 8, .at = {}};
  const detail::fault_history history = {.how = "found", .found = &found, .made = &made};
  EXPECT_EQ(text_of({.kind = fault_kind::double_free, .call = "free", .address = at(16)}, &history),
            "ashlar: found by free in thread 7\n"
            "ashlar: allocated by malloc in thread 8\n"
            "ashlar: free(0x10): the block is free already (double free)\n");
}

TEST(FaultReport, WhatElseIsKnownEndsTheFaultsOwnLine) {
  const detail::fault_history history = {.more = "limit 64, \"in use\" 60"};
  const fault what = {.kind = fault_kind::exhausted, .call = "malloc", .needed = 8};
  EXPECT_EQ(text_of(what, &history),
            "ashlar: malloc(0x0): out of memory, needed 8, limit 64, \"in use\" 60\n");
  EXPECT_NE(json_of(what, &history).find("\"more\": \"limit 64, \\u0022in use\\u0022 60\""),
            std::string::npos);
}

TEST(FaultReport, JsonIsOneLineWhateverTheNames) {
  const std::string line =
      json_of({.kind = fault_kind::wrong_size, .call = "a\"\\\n\x01\xff", .pool = "p"}, nullptr);
  EXPECT_EQ(line.find('\n'), line.size() - 1);
  EXPECT_TRUE(line.starts_with("{\"ashlar\": \"fault\", \"kind\": \"wrong_size\", ")) << line;
  EXPECT_NE(line.find("\"call\": \"a\\u0022\\u005c\\u000a\\u0001\\u00ff\""), std::string::npos)
      << line;
  EXPECT_TRUE(line.ends_with("}\n")) << line;
}

}  // namespace
