#include "tools/trace/rust_names.hpp"

#include <array>
#include <utility>

#include <gtest/gtest.h>

#include "tools/trace/symbols.hpp"

namespace ashlar::trace {
namespace {

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
    if (i == 3) EXPECT_NE(rust_name(symbol + "E"), "");
  }
  EXPECT_EQ(rust_name(symbol + "E"), "");
  EXPECT_EQ(rust_name(std::string("_RINvC1a1b") + std::string(200, 'S') + "hE"), "");
}

}  // namespace
}  // namespace ashlar::trace
