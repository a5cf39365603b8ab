// core/pprof.hpp: writes a profile that pprof reads: the protobuf message Profile of profile.proto.
// Layer: core (freestanding). The library and the command write by it; neither needs protobuf.
//
//   profile_writer   one function for each part of a profile, which may come in any order
//   protobuf_writer  the wire format below it: numbers of variable length, and parts with a length
//
// The format: https://github.com/google/pprof/blob/main/proto/profile.proto. pprof takes it with or
// without gzip. Texts are in a table of the profile, and parts name them by their place in it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace ashlar::pprof {

/// Where bytes go: anything with put(bytes, count).
template <class Out>
class protobuf_writer {
 public:
  explicit constexpr protobuf_writer(Out& out) noexcept : out_(&out) {}

  /// Effects: field `field` is a number; 0, which readers assume, is left out.
  void number(unsigned field, std::uint64_t value) {
    if (value == 0) return;
    key(field, varint);
    variable(value);
  }
  /// Effects: field `field` is a number that always takes eight bytes (fixed64).
  void fixed_number(unsigned field, std::uint64_t value) {
    key(field, eight_bytes);
    for (unsigned shift = 0; shift < 64; shift += 8) {
      const auto byte = static_cast<unsigned char>(value >> shift);
      out_->put(&byte, 1);
    }
  }
  void text(unsigned field, std::string_view bytes) {
    key(field, with_length);
    variable(bytes.size());
    out_->put(bytes.data(), bytes.size());
  }
  /// Effects: field `field` is a list of numbers, of which none is left out.
  template <class Number>
  void numbers(unsigned field, std::span<const Number> values) {
    if (values.empty()) return;
    std::size_t bytes = 0;
    for (const Number value : values) bytes += bytes_of(static_cast<std::uint64_t>(value));
    key(field, with_length);
    variable(bytes);
    for (const Number value : values) variable(static_cast<std::uint64_t>(value));
  }
  /// Effects: field `field` is the message that fill(writer) writes. It is called twice: first to
  /// learn the length.
  template <class Fill>
  void message(unsigned field, Fill fill) {
    counter bytes;
    protobuf_writer<counter> counting(bytes);
    fill(counting);
    key(field, with_length);
    variable(bytes.count);
    fill(*this);
  }

 private:
  enum kind : unsigned { varint = 0, eight_bytes = 1, with_length = 2 };

  struct counter {
    std::size_t count = 0;
    void put(const void*, std::size_t bytes) noexcept { count += bytes; }
  };

  [[nodiscard]] static constexpr std::size_t bytes_of(std::uint64_t value) noexcept {
    std::size_t bytes = 1;
    for (; value >= 0x80; value >>= 7) ++bytes;
    return bytes;
  }
  void key(unsigned field, kind k) { variable(std::uint64_t{field} << 3 | k); }
  /// Seven bits a byte, the lowest first; the eighth says that more follow.
  void variable(std::uint64_t value) {
    unsigned char bytes[10];
    std::size_t count = 0;
    for (; value >= 0x80; value >>= 7) bytes[count++] = static_cast<unsigned char>(value | 0x80);
    bytes[count++] = static_cast<unsigned char>(value);
    out_->put(bytes, count);
  }

  Out* out_;
};

/// The place of a text in the profile's table.
using text_index = std::uint64_t;

/// A part of a file that is mapped into the profiled process.
struct mapping {
  std::uint64_t id = 0;  ///< not 0
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::uint64_t file_offset = 0;
  text_index file = 0;
  text_index build_id = 0;  ///< in hexadecimal digits
  bool is_named = false;    ///< the profile has the names of its functions, and their lines
};
struct function {
  std::uint64_t id = 0;  ///< not 0
  text_index name = 0;
  text_index file = 0;
};
/// A line of a function that is at a location. Several: the first is inlined into the next.
struct line {
  std::uint64_t function = 0;
  std::int64_t number = 0;
};
struct location {
  std::uint64_t id = 0;       ///< not 0
  std::uint64_t mapping = 0;  ///< 0: none
  std::uint64_t address = 0;  ///< in the call: one before the address that it returns to
  std::span<const line> lines;
};

/// Writes one profile. Each part is written as it comes.
template <class Out>
class profile_writer {
  using fields = protobuf_writer<Out>;

 public:
  /// Effects: the profile has its first text, the empty one.
  explicit profile_writer(Out& out) : fields_(out) { static_cast<void>(text({})); }

