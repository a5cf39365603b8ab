// tools/replay/script_builder.cpp. Layer: replay.
#include "tools/replay/script_builder.hpp"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <system_error>

#include <unistd.h>

namespace ashlar::replay {

namespace {

constexpr std::uint64_t never = UINT64_MAX;

/// What malloc's blocks are aligned to.
constexpr std::uint64_t usual_alignment = 16;

operation_kind kind_of_birth(const trace::step& s) {
  // A pool tells the alignment of every block, and most are what malloc gives anyway.
  const bool is_usual = s.kind == trace::event_kind::by_pool && s.alignment <= usual_alignment;
  if (s.alignment != 0 && !is_usual) return operation_kind::aligned;
  return s.kind == trace::event_kind::by_calloc ? operation_kind::zeroed : operation_kind::allocate;
}

/// Requires: they are in the order of their first operations, and each ends later. Complexity: O(n log n): a server may
/// have had a thread for each request.
std::uint32_t most_at_once(const std::vector<script_thread>& threads) {
  std::vector<std::uint64_t> ends;
  ends.reserve(threads.size());
  for (const script_thread& t : threads) ends.push_back(t.ended_at);
  std::ranges::sort(ends);
  std::size_t most = 0, ended = 0;
  for (std::size_t begun = 0; begun < threads.size();) {
    while (ends[ended] <= threads[begun].first_at) ++ended;
    most = std::max(most, ++begun - ended);
  }
  return static_cast<std::uint32_t>(most);
}

}  // namespace

script_builder::script_builder(int descriptor, script_order order, std::uint64_t largest)
    : descriptor_(descriptor), order_(order), largest_(largest) {}

void script_builder::write(const void* bytes, std::size_t count, std::uint64_t at) const {
  const char* from = static_cast<const char*>(bytes);
  while (count > 0) {
    const ::ssize_t written = ::pwrite(descriptor_, from, count, static_cast<::off_t>(at));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0)
      throw std::system_error(written < 0 ? errno : EIO, std::generic_category(),
                              "cannot write the script (TMPDIR names another place for it)");
    from += written;
    count -= static_cast<std::size_t>(written);
    at += static_cast<std::uint64_t>(written);
  }
}

script_builder::thread& script_builder::thread_of(std::uint32_t number) {
  thread& t = threads_[order_ == script_order::one_sequence ? 0 : number];
  t.entry.number = number;
  return t;
}

void script_builder::write_chunk(thread& t) {
  if (t.chunk.empty()) return;
  write(t.chunk.data(), t.chunk.size() * sizeof(operation),
        chunks_at + summary_.header.chunks * chunk_bytes);
  t.chunks.push_back(summary_.header.chunks++);
  t.chunk.clear();
}

void script_builder::put(thread& t, operation_kind kind, std::uint32_t slot, const trace::step& s) {
  if (kind != operation_kind::inspect) {
    if (t.entry.operations == 0) {
      t.entry.first_at = summary_.header.operations;
      t.entry.ended_at = never;
      in_order_.push_back(order_ == script_order::one_sequence ? 0 : t.entry.number);
    }
    ++summary_.header.operations;
    if (t.entry.ended_at != never) t.entry.ended_at = summary_.header.operations;  // after its exit
  }
  const std::uint64_t size = std::min(s.size, largest_operation_size);
  const int shift = s.alignment == 0 ? 0 : std::countr_zero(s.alignment);
  t.chunk.push_back({slot, turns_[slot]++, static_cast<std::uint32_t>(size),
                     static_cast<std::uint16_t>(size >> 32), kind,
                     static_cast<std::uint8_t>(shift)});
  ++t.entry.operations;
  if (t.chunk.size() == chunk_operations) write_chunk(t);
}

// With one thread the slot that died last, which is still in the processor's cache. With several the slot that died
// first, so that a thread waits for another's death only where there would be more blocks than the trace ever had.
std::uint32_t script_builder::take_slot() {
  if (free_slots_.empty()) {
    turns_.push_back(0);
    return static_cast<std::uint32_t>(turns_.size() - 1);
  }
  const bool several = threads_.size() > 1;
  const std::uint32_t slot = several ? free_slots_.front() : free_slots_.back();
  if (several) {
    free_slots_.pop_front();
  } else {
    free_slots_.pop_back();
  }
  return slot;
}

