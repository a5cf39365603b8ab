// What code is called: the names in files, in a recording and of the process itself.
#include <tests/support/test_folder.hpp>
#include <tests/support/test_headers.hpp>

#include <link.h>
#include <sys/stat.h>

#include "tools/trace/error.hpp"
#include "tools/trace/named_trace.hpp"
#include "tools/trace/rust_names.hpp"
#include "tools/trace/symbols.hpp"
#include "tools/trace/text.hpp"
#include "tools/trace/trace_files_test.hpp"

namespace ashlar::trace {
namespace {

// ---- symbols -----------------------------------------------------------------------------------

using Symbols = support::TestFolder;

TEST_F(Symbols, NamesAreAsTheirLanguageWritesThem) {
  EXPECT_EQ(demangled("_ZN6ashlar4heapEv"), "ashlar::heap()");
  EXPECT_EQ(demangled("main"), "main");
  EXPECT_EQ(demangled("_ZN4core3fmt5write17h0123456789abcdefE"), "core::fmt::write");
  EXPECT_EQ(
      demangled("_ZN45_$LT$r..Shop$u20$as$u20$r..Fill$LT$u8$GT$$GT$4fill17h0123456789abcdefE"),
      "<r::Shop as r::Fill<u8>>::fill");
}

// Nothing may be read from what a trace names if it is no file: a device has no end, and a pipe waits.
TEST_F(Symbols, WhatIsNoFileHasNone) {
  support::write_file(path("text"), "no program");
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  for (const std::string& file :
       {std::string("/dev/zero"), path("pipe"), path("text"), path("gone")}) {
    EXPECT_EQ(build_id_of(file), "") << file;
    EXPECT_EQ(lowest_address(file), 0u) << file;
  }
}

// ---- source_lines ------------------------------------------------------------------------------

using SourceLines = support::TestFolder;

TEST_F(SourceLines, WhatIsNoFileHasNone) {
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  support::write_file(path("text"), "no program");
  source_lines lines;
  for (const std::string& file :
       {path("pipe"), path("text"), path("gone"), std::string("/dev/zero")}) {
    const source_place found = lines.of_call(file, 100).front();
    EXPECT_EQ(found.function + found.file, "") << file;
    EXPECT_EQ(lines.largest_variable(file, {}).bytes, 0u) << file;
  }
}

// No page of it is ever in memory.
char a_large_table[48 << 20];

TEST_F(SourceLines, TheLargestVariableIsNamed) {
  EXPECT_EQ(a_large_table[7], 0);
  call_names names({{0, 1, 0, "/proc/self/exe"}}, {});
  const static_variable found = names.largest_variable("exe");
  EXPECT_NE(found.name.find("a_large_table"), std::string::npos) << found.name;
  EXPECT_GE(found.bytes, sizeof a_large_table);  // sanitizers add to it
  EXPECT_EQ(names.largest_variable("other").bytes, 0u);
  EXPECT_EQ(names.largest_variable("").bytes, 0u);
}

// ---- perf_map ----------------------------------------------------------------------------------

using PerfMap = support::TestFolder;

TEST_F(PerfMap, NamesTheFunctionWhoseCodeIsThere) {
  support::write_file(path("map"),
                      "7f10 b py::Rows.make.<locals>.<lambda>:/home/you/my rows.py\n"
                      "1000 10 LazyCompile:*keep /home/you/keep.js:3:1\n"
                      "1000 20 was made later\n");
  perf_map map(path("map"));
  const source_place python{"Rows.make.<locals>.<lambda>", "/home/you/my rows.py", 0};
  EXPECT_EQ(map.at(0x7f10), python);
  EXPECT_EQ(map.at(0x7f1a), python);
  EXPECT_EQ(map.at(0x7f1b), source_place());
  EXPECT_EQ(map.at(0xfff), source_place());
  EXPECT_EQ(map.at(0x101f).function, "was made later");
  EXPECT_EQ(map.at(0x1020), source_place());
}

TEST_F(PerfMap, AFunctionOfPythonHasTheLineThatDefinesIt) {
  support::write_file(path("rows.py"),
                      "class Rows:\n  def make(self):\n    async def later(): pass\n"
                      "def twice(): pass\ndef twice(a): pass\n# def none\n");
  const auto of = [&](const std::string& function) {
    support::write_file(path("map"), "10 4 py::" + function + ":" + path("rows.py") + "\n");
    return perf_map(path("map")).at(0x10).line;
  };
  EXPECT_EQ(of("Rows.make"), 2u);
  EXPECT_EQ(of("Rows.make.<locals>.later"), 3u);
  EXPECT_EQ(of("twice"), 0u) << "either may be meant";
  EXPECT_EQ(of("none"), 0u);
  EXPECT_EQ(of("<module>"), 0u);
}

TEST_F(PerfMap, LinesThatAreNoneAreLeftOut) {
  support::write_file(path("map"),
                      "\n \nwords\n10\n10 4\n10 4 \n-10 4 minus\n10 x no number\n"
                      "11111111111111111 4 too long\nffffffffffffffff 2 wraps\n20 4 py::open");
  perf_map map(path("map"));
  EXPECT_EQ(map.at(0x10), source_place());
  EXPECT_EQ(map.at(0xffffffffffffffff), source_place());
  EXPECT_EQ(map.at(0), source_place());
  EXPECT_EQ(map.at(0x20).function, "py::open");
}

TEST_F(PerfMap, NothingIsReadOfAFileThatAnotherUserWrote) {
  EXPECT_EQ(perf_map(path("none")).at(0x10), source_place());
  EXPECT_EQ(perf_map(path("")).at(0x10), source_place());
  support::write_file(path("map"), "10 4 mine\n");
  EXPECT_EQ(perf_map(path("map")).at(0x10).function, "mine");
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  EXPECT_EQ(perf_map(path("pipe")).at(0x10), source_place());
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a file away";
  ASSERT_EQ(::chown(path("map").c_str(), 1, 1), 0);
  EXPECT_EQ(perf_map(path("map")).at(0x10), source_place());
}

// ---- rust_names --------------------------------------------------------------------------------

// rustc made the first two; the others have what a large program has, rarely.
TEST(RustNames, AreWrittenAsRustDoes) {
  static constexpr std::array<std::pair<const char*, const char*>, 9> names{{
      {"_RNvMNtCs6GmmlP4bgsG_1r5storeINtB2_4KeepNtNtCslNYArtu3iFV_5alloc6string6StringE4fillB4_",
       "<r::store::Keep<alloc::string::String>>::fill"},
      {"_RINvMNtCsgEmfK2I1SDS_4core3stre18trim_start_matchesReECsgY6Mt91CT9J_14rustc_demangle",
       "<str>::trim_start_matches<&str>"},
      {"_RNCNvC1a4mains_0B3_", "a::main::{closure#1}"},
      {"_RNvXs_C1aINtB4_3RowmENtNtC4core3fmt5Debug3fmt", "<a::Row<u32> as core::fmt::Debug>::fmt"},
      {"_RINvNvC1a4main4keepAhj10_TmEEB4_", "a::main::keep<[u8; 16], (u32,)>"},
      {"_RINvC1a4callFUKCRePOhEuDNtC1a5Shapep4Itemyp4NamexEL_QSbE",
       "a::call<unsafe extern \"C\" fn(&str, *const *mut u8), dyn a::Shape<Item = u64, Name = "
       "i64>, "
       "&mut [bool]>"},
      {"_RINvC1a1bKb1_Kan5_Kc41_Kj0_Ko123456789abcdef01_L_E",
       "a::b<true, -5, 'A', 0, 0x123456789abcdef01, '_>"},
      {"_RNvC1a4main.llvm.123", "a::main"},
      {"_RNvYjC1b4size", "<usize as b>::size"},
  }};
  for (const auto& [symbol, name] : names) {
    EXPECT_EQ(rust_name(symbol), name) << symbol;
    EXPECT_EQ(demangled(symbol), name);
  }
}

TEST(RustNames, WhatIsNoneIsNoName) {
  for (const char* const symbol :
       {"", "_R", "_R1", "_RN", "main", "_ZN4main", "_RNvC1a4mai", "_RNvC1a4mainX", "_RNvC1a4main_",
        "_RNvC1aB5_", "_RNvB_1a", "_RINvC1a1bTmE", "_RINvC1a1bAhjg_E",
        "_RNvC1a99999999999999999999b", "_RNvCszzzzzzzzzzzzzzzzzzzz_1a1b"})
    EXPECT_EQ(rust_name(symbol), "") << symbol;
}

// Each tuple is two of the one before: what is written doubles.
TEST(RustNames, WhatWouldBeTooLongEndsSoon) {
  std::string symbol = "_RINvC1a1b";
  std::size_t last = symbol.size();
  symbol += "Thh";
  symbol += "E";
  constexpr std::string_view digits =
      "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
  for (int i = 0; i < 60; ++i) {
    const std::size_t number = last - 2 - 1;  // behind "_R"; 0 is written as nothing
    const std::string back = std::string("B") + digits[number / 62] + digits[number % 62] + '_';
    last = symbol.size();
    symbol += "T" + back + back + "E";
    if (i == 3) {
      EXPECT_NE(rust_name(symbol + "E"), "");
    }
  }
  EXPECT_EQ(rust_name(symbol + "E"), "");
  EXPECT_EQ(rust_name(std::string("_RINvC1a1b") + std::string(200, 'S') + "hE"), "");
}

// ---- call_names --------------------------------------------------------------------------------

using CallNames = support::TestFolder;

/// Of the program itself, whose entry comes first.
std::uint64_t own_bias() {
  std::uint64_t bias = 0;
  ::dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* found) {
        *static_cast<std::uint64_t*>(found) = info->dlpi_addr;
        return 1;
      },
      &bias);
  return bias;
}

