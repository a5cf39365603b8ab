// tools/trace/named_trace.cpp. Layer: trace.
#include "tools/trace/named_trace.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <set>
#include <span>
#include <string_view>

#include "tools/trace/bytes.hpp"
#include "tools/trace/error.hpp"
#include "tools/trace/frame.hpp"

namespace ashlar::trace {
namespace {

std::set<std::uint64_t> addresses_in(const std::vector<stack_definition>& stacks) {
  std::set<std::uint64_t> addresses;
  for (const stack_definition& stack : stacks)
    addresses.insert(stack.frames.begin(), stack.frames.end());
  addresses.erase(cut_frame);
  return addresses;
}

/// A frame as it lies in the file, or nothing where the file ends before the frame does.
class frame_bytes {
 public:
  frame_bytes(byte_source& from, std::uint64_t at) {
    std::array<std::uint8_t, frame_header_bytes> head{};
    if (from.read(at, head) < head.size()) return;
    if (!decode(head, header_) || header_.payload_bytes > frame_payload_max)
      throw trace_error(from.name(), at, "no frame begins here, or its header is damaged");
    std::string bytes(text_of(head));
    bytes.resize(head.size() + header_.payload_bytes);
    const std::span<std::uint8_t> payload(
        reinterpret_cast<std::uint8_t*>(bytes.data()) + head.size(), header_.payload_bytes);
    if (from.read(at + head.size(), payload) < payload.size()) return;
    if (checksum(payload) != header_.payload_checksum)
      throw trace_error(from.name(), at + head.size(), "the frame is damaged (checksum)");
    bytes_ = std::move(bytes);
  }
  [[nodiscard]] bool is_whole() const { return !bytes_.empty(); }
  [[nodiscard]] frame_kind kind() const { return header_.kind; }
  [[nodiscard]] std::string_view bytes() const { return bytes_; }

 private:
  frame_header header_;
  std::string bytes_;
};

/// Returns: where the frames begin.
std::uint64_t behind_header(byte_source& from) {
  std::array<std::uint8_t, preamble_bytes> preamble{};
  from.read(0, preamble);
  constexpr std::size_t length_at = 12;
  constexpr std::size_t checksum_bytes = 4;
  return preamble_bytes + get_fixed<std::uint32_t>(preamble.data() + length_at) + checksum_bytes;
}

void write(const std::vector<name_definition>& names, const byte_sink& to) {
  compressor with;
  for (std::span rest(names); !rest.empty();) {
    const auto some = rest.first(std::min(rest.size(), trace_writer::definitions_each));
    to(encode(some, with));
    rest = rest.subspan(some.size());
  }
}

}  // namespace

found_names find_names(const trace_reader& of, call_names& by,
                       const std::function<void(double)>& progress) {
  found_names found;
  std::set<std::string> with_lines;  // modules
  std::set<std::string> without;
  const std::set<std::uint64_t> addresses = addresses_in(of.stacks());
  for (const std::uint64_t address : addresses) {
    progress(static_cast<double>(found.calls++) / static_cast<double>(addresses.size()));
    name_definition name{address, {}};
    bool is_known = false, has_line = false;
    for (named_call& call : by.of({0, {address}})) {
      is_known = is_known || !call.function.empty() || call.line != 0;
      has_line = has_line || call.line != 0;
      if (call.line != 0) with_lines.insert(call.module);
      if (call.lacks_line()) without.insert(call.module);
      name.places.push_back({std::move(call.function), std::move(call.file), call.line});
    }
    found.with_lines += has_line ? 1 : 0;
    if (is_known) found.names.push_back(std::move(name));
  }
  std::set_difference(without.begin(), without.end(), with_lines.begin(), with_lines.end(),
                      std::back_inserter(found.without_lines));
  return found;
}

void write_with_names(byte_source& from, const trace_header& header,
                      const std::vector<name_definition>& names, const byte_sink& to) {
  to(encode(header));
  for (std::uint64_t at = behind_header(from);;) {
    const frame_bytes frame(from, at);
    const bool is_last = !frame.is_whole() || frame.kind() == frame_kind::end;
    if (is_last) write(names, to);
    if (frame.kind() != frame_kind::names) to(frame.bytes());
    if (is_last) return;
    at += frame.bytes().size();
  }
}

}  // namespace ashlar::trace
