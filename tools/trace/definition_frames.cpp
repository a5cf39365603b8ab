// tools/trace/definition_frames.cpp: frames of what stands beside events, and the end.
// Layer: trace.
#include <algorithm>
#include <array>
#include <initializer_list>

#include "tools/trace/frame.hpp"
#include "tools/trace/frame_parts.hpp"

namespace ashlar::trace {
namespace {

void put(std::string& bytes, std::initializer_list<std::uint64_t> numbers) {
  for (const std::uint64_t number : numbers) put_varint(bytes, number);
}

/// Returns: the next numbers; nothing where one is missing.
template <std::size_t count>
std::optional<std::array<std::uint64_t, count>> numbers(byte_reader& from) {
  std::array<std::uint64_t, count> all{};
  for (std::uint64_t& each : all) {
    const auto number = from.varint();
    if (!number) return std::nullopt;
    each = *number;
  }
  return all;
}

/// Effects: reads what is before the definitions, and then each. Returns: what is wrong, or null.
/// `behind`: that there are bytes behind the last one.
template <class Before, class Each>
const char* read_all(const frame_header& header, byte_view payload, decompressor& with,
                     std::uint64_t room, const char* behind, Before before, Each each) {
  std::string bytes;
  if (const char* const fault = unpack(payload, with, room, bytes); fault != nullptr) return fault;
  byte_reader from(view_of(bytes));
  if (const char* const fault = before(from); fault != nullptr) return fault;
  for (std::uint32_t i = 0; i < header.count; ++i)
    if (const char* const fault = each(from); fault != nullptr) return fault;
  return from.empty() ? nullptr : behind;
}
constexpr auto nothing = [](byte_reader&) -> const char* { return nullptr; };

/// Effects: reads a mapping that lies `last` or so. Returns: false where it is none.
bool read_mapping(byte_reader& from, std::uint64_t& last, mapped_memory& mapping) {
  const auto of = numbers<4>(from);
  const auto name = from.string();
  if (!of || !name) return false;
  const auto [kind, gap, bytes, resident] = *of;
  const std::uint64_t begin = last + unzigzag(gap);
  if (kind == 0 || kind > UINT8_MAX || begin + bytes < begin) return false;
  last = begin + bytes;
  mapping = {static_cast<memory_kind>(kind), begin, last, resident, std::string(*name)};
  return true;
}

}  // namespace

std::string encode(std::span<const stack_definition> stacks, compressor& with) {
  std::string bytes;
  std::uint64_t last = 0;
  for (const stack_definition& stack : stacks) {
    put(bytes, {stack.number, stack.frames.size()});
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
    put(bytes, {module.begin, module.end, module.bias});
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
    put(bytes, {zigzag(name.address - last), name.places.size()});
    last = name.address;
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
    put(bytes, {zigzag(look.time - time), look.resident, look.peak, look.mappings.size()});
    time = look.time;
    std::uint64_t last = 0;
    for (const mapped_memory& each : look.mappings) {
      put(bytes, {static_cast<std::uint64_t>(each.kind), zigzag(each.begin - last),
                  each.end - each.begin, each.resident});
      last = each.end;
      put_string(bytes, each.name);
    }
  }
  return definitions_frame(frame_kind::memory, looks.size(), bytes, with);
}

std::string encode(std::span<const own_mapping> mappings, compressor& with) {
  std::string bytes;
  own_mapping last;
  for (const own_mapping& each : mappings) {
    put(bytes,
        {zigzag(each.time - last.time), zigzag(each.begin - last.begin), each.bytes, each.stack});
    last = each;
  }
  return definitions_frame(frame_kind::mappings, mappings.size(), bytes, with);
}

std::string encode(const exit_look& look, compressor& with) {
  std::string bytes;
  put_string(bytes, look.failure);
  for (const lost_blocks& each : look.lost) put(bytes, {each.stack, each.blocks, each.bytes});
  return definitions_frame(frame_kind::exit_look, look.lost.size(), bytes, with);
}

const char* decode(const frame_header& header, byte_view payload, decompressor& with,
                   std::uint64_t& room, std::vector<stack_definition>& stacks) {
  std::uint64_t last = 0;
  const auto each = [&](byte_reader& from) -> const char* {
    const auto head = numbers<2>(from);
    if (!head || (*head)[0] == 0 || (*head)[0] > UINT32_MAX || (*head)[1] > from.left())
      return "a stack without number or depth";
    const auto [number, depth] = *head;
    if (!take(room, sizeof(stack_definition) + depth * sizeof(std::uint64_t))) return no_room;
    stack_definition& stack = stacks.emplace_back();
    stack.number = static_cast<std::uint32_t>(number);
    stack.frames.reserve(static_cast<std::size_t>(depth));
    for (std::uint64_t frame = 0; frame < depth; ++frame) {
      const auto difference = from.varint();
      if (!difference) return "a stack without all its frames";
      stack.frames.push_back(last += unzigzag(*difference));
    }
    return nullptr;
  };
  return read_all(header, payload, with, room, "bytes behind the last stack", nothing, each);
}

const char* decode(const frame_header& header, byte_view payload, decompressor& with,
                   std::uint64_t& room, std::vector<module_definition>& modules) {
  const auto each = [&](byte_reader& from) -> const char* {
    const auto of = numbers<3>(from);
    const auto path = from.string();
    if (!of || !path) return "a module without addresses or path";
    const auto id =
        header.kind == frame_kind::identified_modules ? from.string() : std::string_view();
    if (!id) return "a module without its build id";
    if (!take(room, sizeof(module_definition) + path->size() + id->size())) return no_room;
    modules.push_back({(*of)[0], (*of)[1], (*of)[2], std::string(*path), std::string(*id)});
    return nullptr;
  };
  return read_all(header, payload, with, room, "bytes behind the last module", nothing, each);
}

const char* decode(const frame_header& header, byte_view payload, decompressor& with,
                   std::uint64_t& room, std::vector<name_definition>& names) {
  std::uint64_t last = 0;
  const auto each = [&](byte_reader& from) -> const char* {
    const auto head = numbers<2>(from);
    if (!head || (*head)[1] > from.left()) return "a name without its address or places";
    if (!take(room, sizeof(name_definition))) return no_room;
    name_definition& name = names.emplace_back();
    name.address = last += unzigzag((*head)[0]);
    for (std::uint64_t place = 0; place < (*head)[1]; ++place) {
      const auto function = from.string();
      const auto file = from.string();
      const auto line = from.varint();
      if (!function || !file || !line || *line > UINT32_MAX)
        return "a name without its function, file or line";
      if (!take(room, sizeof(source_place) + function->size() + file->size())) return no_room;
      name.places.push_back(
          {std::string(*function), std::string(*file), static_cast<std::uint32_t>(*line)});
    }
    return nullptr;
  };
  return read_all(header, payload, with, room, "bytes behind the last name", nothing, each);
}

const char* decode(const frame_header& header, byte_view payload, decompressor& with,
                   std::uint64_t& room, std::vector<memory_look>& looks) {
  std::uint64_t time = 0;
  const auto each = [&](byte_reader& from) -> const char* {
    const auto of = numbers<4>(from);
    if (!of || (*of)[3] > from.left()) return "a look at memory without its figures";
    const auto [later, resident, peak, count] = *of;
    if (!take(room, sizeof(memory_look) + count * sizeof(mapped_memory))) return no_room;
    looks.push_back({time += unzigzag(later), resident, peak,
                     std::vector<mapped_memory>(static_cast<std::size_t>(count))});
    std::uint64_t last = 0;
    for (mapped_memory& mapping : looks.back().mappings) {
      if (!read_mapping(from, last, mapping)) return "a look at memory without all its mappings";
      if (!take(room, mapping.name.size())) return no_room;
    }
    return nullptr;
  };
  return read_all(header, payload, with, room, "bytes behind the last look at memory", nothing,
                  each);
}

const char* decode(const frame_header& header, byte_view payload, decompressor& with,
                   std::uint64_t& room, std::vector<own_mapping>& mappings) {
  own_mapping last;
  const auto each = [&](byte_reader& from) -> const char* {
    const auto of = numbers<4>(from);
    if (!of || (*of)[3] > UINT32_MAX) return "a mapping without its figures";
    if (!take(room, sizeof(own_mapping))) return no_room;
    const auto [later, apart, bytes, stack] = *of;
    last = {last.time + unzigzag(later), last.begin + unzigzag(apart), bytes,
            static_cast<std::uint32_t>(stack)};
    if (last.begin + last.bytes < last.begin) return "a mapping that ends before it begins";
    mappings.push_back(last);
    return nullptr;
  };
  return read_all(header, payload, with, room, "bytes behind the last mapping", nothing, each);
}

const char* decode(const frame_header& header, byte_view payload, decompressor& with,
                   std::uint64_t& room, std::optional<exit_look>& look) {
  const auto before = [&](byte_reader& from) -> const char* {
    const auto failure = from.string();
    if (!failure) return "a look at exit without its begin";
    if (!take(room, failure->size())) return no_room;
    look = exit_look{std::string(*failure), {}};
    return nullptr;
  };
  const auto each = [&](byte_reader& from) -> const char* {
    const auto of = numbers<3>(from);
    if (!of || (*of)[0] > UINT32_MAX) return "lost blocks without their figures";
    if (!take(room, sizeof(lost_blocks))) return no_room;
    look->lost.push_back({static_cast<std::uint32_t>((*of)[0]), (*of)[1], (*of)[2]});
    return nullptr;
  };
  return read_all(header, payload, with, room, "bytes behind the last lost blocks", before, each);
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
