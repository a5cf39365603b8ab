// os/call_frame_info.cpp: reads the rows of a function up to the one that holds at an address.
// Layer: os.
//
// A file has a sorted table of its functions. Each leads to an entry (in DWARF's words, frame
// description entry), which refers to what it has in common with others (common information entry).
// Both have instructions that make, from the function's begin on, one row after the other: where
// the frame's end is, and where registers are. We want the row of one address, and of it three
// registers.
#include <algorithm>
#include <cstddef>
#include <cstring>

#include <ashlar/os/call_frame_info.hpp>

namespace ashlar::os {
namespace {

enum dwarf_register : std::uint64_t { frame_pointer = 6, stack_pointer = 7, return_address = 16 };
constexpr std::uint64_t no_register = ~std::uint64_t{0};
constexpr std::int64_t word = 8;

// Encodings of pointers.
constexpr std::uint8_t unsigned_4 = 0x03;
constexpr std::uint8_t signed_4_from_here = 0x1b;
constexpr std::uint8_t signed_4_from_table = 0x3b;

template <class T>
T load(const std::uint8_t* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

/// Bytes in order. Beyond the end everything is 0, and is_good() false.
class reader {
 public:
  reader() = default;
  reader(const std::uint8_t* begin, std::size_t bytes) : at_(begin), end_(begin + bytes) {}

  [[nodiscard]] const std::uint8_t* at() const { return at_; }
  [[nodiscard]] bool is_done() const { return at_ == end_; }
  [[nodiscard]] bool is_good() const { return is_good_; }

  template <class T>
  T number() {
    const std::uint8_t* const from = at_;
    return skip(sizeof(T)) ? load<T>(from) : T{};
  }
  std::uint8_t byte() { return number<std::uint8_t>(); }
  std::uint64_t leb128() { return leb128_bits().value; }
  std::int64_t signed_leb128() {
    const bits found = leb128_bits();
    const bool is_negative = found.count < 64 && ((found.value >> (found.count - 1)) & 1u) != 0;
    return static_cast<std::int64_t>(is_negative ? found.value | (~std::uint64_t{0} << found.count)
                                                 : found.value);
  }
  /// Returns: characters up to a zero.
  const char* text() {
    const auto* const begin = reinterpret_cast<const char*>(at_);
    while (byte() != 0) {
    }
    return is_good_ ? begin : "";
  }
  bool skip(std::uint64_t bytes) {
    if (static_cast<std::uint64_t>(end_ - at_) < bytes) {
      at_ = end_;
      return is_good_ = false;
    }
    at_ += static_cast<std::size_t>(bytes);
    return true;
  }
  /// Returns: the next bytes, by themselves.
  reader part(std::uint64_t bytes) {
    const std::uint8_t* const from = at_;
    return skip(bytes) ? reader(from, static_cast<std::size_t>(bytes)) : reader();
  }

 private:
  struct bits {
    std::uint64_t value = 0;
    unsigned count = 0;
  };
  bits leb128_bits() {
    bits found;
    std::uint8_t next = 0;
    do {
      next = byte();
      if (found.count < 64) found.value |= std::uint64_t{next & 0x7fu} << found.count;
      found.count += 7;
    } while ((next & 0x80u) != 0);
    return found;
  }

  const std::uint8_t* at_ = nullptr;
  const std::uint8_t* end_ = nullptr;
  bool is_good_ = true;
};

struct saved_register {
  enum class place : std::uint8_t { unchanged, at_offset, undefined, elsewhere };
  place is = place::unchanged;
  std::int64_t offset = 0;  // bytes from the frame's end
};

struct row {
  std::uint64_t end_register = no_register;
  std::int64_t end_offset = 0;
  saved_register saved_frame_pointer;
  saved_register saved_stack_pointer;
  saved_register saved_return_address;
  saved_register any_other;

  saved_register& of(std::uint64_t number) {
    switch (number) {
      case frame_pointer:
        return saved_frame_pointer;
      case stack_pointer:
        return saved_stack_pointer;
      case return_address:
        return saved_return_address;
      default:
        return any_other;
    }
  }
};

struct common_entry {
  std::uint64_t code_unit = 0;
  std::int64_t data_unit = 0;
  reader instructions;
};

/// Returns: an entry's bytes behind its length; none where there is no entry.
reader entry_at(const std::uint8_t* at) {
  constexpr std::uint32_t is_longer = 0xffff'ffff;
  const auto bytes = load<std::uint32_t>(at);
  return bytes == is_longer ? reader() : reader(at + sizeof bytes, bytes);
}

bool skip_pointer(reader& in, std::uint8_t encoding) {
  constexpr std::uint8_t aligned = 0x50;
  if (encoding == aligned) return false;
  switch (encoding & 0x07u) {
    case 0:
    case 4:
      return in.skip(8);
    case 2:
      return in.skip(2);
    case 3:
      return in.skip(4);
    default:
      return false;
  }
}

bool read_common(const std::uint8_t* at, common_entry& common) {
  reader in = entry_at(at);
  if (in.number<std::uint32_t>() != 0) return false;  // that of a function
  const std::uint8_t version = in.byte();
  if (version != 1 && version != 3) return false;
  const char* augmentation = in.text();
  common.code_unit = in.leb128();
  common.data_unit = in.signed_leb128();
  if ((version == 1 ? in.byte() : in.leb128()) != return_address) return false;
  if (*augmentation++ != 'z') return false;
  reader data = in.part(in.leb128());
  bool has_known_pointers = false;
  for (; *augmentation != '\0'; ++augmentation) {
    switch (*augmentation) {
      case 'R':
        has_known_pointers = data.byte() == signed_4_from_here;
        break;
      case 'L':
        data.byte();
        break;
      case 'P':
        if (!skip_pointer(data, data.byte())) return false;
        break;
      default:
        return false;  // as S: here a signal came in
    }
  }
  common.instructions = in;
  return has_known_pointers && data.is_good() && in.is_good();
}

/// DW_CFA_*. The last three have an operand in the low six bits.
enum instruction : std::uint8_t {
  nop = 0x00,
  advance_1 = 0x02,
  advance_2 = 0x03,
  advance_4 = 0x04,
  offset_extended = 0x05,
  restore_extended = 0x06,
  undefined = 0x07,
  same_value = 0x08,
  in_register = 0x09,
  remember_state = 0x0a,
  restore_state = 0x0b,
  define_end = 0x0c,
  define_end_register = 0x0d,
  define_end_offset = 0x0e,
  define_end_expression = 0x0f,
  expression = 0x10,
  offset_extended_signed = 0x11,
  define_end_signed = 0x12,
  define_end_offset_signed = 0x13,
  value_offset = 0x14,
  value_offset_signed = 0x15,
  value_expression = 0x16,
  arguments_size = 0x2e,
  negative_offset_extended = 0x2f,
  advance = 0x40,
  offset = 0x80,
  restore = 0xc0,
};

/// Makes rows up to that of one address.
class row_maker {
 public:
  row_maker(const common_entry& common, std::uintptr_t begin, std::uintptr_t target)
      : common_(common), at_(begin), target_(target) {}

  /// Returns: whether every instruction was known.
  bool follow(reader in) {
    while (!in.is_done() && at_ <= target_)
      if (!follow_one(in)) return false;
    return in.is_good();
  }
  /// Effects: what restore means from now on is the row as it is.
  void begin_function() { first_ = now; }

  row now;

 private:
  using place = saved_register::place;

  bool follow_one(reader& in) {
    const std::uint8_t code = in.byte();
    const std::uint64_t low = code & 0x3fu;
    switch (code & 0xc0u) {
      case advance:
        return go_on(low);
      case offset:
        return save(low, scaled(in.leb128()));
      case restore:
        return now.of(low) = first_.of(low), true;
      default:
        return follow_extended(code, in);
    }
  }

  bool follow_extended(std::uint8_t code, reader& in) {
    std::uint64_t number = 0;
    switch (code) {
      case nop:
        return true;
      case advance_1:
        return go_on(in.byte());
      case advance_2:
        return go_on(in.number<std::uint16_t>());
      case advance_4:
        return go_on(in.number<std::uint32_t>());
      case offset_extended:
        number = in.leb128();
        return save(number, scaled(in.leb128()));
      case offset_extended_signed:
        number = in.leb128();
        return save(number, in.signed_leb128() * common_.data_unit);
      case negative_offset_extended:
        number = in.leb128();
        return save(number, -scaled(in.leb128()));
      case restore_extended:
        number = in.leb128();
        return now.of(number) = first_.of(number), true;
      case undefined:
        return now.of(in.leb128()) = {place::undefined, 0}, true;
      case same_value:
        return now.of(in.leb128()) = {}, true;
      case in_register:
      case value_offset:
      case value_offset_signed:
        now.of(in.leb128()) = {place::elsewhere, 0};
        in.leb128();
        return true;
      case expression:
      case value_expression:
        now.of(in.leb128()) = {place::elsewhere, 0};
        return in.skip(in.leb128());
      case define_end:
        now.end_register = in.leb128();
        now.end_offset = static_cast<std::int64_t>(in.leb128());
        return true;
      case define_end_signed:
        now.end_register = in.leb128();
        now.end_offset = in.signed_leb128() * common_.data_unit;
        return true;
      case define_end_register:
        now.end_register = in.leb128();
        return true;
      case define_end_offset:
        now.end_offset = static_cast<std::int64_t>(in.leb128());
        return true;
      case define_end_offset_signed:
        now.end_offset = in.signed_leb128() * common_.data_unit;
        return true;
      case define_end_expression:
        now.end_register = no_register;
        return in.skip(in.leb128());
      case remember_state:
        if (remembered_count_ == remembered_max) return false;
        remembered_[remembered_count_++] = now;
        return true;
      case restore_state:
        if (remembered_count_ == 0) return false;
        now = remembered_[--remembered_count_];
        return true;
      case arguments_size:
        in.leb128();
        return true;
      default:
        return false;
    }
  }

  [[nodiscard]] std::int64_t scaled(std::uint64_t units) const {
    return static_cast<std::int64_t>(units) * common_.data_unit;
  }
  bool go_on(std::uint64_t units) {
    at_ += static_cast<std::uintptr_t>(units * common_.code_unit);
    return true;
  }
  bool save(std::uint64_t number, std::int64_t at) {
    now.of(number) = {place::at_offset, at};
    return true;
  }

  static constexpr unsigned remembered_max = 8;
  const common_entry& common_;
  std::uintptr_t at_;
  std::uintptr_t target_;
  row first_;
  row remembered_[remembered_max];
  unsigned remembered_count_ = 0;
};

/// Returns: the entry of the last function that begins at `target` or before; null: there is none.
const std::uint8_t* find_entry(const std::uint8_t* table, std::uintptr_t target) {
  struct function {
    std::int32_t begin;  // from the table on
    std::int32_t entry;
  };
  constexpr std::size_t count_at =
      8;  // behind four bytes that tell how the rest is written, and a pointer of four
  constexpr std::size_t functions_at = 12;
  if (table[0] != 1 || (table[1] & 0x07u) != unsigned_4 || table[2] != unsigned_4 ||
      table[3] != signed_4_from_table)
    return nullptr;
  const auto* const first = reinterpret_cast<const function*>(table + functions_at);
  const auto* const last = first + load<std::uint32_t>(table + count_at);
  const auto place = static_cast<std::int64_t>(target - reinterpret_cast<std::uintptr_t>(table));
  const auto* const behind = std::upper_bound(
      first, last, place, [](std::int64_t at, const function& f) { return at < f.begin; });
  return behind == first ? nullptr : table + (behind - 1)->entry;
}

bool find_row(const std::uint8_t* entry, std::uintptr_t target, row& found) {
  reader in = entry_at(entry);
  const std::uint8_t* const back_from = in.at();
  const auto back = in.number<std::uint32_t>();
  common_entry common;
  if (!in.is_good() || back == 0 || !read_common(back_from - back, common)) return false;
  const auto begin_from = reinterpret_cast<std::uintptr_t>(in.at());
  const auto distance = std::int64_t{in.number<std::int32_t>()};
  const std::uintptr_t begin = begin_from + static_cast<std::uintptr_t>(distance);
  const auto bytes = in.number<std::uint32_t>();
  if (target - begin >= bytes) return false;
  in.skip(in.leb128());
  row_maker rows(common, begin, target);
  if (!rows.follow(common.instructions)) return false;
  rows.begin_function();
  if (!rows.follow(in)) return false;
  found = rows.now;
  return true;
}

/// Returns: the row in the words of a rule; `other` if that has none for it.
frame_rule rule_from(const row& r) {
  using place = saved_register::place;
  constexpr frame_rule other{.end = frame_end::other};
  constexpr std::int64_t bytes_max = 1 << 30;
  if (r.saved_return_address.is == place::undefined) return {.end = frame_end::outermost};
  if (r.saved_return_address.is != place::at_offset || r.saved_return_address.offset != -word ||
      r.saved_stack_pointer.is != place::unchanged)
    return other;
  if (r.end_offset < word || r.end_offset > bytes_max || r.end_offset % word != 0) return other;
  frame_rule rule{.bytes = static_cast<std::uint32_t>(r.end_offset)};
  if (r.saved_frame_pointer.is == place::at_offset) {
    const std::int64_t below = -r.saved_frame_pointer.offset;
    if (below <= word || below % word != 0 || below / word > UINT8_MAX) return other;
    rule.saved_frame_pointer = static_cast<std::uint8_t>(below / word);
  } else if (r.saved_frame_pointer.is == place::elsewhere) {
    return other;
  }
  if (r.end_register == frame_pointer) {
    rule.end = frame_end::from_frame_pointer;
  } else if (r.end_register == stack_pointer) {
    if (rule.saved_frame_pointer * word > r.end_offset) return other;  // below what is in use
    rule.end = frame_end::from_stack_pointer;
  } else {
    return other;
  }
  return rule;
}

}  // namespace

frame_rule read_rule(const void* table, std::uintptr_t address) noexcept {
  // Inside of the call instruction: behind one that never returns, another function may begin.
  const std::uintptr_t target = address - 1;
  const std::uint8_t* const entry = find_entry(static_cast<const std::uint8_t*>(table), target);
  row found;
  if (entry == nullptr || !find_row(entry, target, found)) return {.end = frame_end::other};
  return rule_from(found);
}

}  // namespace ashlar::os
