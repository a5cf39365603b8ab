#include "tools/trace/symbols.hpp"

#include <tests/support/test_folder.hpp>

#include <gtest/gtest.h>
#include <sys/stat.h>

namespace ashlar::trace {
namespace {

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
    EXPECT_EQ(symbol_table(file).function_at(0x500), "") << file;
    EXPECT_EQ(build_id_of(file), "") << file;
    EXPECT_EQ(lowest_address(file), 0u) << file;
  }
}

}  // namespace
}  // namespace ashlar::trace
