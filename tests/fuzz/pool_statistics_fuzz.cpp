// The statistics file that the library leaves for the command: any text is either refused by name or can be
// shown, and its classes come out in order.
#include <tests/fuzz/input.hpp>
#include <tests/support/require.hpp>

#include "tools/cli/pool_report.hpp"
#include "tools/files/error.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ashlar::cli;
  const std::string text = fuzz::input({data, size}).text();
  try {
    const pool_statistics read = parse_pool_statistics(text, "the file");
    REQUIRE(std::is_sorted(read.classes.begin(), read.classes.end(),
                           [](const class_figures& a, const class_figures& b) {
                             return a.block_size < b.block_size;
                           }));
    REQUIRE(!render_pool_report(read, report_detail::full, glyphs::utf8).empty());
    REQUIRE(!render_pool_report(read, report_detail::summary, glyphs::ascii).empty());
  } catch (const ashlar::files::command_error& refused) {
    REQUIRE(std::string(refused.what()).find("the file") != std::string::npos);
  }
  return 0;
}
