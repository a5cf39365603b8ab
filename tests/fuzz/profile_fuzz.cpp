// Profiles that somebody else may have written: any file is refused by name and offset, or is one that is written just so,
// and can be merged. Most inputs are bodies in files with right lengths and checksums, behind which a body would be out of a
// fuzzer's reach; some are runs, whose profiles are merged with them.
#include <tests/fuzz/input.hpp>
#include <tests/support/require.hpp>

#include "tools/profile/profile_builder.hpp"
#include "tools/profile/profile_file.hpp"
#include "tools/trace/error.hpp"

using namespace ashlar::profiling;
namespace trace = ashlar::trace;

namespace {

profile of_a_run(fuzz::input& in) {
  struct block {
    std::uint64_t time, size, alignment;
  };
  profile_builder builder(1 + in.below(3) * 999'999'999);
  std::vector<block> live;
  std::uint64_t time = 0;
  for (std::size_t changes = in.below(64); changes > 0; --changes) {
    time += in.below(256);
    if (!live.empty() && in.chance(45)) {
      const std::size_t which = in.below(live.size());
      builder.death(time, live[which].size, live[which].alignment, live[which].time);
      live[which] = live.back();
      live.pop_back();
    } else {
      live.push_back(
          {time, fuzz::request_size(in), in.chance(80) ? 0 : fuzz::request_alignment(in)});
      builder.birth(time, live.back().size, live.back().alignment);
    }
  }
  return builder.snapshot();
}

std::string framed(const std::string& body) {
  std::string file = encode({}).substr(0, 16);
  trace::put_fixed(file, static_cast<std::uint32_t>(body.size()));
  file += body;
  trace::put_fixed(file, trace::checksum(trace::view_of(file)));
  return file;
}

std::optional<profile> read(const std::string& file) {
  try {
    return decode(*trace::memory_source("the profile", file));
  } catch (const trace::trace_error& refused) {
    REQUIRE(refused.offset <= file.size());
    REQUIRE(std::string(refused.what()).starts_with("the profile: at byte "));
    return std::nullopt;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::input in({data, size});
  const bool is_framed = in.chance(80);
  const profile run = in.chance(30) ? of_a_run(in) : profile{};
  const std::string file = is_framed ? framed(in.text()) : in.text();
  REQUIRE(read(encode(run)) == run);
  const std::optional<profile> found = read(file);
  if (!found) return 0;
  REQUIRE(encode(*found) == file);
  profile with_run = *found;
  merge(with_run, run);
  profile run_with = run;
  merge(run_with, *found);
  REQUIRE(with_run == run_with);
  merge(with_run, *found);
  merge(run_with, *found);
  REQUIRE(read(encode(with_run)) == run_with);
  return 0;
}
