// tools/trace/text.cpp. Layer: trace.
#include "tools/trace/text.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tools/files/text.hpp"
#include "tools/trace/error.hpp"

namespace ashlar::trace {
namespace {

constexpr std::string_view first_line = "ashlar-trace-text 1";

constexpr std::array<std::pair<event_kind, std::string_view>, 20> event_names{{
    {event_kind::by_malloc, "malloc"},
    {event_kind::by_calloc, "calloc"},
    {event_kind::by_realloc, "realloc"},
    {event_kind::by_aligned, "aligned"},
    {event_kind::by_new, "new"},
    {event_kind::by_new_array, "new[]"},
    {event_kind::by_pool, "pool"},
    {event_kind::from_free, "free"},
    {event_kind::from_realloc, "realloc-from"},
    {event_kind::from_delete, "delete"},
    {event_kind::from_delete_array, "delete[]"},
    {event_kind::from_pool, "pool-free"},
    {event_kind::thread_start, "thread-start"},
    {event_kind::thread_exit, "thread-exit"},
    {event_kind::fork, "fork"},
    {event_kind::image, "image"},
    {event_kind::mark, "mark"},
    {event_kind::lost, "lost"},
    {event_kind::refused, "refused"},
    {event_kind::untouched, "untouched"},
}};

std::optional<event_kind> kind_of(std::string_view name) {
  for (const auto& [kind, text] : event_names)
    if (text == name) return kind;
  return std::nullopt;
}

std::optional<std::uint64_t> number_in(std::string_view text) {
  const bool is_hexadecimal = text.starts_with("0x");
  return files::number_in(text.substr(is_hexadecimal ? 2 : 0), is_hexadecimal ? 16 : 10);
}

void put_number(std::string& line, std::uint64_t number, int base = 10) {
  std::array<char, 24> digits{};
  if (base == 16) line += "0x";
  line.append(digits.data(),
              std::to_chars(digits.data(), digits.data() + digits.size(), number, base).ptr);
}
void put_field(std::string& line, std::string_view name, std::uint64_t number, int base = 10) {
  line += ' ';
  line += name;
  put_number(line, number, base);
}

std::string line_of(const event& e) {
  std::string line;
  put_number(line, e.time);
  put_field(line, "", e.thread);
  line += ' ';
  line += name_of(e.kind);
  if (has_address(e.kind)) put_field(line, "", e.address, 16);
  if (!is_death(e.kind)) put_field(line, "", e.size);
  if (e.alignment != 0) put_field(line, "align=", e.alignment);
  if (e.stack != 0) put_field(line, "stack=", e.stack);
  if (has_text(e.kind)) {
    line += ' ';
    line += escape(e.text);
  }
  line += '\n';
  return line;
}

std::string line_of(const stack_definition& stack) {
  std::string line = "stack";
  put_field(line, "", stack.number);
  for (const std::uint64_t frame : stack.frames) put_field(line, "", frame, 16);
  return line + '\n';
}

std::string line_of(const module_definition& module) {
  std::string line = "module";
  for (const std::uint64_t number : {module.begin, module.end, module.bias})
    put_field(line, "", number, 16);
  line += ' ';
  line += escape(module.path);
  if (!module.build_id.empty()) line += ' ' + files::hexadecimal(module.build_id);
  return line + '\n';
}

std::string line_of(const name_definition& name) {
  std::string line = "name";
  put_field(line, "", name.address, 16);
  for (const source_place& place : name.places) {
    line += ' ' + escape(place.function) + ' ' + escape(place.file);
    put_field(line, "", place.line);
  }
  return line + '\n';
}

std::string line_of(const memory_look& look) {
  std::string line = "memory";
  for (const std::uint64_t number : {look.time, look.resident, look.peak})
    put_field(line, "", number);
  for (const mapped_memory& each : look.mappings) {
    put_field(line, "", static_cast<std::uint64_t>(each.kind));
    put_field(line, "", each.begin, 16);
    put_field(line, "", each.end, 16);
    put_field(line, "", each.resident);
    line += ' ' + escape(each.name);
  }
  return line + '\n';
}

std::string line_of(const own_mapping& mapping) {
  std::string line = "mapping";
  put_field(line, "", mapping.time);
  put_field(line, "", mapping.begin, 16);
  put_field(line, "", mapping.bytes);
  put_field(line, "", mapping.stack);
  return line + '\n';
}

std::string line_of(const exit_look& look) {
  std::string line = "lost " + escape(look.failure);
  for (const lost_blocks& each : look.lost)
    for (const std::uint64_t number : {std::uint64_t{each.stack}, each.blocks, each.bytes})
      put_field(line, "", number);
  return line + '\n';
}

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words = files::parts_of(line, ' ');
  std::erase(words, std::string_view());
  return words;
}

/// Reads lines; what is wrong is told with the offset of its line.
class text_reader {
 public:
  text_reader(std::istream& from, std::string name) : from_(from), name_(std::move(name)) {}

