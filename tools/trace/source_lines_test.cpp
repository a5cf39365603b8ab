#include "tools/trace/source_lines.hpp"

#include <tests/support/test_folder.hpp>

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

namespace ashlar::trace {
namespace {

using SourceLines = support::TestFolder;

struct place_here {
  std::string file;
  std::uint64_t offset;
};
/// Where the caller's call returns to.
[[gnu::noinline]] place_here where_this_returns() {
  const auto* const address = static_cast<const char*>(__builtin_return_address(0));
  Dl_info info{};
  EXPECT_NE(::dladdr(address, &info), 0);
  return {"/proc/self/exe",
          static_cast<std::uint64_t>(address - static_cast<const char*>(info.dli_fbase))};
}
constexpr unsigned line_of_call = __LINE__ + 2;
[[gnu::noinline]] place_here calls_here() {
  place_here here = where_this_returns();
  here.offset += 0;
  return here;
}

TEST_F(SourceLines, ACallHasItsFunction) {
  source_lines lines;
  const place_here here = calls_here();
  const source_place found = lines.of_call(here.file, here.offset).front();
  EXPECT_TRUE(found.function.find("calls_here") != std::string::npos) << found.function;
}

TEST_F(SourceLines, ACallHasItsLineWhereThereIsDebugInformation) {
  const place_here here = calls_here();
  source_lines lines;
  const source_place found = lines.of_call(here.file, here.offset).front();
  if (!source_lines::reads_lines() || found.file.empty()) {
    GTEST_SKIP() << "no libdw, or these tests have no debug information";
  }
  EXPECT_TRUE(found.file.ends_with("source_lines_test.cpp")) << found.file;
  EXPECT_EQ(found.line, line_of_call);
}

TEST_F(SourceLines, WhatIsNoFileHasNone) {
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  support::write_file(path("text"), "no program");
  source_lines lines;
  for (const std::string& file :
       {path("pipe"), path("text"), path("gone"), std::string("/dev/zero")}) {
    const source_place found = lines.of_call(file, 100).front();
    EXPECT_EQ(found.function + found.file, "") << file;
    EXPECT_EQ(lines.address_of_call(file, 100), 99u);
  }
}

}  // namespace
}  // namespace ashlar::trace