std::string outermost(call_names& names, std::uint64_t address) {
  return names.of({1, {address}}).back().name;
}

TEST_F(CallNames, ACallIsNamedByTheFunctionItIsIn) {
  const auto address = std::bit_cast<std::uint64_t>(&own_bias);
  call_names names({{address - 64, address + 64, own_bias(), "/proc/self/exe"}}, {});
  const std::string expected = "ashlar::trace::(anonymous namespace)::own_bias() in exe";
  EXPECT_EQ(outermost(names, address + 1), expected);
  EXPECT_NE(outermost(names, address), expected);  // whoever returns there has called from before
  EXPECT_EQ(outermost(names, address + 65), "[code made at run time]");
  EXPECT_EQ(names.of({1, {address + 1}}).back().function,
            "ashlar::trace::(anonymous namespace)::own_bias()");
  EXPECT_EQ(names.of({1, {address + 65}}).back().function, "");
  EXPECT_TRUE(names.lost().empty());
}

TEST_F(CallNames, AShortNameIsNeverEmpty) {
  EXPECT_EQ(short_name("decltype (::new((void*)(0)) int(declval<int>())) std::construct_at<int, "
                       "int>(int*, int&&)"),
            "std::construct_at");
  EXPECT_EQ(short_name("void std::vector<int>::push_back(int&&)"), "std::vector::push_back");
  EXPECT_EQ(short_name("<lambda()>"), "<lambda()>");
  EXPECT_EQ(short_name("(strange"), "(strange");
}

