// `ashlar export`: the call stacks of a recording, for pprof and for flame graph tools.
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <tests/support/command_in_folder.hpp>
#include <utility>

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

// What the published schema requires of a file, of its frames and of a sampled profile.
TEST_F(Export, ARecordingBecomesAProfileForSpeedscope) {
  using json = nlohmann::json;
  record({"--stacks"});
  for (const auto& [figure, unit] :
       {std::pair{"peak_space", "bytes"}, {"alloc_objects", "none"}, {"lifetime", "nanoseconds"}}) {
    ASSERT_EQ(ashlar({"export", "--format", "speedscope", "--figure", figure, "-o",
                      std::string(figure) + ".json", "run.atrace"}),
              0)
        << said("err");
    const json file = json::parse(support::read_file(path(std::string(figure) + ".json")));
    EXPECT_EQ(file.at("$schema"), "https://www.speedscope.app/file-format-schema.json");
    const json& frames = file.at("shared").at("frames");
    for (const json& frame : frames) EXPECT_FALSE(frame.at("name").get<std::string>().empty());
    ASSERT_EQ(file.at("profiles").size(), 1u);
    const json& profile = file.at("profiles")[0];
    EXPECT_EQ(profile.at("type"), "sampled");
    EXPECT_EQ(profile.at("name"), figure);
    EXPECT_EQ(profile.at("unit"), unit);
    const json& samples = profile.at("samples");
    const json& weights = profile.at("weights");
    ASSERT_EQ(samples.size(), weights.size());
    ASSERT_FALSE(samples.empty());
    std::uint64_t sum = profile.at("startValue").get<std::uint64_t>();
    bool has_main = false;
    for (std::size_t i = 0; i < samples.size(); ++i) {
      sum += weights[i].get<std::uint64_t>();
      for (const json& number : samples[i])
        has_main = has_main || frames.at(number.get<std::size_t>()).at("name") == "main";
    }
    EXPECT_TRUE(has_main);
    EXPECT_EQ(profile.at("endValue"), sum);
  }
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
