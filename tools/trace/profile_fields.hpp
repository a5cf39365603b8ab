// tools/trace/profile_fields.hpp: reads the parts of a profile of pprof's format, which is a protobuf
// message (core/pprof.hpp writes them). Layer: trace.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace ashlar::trace {

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
  explicit field_reader(std::string_view bytes) : all_(bytes) {}
  [[nodiscard]] bool is_at_end() const { return at_ == all_.size(); }
  field next() {
    enum kind : unsigned { varint = 0, eight_bytes = 1, with_length = 2, four_bytes = 5 };
    const std::size_t begin = at_;
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
    f.whole = all_.substr(begin, at_ - begin);
    return f;
  }

  std::uint64_t variable() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const auto byte = static_cast<unsigned char>(take(1)[0]);
      value |= std::uint64_t{byte & 0x7fu} << shift;
      if (byte < 0x80) return value;
    }
    throw damaged_profile();
  }

 private:
  std::string_view take(std::uint64_t count) {
    if (count > all_.size() - at_) throw damaged_profile();
    const std::string_view taken = all_.substr(at_, static_cast<std::size_t>(count));
    at_ += taken.size();
    return taken;
  }

  std::string_view all_;
  std::size_t at_ = 0;
};

/// Returns: the numbers of a field that repeats, packed or one alone. Throws: damaged_profile.
[[nodiscard]] inline std::vector<std::uint64_t> numbers_of(const field& f) {
  if (f.is_number) return {f.value};
  std::vector<std::uint64_t> all;
  for (field_reader packed(f.bytes); !packed.is_at_end();) all.push_back(packed.variable());
  return all;
}

}  // namespace ashlar::trace
