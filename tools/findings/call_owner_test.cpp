#include "tools/findings/call_owner.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace ashlar::findings {
namespace {

using trace::named_call;

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
                                 in_program("parse"), in_program("main")}),
            3u);
  const named_call nameless{"libsqlite3.so.0+0xa7504", "", 0, "/lib/libsqlite3.so.0"};
  EXPECT_EQ(owner_of(std::vector{nameless, in_library("sqlite3Malloc", "libsqlite3.so.0"), nameless,
                                 in_program("main")}),
            2u);
  EXPECT_EQ(owner_of(std::vector{in_library("__strdup", "libc.so.6"), in_program("parse")}), 1u);
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

TEST(CallOwner, AScriptsFunctionComesBeforeTheInterpreters) {
  const named_call script{"rows in work.py", "/src/work.py", 0, "/src/work.py", "rows"};
  const std::vector<named_call> calls{in_library("list_resize", "libpython3.11.so.1.0"), script};
  EXPECT_EQ(owner_of(calls), 1u);
  EXPECT_TRUE(is_of_interpreter(calls[0]));
  EXPECT_FALSE(is_of_interpreter(script));
}

TEST(CallOwner, InterpretersAreKnownByTheirFiles) {
  for (const char* file : {"python3", "python3.11", "libpython3.11.so.1.0", "libruby-3.1.so.3.1",
                           "node", "libnode.so.108", "php8.2", "libperl.so.5.36", "libjvm.so"})
    EXPECT_TRUE(is_of_interpreter(in_library("f", file))) << file;
  for (const char* file : {"node_exporter", "phpmyadmin-tool", "program", "libpythonic.so", "jq"})
    EXPECT_FALSE(is_of_interpreter(in_library("f", file))) << file;
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

}  // namespace
}  // namespace ashlar::findings
