// tools/trace/chunk_events.cpp. Layer: trace.
#include "tools/trace/chunk_events.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "tools/trace/memory_map.hpp"

namespace ashlar::trace {
namespace {

constexpr std::uint64_t value_of(const spool_record& r) {
  return r.what & (~std::uint64_t{0} >> 8);
}

}  // namespace

void chunk_events::begin(const chunk& c) {
  chunk_ = &c;
  at_ = 0;
  used_ = 0;
  ticks_ = c.header.ticks;
}

bool chunk_events::has_record(std::uint32_t records) {
  if (at_ < used_) return true;
  // The records below are whole, and so are the bytes behind them.
  used_ =
      std::min({chunk_->header.used.load(std::memory_order_acquire), chunk::records_max, records});
  return at_ < used_;
}

std::string_view chunk_events::bytes_behind() {
  const std::uint32_t room = (used_ - at_) * static_cast<std::uint32_t>(sizeof(spool_record));
  const std::uint32_t bytes = std::min(chunk_->records[at_ - 1].number, room);
  const auto* const begin = reinterpret_cast<const char*>(&chunk_->records[at_]);
  at_ += records_for(bytes);
  return {begin, bytes};
}

// Requires: at_ is behind it.
void chunk_events::read_prefix(const spool_record& r) {
  switch (static_cast<spool_kind>(r.what >> 56)) {
    case spool_kind::time:
      ticks_ = std::max(ticks_, value_of(r));
      break;
    case spool_kind::size:
      full_size_ = value_of(r);
      break;
    case spool_kind::alignment:
      alignment_ = std::bit_ceil(value_of(r));  // memalign takes others, and means this
      break;
    case spool_kind::stack:
      stack_ = definitions_->stack_base + r.number;
      break;
    case spool_kind::text:
      text_ = bytes_behind();
      break;
    case spool_kind::define_stack: {
      const std::string_view bytes = bytes_behind();
      stack_definition& stack = definitions_->stacks.emplace_back();
      stack.number = definitions_->stack_base + static_cast<std::uint32_t>(value_of(r));
      definitions_->stack_most = std::max(definitions_->stack_most, stack.number);
      stack.frames.resize(bytes.size() / 8);
      std::memcpy(stack.frames.data(), bytes.data(), stack.frames.size() * 8);
      break;
    }
    case spool_kind::define_module: {
      const std::string_view bytes = bytes_behind();
      constexpr std::size_t fixed = 25;
      if (bytes.size() < fixed) break;
      const auto id_bytes = static_cast<unsigned char>(bytes[24]);
      if (bytes.size() < fixed + id_bytes) break;
      module_definition& module = definitions_->modules.emplace_back();
      std::memcpy(&module.begin, bytes.data(), 8);
      std::memcpy(&module.end, bytes.data() + 8, 8);
      std::memcpy(&module.bias, bytes.data() + 16, 8);
      module.build_id.assign(bytes.substr(fixed, id_bytes));
      module.path.assign(bytes.substr(fixed + id_bytes));
      break;
    }
    case spool_kind::mapping: {
      const std::string_view bytes = bytes_behind();
      std::uint64_t numbers[3] = {};  // size, time, stack
      if (bytes.size() < sizeof numbers) break;
      std::memcpy(numbers, bytes.data(), sizeof numbers);
      const auto stack = static_cast<std::uint32_t>(numbers[2]);
      definitions_->mappings.push_back({numbers[1] - std::min(numbers[1], start_), value_of(r),
                                        numbers[0],
                                        stack != 0 ? definitions_->stack_base + stack : 0});
      break;
    }
    case spool_kind::memory: {
      const std::string_view bytes = bytes_behind();
      if (bytes.size() < 16) break;
      const std::uint64_t ticks = value_of(r);
      memory_look& look = definitions_->looks.emplace_back();
      look.time = ticks - std::min(ticks, start_);
      std::memcpy(&look.resident, bytes.data(), 8);
      std::memcpy(&look.peak, bytes.data() + 8, 8);
      for (std::size_t at = 16; at + sizeof(map_entry) <= bytes.size(); at += sizeof(map_entry)) {
        map_entry each;
        std::memcpy(&each, bytes.data() + at, sizeof each);
        each.name_length = std::min<std::uint8_t>(each.name_length, sizeof each.name);
        look.mappings.push_back(
            {each.kind, each.begin, each.end, each.resident, std::string(each.name_view())});
      }
      break;
    }
  }
}

bool chunk_events::next(event& e, std::uint32_t records) {
  while (has_record(records)) {
    const spool_record& r = chunk_->records[at_++];
    const auto number = static_cast<std::uint8_t>(r.what >> 56);
    if (number >= static_cast<std::uint8_t>(spool_kind::time)) {
      read_prefix(r);
      continue;
    }
    const auto kind = static_cast<event_kind>(number);
    const std::uint32_t ahead = r.ticks - static_cast<std::uint32_t>(ticks_);
    if (ahead < 1u << 31) ticks_ += ahead;  // a clock that went back stands still
    not_before(ticks_ - std::min(ticks_, start_));
    e = {kind,
         chunk_->header.thread,
         stack_,
         time_,
         has_address(kind) ? value_of(r) : 0,
         full_size_ != 0 ? full_size_ : r.number,
         alignment_,
         text_};
    full_size_ = 0;
    alignment_ = 0;
    stack_ = 0;
    text_ = {};
    if (has_address(kind) || is_other(kind)) return true;
  }
  return false;
}

}  // namespace ashlar::trace