  void read(const byte_sink& to) {
    if (!next() || line_ != first_line)
      fail("this is no trace as text (its first line is 'ashlar-trace-text 1')");
    trace_header header;
    bool more = next();
    for (; more && line_.starts_with("header "); more = next()) read_header(header);
    trace_writer out(to, header);
    std::vector<stack_definition> stacks;
    std::vector<module_definition> modules;
    std::vector<name_definition> names;
    std::vector<memory_look> looks;
    std::vector<own_mapping> mappings;
    for (; more; more = next()) {
      const auto words = words_of(line_);
      if (words.empty()) continue;
      if (words[0] == "stack") {
        stacks.push_back(stack(words));
      } else if (words[0] == "module") {
        modules.push_back(module(words));
      } else if (words[0] == "name") {
        names.push_back(name(words));
      } else if (words[0] == "memory") {
        looks.push_back(look(words));
      } else if (words[0] == "mapping") {
        mappings.push_back(mapping(words));
      } else if (words[0] == "lost") {
        out.add(lost(words));
      } else {
        read_event(words, out);
      }
    }
    out.add(stacks);
    out.add(modules);
    out.add(names);
    out.add(looks);
    out.add(mappings);
    out.close();
  }

 private:
  bool next() {
    offset_ = behind_;
    if (!std::getline(from_, line_)) return false;
    behind_ += line_.size() + 1;
    return true;
  }
  [[noreturn]] void fail(const std::string& fault) const {
    throw trace_error(name_, offset_, fault);
  }
  [[noreturn]] void fail_at(std::string_view word, std::string_view fault) const {
    std::string text = "'";
    text.append(word).append("' ").append(fault);
    fail(text);
  }
  std::uint64_t number(std::string_view word, std::uint64_t most = UINT64_MAX) const {
    const auto value = number_in(word);
    if (!value || *value > most) fail_at(word, "is no number, or too large");
    return *value;
  }
  std::string text(std::string_view word) const {
    std::string plain;
    if (!unescape(word, plain)) fail_at(word, "is no escaped text");
    return plain;
  }

  void read_header(trace_header& header) const {
    const auto words = words_of(line_);
    if (words.size() != 3) fail("a line 'header NAME VALUE' has three words");
    if (header.all().size() == header_names_max)
      fail("a header has at most " + std::to_string(header_names_max) + " names");
    header.set(text(words[1]), text(words[2]));
  }
  stack_definition stack(const std::vector<std::string_view>& words) const {
    if (words.size() < 2) fail("a stack has a number");
    stack_definition found;
    found.number = static_cast<std::uint32_t>(number(words[1], UINT32_MAX));
    if (found.number == 0) fail("no stack has the number 0");
    for (std::size_t i = 2; i < words.size(); ++i) found.frames.push_back(number(words[i]));
    return found;
  }
  std::string build_id(std::string_view word) const {
    const std::optional<std::string> bytes = files::bytes_of_hexadecimal(word);
    if (!bytes) fail("a build id is pairs of hexadecimal digits");
    return *bytes;
  }
  module_definition module(const std::vector<std::string_view>& words) const {
    if (words.size() != 5 && words.size() != 6)
      fail("a line 'module BEGIN END BIAS PATH [BUILD-ID]' has five words or six");
    return {number(words[1]), number(words[2]), number(words[3]), text(words[4]),
            words.size() == 6 ? build_id(words[5]) : std::string()};
  }

  name_definition name(const std::vector<std::string_view>& words) const {
    if (words.size() % 3 != 2)
      fail("a line 'name ADDRESS FUNCTION FILE LINE ...' has three words for each place");
    name_definition found{number(words[1]), {}};
    for (std::size_t i = 2; i < words.size(); i += 3) {
      found.places.push_back({text(words[i]), text(words[i + 1]),
                              static_cast<std::uint32_t>(number(words[i + 2], UINT32_MAX))});
    }
    return found;
  }

  own_mapping mapping(const std::vector<std::string_view>& words) const {
    if (words.size() != 5) fail("a line 'mapping TIME BEGIN BYTES STACK' has five words");
    const own_mapping found{number(words[1]), number(words[2]), number(words[3]),
                            static_cast<std::uint32_t>(number(words[4], UINT32_MAX))};
    if (found.begin + found.bytes < found.begin) fail("a mapping ends behind its begin");
    return found;
  }
  exit_look lost(const std::vector<std::string_view>& words) const {
    if (words.size() % 3 != 2) fail("a line 'lost FAILURE ...' has three words for each stack");
    exit_look found{text(words[1]), {}};
    for (std::size_t i = 2; i < words.size(); i += 3)
      found.lost.push_back({static_cast<std::uint32_t>(number(words[i], UINT32_MAX)),
                            number(words[i + 1]), number(words[i + 2])});
    return found;
  }
  memory_look look(const std::vector<std::string_view>& words) const {
    constexpr std::size_t fixed = 4;
    constexpr std::size_t each = 5;
    if (words.size() < fixed || (words.size() - fixed) % each != 0)
      fail("a line 'memory TIME RESIDENT PEAK ...' has five words for each mapping");
    memory_look found{number(words[1]), number(words[2]), number(words[3])};
    for (std::size_t i = fixed; i < words.size(); i += each) {
      found.mappings.push_back({static_cast<memory_kind>(number(words[i], UINT8_MAX)),
                                number(words[i + 1]), number(words[i + 2]), number(words[i + 3]),
                                text(words[i + 4])});
      const mapped_memory& mapping = found.mappings.back();
      if (mapping.kind == memory_kind{} || mapping.end < mapping.begin)
        fail("a mapping has a kind from 1 on, and ends behind its begin");
    }
    return found;
  }

