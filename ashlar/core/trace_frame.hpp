// core/trace_frame.hpp: one thread's events as a frame of a trace, in a fixed number of bytes.
// Layer: core (freestanding). Not for users: core/trace_recorder.hpp is built of it.
//
//   | head | kinds | times | sizes | addresses | alignments | stacks | texts |
//
// While events come there is room behind each of these; a whole frame has none.
//
// Law: an event is put whole or not at all; what was refused fits once the frame was finished.
// docs/trace-format.md tells the bytes. A frame as it is put here is never compressed, and a death
// never `near`: both would need memory that grows with the frame.
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include <ashlar/core/config.hpp>
#include <ashlar/core/trace_format.hpp>

namespace ashlar::detail {

// ---- numbers as bytes: each moves `at` behind what it put ----

template <std::unsigned_integral N>
constexpr void put_fixed(std::byte*& at, N number) noexcept {
  for (std::size_t i = 0; i < sizeof(N); ++i)
    *at++ = std::byte{static_cast<std::uint8_t>(number >> (8 * i))};
}
template <std::unsigned_integral N>
constexpr void put_varint(std::byte*& at, N number) noexcept {
  while (number >= 128) {
    *at++ = std::byte{static_cast<std::uint8_t>((number & 127) | 128)};
    number = static_cast<N>(number >> 7);
  }
  *at++ = std::byte{static_cast<std::uint8_t>(number)};
}
constexpr void put_text(std::byte*& at, std::string_view text) noexcept {
  for (const char c : text) *at++ = std::byte{static_cast<std::uint8_t>(c)};
}
/// A varint of its length, and the text.
constexpr void put_string(std::byte*& at, std::string_view text) noexcept {
  put_varint(at, text.size());
  put_text(at, text);
}

/// The most bytes of a varint of an N.
template <std::unsigned_integral N>
inline constexpr std::size_t varint_bytes_max = (8 * sizeof(N) + 6) / 7;

// ---- the checksum, CRC-32C, by half bytes: a table of 64 bytes instead of tools/trace/checksum.hp

struct checksum_table {
  std::uint32_t rows[16];
};
inline constexpr checksum_table checksum_rows = [] {
  checksum_table table{};
  for (std::uint32_t half = 0; half < 16; ++half) {
    std::uint32_t rest = half;
    for (int bit = 0; bit < 4; ++bit)
      rest = rest >> 1 ^ ((rest & 1) != 0 ? trace::checksum_polynomial : 0u);
    table.rows[half] = rest;
  }
  return table;
}();
[[nodiscard]] constexpr std::uint32_t checksum(const std::byte* bytes, std::size_t count) noexcept {
  std::uint32_t rest = ~std::uint32_t{0};
  for (std::size_t i = 0; i < count; ++i) {
    rest ^= std::to_integer<std::uint32_t>(bytes[i]);
    rest = rest >> 4 ^ checksum_rows.rows[rest & 15];
    rest = rest >> 4 ^ checksum_rows.rows[rest & 15];
  }
  return ~rest;
}

// ---- frames ----

/// What stands at the head of a frame.
struct frame_head {
  trace::frame_kind kind;
  std::uint32_t thread = 0;
  std::uint32_t count = 0;
  std::uint64_t first_time = 0;
  std::uint64_t last_time = 0;
};

/// Effects: writes the head of a frame at `frame`, whose payload stands behind it already. Returns:
/// bytes of the frame.
inline std::size_t put_head(std::byte* frame, std::size_t payload_bytes,
                            const frame_head& head) noexcept {
  std::byte* at = frame;
  put_fixed(at, trace::frame_marker);
  put_fixed(at, static_cast<std::uint32_t>(head.kind));
  put_fixed(at, head.thread);
  put_fixed(at, head.count);
  put_fixed(at, head.first_time);
  put_fixed(at, head.last_time);
  put_fixed(at, static_cast<std::uint32_t>(payload_bytes));
  put_fixed(at, checksum(frame + trace::frame_header_bytes, payload_bytes));
  put_fixed(at, checksum(frame, static_cast<std::size_t>(at - frame)));
  return trace::frame_header_bytes + payload_bytes;
}

/// A column's length has to fit three bytes of a varint, its second number is a zero.
inline constexpr std::size_t column_head_bytes_max = 4;
inline constexpr std::size_t frame_bytes_max = std::size_t{1} << 18;

/// Where a frame's columns stand while events come.
struct frame_plan {
  std::size_t begin[trace::column_count + 1];

