// `ashlar diff`, and what `ashlar report --text` says of growth, as a user meets them.
#include <nlohmann/json.hpp>
#include <tests/support/command_in_folder.hpp>
#include <tests/support/test_headers.hpp>

#include <fmt/format.h>

namespace {

namespace fs = std::filesystem;
using namespace support;
using ended = finished_command;
using json = nlohmann::json;

// A recording as text. Its calls are pools, which have names without a program.
class text_trace {
 public:
  explicit text_trace(const std::string& program) {
    text_ = "ashlar-trace-text 1\nheader program /bin/" + program + "\nheader arguments " +
            program + "\\00\nheader pid 7\nheader ticks_per_second 1000000\n";
    const std::vector<std::string> pools{"orders", "lines", "notes", "index"};
    for (std::size_t i = 0; i < pools.size(); ++i) {
      const std::size_t at = 0x1000 * (i + 1);
      text_ += fmt::format("module {:#x} {:#x} {:#x} {}\nstack {} {:#x}\n", at - 1, at + 1, at,
                           pools[i], i + 1, at);
    }
  }
  // Stack 0 is none.
  text_trace& holds(int stack, int blocks, int size) {
    for (int i = 0; i < blocks; ++i) birth(stack, size);
    return *this;
  }
  text_trace& uses(int stack, int blocks, int size) {
    for (int i = 0; i < blocks; ++i) {
      birth(stack, size);
      text_ += fmt::format("{} 1 free {:#x}\n", time_ += 1000, 16 * block_);
    }
    return *this;
  }
  const std::string& text() const { return text_; }