  void read_event(const std::vector<std::string_view>& words, trace_writer& out) {
    if (words.size() < 4) fail("an event is 'TIME THREAD KIND ...'");
    event e;
    e.time = number(words[0]);
    e.thread = static_cast<std::uint32_t>(number(words[1], UINT32_MAX));
    if (e.thread == 0) fail("threads are numbered from 1 on");
    const auto kind = kind_of(words[2]);
    if (!kind) fail_at(words[2], "is no kind of event");
    e.kind = *kind;
    std::size_t at = 3;
    const auto word = [&] { return at < words.size() ? words[at++] : std::string_view(); };
    if (has_address(e.kind)) e.address = number(word());
    if (!is_death(e.kind)) e.size = number(word());
    std::string plain;
    if (has_text(e.kind)) {
      plain = text(word());
      if (plain.size() > event_text_max)
        fail("a text of more than " + std::to_string(event_text_max) + " bytes");
      e.text = plain;
    }
    for (; at < words.size(); ++at) {
      if (is_birth(e.kind) && words[at].starts_with("align=")) {
        e.alignment = number(words[at].substr(6));
        if (!std::has_single_bit(e.alignment)) fail("an alignment is a power of two");
      } else if (is_birth(e.kind) && words[at].starts_with("stack=")) {
        e.stack = static_cast<std::uint32_t>(number(words[at].substr(6), UINT32_MAX));
      } else {
        fail_at(words[at], "is too much");
      }
    }
    std::uint64_t& last = last_time_[e.thread];
    if (e.time < last) fail("the time of a thread goes back");
    last = e.time;
    out.add(e);
  }

  std::istream& from_;
  std::string name_, line_;
  std::uint64_t offset_ = 0;  // of the line
  std::uint64_t behind_ = 0;
  std::unordered_map<std::uint32_t, std::uint64_t> last_time_;
};

bool is_plain(char c) { return c > ' ' && c < '\x7f' && c != '\\'; }

}  // namespace

std::string_view name_of(event_kind kind) {
  for (const auto& [known, text] : event_names)
    if (known == kind) return text;
  return {};
}

std::string escape(std::string_view text) {
  if (text.empty()) return "\\e";  // a word there has to be
  std::string escaped;
  for (const char c : text)
    escaped += is_plain(c) ? std::string(1, c) : '\\' + files::hexadecimal({&c, 1});
  return escaped;
}

bool unescape(std::string_view escaped, std::string& text) {
  text.clear();
  if (escaped == "\\e") return true;
  if (escaped.empty()) return false;
  for (std::size_t i = 0; i < escaped.size(); ++i) {
    if (escaped[i] != '\\') {
      if (!is_plain(escaped[i])) return false;
      text += escaped[i];
      continue;
    }
    const std::optional<std::string> byte = files::bytes_of_hexadecimal(escaped.substr(i + 1, 2));
    if (!byte || byte->empty()) return false;
    text += *byte;
    i += 2;
  }
  return true;
}

void write_text(trace_reader& from, const byte_sink& to) {
  std::string lines(first_line);
  lines += '\n';
  for (const auto& [name, value] : from.header().all())
    lines += "header " + escape(name) + ' ' + escape(value) + '\n';
  for (const module_definition& module : from.modules()) lines += line_of(module);
  for (const stack_definition& stack : from.stacks()) lines += line_of(stack);
  for (const name_definition& name : from.names()) lines += line_of(name);
  for (const memory_look& look : from.looks()) lines += line_of(look);
  for (const own_mapping& mapping : from.mappings()) lines += line_of(mapping);
  if (from.look_at_exit()) lines += line_of(*from.look_at_exit());
  while (const event* e = from.peek()) {
    lines += line_of(*e);
    if (lines.size() >= 1u << 16) {
      to(lines);
      lines.clear();
    }
    from.pop();
  }
  to(lines);
}

void read_text(std::istream& from, const std::string& name, const byte_sink& to) {
  text_reader(from, name).read(to);
}

}  // namespace ashlar::trace
