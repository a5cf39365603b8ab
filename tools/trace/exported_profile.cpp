// tools/trace/exported_profile.cpp. Layer: trace.
#include "tools/trace/exported_profile.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include <ashlar/core/pprof.hpp>

#include "tools/files/text.hpp"
#include "tools/trace/error.hpp"

namespace ashlar::trace {

namespace {

using all_figures = std::array<std::int64_t, std::size(profile_figure_names)>;

all_figures figures_of(const stack_figures& s, double ns_per_tick) {
  const auto values =
      pprof::rounded({.allocated_blocks = static_cast<double>(s.births),
                      .allocated_bytes = static_cast<double>(s.bytes),
                      .live_blocks = static_cast<double>(s.live_blocks),
                      .live_bytes = static_cast<double>(s.live_bytes),
                      .lifetime_ns = static_cast<double>(s.lifetime_ticks) * ns_per_tick});
  all_figures all{};
  std::copy(values.begin(), values.end(), all.begin());
  all.back() = static_cast<std::int64_t>(s.at_peak_bytes);
  return all;
}

/// Calls visit(calls, figures) for each stack that has figures.
template <class Visit>
void for_each_stack(const trace_reader& reader, const trace_summary& of, call_names& names,
                    Visit visit) {
  const double ns_per_tick = 1e9 / static_cast<double>(reader.ticks_per_second());
  for (const stack_definition& stack : reader.stacks())
    if (const auto found = of.stacks.find(stack.number); found != of.stacks.end())
      visit(names.of(stack), figures_of(found->second, ns_per_tick));
}

struct sink_out {
  const byte_sink& to;
  std::string bytes;

  void put(const void* from, std::size_t count) {
    constexpr std::size_t at_once = 64 * 1024;
    bytes.append(static_cast<const char*>(from), count);
    if (bytes.size() >= at_once) flush();
  }
  void flush() {
    to(bytes);
    bytes.clear();
  }
};

/// The parts of a profile that stacks share, each written when it is first needed.
class shared_parts {
 public:
  shared_parts(pprof::profile_writer<sink_out>& to, const trace_reader& reader) : to_(to) {
    for (const module_definition& m : reader.modules()) {
      const std::uint64_t number = modules_.size() + 1;
      if (!modules_.emplace(m.path, number).second) continue;  // another part of the same file
      to_.add(pprof::mapping{.id = number,
                             .begin = m.begin,
                             .end = m.end,
                             .file_offset = m.begin - m.bias,
                             .file = text(m.path),
                             .build_id = text(files::hexadecimal(m.build_id)),
                             .is_named = true});
    }
  }

  std::uint64_t location_of(const named_call& call) {
    const std::uint64_t next = locations_.size() + 1;
    const auto [found, is_new] =
        locations_.emplace(std::tuple(call.name, call.file, call.line), next);
    if (!is_new) return found->second;
    const std::array<pprof::line, 1> lines = {
        {{.function = function_of(call), .number = call.line}}};
    const auto module = modules_.find(call.module);
    to_.add(pprof::location{.id = next,
                            .mapping = module != modules_.end() ? module->second : 0,
                            .address = 0,
                            .lines = lines});
    return next;
  }

 private:
  pprof::text_index text(const std::string& bytes) {
    const auto found = texts_.find(bytes);
    return found != texts_.end() ? found->second : texts_[bytes] = to_.text(bytes);
  }
  std::uint64_t function_of(const named_call& call) {
    const std::string& name = call.function.empty() ? call.name : call.function;
    const std::uint64_t next = functions_.size() + 1;
    const auto [found, is_new] = functions_.emplace(std::pair(name, call.file), next);
    if (is_new) {
      const pprof::text_index name_text = text(name), file = text(call.file);
      to_.add(pprof::function{.id = next, .name = name_text, .file = file});
    }
    return found->second;
  }

  pprof::profile_writer<sink_out>& to_;
  std::unordered_map<std::string, std::uint64_t> modules_;
  std::unordered_map<std::string, pprof::text_index> texts_{{"", 0}};
  std::map<std::pair<std::string, std::string>, std::uint64_t> functions_;
  std::map<std::tuple<std::string, std::string, std::uint32_t>, std::uint64_t> locations_;
};

/// A name without what separates calls and lines.
std::string folded_name(const named_call& call) {
  std::string name = call.function.empty() ? call.name : call.function;
  for (char& c : name)
    if (c == ';' || c == '\n') c = ':';
  return name;
}

}  // namespace

std::optional<profile_figure> figure_named(std::string_view name) {
  const auto* const found = std::ranges::find(profile_figure_names, name);
  if (found == std::end(profile_figure_names)) return std::nullopt;
  return static_cast<profile_figure>(found - std::begin(profile_figure_names));
}

void write_pprof(const trace_reader& reader, const trace_summary& of, call_names& names,
                 profile_figure first, const byte_sink& to) {
  sink_out out{to, {}};
  pprof::profile_writer<sink_out> profile(out);
  pprof::begin_heap_profile(profile, 1);
  profile.sample_type(profile_figure_names[static_cast<std::size_t>(profile_figure::peak_space)],
                      "bytes");
  profile.default_sample_type(profile_figure_names[static_cast<std::size_t>(first)]);
  const double ns_per_tick = 1e9 / static_cast<double>(reader.ticks_per_second());
  const auto [begin, end] = reader.times();
  profile.time(0, static_cast<std::uint64_t>(static_cast<double>(end - begin) * ns_per_tick));
  shared_parts parts(profile, reader);
  for_each_stack(reader, of, names,
                 [&](const std::vector<named_call>& calls, const all_figures& figures) {
                   std::vector<std::uint64_t> locations;
                   locations.reserve(calls.size());
                   for (const named_call& call : calls)
                     locations.push_back(parts.location_of(call));
                   profile.sample(locations, figures);
                 });
  out.flush();
}

void write_folded(const trace_reader& reader, const trace_summary& of, call_names& names,
                  profile_figure figure, const byte_sink& to) {
  std::map<std::string, std::int64_t> lines;
  for_each_stack(reader, of, names,
                 [&](const std::vector<named_call>& calls, const all_figures& figures) {
                   std::string line;
                   for (auto call = calls.rbegin(); call != calls.rend(); ++call) {
                     if (!line.empty()) line += ';';
                     line += folded_name(*call);
                   }
                   lines[line] += figures[static_cast<std::size_t>(figure)];
                 });
  for (const auto& [line, value] : lines)
    if (value != 0) to(line + " " + std::to_string(value) + "\n");
}

namespace {

constexpr std::size_t depth_max = 256;

class heaptrack_reader {
 public:
  heaptrack_reader(std::istream& from, std::string name) : from_(from), name_(std::move(name)) {}

