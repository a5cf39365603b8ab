// tools/agent/otlp_profile.cpp. Layer: agent.
//
//   request [ dictionary: texts, mappings, functions, locations, stacks, attributes ]
//           [ resource [ scope [ profile: inuse_space ] [ profile: inuse_objects ] ] ]
//
// Messages name parts of the dictionary by their place. The first place of each list has an empty
// part, which stands for none.
#include "tools/agent/otlp_profile.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "tools/trace/profile_fields.hpp"
#include "tools/trace/read_profile.hpp"

namespace ashlar::agent {
namespace {

using trace::read_profile;

// Returns: the bytes of the message that fill(writer) writes.
template <class Fill>
std::string message(Fill fill) {
  std::string bytes;
  trace::string_out to{bytes};
  trace::fields_out fields(to);
  fill(fields);
  return bytes;
}

constexpr std::size_t text_bytes_max = 64 * 1024;

// The fields of ProfilesDictionary.
enum table : unsigned { mappings = 1, locations, functions, links, texts, attributes, stacks };

class request_writer {
 public:
  explicit request_writer(const read_profile& from) : from_(from) {
    for (const table each : {mappings, locations, functions, links, attributes, stacks})
      static_cast<void>(place_of(each, {}));
    static_cast<void>(text({}));
  }

  // Returns: the bytes of a profile of that type of value.
  std::string profile(const char* type_name, time_span when) {
    const auto nanoseconds = [](auto time) {
      return static_cast<std::uint64_t>(
          std::chrono::duration_cast<std::chrono::nanoseconds>(time).count());
    };
    return message([&](trace::fields_out& to) {
      for (const read_profile::type& type : from_.types)
        if (from_.text(type.name) == type_name) to.text(1, value_type(type));
      for (const read_profile::call_stack& stack : from_.stacks)
        if (const std::uint64_t value = from_.value(stack, type_name); value != 0)
          to.text(2, sample(stack, value));
      to.fixed_number(3, nanoseconds(when.begin.time_since_epoch()));
      to.number(4, nanoseconds(when.end - when.begin));
      to.text(5, value_type(from_.period_type));
      to.number(6, from_.period);
    });
  }

  // Returns: what all profiles share. To be called last.
  [[nodiscard]] const std::string& dictionary() const { return dictionary_; }

 private:
  // Returns: where the part is in its list, in which equal parts are once.
  std::uint64_t place_of(table in, std::string_view bytes) {
    auto& known = places_[in];
    const auto [found, is_new] = known.emplace(std::string(bytes), known.size());
    if (is_new) {
      trace::string_out to{dictionary_};
      trace::fields_out(to).text(in, bytes);
    }
    return found->second;
  }
  std::uint64_t text(std::string_view bytes) {
    return place_of(texts, label_value(bytes, text_bytes_max));
  }
  std::uint64_t text_at(std::uint64_t index) {
    const auto [known, is_new] = texts_.emplace(index, 0);
    if (is_new) known->second = text(from_.text(index));
    return known->second;
  }

