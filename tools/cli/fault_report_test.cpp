#include "tools/cli/fault_report.hpp"

#include <nlohmann/json.hpp>

#include <gtest/gtest.h>

namespace ashlar::cli {
namespace {

const std::string told_text =
    "ashlar: 0x1010 is byte 0 of the block of 100 bytes at 0x1010\n"
    "ashlar: found by free in thread 7:\n"
    "ashlar:   #0 0x5555 /no/such file+0x1232 (drop)\n"
    "ashlar:   #1 0x6666\n"
    "ashlar: free(0x1010): the block is free already (double free), block size 100\n";
const std::string told_json =
    R"_({"ashlar": "fault", "kind": "double_free", "message": "the block is free already (double free)", )_"
    R"_("call": "free", "address": "0x1010", "block_size": 100, "action": "abort", "pid": 7, "thread": 7, )_"
    R"_("block": "0x1010", "size": 100, "found": {"thread": 7, "call": "free", "frames": [)_"
    R"_({"number": 0, "address": "0x5555", "file": "/no/such file", "offset": "0x1232", "function": "drop"}, )_"
    R"_({"number": 1, "address": "0x6666"}]}})_"
    "\n";

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(FaultReport, FramesOfATextHaveTheirPlacesAndTheRestStays) {
  trace::source_lines sources;
  const named_faults named = name_frames("before\n" + told_text + "after", sources, stdout);
  EXPECT_EQ(named.faults, 1u);
  EXPECT_TRUE(named.text.starts_with("before\nashlar: 0x1010 is byte 0 of")) << named.text;
  EXPECT_TRUE(contains(named.text, "ashlar:   #0 0x5555 drop (/no/such file+0x1232)\n"))
      << named.text;
  EXPECT_TRUE(contains(named.text, "ashlar:   #1 0x6666\n")) << named.text;
  EXPECT_TRUE(named.text.ends_with("after\n")) << named.text;
  EXPECT_EQ(named.json, "");
  EXPECT_EQ(contains(named.text, "addr2line -Cfipe '/no/such file' 0x1231\n"),
            !trace::source_lines::reads_lines());
}

TEST(FaultReport, AnObjectGivesTheSameTextAndGoesThrough) {
  trace::source_lines sources;
  const named_faults of_text = name_frames(told_text, sources, stdout);
  const named_faults of_json = name_frames(told_json, sources, stdout);
  // The same lines, of which the fault is the first.
  const std::size_t fault = of_text.text.rfind("ashlar: free(");
  EXPECT_EQ(of_json.text, of_text.text.substr(fault) + of_text.text.substr(0, fault));
  EXPECT_EQ(of_json.faults, 1u);
  EXPECT_EQ(nlohmann::json::parse(of_json.json), nlohmann::json::parse(told_json));
  EXPECT_EQ(name_frames(of_json.json, sources, stdout).json, of_json.json) << "a second time";
}

TEST(FaultReport, AnObjectBehindItsTextIsTheSameFault) {
  trace::source_lines sources;
  const named_faults named = name_frames(told_text + told_json, sources, stdout);
  EXPECT_EQ(named.faults, 1u);
  EXPECT_EQ(named.text, name_frames(told_text, sources, stdout).text);
  EXPECT_NE(named.json, "");
  EXPECT_EQ(name_frames(told_text + told_json + told_json, sources, stdout).faults, 2u);
}

TEST(FaultReport, WhatIsNoFaultStaysAsItIs) {
  trace::source_lines sources;
  const std::string other = "{\"ashlar\": 1}\n{not json\n\nashlar: cannot write x\n";
  const named_faults named = name_frames(other, sources, stdout);
  EXPECT_EQ(named.text, other);
  EXPECT_EQ(named.faults, 0u);
  EXPECT_EQ(named.json, "");
}

TEST(FaultReport, MembersOfOtherTypesDoNoHarm) {
  trace::source_lines sources;
  const named_faults named = name_frames(
      R"_({"ashlar": "fault", "kind": 5, "call": [], "found": {"frames": [3, {"number": "x"}]}})_",
      sources, stdout);
  EXPECT_EQ(named.faults, 1u);
  EXPECT_FALSE(named.has_lines);
}

}  // namespace
}  // namespace ashlar::cli
