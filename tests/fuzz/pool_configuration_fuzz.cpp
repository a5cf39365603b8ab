// The JSON that `ashlar tune check` and `tune verify` read: any text is either refused, or what it says can be worked
// with.
#include <tests/fuzz/input.hpp>
#include <tests/support/require.hpp>

#include "tools/tune/pool_check.hpp"
#include "tools/verify/verify.hpp"

namespace {

// Births of several sizes, one of them over-aligned, and deaths of some.
const ashlar::tune::workload& sample() {
  static const ashlar::tune::workload load = [] {
    using ashlar::tune::workload_builder;
    workload_builder builder(16);
    builder.begin_trace();
    for (std::uint32_t slot = 0; slot < 40; ++slot)
      builder.birth(slot, slot * 37 % 400, slot == 7 ? 128 : 0);
    for (std::uint32_t slot = 0; slot < 40; slot += 3) builder.death(slot);
    return builder.finish();
  }();
  return load;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text = fuzz::input({data, size}).text();
  try {
    const ashlar::tune::pool_configuration pools = ashlar::tune::read_configuration(text);
    REQUIRE(!pools.classes.empty());
    const ashlar::tune::pool_use use = ashlar::tune::use_of(pools, sample(), 90);
    REQUIRE(use.classes.size() == pools.classes.size());
    REQUIRE(!use.serves || !use.unserved);
  } catch (const ashlar::tune::no_configuration&) {
  }
  try {
    ashlar::verify::verify(text, {"/dev/null"}, [](std::string_view) {});
    REQUIRE(false);  // that file is no trace
  } catch (const std::runtime_error&) {
  }
  return 0;
}
