// `ashlar export`: the call stacks of a recording, for pprof and for flame graph tools.
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
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

// What dh_view.js of Valgrind demands: its fields, frames that are there, and no calls twice.
TEST_F(Export, ARecordingBecomesAFileForDhatsViewer) {
  using json = nlohmann::json;
  record({"--stacks"});
  for (int again = 0; again < 2; ++again)  // it is replaced as any other output
    ASSERT_EQ(ashlar({"export", "--format", "dhat", "-o", "run.dhat", "run.atrace"}), 0)
        << said("err");
  const json file = json::parse(support::read_file(path("run.dhat")));
  EXPECT_EQ(file.at("dhatFileVersion"), 2);
  for (const char* const name : {"mode", "verb", "tu", "Mtu", "cmd"})
    EXPECT_FALSE(file.at(name).get<std::string>().empty()) << name;
  EXPECT_EQ(file.at("bklt"), true);
  EXPECT_EQ(file.at("bkacc"), false);
  EXPECT_GT(file.at("pid"), 0);
  EXPECT_GT(file.at("tuth"), 0);
  EXPECT_LE(file.at("tg"), file.at("te"));
  const json& frames = file.at("ftbl");
  EXPECT_EQ(frames.at(0), "[root]");
  std::set<json> sequences;
  std::uint64_t blocks = 0, at_peak = 0, at_end = 0;
  bool has_main = false;
  for (const json& point : file.at("pps")) {
    const auto figure = [&](const char* name) { return point.at(name).get<std::uint64_t>(); };
    EXPECT_TRUE(sequences.insert(point.at("fs")).second) << point;
    for (const json& number : point.at("fs"))
      has_main |= frames.at(number.get<std::size_t>()).get<std::string>().starts_with("main in ");
    EXPECT_GE(figure("tb"), figure("mb"));
    EXPECT_GE(figure("mb"), std::max(figure("gb"), figure("eb"))) << point;
    EXPECT_GE(figure("tbk"), std::max({figure("mbk"), figure("gbk"), figure("ebk")})) << point;
    EXPECT_LE(figure("tl"), figure("tbk") * file.at("te").get<std::uint64_t>() + figure("tbk"));
    blocks += figure("tbk");
    at_peak += figure("gb");
    at_end += figure("eb");
  }
  EXPECT_TRUE(has_main);
  ASSERT_EQ(ashlar({"report", "--text", "--json", "run.atrace"}), 0) << said("err");
  const json report = json::parse(said("out"));
  EXPECT_EQ(at_peak, report.at("peak").at("bytes"));
  EXPECT_EQ(blocks, report.at("births"));
  EXPECT_EQ(at_end, report.at("live_at_end").at("bytes"));
  EXPECT_EQ(
      command({"export", "--format", "dhat", "--figure", "peak_space", "run.atrace"}).exit_status(),
      2);
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

// Not at a line of the standard library, which no pull request has.
TEST_F(Export, AnAnnotationIsAtTheLineOfTheProgram) {
  record({"--stacks"});
  ASSERT_EQ(ashlar({"record", "--stacks", "-o", "none.atrace", "--", "/bin/true"}), 0);
  for (const words& line : {words{"leaks", "--trace", "run.atrace", "--for=github"},
                            words{"diff", "none.atrace", "run.atrace", "--for=github"}}) {
    ASSERT_EQ(ashlar(line), 0) << said("err");
    EXPECT_TRUE(contains(said("out"), "/planted_leak.cpp,line=17,title=ashlar ")) << said("out");
    EXPECT_FALSE(contains(said("out"), "/new_allocator.h")) << said("out");
  }
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
