// A trace as text: any text is refused by name and offset, or becomes a trace whose text is a trace of the same bytes.
#include <sstream>
#include <tests/fuzz/input.hpp>
#include <tests/support/require.hpp>

#include "tools/trace/error.hpp"
#include "tools/trace/text.hpp"

using namespace ashlar::trace;

namespace {

std::string trace_of(const std::string& text) {
  std::istringstream from(text);
  std::string bytes;
  read_text(from, "the text", [&](std::string_view more) { bytes += more; });
  return bytes;
}
std::string text_of_trace(const std::string& bytes) {
  trace_reader reader(memory_source("the trace", bytes), unfinished::refuse);
  std::string text;
  write_text(reader, [&](std::string_view more) { text += more; });
  return text;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text = fuzz::input({data, size}).text();
  std::string bytes;
  try {
    bytes = trace_of(text);
  } catch (const trace_error& refused) {
    REQUIRE(refused.offset <= text.size() + 1);
    REQUIRE(std::string(refused.what()).starts_with("the text: at byte "));
    return 0;
  }
  // Where the threads are merged, their events have another order than in the text, once.
  const std::string merged = text_of_trace(bytes);
  REQUIRE(text_of_trace(trace_of(merged)) == merged);
  return 0;
}