  [[nodiscard]] constexpr std::size_t room(std::size_t column) const noexcept {
    return begin[column + 1] - column_head_bytes_max - begin[column];
  }
};
template <std::size_t Bytes>
inline constexpr frame_plan plan_of = [] {
  // Shares in sixteenths. For each two events, one of which is a birth: 2 bytes of kinds, 4 of
  // times, 3 of sizes, 4 of addresses, 1 of alignments and of stacks; and what a text now and then
  // needs.
  constexpr std::size_t shares[trace::column_count] = {2, 4, 3, 4, 1, 1, 1};
  constexpr std::size_t available =
      Bytes - trace::frame_header_bytes - trace::column_count * column_head_bytes_max;
  frame_plan plan{};
  // A column stands behind the head that it gets, so that moving it down never meets what was not
  // moved.
  std::size_t at = trace::frame_header_bytes + column_head_bytes_max;
  for (std::size_t c = 0; c < trace::column_count; ++c) {
    plan.begin[c] = at;
    at += available * shares[c] / 16 + column_head_bytes_max;
  }
  plan.begin[trace::column_count] = at;
  return plan;
}();

/// The events of one thread, whose times do not go back. Zero bits are an empty frame.
template <std::size_t Bytes>
class trace_frame {
  static_assert(Bytes >= 256 && Bytes <= frame_bytes_max, "a frame has 256 bytes to 256 KiB");
  static constexpr const frame_plan& plan = plan_of<Bytes>;
  static_assert(plan.room(trace::column_kinds) <= trace::frame_events_max);

 public:
  constexpr trace_frame() noexcept = default;

  [[nodiscard]] std::uint32_t count() const noexcept { return count_; }

  /// Returns: whether there was room. `stack`: a number, 0 for none. Requires: `alignment` is a
  /// power of two.
  [[nodiscard]] bool put_birth(std::uint64_t time, std::uintptr_t address, std::size_t size,
                               std::size_t alignment, std::uint32_t stack) noexcept {
    if (!has_room_for_event() || !has_room(trace::column_sizes, varint_bytes_max<std::size_t>) ||
        !has_room(trace::column_addresses, address_bytes_max) ||
        !has_room(trace::column_alignments, 1) ||
        !has_room(trace::column_stacks, varint_bytes_max<std::uint32_t>))
      return false;
    std::uintptr_t* const expected = expected_birth(size);
    if (expected == nullptr) return false;
    std::uint8_t flags = trace::flag_aligned;
    if (stack != 0) {
      flags |= trace::flag_stack;
      put(trace::column_stacks, stack);
    }
    put_event(time, trace::event_kind::by_pool, flags);
    put(trace::column_sizes, size);
    put_address(address, *expected);
    put_byte(trace::column_alignments, static_cast<std::uint8_t>(std::countr_zero(alignment)));
    return true;
  }
  [[nodiscard]] bool put_death(std::uint64_t time, std::uintptr_t address) noexcept {
    if (!has_room_for_event() || !has_room(trace::column_addresses, address_bytes_max))
      return false;
    put_event(time, trace::event_kind::from_pool, 0);
    put_address(address, last_death_);
    return true;
  }
  /// Of a text that is longer than any frame has room for, the beginning is put.
  [[nodiscard]] bool put_other(std::uint64_t time, trace::event_kind kind, std::size_t number,
                               std::string_view text = {}) noexcept {
    constexpr std::size_t length_bytes = 3;
    constexpr std::size_t text_bytes_max = plan.room(trace::column_texts) - length_bytes;
    if (text.size() > text_bytes_max) text.remove_suffix(text.size() - text_bytes_max);
    if (!has_room_for_event() || !has_room(trace::column_sizes, varint_bytes_max<std::size_t>) ||
        !has_room(trace::column_texts, length_bytes + text.size()))
      return false;
    put_event(time, kind, 0);
    put(trace::column_sizes, number);
    if (trace::has_text(kind)) {
      std::byte* at = end_of(trace::column_texts);
      put_string(at, text);
      set_end(trace::column_texts, at);
    }
    return true;
  }

  /// Returns: the whole frame, which stands until the next event is put; there are none in this one
  /// any more.
  /// Requires: count() is not 0.
  [[nodiscard]] std::span<const std::byte> finish(std::uint32_t thread) noexcept {
    std::byte* at = bytes_ + trace::frame_header_bytes;
    for (std::size_t c = 0; c < trace::column_count; ++c) {
      put_varint(at, used_[c]);
      *at++ = std::byte{0};  // it is not compressed
      const std::byte* const column = bytes_ + plan.begin[c];
      for (std::size_t i = 0; i < used_[c]; ++i) *at++ = column[i];
      used_[c] = 0;
    }
    const std::size_t bytes =
        put_head(bytes_, static_cast<std::size_t>(at - bytes_) - trace::frame_header_bytes,
                 {trace::frame_kind::events, thread, count_, first_time_, last_time_});
    count_ = 0;
    last_death_ = 0;
    births_expected_ = 0;
    return {bytes_, bytes};
  }

