// The tests of the small sources of tools/findings: a part for each, with its name.

#include <tests/support/test_headers.hpp>

#include "tools/findings/call_owner.hpp"
#include "tools/findings/rules.hpp"

namespace ashlar::findings {
namespace {

using ashlar::sites::growing_site;
using ashlar::sites::growing_sites;
using trace::named_call;

// ---- call_owner --------------------------------------------------------------------------------

named_call in_program(const std::string& function, const std::string& file = "/src/a.cpp") {
  return {function + " in program", file, 1, "/bin/program"};
}
named_call in_library(const std::string& function, const std::string& library) {
  return {function + " in " + library, "", 0, "/lib/" + library};
}

TEST(CallOwner, FunctionOfACall) {
  EXPECT_EQ(function_of(in_program("f(int in)")), "f(int in)");
  EXPECT_EQ(function_of({"program+0x12", "", 0, "/bin/program"}), "");
  EXPECT_EQ(function_of({"0x1234", "", 0, ""}), "");
}

TEST(CallOwner, ItIsTheFirstCallOfTheProgramsOwn) {
  const std::vector<named_call> calls{
      in_program("std::__new_allocator<int>::allocate(unsigned long, void const*)",
                 "/usr/include/c++/12/bits/new_allocator.h"),
      in_program("void std::vector<int>::push_back(int&&)", ""), in_program("load(char const*)"),
      in_program("main")};
  EXPECT_EQ(owner_of(calls), 2u);
}

TEST(CallOwner, FunctionsThatAllocateForOthersAreNone) {
  EXPECT_EQ(owner_of(std::vector{in_program("do_xmalloc"), in_program("xcalloc"),
                                 in_library("sqlite3DbMallocRaw", "libsqlite3.so.0"),
                                 in_library("_PyObject_ArenaMmap", "libpython3.11.so"),
                                 in_program("parse"), in_program("main")}),
            4u);
  const named_call nameless{"libsqlite3.so.0+0xa7504", "", 0, "/lib/libsqlite3.so.0"};
  EXPECT_EQ(owner_of(std::vector{nameless, in_library("sqlite3Malloc", "libsqlite3.so.0"), nameless,
                                 in_program("main")}),
            2u);
  EXPECT_EQ(owner_of(std::vector{in_library("__strdup", "libc.so.6"), in_program("parse")}), 1u);
  EXPECT_EQ(owner_of(std::vector{in_library("AcquireAlignedMemory", "libMagickCore.so"),
                                 in_program("parse")}),
            1u);
  EXPECT_EQ(owner_of(std::vector{in_library("<alloc::vec::Vec<T> as Clone>::clone", "program"),
                                 in_program("app::work")}),
            1u);
}

TEST(CallOwner, AWrapperIsLookedThrough) {
  std::vector<named_call> calls{in_program("get"), in_program("parse"), in_program("main")};
  EXPECT_EQ(owner_of(calls), 0u);
  calls[0].is_wrapper = true;
  EXPECT_EQ(owner_of(calls), 1u);
}

TEST(CallOwner, AnInstalledHeaderIsLookedThrough) {
  named_call header = in_program("boost::unordered::detail::create_node");
  header.file = "/usr/include/boost/unordered/detail/implementation.hpp";
  const std::vector<named_call> calls{in_library("ngx_memalign", "program"), header,
                                      in_program("take_order"), in_program("main")};
  EXPECT_EQ(owner_of(calls), 2u);
}

TEST(CallOwner, AScriptsFunctionComesBeforeTheInterpreters) {
  const named_call script{"rows in work.py", "/src/work.py", 0, "/src/work.py", "rows"};
  const std::vector<named_call> calls{in_library("list_resize", "libpython3.11.so.1.0"), script};
  EXPECT_EQ(owner_of(calls), 1u);
  EXPECT_TRUE(is_of_interpreter(calls[0]));
  EXPECT_FALSE(is_of_interpreter(script));
}

TEST(CallOwner, InterpretersAreKnownByTheirFiles) {
  for (const char* file : {"python3", "python3.11", "libpython3.11.so.1.0", "libruby-3.1.so.3.1",
                           "node", "libnode.so.108", "php8.2", "libperl.so.5.36", "libjvm.so",
                           "bash", "emacs-nox", "libguile-3.0.so.1", "liboctinterp.so.10"})
    EXPECT_TRUE(is_of_interpreter(in_library("f", file))) << file;
  for (const char* file : {"node_exporter", "phpmyadmin-tool", "program", "libpythonic.so", "jq"})
    EXPECT_FALSE(is_of_interpreter(in_library("f", file))) << file;
  EXPECT_TRUE(is_of_interpreter(in_program("caml_alloc_for_heap")));  // OCaml's runtime
}

TEST(CallOwner, OfWhatTheCLibraryKeepsTheLineIsThatOfTheProgramsCall) {
  const std::vector calls{in_library("malloc", "libc.so.6"), in_library("fopen", "libc.so.6"),
                          in_program("std::forward", ""), in_program("load"), in_program("main")};
  EXPECT_EQ(owner_of(calls), std::nullopt);
  EXPECT_EQ(line_of(calls), 3u);
  EXPECT_EQ(line_of(std::vector{in_program("load"), in_program("main")}), 0u);
  EXPECT_EQ(line_of(std::vector{in_library("init", "libc.so.6")}), std::nullopt);
  EXPECT_EQ(line_of(std::vector<named_call>{}), std::nullopt);
}

TEST(CallOwner, WhatTheCLibraryKeepsIsNobodys) {
  EXPECT_EQ(owner_of(std::vector{in_library("fopen", "libc.so.6"), in_program("main")}),
            std::nullopt);
  EXPECT_EQ(owner_of(std::vector{in_library("strdup", "libc.so.6"),
                                 in_library("setlocale", "libc.so.6"), in_program("main")}),
            std::nullopt);
  EXPECT_EQ(owner_of(std::vector{
                in_library("std::basic_filebuf<char>::open(char const*)", "libstdc++.so.6"),
                in_program("main")}),
            std::nullopt);
  EXPECT_EQ(owner_of(std::vector{in_program("std::vector<int>::push_back(int&&)", ""),
                                 in_program("bool std::regex_match<char>(char const*)", ""),
                                 in_program("main")}),
            std::nullopt);
  EXPECT_EQ(owner_of(std::vector{in_library("std::__cxx11::basic_string<char>::_M_create(unsigned "
                                            "long&, unsigned long)",
                                            "libstdc++.so.6"),
                                 in_program("main")}),
            1u);
}

TEST(CallOwner, WithoutACallOfTheProgramThereIsNone) {
  EXPECT_EQ(owner_of({}), std::nullopt);
  EXPECT_EQ(owner_of(std::vector<named_call>{{"[stack cut at 1 frames]", "", 0, ""}}),
            std::nullopt);
  EXPECT_EQ(owner_of(std::vector{in_program("xmalloc")}), std::nullopt);
}

TEST(CallOwner, StacksFoldOutsideOfMainAndInsideOfTheStandardLibrary) {
  const auto names = [](const std::vector<named_call>& calls) {
    std::string all;
    for (const named_call& call : folded(calls))
      all += std::string(function_of(call)) + (call.is_of_script() ? "script" : "") + ' ';
    return all;
  };
  const named_call start = in_library("__libc_start_main_impl", "libc.so.6");
  const named_call nameless{"program+0x1081", "", 0, "/bin/program"};
  const named_call inner = in_library("operator new(unsigned long)", "libstdc++.so.6");
  const named_call push = in_program("std::vector<int>::push_back(int&&)", "");
  for (const named_call& outermost : {in_program("_start", ""), nameless})
    EXPECT_EQ(names({inner, push, in_program("load"), push, in_program("main"), start, outermost}),
              "std::vector<int>::push_back(int&&) load std::vector<int>::push_back(int&&) main ");
  EXPECT_EQ(names({in_program("work"), in_program("std::thread::run", ""),
                   in_library("start_thread", "libc.so.6")}),
            "work ");
  EXPECT_EQ(names({in_program("app::main"), in_program("std::rt::lang_start_internal", ""),
                   in_program("main", ""), start, in_program("_start", "")}),
            "app::main ");
  EXPECT_EQ(names({inner, start}), "operator new(unsigned long) __libc_start_main_impl ");
  EXPECT_EQ(names({nameless, {"[stack cut at 2 frames]", "", 0, ""}}), "  ");
  EXPECT_EQ(names({}), "");
}

TEST(CallOwner, NodesOfContainersAreKnownByTheirAllocator) {
  const auto allocates = [](const std::string& type) {
    return std::vector{in_program("std::__new_allocator<" + type + ">::allocate(unsigned long)")};
  };
  EXPECT_TRUE(is_container_node(allocates("std::_Rb_tree_node<std::pair<int const, double> >")));
  EXPECT_TRUE(is_container_node(allocates("std::__detail::_Hash_node<int, false>")));
  EXPECT_TRUE(is_container_node(allocates("std::_List_node<int>")));
  EXPECT_FALSE(is_container_node(allocates("int")));
  // An array of pointers to nodes is none.
  EXPECT_FALSE(is_container_node(allocates("std::__detail::_Hash_node_base*")));
  // A vector whose elements are somewhere else's nodes is none, as far as a name can tell.
  EXPECT_FALSE(
      is_container_node(allocates("std::pair<a_type_with_a_long_name_of_its_own, "
                                  "std::_List_node<int>>")));
}

// ---- rising ------------------------------------------------------------------------------------
// Which growing call sites are findings, and which kind.

growing_site site(const std::string& line, double bytes, std::uint64_t allocated,
                  std::uint64_t at_end, const std::string& caller = "main") {
  growing_site s;
  s.how.confidence = 0.995;
  s.bytes = bytes;
  s.births = 10;
  s.bytes_allocated = allocated;
  s.bytes_at_end = at_end;
  s.bytes_lost = at_end;
  s.calls = {{line + " in program", "/src/a.c", 1, "/bin/program", line},
             {caller + " in program", "/src/a.c", 9, "/bin/program", caller}};
  return s;
}

TEST(Rising, WhatIsNeverFreedIsALeakAndTheRestRises) {
  const growing_sites all{
      2, {site("lost", 100'000, 100'000, 96'000), site("cache", 100'000, 150'000, 0)}};
  std::vector<finding> found = rising_findings(all, {1000, 1'000'000});
  ASSERT_EQ(found.size(), 2u);
  rank(found);
  EXPECT_EQ(found[0].kind, finding_kind::leak);
  EXPECT_EQ(found[0].calls[found[0].owner].function, "lost");
  EXPECT_EQ(found[0].bytes_saved_at_end, 96'000u) << "the slope says more than is held";
  EXPECT_EQ(found[1].kind, finding_kind::rising);
  EXPECT_EQ(found[1].bytes_saved_at_end, 100'000u);
}

TEST(Rising, WhatGrowsByReallocIsNotUrgent) {
  growing_sites all{2, {site("list", 200'000, 1'000'000, 0), site("cache", 100'000, 150'000, 0)}};
  all.sites[0].grown = 9;
  std::vector<finding> found = rising_findings(all, {1000, 1'000'000});
  finding other;
  other.kind = finding_kind::pins;
  found.push_back(other);
  rank(found);
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[0].calls[found[0].owner].function, "cache");
  EXPECT_EQ(found[1].kind, finding_kind::pins);
  EXPECT_EQ(found[2].calls[found[2].owner].function, "list");
}

TEST(Rising, WhatGrowsByCopiesIsNotUrgent) {
  const growing_sites all{2, {site("list", 200'000, 1'000'000, 0)}};
  finding copies;
  copies.kind = finding_kind::growth;
  copies.calls = all.sites[0].calls;
  copies.fitting = 9;
  std::vector<finding> found = rising_findings(all, {1000, 1'000'000}, {copies});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].fitting, 9u);
  copies.calls[0] = copies.calls[1];  // of another line
  found = rising_findings(all, {1000, 1'000'000}, {copies});
  EXPECT_EQ(found.at(0).fitting, 0u);
}

TEST(Rising, WhatPointersLeadToIsNoLeak) {
  growing_sites all{2, {site("kept", 100'000, 100'000, 100'000)}, true};
  all.sites[0].bytes_lost = 49'000;
  EXPECT_EQ(rising_findings(all, {1000, 1'000'000}).at(0).kind, finding_kind::rising);
  all.sites[0].bytes_lost = 50'000;
  EXPECT_EQ(rising_findings(all, {1000, 1'000'000}).at(0).kind, finding_kind::leak);
}

TEST(Rising, WhatIsLostOnOnePathOnlyIsALeak) {
  growing_sites all{2, {site("lost_on_error", 100'000, 300'000, 100'000)}, true};
  std::vector<finding> found = rising_findings(all, {1000, 1'000'000});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].kind, finding_kind::leak) << "most was freed, the rest is lost";
  EXPECT_EQ(found[0].bytes_lost, 100'000u);
  all.was_searched = false;
  found = rising_findings(all, {1000, 1'000'000});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].kind, finding_kind::rising) << "nobody knows that it is lost";
}

TEST(Rising, OneLineWithSeveralCallersIsOneFinding) {
  const growing_sites all{
      2, {site("lost", 40'000, 40'000, 40'000, "f"), site("lost", 30'000, 30'000, 30'000, "g")}};
  const std::vector<finding> found = rising_findings(all, {1000, 1'000'000});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].bytes_saved_at_end, 70'000u);
  EXPECT_EQ(found[0].allocations, 20u);
}

TEST(Rising, LittleIsNone) {
  const growing_sites little{2, {site("lost", 60'000, 60'000, 60'000)}};
  EXPECT_TRUE(rising_findings(little, {1000, 1'000'000}).empty());
  const growing_sites part{2, {site("lost", 90'000, 90'000, 90'000)}};
  EXPECT_TRUE(rising_findings(part, {1000, 10'000'000}).empty()) << "below a hundredth";
  const growing_sites freed{2, {site("cache", 90'000, 150'000, 0)}};
  EXPECT_TRUE(rising_findings(freed, {1000, 1'000'000}).empty()) << "below a tenth";
}

TEST(Rising, ComesBeforeWhatSavesMore) {
  finding pins;
  pins.kind = finding_kind::pins;
  pins.bytes_saved_after_peak = 5'000'000;
  finding slack;
  slack.kind = finding_kind::slack;
  slack.bytes_saved_at_peak = 9'000'000;
  std::vector<finding> all{slack, pins};
  for (finding& each :
       rising_findings({2, {site("lost", 100'000, 100'000, 100'000)}}, {1, 100'000}))
    all.push_back(each);
  rank(all);
  EXPECT_EQ(all[0].kind, finding_kind::leak);
  EXPECT_EQ(all[1].kind, finding_kind::pins);
}

}  // namespace

}  // namespace ashlar::findings
