// The JSON that `ashlar compare --summarise` reads back: any text is either refused by name or can be shown.
#include <tests/fuzz/input.hpp>
#include <tests/support/require.hpp>

#include "tools/cli/comparison_report.hpp"
#include "tools/files/error.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ashlar::cli;
  const std::string text = fuzz::input({data, size}).text();
  try {
    const ashlar::measure::stored_comparison read =
        ashlar::measure::parse_comparison(text, "the file");
    const std::string shown = render_summary({read, read}, glyphs::utf8);
    if (!read.allocators.empty()) REQUIRE(shown.find(read.label) != std::string::npos);
    REQUIRE(!render_summary({read}, glyphs::ascii).empty());
  } catch (const ashlar::files::command_error& refused) {
    REQUIRE(std::string(refused.what()).find("the file") != std::string::npos);
  }
  return 0;
}
