// tools/trace/read_profile.hpp: a profile of pprof's format as its parts, for whatever writes it in
// another form, or with more in it. Layer: trace.
#pragma once

#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

namespace ashlar::trace {

// Numbers of texts are places in `texts`. All others are as the profile says: any may be wrong.
struct read_profile {
  struct type {
    std::uint64_t name = 0, unit = 0;  // texts
  };
  struct call_stack {
    std::vector<std::uint64_t> locations;  // the innermost call first
    std::vector<std::uint64_t> values;     // one for each type
    std::uint64_t tag = 0;                 // a text, the empty one where it has none
  };
  struct mapping {
    std::uint64_t begin = 0, end = 0, offset = 0;
    std::uint64_t file = 0, build_id = 0;  // texts
  };
  struct line {
    std::uint64_t function = 0, number = 0;
  };
  struct location {
    std::uint64_t mapping = 0, address = 0;
    std::vector<line> lines;  // inlined functions first
  };
  struct function {
    std::uint64_t name = 0, file = 0;  // texts
  };

  std::vector<std::string_view> texts;
  std::vector<type> types;
  std::vector<call_stack> stacks;
  std::map<std::uint64_t, mapping> mappings;  // these by the numbers that others name them by
  std::map<std::uint64_t, location> locations;
  std::map<std::uint64_t, function> functions;
  type period_type;
  std::uint64_t period = 0;

  [[nodiscard]] std::string_view text(std::uint64_t at) const {
    return at < texts.size() ? texts[static_cast<std::size_t>(at)] : std::string_view();
  }
  // Returns: the value of a stack of the type with that name; 0: it has none.
  [[nodiscard]] std::uint64_t value(const call_stack& of, std::string_view type_name) const;
};

// Returns: the parts, whose texts are in `bytes`. Throws: damaged_profile.
[[nodiscard]] read_profile parts_of_profile(std::string_view bytes);

}  // namespace ashlar::trace