  /// Effects: adds the text to the table. Returns: its place.
  text_index text(std::string_view bytes) {
    fields_.text(6, bytes);
    return texts_++;
  }

  /// Effects: each sample has one more value. Called for each value, in their order.
  void sample_type(std::string_view type, std::string_view unit) { value_type(1, type, unit); }
  /// Effects: that value is shown first.
  void default_sample_type(std::string_view type) { fields_.number(14, text(type)); }
  /// Effects: one of so many units of `type` was sampled.
  void period(std::string_view type, std::string_view unit, std::uint64_t of) {
    value_type(11, type, unit);
    fields_.number(12, of);
  }
  /// Effects: the profile is of that moment (since 1970), and of the time before it.
  void time(std::uint64_t nanoseconds, std::uint64_t duration_nanoseconds) {
    fields_.number(9, nanoseconds);
    fields_.number(10, duration_nanoseconds);
  }
  void comment(std::string_view bytes) {
    const text_index list[] = {text(bytes)};
    fields_.numbers(13, std::span<const text_index>(list));
  }

  void add(const mapping& m) {
    fields_.message(3, [&](auto& part) {
      part.number(1, m.id);
      part.number(2, m.begin);
      part.number(3, m.end);
      part.number(4, m.file_offset);
      part.number(5, m.file);
      part.number(6, m.build_id);
      for (const unsigned has : {7u, 8u, 9u, 10u}) part.number(has, m.is_named ? 1 : 0);
    });
  }
  void add(const function& f) {
    fields_.message(5, [&](auto& part) {
      part.number(1, f.id);
      part.number(2, f.name);
      part.number(3, f.name);
      part.number(4, f.file);
    });
  }
  void add(const location& l) {
    fields_.message(4, [&](auto& part) {
      part.number(1, l.id);
      part.number(2, l.mapping);
      part.number(3, l.address);
      for (const line& at : l.lines)
        part.message(4, [&](auto& inner) {
          inner.number(1, at.function);
          inner.number(2, static_cast<std::uint64_t>(at.number));
        });
    });
  }
  /// Effects: adds a call stack, the innermost call first, with a value for each sample type; and
  /// with the label `key`, unless its text is the empty one.
  void sample(std::span<const std::uint64_t> locations, std::span<const std::int64_t> values,
              text_index key = 0, text_index label = 0) {
    fields_.message(2, [&](auto& part) {
      part.numbers(1, locations);
      part.numbers(2, values);
      if (label == 0) return;
      part.message(3, [&](auto& inner) {
        inner.number(1, key);
        inner.number(2, label);
      });
    });
  }

 private:
  void value_type(unsigned field, std::string_view type, std::string_view unit) {
    const text_index type_text = text(type), unit_text = text(unit);
    fields_.message(field, [&](auto& part) {
      part.number(1, type_text);
      part.number(2, unit_text);
    });
  }

  fields fields_;
  text_index texts_ = 0;
};

/// What a profile of a heap has of each call stack, in this order. pprof's -mean divides by the
/// first: `lifetime` is then the mean time for which a block lived.
struct heap_values {
  double allocated_blocks = 0, allocated_bytes = 0;
  double live_blocks = 0, live_bytes = 0;
  double lifetime_ns = 0;  ///< the sum over all blocks; of a live one its age
  static constexpr std::size_t count = 5;
};

/// Effects: the samples of `to` have heap_values, and one of `every_bytes` was sampled; 1: all.
template <class Out>
void begin_heap_profile(profile_writer<Out>& to, std::uint64_t every_bytes) {
  to.sample_type("alloc_objects", "count");
  to.sample_type("alloc_space", "bytes");
  to.sample_type("inuse_objects", "count");
  to.sample_type("inuse_space", "bytes");
  to.sample_type("lifetime", "nanoseconds");
  to.period("space", "bytes", every_bytes);
}
/// Returns: the values as a sample has them.
[[nodiscard]] inline std::array<std::int64_t, heap_values::count> rounded(
    const heap_values& v) noexcept {
  // None is negative, and lround is of a library that the drop-in does not link.
  // NOLINTNEXTLINE(bugprone-incorrect-roundings)
  const auto whole = [](double x) { return static_cast<std::int64_t>(x + 0.5); };
  return {whole(v.allocated_blocks), whole(v.allocated_bytes), whole(v.live_blocks),
          whole(v.live_bytes), whole(v.lifetime_ns)};
}

}  // namespace ashlar::pprof