  void read(std::string_view ashlar_version, const byte_sink& to) {
    if (!next() || !line_.starts_with("v "))
      fail("this is no raw recording of heaptrack's (unpack it: zstdcat FILE.raw.zst)");
    header_.set(header_name::ashlar, ashlar_version);
    header_.set(header_name::options, "heaptrack");
    header_.set(header_name::ticks_per_second, 1000);
    while (next())
      if (!line_.empty()) read_line(to);
    if (out_ == nullptr) begin(to);
    define_stacks();
    out_->close();
  }

 private:
  bool next() {
    offset_ = behind_;
    if (!std::getline(from_, line_)) return false;
    behind_ += line_.size() + 1;
    rest_ = line_;
    rest_.remove_prefix(std::min<std::size_t>(2, rest_.size()));
    return true;
  }
  [[noreturn]] void fail(const char* fault) const { throw trace_error(name_, offset_, fault); }

  std::optional<std::uint64_t> more() {
    std::uint64_t number = 0;
    const auto [end, error] =
        std::from_chars(rest_.data(), rest_.data() + rest_.size(), number, 16);
    if (error != std::errc{}) return std::nullopt;
    rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    if (rest_.starts_with(' ')) rest_.remove_prefix(1);
    return number;
  }
  std::uint64_t number() {
    const auto found = more();
    if (!found) fail("a number is missing");
    return *found;
  }
  std::string text() {
    const std::uint64_t length = number();
    if (length > rest_.size()) fail("a name is shorter than it says");
    std::string found(rest_.substr(0, static_cast<std::size_t>(length)));
    rest_.remove_prefix(found.size());
    if (rest_.starts_with(' ')) rest_.remove_prefix(1);
    return found;
  }

  void begin(const byte_sink& to) { out_ = std::make_unique<trace_writer>(to, header_); }

  void read_line(const byte_sink& to) {
    switch (line_[0]) {
      case 'x':
        program_ = text();
        header_.set(header_name::program, program_);
        break;
      case 'X':
        header_.set(header_name::arguments, std::string(rest_) + '\0');
        break;
      case 'I':
        header_.set(header_name::page_bytes, number());
        break;
      case 't': {
        const std::uint64_t address = number();
        const std::uint64_t caller = number();
        if (caller > calls_.size()) fail("a caller that is not known");
        calls_.emplace_back(address, static_cast<std::uint32_t>(caller));
        break;
      }
      case 'm':
        read_module();
        break;
      case 'c':
        time_ = std::max(time_, number());
        break;
      case '+':
      case '-':
        if (out_ == nullptr) begin(to);
        read_event();
        break;
      default:
        break;
    }
  }

  void read_event() {
    event e;
    e.thread = 1;
    e.time = time_;
    if (line_[0] == '+') {
      e.kind = event_kind::by_malloc;
      e.size = number();
      const std::uint64_t call = number();
      if (call > calls_.size()) fail("a call that is not known");
      e.stack = static_cast<std::uint32_t>(call);
      if (e.stack != 0) used_.insert(e.stack);
    } else {
      e.kind = event_kind::from_free;
    }
    e.address = number();
    out_->add(e);
  }

  void read_module() {
    std::string path = text();
    if (path == "-") return;
    if (path == "x") path = program_;
    const std::uint64_t base = number();
    while (const auto offset = more()) {
      const auto length = more();
      if (!length) fail("a segment without its length");
      modules_.push_back({base + *offset, base + *offset + *length, base, path});
    }
  }

  void define_stacks() {
    std::vector<stack_definition> stacks;
    for (const std::uint32_t number : used_) {
      stack_definition& stack = stacks.emplace_back();
      stack.number = number;
      for (std::uint32_t at = number; at != 0 && stack.frames.size() < depth_max;
           at = calls_[at - 1].second)
        stack.frames.push_back(calls_[at - 1].first);
      if (stacks.size() < trace_writer::definitions_each) continue;
      out_->add(stacks);
      stacks.clear();
    }
    out_->add(stacks);
    out_->add(modules_);
  }

  std::istream& from_;
  std::string name_, line_;
  std::string_view rest_;
  std::uint64_t offset_ = 0, behind_ = 0;
  trace_header header_;
  std::string program_;
  std::unique_ptr<trace_writer> out_;
  std::uint64_t time_ = 0;
  std::vector<std::pair<std::uint64_t, std::uint32_t>> calls_;  // address, caller; numbered from 1
  std::set<std::uint32_t> used_;
  std::vector<module_definition> modules_;
};

}  // namespace

void read_heaptrack(std::istream& from, const std::string& name, std::string_view ashlar_version,
                    const byte_sink& to) {
  heaptrack_reader(from, name).read(ashlar_version, to);
}

}  // namespace ashlar::trace