// Allocations through one place, from many: xmalloc. The place behind it is another one each time.
TEST_F(CallNames, AWrapperIsKnownByItsShape) {
  std::vector<stack_definition> stacks;
  for (std::uint32_t i = 0; i < 40; ++i)
    stacks.push_back({i, {0x10, i < 20 ? 0x20 : 0x1000 + i, 0x2000 + i, 0x3000}});
  EXPECT_EQ(wrappers_of(stacks), (std::unordered_set<std::uint64_t>{0x10, 0x20}));
  for (std::uint32_t i = 0; i < 200; ++i) stacks.push_back({40 + i, {0x5000 + i, 0x3000}});
  EXPECT_TRUE(wrappers_of(stacks).empty()) << "few go through it";
  std::vector<stack_definition> one;
  for (std::uint32_t i = 0; i < 40; ++i) one.push_back({i, {0x10, 0x20 + i % 15, 0x3000}});
  EXPECT_TRUE(wrappers_of(one).empty()) << "few places call it";
}

TEST_F(CallNames, ShortNamesHaveNoTypes) {
  EXPECT_EQ(short_name("void std::vector<int, std::allocator<int> >::push_back(int&&)"),
            "std::vector::push_back");
  EXPECT_EQ(short_name("int& std::map<char, f<(a)1>>::operator[](char const&)"),
            "std::map::operator[]");
  EXPECT_EQ(short_name("std::basic_string<char>::operator+=(char)"),
            "std::basic_string::operator+=");
  EXPECT_EQ(short_name("main"), "main");
  EXPECT_EQ(short_name("shop::title[abi:cxx11](int)"), "shop::title");
  EXPECT_EQ(short_name("shop::(anonymous namespace)::fill(shop::table&)"),
            "shop::(anonymous)::fill");
  EXPECT_EQ(short_name("std::ostream& operator<< <char>(std::ostream&, char)"), "operator<<");
  EXPECT_EQ(short_name("bool less<int>::operator()(int, int) const"), "less::operator()");
  EXPECT_EQ(short_name("operator new(unsigned long)"), "operator new");
  EXPECT_EQ(short_name("<alloc::vec::Vec<T> as Clone>::clone"),
            "<alloc::vec::Vec<T> as Clone>::clone");
  EXPECT_EQ(short_name("Rows.make.<locals>.<lambda>"), "Rows.make.<locals>.<lambda>");
  EXPECT_EQ(short_name("<module>"), "<module>");
  EXPECT_EQ(short_name(""), "");
  const std::string whole = "void std::vector<int>::push_back(int&&)";
  EXPECT_EQ((named_call{whole + " in shop", "", 0, "/bin/shop", whole}.brief()),
            "std::vector::push_back in shop");
  EXPECT_EQ((named_call{"shop+0x12", "", 0, "/bin/shop"}.brief()), "shop+0x12");
  EXPECT_EQ((named_call{"video frames", "", 0, "", "video frames"}.brief()), "video frames");
}

