// tools/trace/definition_frames.cpp: frames of what stands beside events, and the end.
// Layer: trace.
#include <algorithm>

#include "tools/trace/frame.hpp"
#include "tools/trace/frame_parts.hpp"

namespace ashlar::trace {

std::string encode(std::span<const stack_definition> stacks, compressor& with) {
  std::string bytes;
  std::uint64_t last = 0;
  for (const stack_definition& stack : stacks) {
    put_varint(bytes, stack.number);
    put_varint(bytes, stack.frames.size());
    for (const std::uint64_t frame : stack.frames) {
      put_varint(bytes, zigzag(frame - last));
      last = frame;
    }
  }
  return definitions_frame(frame_kind::stacks, stacks.size(), bytes, with);
}

std::string encode(std::span<const module_definition> modules, compressor& with) {
  std::string bytes;
  const bool identified =
      std::ranges::any_of(modules, [](const auto& m) { return !m.build_id.empty(); });
  for (const module_definition& module : modules) {
    put_varint(bytes, module.begin);
    put_varint(bytes, module.end);
    put_varint(bytes, module.bias);
    put_string(bytes, module.path);
    if (identified) put_string(bytes, module.build_id);
  }
  return definitions_frame(identified ? frame_kind::identified_modules : frame_kind::modules,
                           modules.size(), bytes, with);
}

std::string encode(std::span<const name_definition> names, compressor& with) {
  std::string bytes;
  std::uint64_t last = 0;
  for (const name_definition& name : names) {
    put_varint(bytes, zigzag(name.address - last));
    last = name.address;
    put_varint(bytes, name.places.size());
    for (const source_place& place : name.places) {
      put_string(bytes, place.function);
      put_string(bytes, place.file);
      put_varint(bytes, place.line);
    }
  }
  return definitions_frame(frame_kind::names, names.size(), bytes, with);
}

std::string encode(std::span<const memory_look> looks, compressor& with) {
  std::string bytes;
  std::uint64_t time = 0;
  for (const memory_look& look : looks) {
    put_varint(bytes, zigzag(look.time - time));
    time = look.time;
    put_varint(bytes, look.resident);
    put_varint(bytes, look.peak);
    put_varint(bytes, look.mappings.size());
    std::uint64_t last = 0;
    for (const mapped_memory& each : look.mappings) {
      put_varint(bytes, static_cast<std::uint64_t>(each.kind));
      put_varint(bytes, zigzag(each.begin - last));
      put_varint(bytes, each.end - each.begin);
      last = each.end;
      put_varint(bytes, each.resident);
      put_string(bytes, each.name);
    }
  }
  return definitions_frame(frame_kind::memory, looks.size(), bytes, with);
}

const char* decode(const frame_header& header, byte_view payload, decompressor& with,
                   std::uint64_t& room, std::vector<stack_definition>& stacks) {
  std::string bytes;
  if (const char* const fault = unpack(payload, with, room, bytes); fault != nullptr) return fault;
  byte_reader from(view_of(bytes));
  std::uint64_t last = 0;
  for (std::uint32_t i = 0; i < header.count; ++i) {
    const auto number = from.varint();
    const auto depth = from.varint();
    if (!number || *number == 0 || *number > UINT32_MAX || !depth || *depth > from.left())
      return "a stack without number or depth";
    if (!take(room, sizeof(stack_definition) + *depth * sizeof(std::uint64_t))) return no_room;
    stack_definition& stack = stacks.emplace_back();
    stack.number = static_cast<std::uint32_t>(*number);
    stack.frames.reserve(static_cast<std::size_t>(*depth));
    for (std::uint64_t frame = 0; frame < *depth; ++frame) {
      const auto difference = from.varint();
      if (!difference) return "a stack without all its frames";
      stack.frames.push_back(last += unzigzag(*difference));
    }
  }
  return from.empty() ? nullptr : "bytes behind the last stack";
}

const char* decode(const frame_header& header, byte_view payload, decompressor& with,
                   std::uint64_t& room, std::vector<module_definition>& modules) {
  std::string bytes;
  if (const char* const fault = unpack(payload, with, room, bytes); fault != nullptr) return fault;
  byte_reader from(view_of(bytes));
  for (std::uint32_t i = 0; i < header.count; ++i) {
    const auto begin = from.varint();
    const auto end = from.varint();
    const auto bias = from.varint();
    const auto path = from.string();
    if (!begin || !end || !bias || !path) return "a module without addresses or path";
    const auto id =
        header.kind == frame_kind::identified_modules ? from.string() : std::string_view();
    if (!id) return "a module without its build id";
    if (!take(room, sizeof(module_definition) + path->size() + id->size())) return no_room;
    modules.push_back({*begin, *end, *bias, std::string(*path), std::string(*id)});
  }
  return from.empty() ? nullptr : "bytes behind the last module";
}

const char* decode(const frame_header& header, byte_view payload, decompressor& with,
                   std::uint64_t& room, std::vector<name_definition>& names) {
  std::string bytes;
  if (const char* const fault = unpack(payload, with, room, bytes); fault != nullptr) return fault;
  byte_reader from(view_of(bytes));
  std::uint64_t last = 0;
  for (std::uint32_t i = 0; i < header.count; ++i) {
    const auto difference = from.varint();
    const auto count = from.varint();
    if (!difference || !count || *count > from.left())
      return "a name without its address or places";
    if (!take(room, sizeof(name_definition))) return no_room;
    name_definition& name = names.emplace_back();
    name.address = last += unzigzag(*difference);
    for (std::uint64_t place = 0; place < *count; ++place) {
      const auto function = from.string();
      const auto file = from.string();
      const auto line = from.varint();
      if (!function || !file || !line || *line > UINT32_MAX)
        return "a name without its function, file or line";
      if (!take(room, sizeof(source_place) + function->size() + file->size())) return no_room;
      name.places.push_back(
          {std::string(*function), std::string(*file), static_cast<std::uint32_t>(*line)});
    }
  }
  return from.empty() ? nullptr : "bytes behind the last name";
}

namespace {

/// Effects: reads a mapping that lies `last` or so. Returns: false where it is none.
bool read_mapping(byte_reader& from, std::uint64_t& last, mapped_memory& mapping) {
  const auto kind = from.varint();
  const auto gap = from.varint();
  const auto bytes = from.varint();
  const auto resident = from.varint();
  const auto name = from.string();
  if (!kind || *kind == 0 || *kind > UINT8_MAX || !gap || !bytes || !resident || !name)
    return false;
  const std::uint64_t begin = last + unzigzag(*gap);
  if (begin + *bytes < begin) return false;
  last = begin + *bytes;
  mapping = {static_cast<memory_kind>(*kind), begin, last, *resident, std::string(*name)};
  return true;
}

}  // namespace

const char* decode(const frame_header& header, byte_view payload, decompressor& with,
                   std::uint64_t& room, std::vector<memory_look>& looks) {
  std::string bytes;
  if (const char* const fault = unpack(payload, with, room, bytes); fault != nullptr) return fault;
  byte_reader from(view_of(bytes));
  std::uint64_t time = 0;
  for (std::uint32_t i = 0; i < header.count; ++i) {
    const auto later = from.varint();
    const auto resident = from.varint();
    const auto peak = from.varint();
    const auto count = from.varint();
    if (!later || !resident || !peak || !count || *count > from.left())
      return "a look at memory without its figures";
    if (!take(room, sizeof(memory_look) + *count * sizeof(mapped_memory))) return no_room;
    memory_look& look = looks.emplace_back();
    look.time = time += unzigzag(*later);
    look.resident = *resident;
    look.peak = *peak;
    look.mappings.resize(static_cast<std::size_t>(*count));
    std::uint64_t last = 0;
    for (mapped_memory& each : look.mappings) {
      if (!read_mapping(from, last, each)) return "a look at memory without all its mappings";
      if (!take(room, each.name.size())) return no_room;
    }
  }
  return from.empty() ? nullptr : "bytes behind the last look at memory";
}

std::string encode(std::span<const own_mapping> mappings, compressor& with) {
  std::string bytes;
  own_mapping last;
  for (const own_mapping& each : mappings) {
    put_varint(bytes, zigzag(each.time - last.time));
    put_varint(bytes, zigzag(each.begin - last.begin));
    put_varint(bytes, each.bytes);
    put_varint(bytes, each.stack);
    last = each;
  }
  return definitions_frame(frame_kind::mappings, mappings.size(), bytes, with);
}

const char* decode(const frame_header& header, byte_view payload, decompressor& with,
                   std::uint64_t& room, std::vector<own_mapping>& mappings) {
  std::string bytes;
  if (const char* const fault = unpack(payload, with, room, bytes); fault != nullptr) return fault;
  byte_reader from(view_of(bytes));
  own_mapping last;
  for (std::uint32_t i = 0; i < header.count; ++i) {
    const auto later = from.varint();
    const auto apart = from.varint();
    const auto size = from.varint();
    const auto stack = from.varint();
    if (!later || !apart || !size || !stack || *stack > UINT32_MAX)
      return "a mapping without its figures";
    if (!take(room, sizeof(own_mapping))) return no_room;
    last = {last.time + unzigzag(*later), last.begin + unzigzag(*apart), *size,
            static_cast<std::uint32_t>(*stack)};
    if (last.begin + last.bytes < last.begin) return "a mapping that ends before it begins";
    mappings.push_back(last);
  }
  return from.empty() ? nullptr : "bytes behind the last mapping";
}

std::string encode(const exit_look& look, compressor& with) {
  std::string bytes;
  put_string(bytes, look.failure);
  for (const lost_blocks& each : look.lost)
    for (const std::uint64_t number : {std::uint64_t{each.stack}, each.blocks, each.bytes})
      put_varint(bytes, number);
  return definitions_frame(frame_kind::exit_look, look.lost.size(), bytes, with);
}

const char* decode(const frame_header& header, byte_view payload, decompressor& with,
                   std::uint64_t& room, std::optional<exit_look>& look) {
  std::string bytes;
  if (const char* const fault = unpack(payload, with, room, bytes); fault != nullptr) return fault;
  byte_reader from(view_of(bytes));
  const auto failure = from.string();
  if (!failure || !take(room, failure->size())) return "a look at exit without its begin";
  look = exit_look{std::string(*failure), {}};
  for (std::uint32_t i = 0; i < header.count; ++i) {
    const auto stack = from.varint();
    const auto blocks = from.varint();
    const auto lost = from.varint();
    if (!stack || *stack > UINT32_MAX || !blocks || !lost)
      return "lost blocks without their figures";
    if (!take(room, sizeof(lost_blocks))) return no_room;
    look->lost.push_back({static_cast<std::uint32_t>(*stack), *blocks, *lost});
  }
  return from.empty() ? nullptr : "bytes behind the last lost blocks";
}

std::string encode_end(std::uint64_t events) {
  frame_header header;
  header.kind = frame_kind::end;
  std::string payload;
  put_varint(payload, events);
  return whole_frame(header, payload);
}

bool decode_end(byte_view payload, std::uint64_t& events) {
  byte_reader from(payload);
  const auto number = from.varint();
  events = number.value_or(0);
  return number && from.empty();
}

}  // namespace ashlar::trace
