// The tests of the small sources of tools/cli: a part for each, with its name.
#include <tests/support/test_headers.hpp>

#include <poll.h>
#include <pty.h>

#include "tools/cli/comparison_report.hpp"
#include "tools/cli/fault_report.hpp"
#include "tools/cli/finding_report.hpp"
#include "tools/cli/process_table.hpp"
#include "tools/cli/table.hpp"
#include "tools/cli/trace_files.hpp"
#include "tools/files/text.hpp"
#include "tools/measure/comparison_samples_test.hpp"

namespace ashlar::cli {
namespace {

// ---- finding_report ----------------------------------------------------------------------------

TEST(FindingReport, OnTheFirstScreenIsWhatSavesMemoryOrATwentiethOfTheAllocations) {
  findings::findings_of_run found;
  found.totals.births = 200'000;
  for (const std::uint64_t allocations : {90'000u, 9'000u, 0u}) {
    findings::finding f;
    f.kind = findings::finding_kind::hot_loop;
    f.calls.push_back({"f in program", "/src/a.cpp", 1, "/bin/program", "f"});
    f.allocations_saved = allocations;
    f.bytes_saved_at_peak = allocations == 0 ? 1u << 20 : 0;
    found.list.push_back(f);
  }
  call_times times;
  times.allocate = 40;
  times.release = 20;
  const std::string text = render_first_findings(found, times, 10);
  EXPECT_NE(text.find("  3 findings in "), std::string::npos) << text;
  EXPECT_NE(text.find("  1. An allocation"), std::string::npos) << text;
  EXPECT_EQ(text.find("  2. An allocation"), std::string::npos) << text;
  EXPECT_NE(text.find("  3. An allocation"), std::string::npos) << text;
}

// ---- comparison_report -------------------------------------------------------------------------

TEST(ComparisonReport, QuotesMediansOfMeasuredRunsAndRatiosToTheFirst) {
  const std::string text = render_comparison(measure::two_allocators(), glyphs::ascii);
  EXPECT_NE(text.find("1.000-1.000   0.50"), std::string::npos) << text;
  EXPECT_NE(text.find("2.0-2.0   2.00"), std::string::npos) << text;
}

TEST(ComparisonReport, ASummaryRelatesEachProgramToItsFirstAllocator) {
  const measure::stored_comparison stored =
      measure::parse_comparison(measure::comparison_json(measure::two_allocators()).dump(), "x");
  const std::string text = render_summary({stored, stored}, glyphs::ascii);
  EXPECT_NE(text.find("0.50"), std::string::npos) << text;
}

TEST(ComparisonReport, ThePageHasTheNotesOfAnAllocatorThatFailed) {
  measure::comparison compared = measure::two_allocators();
  compared.allocators[1].samples.push_back(measure::sample(0.001, 1, SIGSEGV));
  compared.allocators[1].error_output = "boom <1>\n";
  const std::string page = comparison_page(compared);
  EXPECT_NE(page.find("SIGSEGV"), std::string::npos) << page;
  EXPECT_NE(page.find("    boom \\u003c1>\\n"), std::string::npos) << page;
}

// ---- fault_report ------------------------------------------------------------------------------

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
  EXPECT_EQ(std::tuple(named.text, named.faults, named.json), std::tuple(other, 0u, ""));
}

TEST(FaultReport, MembersOfOtherTypesDoNoHarm) {
  trace::source_lines sources;
  const named_faults named = name_frames(
      R"_({"ashlar": "fault", "kind": 5, "call": [], "found": {"frames": [3, {"number": "x"}]}})_",
      sources, stdout);
  EXPECT_EQ(named.faults, 1u);
  EXPECT_FALSE(named.has_lines);
}

// ---- process_files -----------------------------------------------------------------------------

TEST(ProcessFiles, TheProgramsHasTheNameItself) {
  EXPECT_EQ(path_for_process("run.atrace", 7, 7), "run.atrace");
  EXPECT_EQ(path_for_process("run.atrace", 8, 7), "run.8.atrace");
  EXPECT_EQ(path_for_process("a/b.c/run.x.aprof", 8, 7), "a/b.c/run.x.8.aprof");
  EXPECT_EQ(path_for_process("a.b/run", 8, 7), "a.b/run.8");
}

TEST(TraceFiles, NothingThatIsThereIsWrittenOver) {
  const files::scratch_directory folder;
  const std::string output = folder.path() + "/run.atrace";
  const auto write = [](const std::string& path, const std::string& text) {
    std::ofstream(path) << text;
  };
  const auto read = [](const std::string& path) {
    std::ifstream file(path);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  write(output + ".7.part", "of a recorder that was killed");
  write(folder.path() + "/victim", "precious");
  std::filesystem::create_symlink("victim", output + ".8.part");
  write(folder.path() + "/run.8.atrace", "notes");
  {
    trace_files files(output);
    for (const std::uint32_t pid : {7u, 8u}) files.open(pid)("a trace");
    files.open(9);
    EXPECT_EQ(files.unfinished(),
              (std::vector<std::string>{output + ".7.2.part", output + ".8.2.part"}));
    EXPECT_EQ(files.commit(7, 7).path, output);
    EXPECT_EQ(files.commit(8, 7).path, folder.path() + "/run.8.2.atrace");
    files.open(10)("half a trace");
  }
  EXPECT_EQ(read(output + ".7.part"), "of a recorder that was killed");
  EXPECT_EQ(read(folder.path() + "/victim"), "precious");
  EXPECT_EQ(read(folder.path() + "/run.8.atrace"), "notes");
  EXPECT_EQ(read(folder.path() + "/run.8.2.atrace"), "a trace");
  EXPECT_EQ(read(output + ".10.part"), "half a trace");
  EXPECT_FALSE(std::filesystem::exists(output + ".9.part"));  // it had nothing
}

// ---- process_table -----------------------------------------------------------------------------

pool_statistics figures(std::uint64_t live, std::uint64_t allocations, bool exact = false) {
  pool_statistics s;
  s.pid = 4711;
  s.command = "server";
  s.exact = exact;
  s.total.bytes_in_use = live;
  s.total.peak_bytes_in_use = 2 * live;
  s.total.resident_bytes = 3 * live;
  s.total.allocations = allocations;
  class_figures c{};
  c.block_size = 64;
  c.allocations = allocations;
  s.classes.push_back(c);
  return s;
}

TEST(ProcessTable, RatesAreDifferencesOverTime) {
  const process_row row = row_between(figures(1000, 10), figures(1600, 30), 2);
  EXPECT_EQ(std::tuple(row.live_bytes, row.peak_bytes, row.resident_bytes),
            std::tuple(1600u, 3200u, 4800u));
  EXPECT_DOUBLE_EQ(row.growth_per_minute, 600 * 60 / 2.0);
  EXPECT_DOUBLE_EQ(row.allocated_per_second, 20 * 64 / 2.0);
  EXPECT_DOUBLE_EQ(row.calls_per_second, 10);
  EXPECT_DOUBLE_EQ(row_between(figures(1600, 30), figures(1000, 40), 2).growth_per_minute,
                   -600 * 60 / 2.0);
}

TEST(ProcessTable, WithoutAnEarlierMomentThereAreNoRates) {
  for (const process_row& row : {row_between(figures(9, 9), figures(9, 9), 0),
                                 row_between(figures(9, 900), figures(9, 9), 1)}) {
    EXPECT_EQ(std::tuple(row.growth_per_minute, row.allocated_per_second, row.calls_per_second),
              std::tuple(0, 0, 0));
  }
}

TEST(ProcessTable, TheLargestIsFirstInEachOrder) {
  std::vector<process_row> rows(3);
  rows[0].live_bytes = rows[1].resident_bytes = rows[2].peak_bytes = 5;
  rows[1].growth_per_minute = 5;
  rows[2].growth_per_minute = -5;
  rows[2].allocated_per_second = 5;
  rows[0].pid = 1, rows[1].pid = 2, rows[2].pid = 3;
  const auto first = [&](std::string_view column) {
    sort_rows(rows, column);
    return rows.front().pid;
  };
  EXPECT_EQ(first("live"), 1);
  EXPECT_EQ(first("resident"), 2);
  EXPECT_EQ(first("growth"), 2);
  EXPECT_EQ(first("rate"), 3);
  EXPECT_EQ(first("peak"), 3);
}

TEST(ProcessTable, AFigureThatIsNotExactSaysSo) {
  const auto text = [](bool exact, glyphs set) {
    return render_rows({row_between(figures(1000, 0, exact), figures(1000, 20, exact), 1)}, 0, 200,
                       100, set);
  };
  EXPECT_NE(text(false, glyphs::utf8).find("≥20"), std::string::npos);
  EXPECT_NE(text(false, glyphs::ascii).find(">20"), std::string::npos);
  EXPECT_EQ(text(true, glyphs::utf8).find("≥"), std::string::npos);
}

TEST(ProcessTable, ItFitsTheScreen) {
  std::vector<process_row> rows(
      50, row_between(figures(123'456'789'000, 0), figures(987'654'321'000, 90'000'000), 1));
  const auto lines_of = [&](std::size_t columns, std::size_t lines) {
    std::istringstream text(render_rows(rows, 2, columns, lines, glyphs::utf8));
    std::vector<std::string> all;
    for (std::string line; std::getline(text, line);) all.push_back(line);
    return all;
  };
  EXPECT_EQ(lines_of(500, 100).size(), 1 + rows.size() + 1);
  for (const std::string& line : lines_of(500, 100)) EXPECT_LE(display_width(line), 80u) << line;
  EXPECT_EQ(lines_of(80, 23).size(), 23u);
  EXPECT_TRUE(lines_of(80, 0).empty());
  for (std::size_t columns = 0; columns < 80; ++columns)
    for (const std::string& line : lines_of(columns, 3)) {
      EXPECT_LE(display_width(line), columns);
      EXPECT_TRUE(line.empty() || (static_cast<unsigned char>(line.back()) & 0xC0) != 0xC0)
          << "a character was cut in its middle";
    }
}

// ---- progress_line -----------------------------------------------------------------------------

/// Standard error is a terminal while this lives.
class terminal {
 public:
  terminal() : before_(::dup(STDERR_FILENO)) {
    int inside = -1;
    EXPECT_EQ(::openpty(&outside_, &inside, nullptr, nullptr, nullptr), 0);
    ::dup2(inside, STDERR_FILENO);
    ::close(inside);
  }
  ~terminal() {
    ::dup2(before_, STDERR_FILENO);
    ::close(before_);
    ::close(outside_);
  }
  terminal(const terminal&) = delete;
  terminal& operator=(const terminal&) = delete;

  /// Returns: what has been written since the last time.
  [[nodiscard]] std::string fetch() const {
    std::string text;
    std::array<char, 256> some{};
    for (pollfd ready{outside_, POLLIN, 0}; ::poll(&ready, 1, 0) == 1;) {
      const ssize_t got = ::read(outside_, some.data(), some.size());
      if (got <= 0) break;
      text.append(some.data(), static_cast<std::size_t>(got));
    }
    return text;
  }

 private:
  int before_, outside_ = -1;
};

TEST(ProgressLine, IsThereWhileALongWorkIsDone) {
  const terminal screen;
  progress_line line;
  std::string text;
  const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (text.empty() && std::chrono::steady_clock::now() < patience) {
    line.tell("reading", 0.5);
    text = screen.fetch();
  }
  EXPECT_EQ(text, "\r\033[Kreading 50 %");
  line.tell("reading", 1);
  EXPECT_EQ(screen.fetch(), "\r\033[K");
  line.tell("reading", 1);
  EXPECT_EQ(screen.fetch(), "") << "it is gone";
}

TEST(ProgressLine, IsNotWrittenIntoAFile) {
  testing::internal::CaptureStderr();
  {
    progress_line line;
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(500);
    while (std::chrono::steady_clock::now() < end) line.tell("reading", 0.5);
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

// ---- table -------------------------------------------------------------------------------------

TEST(Table, ColumnsLineUpByTheirSideAndLinesHaveNoTrailingBlanks) {
  table lines({{"name", align::left}, {"count"}});
  lines.add_row({"a", "1"});
  lines.add_row({"longer", "100"});
  lines.add_row({"b"});
  EXPECT_EQ(lines.render(),
            "name    count\n"
            "a           1\n"
            "longer    100\n"
            "b\n");
}

TEST(Table, AGroupStandsOverItsColumnsAndSetsThemApart) {
  table lines(
      {{"x", align::left}, {"a", align::right, "wide group"}, {"b", align::right, "wide group"}});
  lines.add_row({"r", "1", "2"});
  EXPECT_EQ(lines.render(1),
            "      wide group\n"
            " x    a        b\n"
            " r    1        2\n");
}

TEST(Table, WidthIsCountedInColumnsNotInBytes) {
  table lines({{"r"}, {"s"}});
  lines.add_row({"1–2", "x"});
  lines.add_row({"10–20", "x"});
  EXPECT_EQ(lines.render(),
            "    r  s\n"
            "  1–2  x\n"
            "10–20  x\n");
}

TEST(Table, TooManyCellsAreAMistake) {
  table lines({{"only"}});
  EXPECT_THROW(lines.add_row({"1", "2"}), std::logic_error);
}

// ---- text --------------------------------------------------------------------------------------

TEST(Text, BytesChangeTheirUnitWhereTheFigureWouldBeTooLong) {
  EXPECT_EQ(format_bytes(0), "0 B");
  EXPECT_EQ(format_bytes(1023), "1023 B");
  EXPECT_EQ(format_bytes(1024), "1.0 KiB");
  EXPECT_EQ(format_bytes(1536), "1.5 KiB");
  EXPECT_EQ(format_bytes((1u << 20) - 1), "1.0 MiB");
  EXPECT_EQ(format_bytes(UINT64_MAX), "16.0 EiB");
}

TEST(Text, CountsAreGroupedByThree) {
  EXPECT_EQ(format_count(0), "0");
  EXPECT_EQ(format_count(999), "999");
  EXPECT_EQ(format_count(1000), "1,000");
  EXPECT_EQ(format_count(1234567), "1,234,567");
  EXPECT_EQ(format_count(UINT64_MAX), "18,446,744,073,709,551,615");
}

TEST(Text, ACountIsDigitsAlone) {
  EXPECT_EQ(files::number_in("0"), 0u);
  EXPECT_EQ(files::number_in("1234567"), 1234567u);
  EXPECT_EQ(files::number_in("18446744073709551615"), UINT64_MAX);
  for (const char* const text :
       {"", "auto", "7x", " 7", "-7", "+7", "1,234", "0x7", "7.0", "18446744073709551616"})
    EXPECT_FALSE(files::number_in(text).has_value()) << text;
}

TEST(Text, BytesWithTheirUnitAreRead) {
  EXPECT_EQ(parse_bytes("0"), 0u);
  EXPECT_EQ(parse_bytes("4096"), 4096u);
  EXPECT_EQ(parse_bytes("18446744073709551615"), UINT64_MAX);
  for (const char* text : {"64KiB", "64 KiB", "64kib", "64KB", "64k", "65536B", "65536 b"})
    EXPECT_EQ(parse_bytes(text), 65536u) << text;
  EXPECT_EQ(parse_bytes("3MiB"), std::uint64_t{3} << 20);
  EXPECT_EQ(parse_bytes("3G"), std::uint64_t{3} << 30);
  EXPECT_EQ(parse_bytes("3tb"), std::uint64_t{3} << 40);
  EXPECT_EQ(parse_bytes("3P"), std::uint64_t{3} << 50);
  EXPECT_EQ(parse_bytes("15EiB"), std::uint64_t{15} << 60);
  for (const char* text :
       {"", " ", "B", "KiB", "-1", "+1", " 1", "1.5MiB", "1e3", "2 miles", "1Ki B", "1i", "1ib",
        "1KK", "1BB", "16EiB", "18446744073709551616", "18014398509481984KiB"})
    EXPECT_FALSE(parse_bytes(text).has_value()) << text;
}

TEST(Text, QuotedWordsAreWhatAShellReadsBack) {
  EXPECT_EQ(shell_quoted({"ls", "-l", "/tmp/a.b"}), "ls -l /tmp/a.b");
  EXPECT_EQ(shell_quoted({"sh", "-c", "echo 'a b' $x"}), "sh -c 'echo '\\''a b'\\'' $x'");
  EXPECT_EQ(shell_quoted({"", "*"}), "'' '*'");
  EXPECT_EQ(shell_quoted({"a\x1b[2Jb'\\\n"}), "$'a\\x1b[2Jb\\'\\\\\\x0a'");
}

TEST(Text, EmptyWordsAtTheEndAreNoArguments) {
  using std::string_view_literals::operator""sv;
  const std::vector<std::string> words{"server: 3 clients", "", "-v"};
  EXPECT_EQ(words_of_arguments("server: 3 clients\0\0-v\0\0\0\0"sv), words);
  EXPECT_EQ(words_of_arguments("\0\0"sv), std::vector<std::string>{});
}

TEST(Text, ControlCharactersAreShownNotSent) {
  EXPECT_EQ(printable("plain text, \\ and größer"), "plain text, \\ and größer");
  EXPECT_EQ(printable("\x1b]0;title\a\r\n\x7f"), "\\x1b]0;title\\x07\\x0d\\x0a\\x7f");
  EXPECT_EQ(printable("\u009b2J\u00a0\xc2"), "\\xc2\\x9b2J\u00a0\xc2");
  EXPECT_EQ(printable(std::string_view("\0", 1)), "\\x00");
}

TEST(Text, ABarIsAsLongAsItsShareAndNeverEmptyForSomething) {
  for (const glyphs set : {glyphs::ascii, glyphs::utf8}) {
    EXPECT_EQ(format_bar(0, 20, set), "");
    EXPECT_EQ(display_width(format_bar(1, 20, set)), 20u);
    EXPECT_EQ(display_width(format_bar(7, 20, set)), 20u);
    EXPECT_EQ(display_width(format_bar(0.5, 20, set)), 10u);
    EXPECT_EQ(display_width(format_bar(1e-9, 20, set)), 1u);
  }
  for (const char c : format_bar(0.3, 20, glyphs::ascii)) EXPECT_EQ(c, '#');
}

TEST(Text, ALineIsShortenedAtAWord) {
  EXPECT_EQ(shortened("four words are here", 19), "four words are here");
  EXPECT_EQ(shortened("four words are here", 18), "four words are...");
  EXPECT_EQ(shortened("oneWordWithoutAnEnd", 10), "oneWord...");
  EXPECT_EQ(shortened("\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4", 6),
            "\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4");
  EXPECT_EQ(shortened("\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4", 5), "\u00e4\u00e4...");
}

}  // namespace

}  // namespace ashlar::cli