TEST_F(CallNames, CodeMadeAtRunTimeIsNamedByTheTrace) {
  const std::vector<name_definition> known{{0x2001, {{"make", "/home/you/rows.py", 0}}},
                                           {0x3001, {{"keep", "", 0}}}};
  call_names names({{0x1000, 0x2000, 0x1000, "/no/such/file"}}, known);
  const named_call make = names.of({1, {0x2001}}).back();
  EXPECT_EQ(std::tuple(make.text(), make.function, make.module),
            std::tuple("make in rows.py", "make", "/home/you/rows.py"));
  EXPECT_FALSE(make.lacks_line()) << "no debug information has it";
  EXPECT_EQ(names.of({1, {0x3001}}).back().text(), "keep");
  EXPECT_EQ(names.of({1, {0x4001}}).back().text(), "[code made at run time]");
  EXPECT_TRUE(names.lost().empty());
  call_names nothing_known({}, {});
  EXPECT_EQ(outermost(nothing_known, 0x4001), "0x4001") << "the trace has no files";
}

TEST_F(CallNames, OfAFileThatIsGoneThereAreOffsetsOnly) {
  support::write_file(path("text"), "no program");
  for (const std::string& name :
       {std::string("gone"), std::string("text"), std::string("gone (deleted)")}) {
    call_names names({{0x1000, 0x2000, 0x1000, path(name)}}, {});
    EXPECT_EQ(outermost(names, 0x1500), name.substr(0, 4) + "+0x500");
    EXPECT_EQ(names.lost().size(), name == "text" ? 0u : 1u);
  }
  call_names pool({{0x4fff, 0x5001, 0x5000, "messages"}}, {});
  EXPECT_EQ(outermost(pool, 0x5000), "messages");
  EXPECT_EQ(pool.of({1, {0x5000, cut_frame}}).front().function, "messages");
  EXPECT_EQ(pool.of({1, {0x5000, cut_frame}}).back().function, "[stack cut]");
}

// ---- named_trace -------------------------------------------------------------------------------

using names = std::vector<name_definition>;

