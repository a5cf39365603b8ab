// `ashlar export`: the call stacks of a recording, for pprof and for flame graph tools; and names that a trace keeps.
#include <nlohmann/json.hpp>
#include <tests/support/command_in_folder.hpp>
#include <tests/support/test_headers.hpp>

#include <sys/resource.h>

namespace {

namespace fs = std::filesystem;
using namespace support;
using ended = finished_command;
using json = nlohmann::json;

class Export : public CommandInFolder {
 protected:
  void record(const words& options) const {
    done(words{"record", "-o", "run.atrace"} + options + words{"--", ASHLAR_TEST_LEAK});
  }
};

TEST_F(Export, ARecordingBecomesFoldedStacks) {
  record({"--stacks"});
  done({"export", "--format", "folded", "--figure", "inuse_space", "-o", "run.folded",
        "run.atrace"});
  const std::string folded = read_file(path("run.folded"));
  has(folded, ";main;");
  has(folded, "shop::serve(int, bool)");
}

// What the published schema requires of a file, of its frames and of a sampled profile.
TEST_F(Export, ARecordingBecomesAProfileForSpeedscope) {
  record({"--stacks"});
  for (const auto& [figure, unit] :
       {std::pair{"peak_space", "bytes"}, {"alloc_objects", "none"}, {"lifetime", "nanoseconds"}}) {
    done({"export", "--format", "speedscope", "--figure", figure, "-o",
          std::string(figure) + ".json", "run.atrace"});
    const json file = json::parse(read_file(path(std::string(figure) + ".json")));
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
  record({"--stacks"});
  for (int again = 0; again < 2; ++again)  // it is replaced as any other output
    done({"export", "--format", "dhat", "-o", "run.dhat", "run.atrace"});
  const json file = json::parse(read_file(path("run.dhat")));
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
  const json report = json::parse(done({"report", "--text", "--json", "run.atrace"}));
  EXPECT_EQ(at_peak, report.at("peak").at("bytes"));
  EXPECT_EQ(blocks, report.at("births"));
  EXPECT_EQ(at_end, report.at("live_at_end").at("bytes"));
  done({"export", "--format", "dhat", "--figure", "peak_space", "run.atrace"}, 2);
}

TEST_F(Export, ARecordingBecomesAProfile) {
  record({"--stacks"});
  done({"export", "run.atrace", "-o", "run.pb"});
  const std::string profile = read_file(path("run.pb"));
  has(profile, "shop::serve(int, bool)");
  has(profile, "alloc_objects");
}

TEST_F(Export, ARecordingBecomesATimeLine) {
  record({"--stacks"});
  done({"export", "--format", "perfetto", "run.atrace", "-o", "run.json"});
  const std::string line = read_file(path("run.json"));
  has(line, R"("name":"live bytes","ph":"C")");
  has(line, "held: shop::make_order(int) in planted_leak at ");
  done({"export", "--format", "perfetto", "--figure", "alloc_space", "run.atrace", "-o",
        "other.json"},
       2);
  has(said("err"), "--figure is for pprof and folded stacks");
  record({"--no-stacks"});  // without calls there are live bytes still
  done({"export", "--format", "perfetto", "run.atrace", "-o", "run.json"});
  lacks(read_file(path("run.json")), "held: ");
}

// Not at a line of the standard library, which no pull request has.
TEST_F(Export, AnAnnotationIsAtTheLineOfTheProgram) {
  record({"--stacks"});
  done({"record", "--stacks", "-o", "none.atrace", "--", "/bin/true"});
  for (const words& line : {words{"leaks", "--trace", "run.atrace", "--for=github"},
                            words{"diff", "none.atrace", "run.atrace", "--for=github"}}) {
    has(done(line), "/planted_leak.cpp,line=17,title=ashlar ");
    lacks(said("out"), "/new_allocator.h");
  }
}

TEST_F(Export, WhatCannotBeExportedIsNamed) {
  done({"export", "none.atrace", "-o", "run.pb"}, 2);
  has(said("err"), "none.atrace");
  record({"--no-stacks"});
  done({"export", "run.atrace", "-o", "run.pb"}, 2);
  EXPECT_EQ(said("err"),
            "ashlar: 'run.atrace' has no calls to export: record it without --no-stacks\n");
  EXPECT_FALSE(fs::exists(path("run.pb")));
  done({"export", "run.atrace", "-o", "run.atrace"}, 2);
}

// ---- a trace with names in it, and each command that reads such a trace when the program is gone or was built again

class Symbols : public CommandInFolder {
 protected:
  void SetUp() override {
    CommandInFolder::SetUp();
    if (!ASHLAR_HAS_LIBDW) GTEST_SKIP() << "no libdw";
    build(ASHLAR_TEST_LEAK);
  }
  // What is at the program's place from now on.
  void build(const std::string& program) const {
    fs::remove(path("program"));
    fs::copy_file(program, path("program"));
  }
  void record(const std::string& trace, const words& options = {"--stacks"}) const {
    done(words{"record", "-o", trace} + options + words{"--", path("program")});
  }
  std::string stat_of(const std::string& trace) const {
    json report = json::parse(done({"report", "--text", "--json", "--rows", "100", trace}));
    report.erase("file");
    return report.dump(1);
  }
};

TEST_F(Symbols, EveryCommandReadsTheNamesWhereTheProgramWasBuiltAgainOrIsGone) {
  record("run.atrace");
  const std::string before = stat_of("run.atrace");
  has(before, "shop::serve(int, bool) in program");
  const ended named = command({"export", "--symbols", "run.atrace"}, 0);
  has(named.err, "ashlar: run.atrace: ");
  has(named.err, " calls have names, ");
  EXPECT_EQ(stat_of("run.atrace"), before) << "nothing but where the names come from has changed";

  const std::vector<words> readers{{"report", "--text", "run.atrace"},
                                   {"report", "--json", "run.atrace"},
                                   {"leaks", "--trace", "run.atrace"},
                                   {"diff", "run.atrace", "run.atrace"},
                                   {"export", "--format=text", "run.atrace"},
                                   {"tune", "run.atrace"},
                                   {"replay", "-n", "1", "run.atrace"},
                                   {"tune", "profile", "-o", "run.aprof", "run.atrace"}};
  std::vector<ended> results;
  for (const words& reader : readers) results.push_back(command(reader));
  for (const bool is_gone : {false, true}) {
    build(ASHLAR_TEST_OTHER);
    if (is_gone) fs::remove(path("program"));
    EXPECT_EQ(stat_of("run.atrace"), before);
    for (std::size_t i = 0; i < readers.size(); ++i) {
      const ended now = command(readers[i], 0);
      lacks(now.err, "program");
      if (readers[i][0] != "replay") {  // which measures
        EXPECT_EQ(now.out, results[i].out) << readers[i][0];
      }
    }
  }
}

TEST_F(Symbols, DiffNamesTheSitesOfAnOlderBuildAtTheSamePlace) {
  build(ASHLAR_OLDER_SHOP);
  record("before.atrace", {"--symbols"});
  build(ASHLAR_NEWER_SHOP);
  record("after.atrace");
  const ended result = command({"diff", "--json=d.json", "before.atrace", "after.atrace"}, 0);
  lacks(result.err, "is another build");
  const json found = json::parse(read_file(path("d.json")));
  std::string states;
  for (const json& site : found["call_sites"]) {
    const std::string name = site["frames"][0];
    states += name.substr(0, name.find(' ')) + ": " + site["state"].get<std::string>() + "; ";
  }
  has(states, "make_order: in both");
  has(states, "add_index: new");
  has(states, "drop_note: gone");
}

TEST_F(Symbols, RecordPutsThemInAtOnce) {
  record("at_once.atrace", {"--symbols"});
  has(said("err"), "calls have names");
  record("later.atrace", {"--stacks"});
  fs::remove(path("program"));
  has(stat_of("at_once.atrace"), "shop::serve(int, bool) in program");
  lacks(stat_of("later.atrace"), "shop::serve");
  done({"record", "--symbols", "--profile", "--", "/bin/true"}, 2);
}

TEST_F(Symbols, ATraceThatHasThemStaysAsItIsAndGetsWhatCameSince) {
  ASSERT_EQ(std::system(("strip -o '" + path("program") + "' '" ASHLAR_TEST_LEAK "'").c_str()), 0);
  record("run.atrace", {"--symbols"});
  has(said("err"), "program (compile it with -g)");
  lacks(stat_of("run.atrace"), "shop::serve");
  const std::string first = read_file(path("run.atrace"));
  const ended again = command({"export", "--symbols", "run.atrace"});
  has(again.err, "; it stays as it was\n");
  EXPECT_EQ(read_file(path("run.atrace")), first);
  build(ASHLAR_TEST_LEAK);  // the same build id, with debug information
  done({"export", "--symbols", "run.atrace"});
  build(ASHLAR_TEST_OTHER);
  has(stat_of("run.atrace"), "shop::serve(int, bool) in program");
}

TEST_F(Symbols, WhatCannotBeNamedIsToldOnce) {
  record("run.atrace");
  fs::remove(path("program"));
  const ended result = command({"export", "--symbols", "run.atrace"}, 0);
  const std::string told =
      "program' is gone, so its calls are offsets: put it back, or record again (--symbols ";
  has(result.err, told);
  EXPECT_EQ(result.err.find("program'"), result.err.rfind("program'")) << result.err;
}

TEST_F(Symbols, AnotherFileIsWrittenWithMinusO) {
  record("a.atrace");
  const std::string before = read_file(path("a.atrace"));
  done({"export", "--symbols", "a.atrace", "-o", "named.atrace"});
  EXPECT_EQ(read_file(path("a.atrace")), before);
  fs::copy_file(path("a.atrace"), path("b.atrace"));
  done({"export", "--symbols", "a.atrace", "b.atrace"});
  EXPECT_EQ(read_file(path("a.atrace")), read_file(path("named.atrace")));
  EXPECT_EQ(read_file(path("b.atrace")), read_file(path("named.atrace")));
  write_file(path("notes.txt"), "no trace");
  const ended other = command({"export", "--symbols", "a.atrace", "-o", "notes.txt"}, 2);
  has(other.err, "notes.txt");
  EXPECT_EQ(read_file(path("notes.txt")), "no trace");
  const ended both = command({"export", "--symbols", "a.atrace", "b.atrace", "-o", "c.atrace"}, 2);
  has(both.err, "without -o");
}

TEST_F(Symbols, ATraceThatWasCutKeepsWhatItHas) {
  record("run.atrace");
  const std::string events = stat_of("run.atrace");
  fs::resize_file(path("run.atrace"), fs::file_size(path("run.atrace")) - 5);
  const ended result = command({"export", "--symbols", "run.atrace"}, 0);
  has(result.err, "the trace ends without its end");
  fs::remove(path("program"));
  EXPECT_EQ(json::parse(stat_of("run.atrace"))["held_at_end"], json::parse(events)["held_at_end"]);
}

TEST_F(Symbols, WhatIsNoTraceOrHasNoCallsIsRefusedAndStays) {
  record("plain.atrace", {"--no-stacks"});
  record("damaged.atrace");
  std::string bytes = read_file(path("damaged.atrace"));
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
  write_file(path("damaged.atrace"), bytes);
  write_file(path("text.txt"), "no trace");
  write_file(path("empty"), "");
  fs::create_directory(path("folder"));
  for (const auto& [file, told] : std::vector<std::pair<std::string, std::string>>{
           {"plain.atrace", "'plain.atrace' has no calls to name: record it without --no-stacks"},
           {"damaged.atrace", "damaged.atrace: at byte "},
           {"text.txt", "text.txt: at byte 0: this is no trace of ashlar's"},
           {"empty", "empty: at byte 0: the file is empty"},
           {"gone.atrace", "gone.atrace"},
           {"folder", "folder"}}) {
    const bool is_file = fs::is_regular_file(path(file));
    const std::string before = is_file ? read_file(path(file)) : "";
    const ended result = command({"export", "--symbols", file}, 2);
    has(result.err, told);
    if (is_file) {
      EXPECT_EQ(read_file(path(file)), before) << file;
    }
  }
  EXPECT_FALSE(fs::exists(path("gone.atrace")));
}

TEST_F(Symbols, WhereTheDiskIsFullTheTraceStays) {
  record("run.atrace");
  const std::string before = read_file(path("run.atrace"));
  const rlimit limit{before.size() / 2, RLIM_INFINITY};
  const rlimit none{RLIM_INFINITY, RLIM_INFINITY};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);  // which the command takes over
  std::signal(SIGXFSZ, SIG_IGN);
  const ended result = command({"export", "--symbols", "run.atrace"});
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &none), 0);
  EXPECT_EQ(result.exit_status(), 2);
  has(result.err, "cannot write 'run.atrace'");
  EXPECT_EQ(read_file(path("run.atrace")), before);
  EXPECT_EQ(files(), (words{"program", "run.atrace"})) << "nothing half-written is left";
}

}  // namespace
