// tools/trace/read_profile.cpp. Layer: trace.
#include "tools/trace/read_profile.hpp"

#include <algorithm>

#include "tools/trace/profile_fields.hpp"

namespace ashlar::trace {
namespace {

read_profile::call_stack stack_in(std::string_view message) {
  read_profile::call_stack stack;
  for_each_field(message, [&](const field& f) {
    if (f.number == 1) stack.locations = numbers_of(f);
    if (f.number == 2) stack.values = numbers_of(f);
    if (f.number == 3) read_numbers(f.bytes, {nullptr, &stack.tag});  // its one label
  });
  return stack;
}

}  // namespace

std::uint64_t read_profile::value(const call_stack& of, std::string_view type_name) const {
  for (std::size_t i = 0; i < std::min(types.size(), of.values.size()); ++i)
    if (text(types[i].name) == type_name) return of.values[i];
  return 0;
}

read_profile parts_of_profile(std::string_view bytes) {
  read_profile p;
  for_each_field(bytes, [&](const field& f) {
    std::uint64_t id = 0;
    if (f.number == 1) {
      read_profile::type& type = p.types.emplace_back();
      read_numbers(f.bytes, {&type.name, &type.unit});
    } else if (f.number == 2) {
      p.stacks.push_back(stack_in(f.bytes));
    } else if (f.number == 3) {
      read_profile::mapping m;
      read_numbers(f.bytes, {&id, &m.begin, &m.end, &m.offset, &m.file, &m.build_id});
      p.mappings[id] = m;
    } else if (f.number == 4) {
      read_profile::location l;
      read_numbers(f.bytes, {&id, &l.mapping, &l.address});
      for_each_field(f.bytes, [&](const field& part) {
        if (part.number != 4) return;
        read_profile::line& line = l.lines.emplace_back();
        read_numbers(part.bytes, {&line.function, &line.number});
      });
      p.locations[id] = std::move(l);
    } else if (f.number == 5) {
      read_profile::function function;
      read_numbers(f.bytes, {&id, &function.name, nullptr, &function.file});
      p.functions[id] = function;
    } else if (f.number == 6) {
      p.texts.push_back(f.bytes);
    } else if (f.number == 11) {
      read_numbers(f.bytes, {&p.period_type.name, &p.period_type.unit});
    } else if (f.number == 12) {
      p.period = f.value;
    }
  });
  return p;
}

}  // namespace ashlar::trace