// A realloc that gave nothing back: the block only died.
void script_builder::end_resize(thread& t) {
  if (!t.resizes) return;
  t.resizes = false;
  const std::uint32_t slot = t.resized.slot;  // the script's
  put(t, operation_kind::release, slot, t.resized);
  free_slots_.push_back(slot);
}

void script_builder::birth(thread& t, const trace::step& s) {
  if (s.slot >= places_.size()) places_.resize(s.slot + std::size_t{1});
  place& at = places_[s.slot];
  if (s.size > largest_) {
    at.slot = trace::no_slot;
    ++summary_.left_out;
    return end_resize(t);
  }
  ++summary_.births;
  if (t.resizes && s.kind == trace::event_kind::by_realloc && s.previous != trace::no_slot) {
    t.resizes = false;
    at = {t.resized.slot, s.size};
    put(t, operation_kind::resize_from, at.slot, t.resized);
    put(t, operation_kind::resize, at.slot, s);
    return;
  }
  end_resize(t);
  at = {take_slot(), s.size};
  put(t, kind_of_birth(s), at.slot, s);
}

void script_builder::death(thread& t, const trace::step& s) {
  const std::uint32_t slot = places_[s.slot].slot;
  places_[s.slot].slot = trace::no_slot;
  if (s.kind == trace::event_kind::lost) ++summary_.missing_deaths;
  if (slot == trace::no_slot) return;  // left out
  ++summary_.deaths;
  if (s.kind == trace::event_kind::from_realloc && order_ == script_order::by_thread) {
    t.resizes = true;
    t.resized = s;
    t.resized.slot = slot;
    t.resized.text = {};
    return;
  }
  put(t, operation_kind::release, slot, s);
  free_slots_.push_back(slot);
}

void script_builder::add(const trace::step& s) {
  if (s.happened == trace::step::what::unknown_death) {
    ++summary_.unknown_deaths;
    return;
  }
  if (s.happened == trace::step::what::other) {
    if (s.kind == trace::event_kind::lost) summary_.lost += s.size;
    if (s.kind == trace::event_kind::thread_exit && order_ == script_order::by_thread) {
      const auto ends = threads_.find(s.thread);
      if (ends == threads_.end()) return;
      end_resize(ends->second);
      ends->second.entry.ended_at = summary_.header.operations;
    }
    return;
  }
  thread& t = thread_of(s.thread);
  if (s.happened == trace::step::what::birth) return birth(t, s);
  end_resize(t);
  death(t, s);
}

void script_builder::write_inspection() {
  for (const place& at : places_) {
    if (at.slot == trace::no_slot) continue;
    trace::step lives;
    lives.size = at.size;
    put(inspection_, operation_kind::inspect, at.slot, lives);
  }
  write_chunk(inspection_);
}

void script_builder::write_tables() {
  script_header& header = summary_.header;
  std::vector<script_thread> entries;
  std::vector<std::uint32_t> chunks;
  const auto add_entry = [&](thread& t) {
    t.entry.first_chunk_entry = static_cast<std::uint32_t>(chunks.size());
    chunks.insert(chunks.end(), t.chunks.begin(), t.chunks.end());
    entries.push_back(t.entry);
  };
  for (const std::uint32_t number : in_order_) add_entry(threads_[number]);
  header.threads = static_cast<std::uint32_t>(entries.size());
  header.most_threads_at_once = most_at_once(entries);
  add_entry(inspection_);
  header.slots = static_cast<std::uint32_t>(turns_.size());
  header.tables_at = chunks_at + header.chunks * chunk_bytes;
  write(entries.data(), entries.size() * sizeof(script_thread), header.tables_at);
  write(chunks.data(), chunks.size() * sizeof(std::uint32_t),
        header.tables_at + entries.size() * sizeof(script_thread));
  write(&header, sizeof header, 0);
}

script_summary script_builder::finish() {
  for (auto& [number, t] : threads_) {
    end_resize(t);
    write_chunk(t);
  }
  write_inspection();
  write_tables();
  return summary_;
}

}  // namespace ashlar::replay
