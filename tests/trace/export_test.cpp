// `ashlar export`: the call stacks of a recording, for pprof and for flame graph tools.
#include <filesystem>
#include <string>
#include <tests/support/command_in_folder.hpp>

#include <gtest/gtest.h>

namespace {

using support::words;

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

class Export : public support::CommandInFolder {
 protected:
  void record(const words& options) const {
    words line{"record", "-o", "run.atrace"};
    line.insert(line.end(), options.begin(), options.end());
    line.insert(line.end(), {"--", ASHLAR_TEST_LEAK});
    ASSERT_EQ(ashlar(line), 0) << said("err");
  }
};

TEST_F(Export, ARecordingBecomesFoldedStacks) {
  record({"--stacks"});
  ASSERT_EQ(ashlar({"export", "--format", "folded", "--figure", "inuse_space", "-o", "run.folded",
                    "run.atrace"}),
            0)
      << said("err");
  const std::string folded = support::read_file(path("run.folded"));
  EXPECT_TRUE(contains(folded, ";main;")) << folded;
  EXPECT_TRUE(contains(folded, "shop::serve(int, bool)")) << folded;
}

TEST_F(Export, ARecordingBecomesAProfile) {
  record({"--stacks"});
  ASSERT_EQ(ashlar({"export", "run.atrace", "-o", "run.pb"}), 0) << said("err");
  const std::string profile = support::read_file(path("run.pb"));
  EXPECT_TRUE(contains(profile, "shop::serve(int, bool)"));
  EXPECT_TRUE(contains(profile, "alloc_objects"));
}

TEST_F(Export, ARecordingBecomesATimeLine) {
  record({"--stacks"});
  ASSERT_EQ(ashlar({"export", "--format", "perfetto", "run.atrace", "-o", "run.json"}), 0)
      << said("err");
  const std::string line = support::read_file(path("run.json"));
  EXPECT_TRUE(contains(line, R"("name":"live bytes","ph":"C")")) << line;
  EXPECT_TRUE(contains(line, "held: shop::make_order(int) in planted_leak at ")) << line;
  EXPECT_EQ(command({"export", "--format", "perfetto", "--figure", "alloc_space", "run.atrace",
                     "-o", "other.json"})
                .exit_status(),
            2);
  EXPECT_TRUE(contains(said("err"), "--figure is for pprof and folded stacks")) << said("err");
  record({});  // without calls there are live bytes still
  ASSERT_EQ(ashlar({"export", "--format", "perfetto", "run.atrace", "-o", "run.json"}), 0);
  EXPECT_FALSE(contains(support::read_file(path("run.json")), "held: "));
}

TEST_F(Export, WhatCannotBeExportedIsNamed) {
  EXPECT_EQ(command({"export", "none.atrace", "-o", "run.pb"}).exit_status(), 2);
  EXPECT_TRUE(contains(said("err"), "none.atrace")) << said("err");
  record({});
  EXPECT_EQ(command({"export", "run.atrace", "-o", "run.pb"}).exit_status(), 2);
  EXPECT_EQ(said("err"),
            "ashlar: 'run.atrace' has no calls to export: ashlar record --stacks records them\n");
  EXPECT_FALSE(std::filesystem::exists(path("run.pb")));
  EXPECT_EQ(command({"export", "run.atrace", "-o", "run.atrace"}).exit_status(), 2);
}

}  // namespace
