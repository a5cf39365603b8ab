#include "tools/trace/call_names.hpp"

#include <bit>
#include <filesystem>
#include <tests/support/test_folder.hpp>

#include <gtest/gtest.h>
#include <link.h>

#include "tools/trace/symbols.hpp"

namespace ashlar::trace {
namespace {

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

TEST_F(CallNames, OfAnotherBuildThereAreOffsetsOnly) {
  const auto address = std::bit_cast<std::uint64_t>(&own_bias);
  const std::string own = build_id_of("/proc/self/exe");
  for (const std::string& recorded : {own, std::string("another build")}) {
    call_names names({{address - 64, address + 64, own_bias(), "/proc/self/exe", recorded}}, {});
    const named_call call = names.of({1, {address + 1}}).back();
    if (recorded == own) {
      EXPECT_TRUE(names.lost().empty());
      continue;
    }
    EXPECT_EQ(call.name.substr(0, 6), "exe+0x");
    EXPECT_EQ(call.function, "");
    EXPECT_EQ(call.line, 0u);
    ASSERT_EQ(names.lost().size(), 1u);
    EXPECT_EQ(names.lost()[0].state, file_state::replaced);
  }
}

TEST_F(CallNames, ANameInTheTraceCountsWhateverIsAtThePathNow) {
  const auto address = std::bit_cast<std::uint64_t>(&own_bias) + 1;
  const std::vector<name_definition> known{
      {address, {{"an older name", "a.c", 1}}},
      {address, {{"inlined", "old.h", 4}, {"its old name", "old.c", 12}}}};
  const std::string own = build_id_of("/proc/self/exe");
  for (const char* file : {"/proc/self/exe", "/no/such/file"}) {
    for (const std::string& recorded : {own, std::string("another build"), std::string()}) {
      call_names names({{address - 64, address + 64, own_bias(), file, recorded}}, known);
      const std::vector<named_call> calls = names.of({1, {address}});
      ASSERT_EQ(calls.size(), 2u);
      EXPECT_EQ(calls[0].text(), std::string("inlined in ") +
                                     std::filesystem::path(file).filename().string() +
                                     " at old.h:4");
      EXPECT_EQ(calls[1].function, "its old name");
      EXPECT_EQ(calls[1].module, file);
      EXPECT_TRUE(names.lost().empty()) << "nothing is missing";
    }
  }
}

// Debug information may have come since.
TEST_F(CallNames, ANameWithoutALineGetsOneOfTheSameBuildOnly) {
  const auto address = std::bit_cast<std::uint64_t>(&own_bias) + 1;
  const std::string own = build_id_of("/proc/self/exe");
  call_names plain({{address - 64, address + 64, own_bias(), "/proc/self/exe", own}}, {});
  const named_call here = plain.of({1, {address}}).back();
  const std::vector<name_definition> known{{address, {{"its old name", "", 0}}}};
  for (const std::string& recorded : {own, std::string("another build"), std::string()}) {
    call_names names({{address - 64, address + 64, own_bias(), "/proc/self/exe", recorded}}, known);
    const named_call call = names.of({1, {address}}).back();
    const bool gets_line = recorded == own && !own.empty() && here.line != 0;
    EXPECT_EQ(call.function, gets_line ? here.function : "its old name");
    EXPECT_EQ(call.line, gets_line ? here.line : 0u);
  }
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
  EXPECT_EQ(make.text(), "make in rows.py");
  EXPECT_EQ(make.function, "make");
  EXPECT_EQ(make.module, "/home/you/rows.py");
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

}  // namespace
}  // namespace ashlar::trace
