// tools/trace/profile_fields.hpp: reads the parts of a profile of pprof's format, which is a protobuf
// message, and writes such fields (core/pprof.hpp). Layer: trace.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include <ashlar/core/pprof.hpp>

#include "tools/trace/bytes.hpp"

namespace ashlar::trace {

/// Writes the fields of a message to the end of a text.
struct string_out {
  std::string& bytes;
  void put(const void* from, std::size_t count) {
    bytes.append(static_cast<const char*>(from), count);
  }
};
using fields_out = pprof::protobuf_writer<string_out>;

struct damaged_profile {};

/// One field of a message.
struct field {
  unsigned number = 0;
  bool is_number = false;
  std::uint64_t value = 0;
  std::string_view bytes;  ///< of a part with a length
  std::string_view whole;  ///< with its key
};

/// The fields of a message, one after the other. Throws: damaged_profile.
class field_reader {
 public:
  explicit field_reader(std::string_view bytes) : all_(bytes), rest_(view_of(bytes)) {}
  [[nodiscard]] bool is_at_end() const { return rest_.empty(); }
  field next() {
    enum kind : unsigned { varint = 0, eight_bytes = 1, with_length = 2, four_bytes = 5 };
    const std::size_t begin = all_.size() - rest_.left();
    const std::uint64_t key = variable();
    field f;
    f.number = static_cast<unsigned>(key >> 3);
    if (key >> 3 == 0 || key >> 3 > 1000) throw damaged_profile();
    switch (key & 7) {
      case varint:
        f.is_number = true;
        f.value = variable();
        break;
      case eight_bytes:
        take(8);
        break;
      case with_length:
        f.bytes = take(variable());
        break;
      case four_bytes:
        take(4);
        break;
      default:
        throw damaged_profile();
    }
    f.whole = all_.substr(begin, all_.size() - rest_.left() - begin);
    return f;
  }

  std::uint64_t variable() {
    const auto number = rest_.varint();
    if (!number) throw damaged_profile();
    return *number;
  }

 private:
  std::string_view take(std::uint64_t count) {
    const auto taken = rest_.take(count);
    if (!taken) throw damaged_profile();
    return text_of(*taken);
  }

  std::string_view all_;
  byte_reader rest_;
};

/// Effects: calls visit(field) for each field of a message. Throws: damaged_profile.
template <class Visit>
void for_each_field(std::string_view message, Visit visit) {
  for (field_reader fields(message); !fields.is_at_end();) visit(fields.next());
}

/// Effects: the numbers of a message go where `into` says, by their field; null: nowhere.
inline void read_numbers(std::string_view message, std::initializer_list<std::uint64_t*> into) {
  for_each_field(message, [&](const field& f) {
    if (!f.is_number || f.number > into.size()) return;
    if (std::uint64_t* const to = into.begin()[f.number - 1]; to != nullptr) *to = f.value;
  });
}

/// Returns: the numbers of a field that repeats, packed or one alone. Throws: damaged_profile.
[[nodiscard]] inline std::vector<std::uint64_t> numbers_of(const field& f) {
  if (f.is_number) return {f.value};
  std::vector<std::uint64_t> all;
  for (field_reader packed(f.bytes); !packed.is_at_end();) all.push_back(packed.variable());
  return all;
}

}  // namespace ashlar::trace
