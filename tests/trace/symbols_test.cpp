// A trace with names in it: `ashlar export --symbols`, `ashlar record --symbols`, and each command that reads
// such a trace when the program is gone or was built again.
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <tests/support/command_in_folder.hpp>
#include <vector>

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>

namespace {

namespace fs = std::filesystem;
using support::words;
using ended = support::finished_command;
using json = nlohmann::json;

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

class Symbols : public support::CommandInFolder {
 protected:
  void SetUp() override {
    support::CommandInFolder::SetUp();
    if (!ASHLAR_HAS_LIBDW) GTEST_SKIP() << "no libdw";
    build(ASHLAR_TEST_LEAK);
  }
  // What is at the program's place from now on.
  void build(const std::string& program) const {
    fs::remove(path("program"));
    fs::copy_file(program, path("program"));
  }
  void record(const std::string& trace, const words& options = {"--stacks"}) const {
    words line{"record", "-o", trace};
    line.insert(line.end(), options.begin(), options.end());
    line.insert(line.end(), {"--", path("program")});
    ASSERT_EQ(ashlar(line), 0) << said("err");
  }
  std::string stat_of(const std::string& trace) const {
    EXPECT_EQ(ashlar({"report", "--text", "--json", "--rows", "100", trace}), 0) << said("err");
    json report = json::parse(said("out"));
    report.erase("file");
    return report.dump(1);
  }
};

TEST_F(Symbols, EveryCommandReadsTheNamesWhereTheProgramWasBuiltAgainOrIsGone) {
  record("run.atrace");
  const std::string before = stat_of("run.atrace");
  ASSERT_TRUE(contains(before, "shop::serve(int, bool) in program")) << before;
  const ended named = command({"export", "--symbols", "run.atrace"});
  EXPECT_EQ(named.exit_status(), 0);
  EXPECT_TRUE(contains(named.err, "ashlar: run.atrace: ")) << named.err;
  EXPECT_TRUE(contains(named.err, " calls have names, ")) << named.err;
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
      const ended now = command(readers[i]);
      EXPECT_EQ(now.exit_status(), 0) << readers[i][0] << now.err;
      EXPECT_FALSE(contains(now.err, "program")) << now.err;
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
  const ended result = command({"diff", "--json=d.json", "before.atrace", "after.atrace"});
  EXPECT_EQ(result.exit_status(), 0);
  EXPECT_FALSE(contains(result.err, "is another build")) << result.err;
  const json found = json::parse(support::read_file(path("d.json")));
  std::string states;
  for (const json& site : found["call_sites"]) {
    const std::string name = site["frames"][0];
    states += name.substr(0, name.find(' ')) + ": " + site["state"].get<std::string>() + "; ";
  }
  EXPECT_TRUE(contains(states, "make_order: in both")) << states;
  EXPECT_TRUE(contains(states, "add_index: new")) << states;
  EXPECT_TRUE(contains(states, "drop_note: gone")) << states;
}

TEST_F(Symbols, RecordPutsThemInAtOnce) {
  record("at_once.atrace", {"--symbols"});
  EXPECT_TRUE(contains(said("err"), "calls have names")) << said("err");
  record("later.atrace", {"--stacks"});
  fs::remove(path("program"));
  EXPECT_TRUE(contains(stat_of("at_once.atrace"), "shop::serve(int, bool) in program"));
  EXPECT_FALSE(contains(stat_of("later.atrace"), "shop::serve"));
  EXPECT_EQ(command({"record", "--symbols", "--profile", "--", "/bin/true"}).exit_status(), 2);
}

TEST_F(Symbols, ATraceThatHasThemStaysAsItIsAndGetsWhatCameSince) {
  ASSERT_EQ(std::system(("strip -o '" + path("program") + "' '" ASHLAR_TEST_LEAK "'").c_str()), 0);
  record("run.atrace", {"--symbols"});
  EXPECT_TRUE(contains(said("err"), "program (compile it with -g)")) << said("err");
  EXPECT_FALSE(contains(stat_of("run.atrace"), "shop::serve"));
  const std::string first = support::read_file(path("run.atrace"));
  const ended again = command({"export", "--symbols", "run.atrace"});
  EXPECT_TRUE(contains(again.err, "; it stays as it was\n")) << again.err;
  EXPECT_EQ(support::read_file(path("run.atrace")), first);
  build(ASHLAR_TEST_LEAK);  // the same build id, with debug information
  ASSERT_EQ(ashlar({"export", "--symbols", "run.atrace"}), 0);
  build(ASHLAR_TEST_OTHER);
  EXPECT_TRUE(contains(stat_of("run.atrace"), "shop::serve(int, bool) in program"));
}

TEST_F(Symbols, WhatCannotBeNamedIsToldOnce) {
  record("run.atrace");
  fs::remove(path("program"));
  const ended result = command({"export", "--symbols", "run.atrace"});
  EXPECT_EQ(result.exit_status(), 0);
  const std::string told =
      "program' is gone, so its calls are offsets: put it back, or record again (--symbols ";
  EXPECT_TRUE(contains(result.err, told)) << result.err;
  EXPECT_EQ(result.err.find("program'"), result.err.rfind("program'")) << result.err;
}

TEST_F(Symbols, AnotherFileIsWrittenWithMinusO) {
  record("a.atrace");
  const std::string before = support::read_file(path("a.atrace"));
  ASSERT_EQ(ashlar({"export", "--symbols", "a.atrace", "-o", "named.atrace"}), 0) << said("err");
  EXPECT_EQ(support::read_file(path("a.atrace")), before);
  fs::copy_file(path("a.atrace"), path("b.atrace"));
  ASSERT_EQ(ashlar({"export", "--symbols", "a.atrace", "b.atrace"}), 0) << said("err");
  EXPECT_EQ(support::read_file(path("a.atrace")), support::read_file(path("named.atrace")));
  EXPECT_EQ(support::read_file(path("b.atrace")), support::read_file(path("named.atrace")));
  support::write_file(path("notes.txt"), "no trace");
  const ended other = command({"export", "--symbols", "a.atrace", "-o", "notes.txt"});
  EXPECT_EQ(other.exit_status(), 2);
  EXPECT_TRUE(contains(other.err, "notes.txt")) << other.err;
  EXPECT_EQ(support::read_file(path("notes.txt")), "no trace");
  const ended both = command({"export", "--symbols", "a.atrace", "b.atrace", "-o", "c.atrace"});
  EXPECT_EQ(both.exit_status(), 2);
  EXPECT_TRUE(contains(both.err, "without -o")) << both.err;
}

TEST_F(Symbols, ATraceThatWasCutKeepsWhatItHas) {
  record("run.atrace");
  const std::string events = stat_of("run.atrace");
  fs::resize_file(path("run.atrace"), fs::file_size(path("run.atrace")) - 5);
  const ended result = command({"export", "--symbols", "run.atrace"});
  EXPECT_EQ(result.exit_status(), 0);
  EXPECT_TRUE(contains(result.err, "the trace ends without its end")) << result.err;
  fs::remove(path("program"));
  EXPECT_EQ(json::parse(stat_of("run.atrace"))["held_at_end"], json::parse(events)["held_at_end"]);
}

TEST_F(Symbols, WhatIsNoTraceOrHasNoCallsIsRefusedAndStays) {
  record("plain.atrace", {});
  record("damaged.atrace");
  std::string bytes = support::read_file(path("damaged.atrace"));
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
  support::write_file(path("damaged.atrace"), bytes);
  support::write_file(path("text.txt"), "no trace");
  support::write_file(path("empty"), "");
  fs::create_directory(path("folder"));
  for (const auto& [file, told] : std::vector<std::pair<std::string, std::string>>{
           {"plain.atrace", "'plain.atrace' has no calls to name: ashlar record --stacks"},
           {"damaged.atrace", "damaged.atrace: at byte "},
           {"text.txt", "text.txt: at byte 0: this is no trace of ashlar's"},
           {"empty", "empty: at byte 0: the file is empty"},
           {"gone.atrace", "gone.atrace"},
           {"folder", "folder"}}) {
    const bool is_file = fs::is_regular_file(path(file));
    const std::string before = is_file ? support::read_file(path(file)) : "";
    const ended result = command({"export", "--symbols", file});
    EXPECT_EQ(result.exit_status(), 2) << file;
    EXPECT_TRUE(contains(result.err, told)) << result.err;
    if (is_file) {
      EXPECT_EQ(support::read_file(path(file)), before) << file;
    }
  }
  EXPECT_FALSE(fs::exists(path("gone.atrace")));
}

TEST_F(Symbols, WhereTheDiskIsFullTheTraceStays) {
  record("run.atrace");
  const std::string before = support::read_file(path("run.atrace"));
  const rlimit limit{before.size() / 2, RLIM_INFINITY};
  const rlimit none{RLIM_INFINITY, RLIM_INFINITY};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);  // which the command takes over
  std::signal(SIGXFSZ, SIG_IGN);
  const ended result = command({"export", "--symbols", "run.atrace"});
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &none), 0);
  EXPECT_EQ(result.exit_status(), 2);
  EXPECT_TRUE(contains(result.err, "cannot write 'run.atrace'")) << result.err;
  EXPECT_EQ(support::read_file(path("run.atrace")), before);
  EXPECT_EQ(files(), (words{"program", "run.atrace"})) << "nothing half-written is left";
}

}  // namespace
