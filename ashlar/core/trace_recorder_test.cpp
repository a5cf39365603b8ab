// The bytes of a recorded trace are the same on every processor, whatever the order of its bytes.
#include <cstddef>
#include <cstdint>
#include <string>

#include <gtest/gtest.h>

#include <ashlar/core/trace_recorder.hpp>

namespace {

using namespace ashlar;

struct text_port {
  static constexpr std::uint32_t ticks_per_second = 1000;
  std::string written;
  std::uint32_t clock = 0;

  std::uint32_t now() noexcept { return clock += 300; }
  bool write(const std::byte* bytes, std::size_t count) noexcept {
    written.append(reinterpret_cast<const char*>(bytes), count);
    return true;
  }
};

/// Returns: the bytes of a trace of two blocks, at addresses of the test's own.
std::string recorded() {
  trace_recorder<text_port> recorder;
  const recorded_pool pool{.id = reinterpret_cast<const void*>(std::uintptr_t{0x20000f00}),
                           .name = "messages"};
  const auto* const low = reinterpret_cast<const void*>(std::uintptr_t{0x20001000});
  const auto* const high = reinterpret_cast<const void*>(std::uintptr_t{0x7ff01040});
  EXPECT_TRUE(recorder.begin("firmware"));
  recorder.allocated(pool, low, 48, 16);
  recorder.allocated(pool, high, 1'000'000, 8);
  recorder.mark("half");
  recorder.freed(pool, low);
  recorder.refused(pool, 96, 8);
  EXPECT_TRUE(recorder.end());
  return recorder.port().written;
}

/// Returns: what follows the header, in hexadecimal digits. The header tells how many bytes a
/// pointer has.
std::string frames_of(const std::string& trace) {
  std::string digits;
  for (const char c : trace.substr(trace.find("AFRM"))) {
    const auto byte = static_cast<unsigned char>(c);
    digits += "0123456789abcdef"[byte / 16];
    digits += "0123456789abcdef"[byte % 16];
  }
  return digits;
}

TEST(TraceRecorder, WritesTheSameBytesOnEveryProcessor) {
  const std::string trace = recorded();
  EXPECT_EQ(trace.substr(0, 12), std::string("\x89"
                                             "ATR\r\n\x1a\n\x06\0\0\0",
                                             12));
  EXPECT_EQ(
      frames_of(trace),
      "4146524d0100000001000000050000002c01000000000000dc0500000000000043000000335052f36703713c"
      "0500c7c7241426090000ac02ac02ac02ac02060030c0843d00600f008090808001a090e0ff03809080800102"
      "000403020001010e000468616c66086d657373616765734146524d0200000000000000010000000000000000"
      "0000000000000000000000090000000d10edc312f7e7ae0700010180bc8080044146524d0300000000000000"
      "01000000000000000000000000000000000000001a000000e5902cc0fb037f951800ff9d808002819e808002"
      "809e808002086d657373616765734146524d0400000000000000000000000000000000000000000000000000"
      "0000010000004d478c6761b81c7805");
}

}  // namespace
