// tools/trace/named_profile.cpp. Layer: trace.
#include "tools/trace/named_profile.hpp"

#include <algorithm>
#include <map>
#include <span>
#include <utility>

#include "tools/files/text.hpp"
#include "tools/trace/profile_fields.hpp"
#include "tools/trace/read_profile.hpp"
#include "tools/trace/symbols.hpp"

namespace ashlar::trace {
namespace {

/// Fields of the messages of profile.proto that are read here.
enum profile_field : unsigned {
  of_mapping = 3,
  of_location,
  of_function,
  of_text,
  of_comment = 13,
  of_shown_first
};
enum mapping_field : unsigned {
  mapping_id = 1,
  mapping_begin,
  mapping_end,
  mapping_offset,
  mapping_file,
  mapping_build_id,
  mapping_has_functions
};
enum location_field : unsigned {
  location_id = 1,
  location_mapping,
  location_address,
  location_line
};

class profile_namer {
 public:
  profile_namer(std::string_view bytes, const naming& how) : bytes_(bytes), how_(how) {}

  /// Throws: damaged_profile.
  named_profile name() {
    if (from_.types.empty() || from_.texts.empty() || !from_.texts[0].empty())
      throw damaged_profile();
    names_.emplace(modules(), std::span<const name_definition>(), how_.known);
    for_each_field(bytes_, [&](const field& f) { write(f); });
    for (const auto& [key, added] : functions_)
      out_.message(of_function, [&made = added](auto& part) {
        part.number(1, made.id);
        part.number(2, made.name);
        part.number(3, made.name);
        part.number(4, made.file);
      });
    for (const std::string& comment : how_.comments) out_.number(of_comment, text_of(comment));
    for (const std::string& text : new_texts_) out_.text(of_text, text);
    // Of a number that is there twice the last one counts.
    const auto first = std::ranges::find(from_.texts, how_.shown_first);
    if (!how_.shown_first.empty() && first != from_.texts.end())
      out_.number(of_shown_first, static_cast<std::uint64_t>(first - from_.texts.begin()));
    result_.lost = names_->lost();
    for (const auto& [path, has_lines] : has_lines_)
      if (!has_lines) result_.without_lines.push_back(path);
    return std::move(result_);
  }

 private:
  struct new_function {
    std::uint64_t id = 0, name = 0, file = 0;
  };

  [[nodiscard]] std::string text(std::uint64_t index) const {
    if (index >= from_.texts.size()) throw damaged_profile();
    return std::string(from_.text(index));
  }
  [[nodiscard]] std::vector<module_definition> modules() const {
    std::vector<module_definition> all;
    for (const auto& [id, m] : from_.mappings) {
      const std::string path = text(m.file);
      if (how_.may_read && !how_.may_read(path)) continue;
      const std::string build = text(m.build_id);
      all.push_back({m.begin, m.end, m.begin - address_at_offset(path, m.offset), path,
                     files::bytes_of_hexadecimal(build).value_or(build), m.offset});
    }
    return all;
  }

  // ---- writing ----

  void write(const field& f) {
    if (f.number == of_location)
      write_location(f);
    else if (f.number == of_mapping)
      write_mapping(f);
    else
      result_.bytes += f.whole;
  }
  /// pprof looks for names itself where a mapping has none.
  void write_mapping(const field& f) {
    std::string part(f.bytes);
    string_out to{part};
    for (unsigned i = 0; i < 4; ++i) fields_out(to).number(mapping_has_functions + i, 1);
    out_.text(of_mapping, part);
  }
  void write_location(const field& f) {
    std::uint64_t address = 0;
    bool is_named = false;
    for_each_field(f.bytes, [&](const field& inner) {
      if (inner.number == location_address) address = inner.value;
      is_named = is_named || inner.number == location_line;
    });
    ++result_.calls;
    if (is_named) ++result_.is_named;
    std::string part(f.bytes);
    if (!is_named && address != 0) add_lines(address, part);
    out_.text(of_location, part);
  }
  /// Effects: adds to a location what the compiler put inline there, and the function itself.
  void add_lines(std::uint64_t address, std::string& part) {
    const std::vector<named_call> calls = names_->of({0, {address + 1}});
    if (calls.empty() || calls.back().module.empty()) return;
    const bool has_line = calls.back().line != 0;
    has_lines_[calls.back().module] = has_lines_[calls.back().module] || has_line;
    if (!calls.back().function.empty()) ++result_.named;
    if (has_line) ++result_.lines;
    string_out to{part};
    for (const named_call& call : calls)
      fields_out(to).message(location_line, [&](auto& line) {
        line.number(1, function_of(call));
        line.number(2, call.line);
      });
  }
  std::uint64_t function_of(const named_call& call) {
    const std::string& name = call.function.empty() ? call.name : call.function;
    new_function& function = functions_[{name, call.file}];
    if (function.id == 0) function = {++last_function_, text_of(name), text_of(call.file)};
    return function.id;
  }
  std::uint64_t text_of(const std::string& text) {
    if (text.empty()) return 0;
    const auto [place, is_new] = text_places_.emplace(text, next_text_);
    if (is_new) {
      ++next_text_;
      new_texts_.push_back(text);
    }
    return place->second;
  }

  std::string_view bytes_;
  const naming& how_;
  read_profile from_ = parts_of_profile(bytes_);
  std::uint64_t last_function_ = from_.functions.empty() ? 0 : from_.functions.rbegin()->first;
  std::optional<call_names> names_;
  std::map<std::pair<std::string, std::string>, new_function> functions_;
  std::map<std::string, std::uint64_t> text_places_;
  std::vector<std::string> new_texts_;  // behind those that were there
  std::uint64_t next_text_ = from_.texts.size();
  std::map<std::string, bool> has_lines_;  // by file
  named_profile result_;
  string_out sink_{result_.bytes};
  fields_out out_{sink_};
};

}  // namespace

std::optional<named_profile> with_names(std::string_view bytes, const naming& how) {
  try {
    return profile_namer(bytes, how).name();
  } catch (const damaged_profile&) {
    return std::nullopt;
  }
}

}  // namespace ashlar::trace