 private:
  void birth(int stack, int size) {
    text_ += fmt::format("{} 1 malloc {:#x} {}{}\n", time_ += 1000, 16 * ++block_, size,
                         stack == 0 ? "" : fmt::format(" stack={}", stack));
  }
  std::string text_;
  std::uint64_t time_ = 0;
  std::uint64_t block_ = 0;
};

enum { orders = 1, lines, notes, index_of_orders };

class Diff : public CommandInFolder {
 protected:
  void write(const std::string& name, const text_trace& trace) {
    write_file(path("text"), trace.text());
    done({"export", "--from-text", "text", "-o", name});
    fs::remove(path("text"));
  }
  void write_both() {
    write("a.atrace",
          text_trace("shop").holds(lines, 1, 8).uses(notes, 4, 40).holds(orders, 10, 100));
    write("b.atrace", text_trace("shop")
                          .holds(lines, 1, 8)
                          .holds(orders, 10, 300)
                          .holds(index_of_orders, 1, 5000));
  }
};

TEST_F(Diff, TellsWhatChangedTheLargestChangeFirst) {
  write_both();
  const ended result = command({"diff", "a.atrace", "b.atrace"}, 0);
  EXPECT_EQ(result.err, "");
  const std::string& text = result.out;
  has(text, "  before         a.atrace: shop, 0.");
  has(text, "at the peak        1008 B  7.8 KiB  +6.8 KiB  +694.4 %");
  has(text, "temporaries             4        0        -4  -100.0 %");
  const std::string largest =
      "  +4.9 KiB at the peak, new\n"
      "    (held at the end +4.9 KiB; allocated in all +4.9 KiB; allocations +1)\n"
      "      index\n"
      "  +2.0 KiB at the peak, from 1000 B to 2.9 KiB\n";
  has(text, largest);
  has(text, "  2 call sites have as much as before\n");
  has(text, "4.0 KiB to 8.0 KiB     0 B  4.9 KiB  +4.9 KiB\n");
  has(text, "               300     0 B  2.9 KiB  +2.9 KiB\n");
}

TEST_F(Diff, ByAnotherFigureItIsSortedByThat) {
  write_both();
  const ended result = command({"diff", "--by", "temporaries", "a.atrace", "b.atrace"}, 0);
  has(result.out, "  -4 temporaries, gone\n");
  has(result.out, "call sites by the change of the temporaries\n");
  lacks(result.out, "      index\n");
}

// Of all commands that read traces, print, and write a file.
TEST_F(Diff, AReaderWhoHasSeenEnoughStillGetsTheFile) {
  write_both();
  reader_has_gone_ = true;
  for (const words& line : {words{"diff", "--json=found.json", "a.atrace", "b.atrace"},
                            words{"report", "--text", "--json=found.json", "a.atrace"},
                            words{"leaks", "--json=found.json", "--trace", "a.atrace"}}) {
    EXPECT_EQ(command(line).signal(), SIGPIPE) << line[0];
    ASSERT_TRUE(fs::exists(path("found.json"))) << line[0];
    EXPECT_EQ(json::parse(read_file(path("found.json")))["report"], line[0]);
    fs::remove(path("found.json"));
  }
}

TEST_F(Diff, JsonHasAllThatDiffers) {
  write_both();
  done({"diff", "--rows", "1", "--json=d.json", "a.atrace", "b.atrace"});
  has(said("out"), "1 more call site changed (--rows 2 lists them)");
  const json found = json::parse(read_file(path("d.json")));
  EXPECT_EQ(found["report"], "diff");
  EXPECT_EQ(found["by"], "peak");
  EXPECT_EQ(found["before"]["bytes_at_peak"], 1008);
  EXPECT_EQ(found["after"]["bytes_at_peak"], 8008);
  EXPECT_EQ(found["after"]["arguments"], json({"shop"}));
  ASSERT_EQ(found["call_sites"].size(), 3u);
  EXPECT_EQ(found["call_sites"][0]["frames"][0], "index");
  EXPECT_EQ(found["call_sites"][0]["state"], "new");
  EXPECT_EQ(found["call_sites"][1]["state"], "in both");
  EXPECT_EQ(found["call_sites"][1]["before"]["bytes_at_end"], 1000);
  EXPECT_EQ(found["call_sites"][2]["state"], "gone");
  EXPECT_EQ(found["call_sites"][2]["before"]["temporaries"], 4);
  EXPECT_EQ(found["equal_call_sites"], 1);
  EXPECT_EQ(found["sizes"].size(), 4u);
  EXPECT_EQ(found["doublings"].size(), 5u) << "that which is the same, too";
  EXPECT_EQ(found["doublings"][0]["most"], 8);
  EXPECT_EQ(found["call_sites"][0]["site"]["name"], "index");
  EXPECT_EQ(found["before"]["lost_events"], 0);
  const json& course = found["after"]["over_time"];
  EXPECT_EQ(course["live_bytes"].back(), 8008);
  EXPECT_EQ(course["seconds"].back(), found["after"]["seconds"]);
  EXPECT_EQ(course["seconds"].size(), course["live_bytes"].size());
}

// tests/report/diff_page_test.py looks at it.
TEST_F(Diff, ThePageIsWrittenBesideTheJson) {
  write_both();
  const ended result = command(
      {"diff", "-o", "d.html", "--json=d.json", "--fail-above", "1", "a.atrace", "b.atrace"}, 1);
  has(result.err, "ashlar diff: d.html (");
  const std::string page = read_file(path("d.html"));
  EXPECT_TRUE(page.starts_with("<!doctype html>"));
  const json found = json::parse(read_file(path("d.json")));
  has(page, found.dump());
}

TEST_F(Diff, ThePageSumsUpSmallChanges) {
  const auto run = [](int large, int small) {
    return text_trace("shop")
        .uses(notes, 30000, 40)
        .holds(orders, large, 100000)
        .holds(lines, small, 8)
        .holds(index_of_orders, 2 * small, 4);
  };
  write("a.atrace", run(10, 1));
  write("b.atrace", run(20, 2));
  done({"diff", "-o", "d.html", "--json=d.json", "a.atrace", "b.atrace"});
  EXPECT_EQ(json::parse(read_file(path("d.json")))["call_sites"].size(), 3u);
  const std::string page = read_file(path("d.html"));
  const std::string begin = "id=\"data\">\n";
  const std::size_t at = page.find(begin) + begin.size();
  const json sites = json::parse(page.substr(at, page.find('\n', at) - at))["call_sites"];
  ASSERT_EQ(sites.size(), 2u);
  EXPECT_EQ(sites[0]["site"]["name"], "orders");
  EXPECT_EQ(sites[1]["site"]["name"], "(smaller changes of 2 call sites)");
  EXPECT_EQ(sites[1]["before"]["births"], 3);
  EXPECT_EQ(sites[1]["after"]["bytes_at_end"], 32);
}

TEST_F(Diff, AboveTheLimitTheStatusIsOne) {
  write_both();
  const auto status_of = [&](words options, const char* before, const char* after) {
    options.insert(options.begin(), "diff");
    options.insert(options.end(), {before, after});
    return command(options).exit_status();
  };
  EXPECT_EQ(status_of({"--fail-above", "7000"}, "a.atrace", "b.atrace"), 0);
  EXPECT_EQ(status_of({"--fail-above", "6999"}, "a.atrace", "b.atrace"), 1);
  has(said("err"),
      "ashlar: the bytes at the peak grew by 6.8 KiB, more than 6.8 "
      "KiB (--fail-above)\n");
  EXPECT_EQ(status_of({"--fail-above", "0"}, "b.atrace", "a.atrace"), 0) << "it shrank";
  EXPECT_EQ(status_of({"--by", "temporaries", "--fail-above", "3"}, "b.atrace", "a.atrace"), 1);
  has(said("err"), "the temporaries grew by 4, more than 3");
  EXPECT_EQ(status_of({"--by", "temporaries", "--fail-above", "3"}, "a.atrace", "b.atrace"), 0);
  EXPECT_EQ(status_of({"--fail-above", "0"}, "a.atrace", "a.atrace"), 0);
}

// The call sites that grew are notes, and above the limit errors.
TEST_F(Diff, WhatGrewIsForOtherReadersToo) {
  write_both();
  const words both{"a.atrace", "b.atrace"};
  const auto said_of = [&](words options) {
    options.insert(options.begin(), "diff");
    options.insert(options.end(), both.begin(), both.end());
    return command(options).out;
  };
  const std::string within = said_of({"--for=github"});
  EXPECT_TRUE(within.starts_with("::notice title=ashlar increase::4.9 KiB at the peak more, "))
      << within;
  EXPECT_EQ(std::count(within.begin(), within.end(), '\n'), 2) << "what shrank is none: " << within;
  const std::string one = said_of({"--for=github", "--rows=1"});
  EXPECT_EQ(std::count(one.begin(), one.end(), '\n'), 1) << one;
  EXPECT_TRUE(said_of({"--for=github", "--fail-above=0"}).starts_with("::error ")) << said("out");
  has(said_of({"--for=junit"}), R"(tests="2" failures="0")");
  has(said_of({"--for=junit", "--fail-above=0"}), R"(tests="2" failures="2")");
  const auto log = nlohmann::json::parse(said_of({"--for=sarif"}));
  EXPECT_EQ(log.at("runs")[0].at("results").size(), 2u) << log;
  EXPECT_EQ(log.at("runs")[0].at("results")[0].at("ruleId"), "increase");
  has(command({"diff", "--for=junit", "a.atrace", "a.atrace"}).out, R"(tests="1" failures="0")");
}

TEST_F(Diff, WhatCannotBeComparedIsNamed) {
  write_both();
  write_file(path("text.txt"), "no trace");
  const std::vector<std::pair<words, std::string>> wrong{
      {{"diff"}, "BEFORE"},
      {{"diff", "a.atrace"}, "AFTER"},
      {{"diff", "a.atrace", "gone.atrace"}, "gone.atrace"},
      {{"diff", "text.txt", "a.atrace"}, "text.txt: at byte 0: this is no trace"},
      {{"diff", "--by", "size", "a.atrace", "b.atrace"},
       "--by: 'size' is none of peak, held, allocated, allocations, temporaries"},
      {{"diff", "--fail-above", "much", "a.atrace", "b.atrace"}, "much"},
      {{"diff", "--depth", "0", "a.atrace", "b.atrace"}, "--depth"},
      {{"diff", "--json=b.atrace", "a.atrace", "b.atrace"}, "is an input"},
      {{"diff", "-o", "a.atrace", "a.atrace", "b.atrace"}, "is an input"},
      {{"diff", "-o", "gone/d.html", "a.atrace", "b.atrace"}, "gone/d.html"},
      {{"diff", "-o", "d", "--json=d", "a.atrace", "b.atrace"}, "--json"},
  };
  for (const auto& [line, named] : wrong) {
    const ended result = command(line, 2);
    has(result.err, named);
    EXPECT_EQ(result.out, "");
  }
}

TEST_F(Diff, ATraceWithoutItsEndOrWithLostEventsSaysSo) {
  write_both();
  fs::resize_file(path("b.atrace"), fs::file_size(path("b.atrace")) - 3);
  ended result = command({"diff", "a.atrace", "b.atrace"});
  EXPECT_EQ(result.exit_status(), 0);
  has(result.err, "b.atrace: at byte ");
  write_file(path("lost"), text_trace("shop").holds(orders, 1, 8).text() + "9000000 1 lost 12\n");
  done({"export", "--from-text", "lost", "-o", "lost.atrace"});
  result = command({"diff", "a.atrace", "lost.atrace"});
  has(result.err, "lost.atrace: 12 events were lost");
}

TEST_F(Diff, WithoutStacksItTellsTheSumAndHowToGetThem) {
  write("a.atrace", text_trace("shop").holds(0, 10, 100));
  write("b.atrace", text_trace("shop").holds(0, 10, 200));
  const ended result = command({"diff", "a.atrace", "b.atrace"});
  has(result.err, "a.atrace has no calls: record it without --no-stacks\n");
  has(result.out, "  +1000 B at the peak, from 1000 B to 2.0 KiB\n");
  has(result.out, "      calls that were not recorded\n");
}

// Two builds of one program: other names, addresses and lines.
TEST_F(Diff, OfTwoBuildsTheFunctionsAreCompared) {
  if (!ASHLAR_HAS_RECORDER) GTEST_SKIP() << "this build has no recorder";
  for (const auto& [trace, program] :
       {std::pair{"a.atrace", ASHLAR_OLDER_SHOP}, std::pair{"b.atrace", ASHLAR_NEWER_SHOP}})
    done({"record", "--stacks", "-o", trace, "--", program});
  done({"diff", "--json=d.json", "a.atrace", "b.atrace"});
  const json found = json::parse(read_file(path("d.json")));
  const auto site = [&](const std::string& function) -> json {
    for (const json& each : found["call_sites"])
      if (each["frames"][0].get<std::string>().starts_with(function)) return each;
    return nullptr;
  };
  ASSERT_FALSE(site("make_order").is_null()) << found.dump(1);
  EXPECT_EQ(site("make_order")["state"], "in both");
  EXPECT_EQ(site("make_order")["before"]["bytes_at_peak"], 100 * 100);
  EXPECT_EQ(site("make_order")["after"]["bytes_at_peak"], 100 * 300);
  EXPECT_EQ(site("add_index")["state"], "new");
  EXPECT_EQ(site("add_index")["after"]["bytes_at_end"], 5000);
  EXPECT_EQ(site("drop_note")["state"], "gone");
  EXPECT_EQ(site("drop_note")["before"]["temporaries"], 100);
  EXPECT_EQ(found["call_sites"].size(), 3u) << "what the C library allocates is the same";
}

class StatOfGrowth : public Diff {};

TEST_F(StatOfGrowth, NamesWhatRisesAllThroughTheRun) {
  text_trace trace("shop");
  trace.holds(orders, 20, 1000);  // a start-up
  for (int i = 0; i < 100; ++i) trace.uses(notes, 5, 40).holds(lines, 1, 64);
  write("a.atrace", trace);
  const ended result = command({"report", "--text", "--full", "a.atrace"}, 0);
  const std::size_t at = result.out.find("\n  rising all through the run, the steepest first\n\n");
  ASSERT_NE(at, std::string::npos) << result.out;
  has(result.out.substr(at), " a second: ");
  has(result.out.substr(at), "; confidence > 99.9 %\n      lines\n");
  const json stat = json::parse(done({"report", "--text", "--json", "a.atrace"}));
  ASSERT_EQ(stat["growing"]["call_sites"].size(), 1u) << stat["growing"];
  const json& site = stat["growing"]["call_sites"][0];
  EXPECT_EQ(site["frames"], json({"lines"}));
  EXPECT_NEAR(site["bytes_per_second"].get<double>(), 64 / 0.011, 200);  // 64 bytes in 11 ms
  EXPECT_GT(site["tau"], 0.8);
  EXPECT_GT(site["confidence"], 0.99);
  EXPECT_NEAR(stat["growing"]["seconds"].get<double>(), 1.1, 0.05);
  EXPECT_EQ(stat["temporaries"], 500);
}

TEST_F(StatOfGrowth, SaysNothingWhereNothingDoes) {
  write("a.atrace", text_trace("shop").holds(orders, 20, 1000).uses(notes, 500, 40));
  lacks(done({"report", "--text", "--full", "a.atrace"}), "rising");
  has(said("out"), "500 of 520 blocks were freed by the next call");
}

}  // namespace
