// Traces that somebody else may have written: any file is refused by name and offset, or is read to its end without harm. Most
// inputs are put into frames with right checksums, behind which a file's contents would be out of a fuzzer's reach.
#include <tests/fuzz/input.hpp>
#include <tests/support/require.hpp>

#include "tools/trace/error.hpp"
#include "tools/trace/lifetimes.hpp"

using namespace ashlar::trace;

namespace {

std::string framed(fuzz::input& in) {
  trace_header header;
  header.set(header_name::ticks_per_second, in.below(3) * 1'000'000);
  std::string file = encode(header);
  for (std::size_t frames = 1 + in.below(3); frames > 0; --frames) {
    frame_header frame;
    frame.kind = static_cast<frame_kind>(in.chance(90) ? 1 : in.below(9));
    frame.thread = static_cast<std::uint32_t>(in.below(3));
    frame.count = static_cast<std::uint32_t>(in.below(256));
    frame.first_time = in.below(256);
    frame.last_time = frame.first_time + in.below(65536);
    std::string payload;
    if (frames == 1) {
      payload = in.text();
    } else {
      for (std::size_t length = in.below(256); length > 0; --length)
        payload += static_cast<char>(in.below(256));
    }
    frame.payload_bytes = static_cast<std::uint32_t>(payload.size());
    frame.payload_checksum = checksum(view_of(payload));
    file += encode(frame) + payload;
  }
  return file;
}

/// Requires nothing of what is refused; up to there events come in their order.
void check_order(const std::string& file) try {
  trace_reader reader(memory_source("the trace", file));
  std::pair<std::uint64_t, std::uint32_t> last;
  for (; const event* const e = reader.peek(); reader.pop()) {
    const std::pair now(e->time, e->thread);
    REQUIRE(last <= now);
    last = now;
  }
} catch (const trace_error&) {
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::input in({data, size});
  const std::string file = in.chance(80) ? framed(in) : in.text();
  check_order(file);
  try {
    trace_reader reader(memory_source("the trace", file));
    const std::uint64_t events = reader.events();
    lifetimes from(reader);
    std::uint64_t births = 0, deaths = 0;
    for (step s; from.next(s);) {
      REQUIRE(births + deaths <= 2 * events);
      births += s.happened == step::what::birth;
      deaths += s.happened == step::what::death;
      if (s.happened == step::what::birth || s.happened == step::what::death)
        REQUIRE(s.slot < from.slots());
    }
    REQUIRE(from.live_blocks() == births - deaths);
  } catch (const trace_error& refused) {
    REQUIRE(refused.offset <= file.size());
    REQUIRE(std::string(refused.what()).starts_with("the trace: at byte "));
  }
  return 0;
}