// More events than a frame has, two threads, three calls of one file and one of none.
std::string recorded(const names& known = {}) {
  std::string bytes;
  trace_writer out([&](std::string_view more) { bytes += more; }, test::header());
  for (std::uint64_t i = 0; i < 20'000; ++i) {
    event e = test::birth(1 + i % 2, i, 16 * i);
    e.stack = 1 + i % 2;
    out.add(e);
  }
  out.add(std::vector<stack_definition>{{1, {0x1500, 0x1600, cut_frame}}, {2, {0x1700, 0x9000}}});
  out.add(known);
  out.add(std::vector<module_definition>{{0x1000, 0x2000, 0x1000, "/no/such/program", "an id"}});
  out.close();
  return bytes;
}

const names three{{0x1500, {{"inlined", "a.h", 3}, {"f", "a.c", 5}}},
                  {0x1600, {{"g", "", 0}}},
                  {0x1700, {{"h", "b.c", 7}}}};

std::string copy_with(const std::string& trace, const names& with) {
  const trace_reader reader = test::read(trace);
  const auto source = memory_source("a.atrace", trace);
  std::string copy;
  write_with_names(*source, reader.header(), with, [&](std::string_view more) { copy += more; });
  return copy;
}

std::string text_of(const std::string& trace) {
  trace_reader reader = test::read(trace);
  std::string text;
  write_text(reader, [&](std::string_view more) { text += more; });
  return text;
}

TEST(NamedTrace, HasTheNamesAndAllElseAsItWas) {
  const std::string copy = copy_with(recorded(), three);
  trace_reader reader = test::read(copy, unfinished::refuse);
  EXPECT_EQ(reader.names(), three);
  EXPECT_EQ(text_of(copy_with(copy, {})), text_of(recorded()));
  EXPECT_EQ(copy_with(recorded({{0x1500, {{"old", "a.c", 1}}}}), three), copy) << "no old names";
  EXPECT_EQ(copy_with(copy, three), copy);
}

TEST(NamedTrace, CallsAreNamedOnceAndCounted) {
  const trace_reader reader = test::read(recorded(three));
  call_names by(reader);
  double last = 0;
  const found_names found = find_names(reader, by, [&](double share) {
    EXPECT_GE(share, last);
    EXPECT_LE(share, 1);
    last = share;
  });
  EXPECT_EQ(std::tuple(found.names, found.calls, found.with_lines), std::tuple(three, 4u, 2u));
  EXPECT_TRUE(found.without_lines.empty()) << "some of the program's calls have lines";
  EXPECT_TRUE(by.lost().empty());

  const trace_reader nameless = test::read(recorded());
  call_names by_nothing(nameless);
  const found_names none = find_names(nameless, by_nothing, [](double) {});
  EXPECT_TRUE(none.names.empty());
  EXPECT_EQ(none.without_lines, std::vector<std::string>{"/no/such/program"});
  EXPECT_EQ(by_nothing.lost().size(), 1u);
}

// What a frame says is not believed.
TEST(NamedTrace, NamesThatLieAreRefused) {
  compressor with;
  const auto fault_of = [&](const std::string& payload) {
    frame_header header;
    header.kind = frame_kind::names;
    header.count = 1;
    std::string column;
    with.put_column(column, view_of(payload));
    header.payload_bytes = static_cast<std::uint32_t>(column.size());
    header.payload_checksum = checksum(view_of(column));
    try {
      test::read(encode(test::header()) + encode(header) + column);
      return std::string();
    } catch (const trace_error& error) {
      return std::string(error.what());
    }
  };
  std::string good;
  put_varint(good, zigzag(0x1500));
  put_varint(good, 1);
  put_string(good, "f");
  put_string(good, "a.c");
  EXPECT_EQ(fault_of(good + '\x05'), "");
  for (std::size_t length = 0; length <= good.size(); ++length)
    EXPECT_NE(fault_of(good.substr(0, length)), "") << length;
  EXPECT_NE(fault_of(good + "\x05 more").find("bytes behind the last name"), std::string::npos);
  EXPECT_NE(fault_of(good + "\x80\x80\x80\x80\x10").find("without its function, file or line"),
            std::string::npos);
}

}  // namespace

}  // namespace ashlar::trace
