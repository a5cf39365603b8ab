#include "tools/trace/symbols.hpp"

#include <bit>
#include <tests/support/test_folder.hpp>

#include <gtest/gtest.h>
#include <link.h>
#include <sys/stat.h>

namespace ashlar::trace {
namespace {

using Symbols = support::TestFolder;

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

TEST_F(Symbols, AnAddressIsNamedByTheFunctionItIsIn) {
  const auto address = std::bit_cast<std::uint64_t>(&own_bias);
  symbol_finder symbols({{address - 64, address + 64, own_bias(), "/proc/self/exe"}});
  const std::string expected = "ashlar::trace::(anonymous namespace)::own_bias() in exe";
  EXPECT_EQ(symbols.name(address, false), expected);
  EXPECT_EQ(symbols.name(address + 1, true), expected);
  EXPECT_NE(symbols.name(address, true), expected);  // whoever returns there has called from before
  EXPECT_EQ(symbols.name(address + 64, false).substr(0, 2), "0x");
}

// Nothing may be read from what a trace names if it is no file: a device has no end, and a pipe waits.
TEST_F(Symbols, WhatIsNoFileHasNone) {
  support::write_file(path("text"), "no program");
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  for (const auto& [file, name] :
       std::initializer_list<std::pair<std::string, std::string>>{{"/dev/zero", "zero"},
                                                                  {path("pipe"), "pipe"},
                                                                  {path("text"), "text"},
                                                                  {path("gone"), "gone"}}) {
    symbol_finder symbols({{0x1000, 0x2000, 0x1000, file}});
    EXPECT_EQ(symbols.name(0x1500, true), name + "+0x500");
  }
}

}  // namespace
}  // namespace ashlar::trace