  std::string value_type(const read_profile::type& type) {
    return message([&](trace::fields_out& to) {
      to.number(1, text_at(type.name));
      to.number(2, text_at(type.unit));
    });
  }
  std::uint64_t attribute(std::string_view key, std::uint64_t text_index) {
    const auto [known, is_new] = attributes_.emplace(std::pair(key, text_index), 0);
    if (!is_new) return known->second;
    return known->second =
               place_of(attributes, message([&](trace::fields_out& to) {
                          to.number(1, text(key));
                          to.message(2, [&](auto& value) {
                            value.text(1, label_value(from_.text(text_index), text_bytes_max));
                          });
                        }));
  }
  std::uint64_t mapping(std::uint64_t id) {
    const auto found = from_.mappings.find(id);
    if (found == from_.mappings.end()) return 0;
    const read_profile::mapping& m = found->second;
    return place_of(mappings, message([&](trace::fields_out& to) {
                      to.number(1, m.begin);
                      to.number(2, m.end);
                      to.number(3, m.offset);
                      to.number(4, text_at(m.file));
                      if (from_.text(m.build_id).empty()) return;
                      const std::array<std::uint64_t, 1> one{
                          attribute("process.executable.build_id.gnu", m.build_id)};
                      to.numbers(5, std::span<const std::uint64_t>(one));
                    }));
  }
  std::uint64_t function(std::uint64_t id) {
    const auto found = from_.functions.find(id);
    if (found == from_.functions.end()) return 0;
    return place_of(functions, message([&](trace::fields_out& to) {
                      to.number(1, text_at(found->second.name));
                      to.number(3, text_at(found->second.file));
                    }));
  }
  std::uint64_t location(std::uint64_t id) {
    const auto [known, is_new] = locations_.emplace(id, 0);
    const auto found = from_.locations.find(id);
    if (!is_new || found == from_.locations.end()) return known->second;
    return known->second = place_of(locations, message([&](trace::fields_out& to) {
                                      to.number(1, mapping(found->second.mapping));
                                      to.number(2, found->second.address);
                                      for (const read_profile::line& each : found->second.lines) {
                                        const std::uint64_t of = function(each.function);
                                        to.message(3, [&](auto& line) {
                                          line.number(1, of);
                                          line.number(2, each.number);
                                        });
                                      }
                                    }));
  }
  std::string sample(const read_profile::call_stack& stack, std::uint64_t value) {
    std::vector<std::uint64_t> calls;
    calls.reserve(stack.locations.size());
    for (const std::uint64_t id : stack.locations) calls.push_back(location(id));
    const std::uint64_t place = place_of(stacks, message([&](trace::fields_out& to) {
                                           to.numbers(1, std::span<const std::uint64_t>(calls));
                                         }));
    return message([&](trace::fields_out& to) {
      to.number(1, place);
      if (!from_.text(stack.tag).empty()) {
        const std::array<std::uint64_t, 1> tag{attribute("ashlar.tag", stack.tag)};
        to.numbers(2, std::span<const std::uint64_t>(tag));
      }
      const std::array<std::uint64_t, 1> one{value};
      to.numbers(4, std::span<const std::uint64_t>(one));
    });
  }

  const read_profile& from_;
  std::string dictionary_;
  std::map<table, std::map<std::string, std::uint64_t>> places_;
  std::map<std::uint64_t, std::uint64_t> texts_;  // the profile's -> the dictionary's, as all below
  std::map<std::pair<std::string_view, std::uint64_t>, std::uint64_t> attributes_;
  std::map<std::uint64_t, std::uint64_t> locations_;  // the profile's -> the dictionary's
};

}  // namespace

std::string otlp_request(std::string_view profile, const process_figures& of, time_span when) {
  const read_profile from = trace::parts_of_profile(profile);
  request_writer parts(from);
  const std::string scope = message([&](trace::fields_out& to) {
    to.message(1, [&](auto& name) {
      name.text(1, "ashlar");
      name.text(2, of.library);
    });
    // A reader shows the first one where it is not asked for another.
    for (const char* const type : {"inuse_space", "inuse_objects"})
      to.text(2, parts.profile(type, when));
  });
  const std::string resource = message([&](trace::fields_out& to) {
    const auto attribute = [&](const char* key, auto write_value) {
      to.message(1, [&](auto& pair) {
        pair.text(1, key);
        pair.message(2, write_value);
      });
    };
    const auto text = [&](const char* key, const std::string& value) {
      if (!value.empty()) attribute(key, [&](auto& to_value) { to_value.text(1, value); });
    };
    text("service.name", of.facts.service);
    text("service.version", of.facts.version);
    text("process.executable.name", of.facts.comm);
    attribute("process.pid", [&](auto& to_value) {
      to_value.number(3, static_cast<std::uint64_t>(of.socket.pid));
    });
  });
  return message([&](trace::fields_out& to) {
    to.text(1, message([&](trace::fields_out& both) {
              both.text(1, resource);
              both.text(2, scope);
            }));
    to.text(2, parts.dictionary());
  });
}

}  // namespace ashlar::agent