 private:
  static constexpr std::size_t address_bytes_max = varint_bytes_max<std::uintptr_t> + 1;
  /// So many kinds of sizes (steps of 16 bytes) fit a frame: who writes has to know what each one's
  /// last birth was, as who reads does.
  static constexpr std::size_t expected_max = 16;

  [[nodiscard]] bool has_room(trace::column c, std::size_t bytes) const noexcept {
    return plan.room(c) - used_[c] >= bytes;
  }
  [[nodiscard]] bool has_room_for_event() const noexcept {
    return has_room(trace::column_kinds, 1) &&
           has_room(trace::column_times, varint_bytes_max<std::uint64_t>);
  }

  [[nodiscard]] std::byte* end_of(trace::column c) noexcept {
    return bytes_ + plan.begin[c] + used_[c];
  }
  void set_end(trace::column c, const std::byte* end) noexcept {
    used_[c] = static_cast<std::uint32_t>(end - (bytes_ + plan.begin[c]));
  }
  // One body for all columns: inlined into each of their places it is a fifth more flash at -O2.
  [[gnu::noinline]] void put(trace::column c, std::size_t number) noexcept {
    std::byte* at = end_of(c);
    put_varint(at, number);
    set_end(c, at);
  }
  void put_byte(trace::column c, std::uint8_t byte) noexcept {
    *end_of(c) = std::byte{byte};
    ++used_[c];
  }

  void put_event(std::uint64_t time, trace::event_kind kind, std::uint8_t flags) noexcept {
    if (count_++ == 0) first_time_ = last_time_ = time;
    const std::uint64_t ticks = time - last_time_;
    last_time_ = time;
    // Nearly always few: 64 bits are work for a processor of 32.
    if (ticks < 128) [[likely]] {
      put_byte(trace::column_times, static_cast<std::uint8_t>(ticks));
    } else {
      put_long_time(ticks);
    }
    put_byte(trace::column_kinds,
             static_cast<std::uint8_t>(static_cast<std::uint8_t>(kind) | flags));
  }
  ASHLAR_COLD void put_long_time(std::uint64_t ticks) noexcept {
    std::byte* at = end_of(trace::column_times);
    put_varint(at, ticks);
    set_end(trace::column_times, at);
  }

  /// Effects: puts the address as its difference to `expected`, which it is from now on. The
  /// difference is 8 * eighths + low, of which neither overflows a word of the processor.
  void put_address(std::uintptr_t address, std::uintptr_t& expected) noexcept {
    const std::uintptr_t low = (address - expected) & 7;
    const std::uintptr_t borrow = (address & 7) < (expected & 7) ? 1 : 0;
    const std::uintptr_t eighths = (address >> 3) - (expected >> 3) - borrow;
    const bool falls = (address >> 3) < (expected >> 3) + borrow;
    const std::uintptr_t zigzag = falls ? ~(eighths << 1) : eighths << 1;
    expected = address;
    put(trace::column_addresses, zigzag << 1 | (low != 0 ? 1u : 0u));
    if (low != 0) put_byte(trace::column_addresses, static_cast<std::uint8_t>(low));
  }

  /// Returns: where the next birth of such a size is expected; null where the frame has too many
  /// kinds of sizes.
  [[nodiscard]] std::uintptr_t* expected_birth(std::size_t size) noexcept {
    const auto place = static_cast<std::uint8_t>(trace::guess_place(size));
    for (std::size_t i = 0; i < births_expected_; ++i) {
      if (expected_places_[i] == place) return expected_ + i;
    }
    if (births_expected_ == expected_max) return nullptr;
    expected_places_[births_expected_] = place;
    expected_[births_expected_] = 0;
    return expected_ + births_expected_++;
  }

  std::uint64_t first_time_ = 0;
  std::uint64_t last_time_ = 0;
  std::uint32_t count_ = 0;
  std::uint32_t used_[trace::column_count] = {};  ///< bytes of each column
  std::uintptr_t last_death_ = 0;
  std::size_t births_expected_ = 0;
  std::uintptr_t expected_[expected_max] = {};
  std::uint8_t expected_places_[expected_max] = {};
  std::byte bytes_[Bytes] = {};
};

}  // namespace ashlar::detail
