// tools/trace/heaptrack.cpp. Layer: trace.
//
// A line is a letter and numbers in hexadecimal: v version; x, X the program and its command line; I page size;
// t address, caller: the next node of a tree of calls; + size, node, address; - address; c milliseconds since the start;
// m a mapped file: name, base, then offset and length of each segment, "m 1 -" begins a new list. Names have their length before
// them. The rest (R resident pages, A, ...) tells nothing of blocks.
#include "tools/trace/heaptrack.hpp"

#include <algorithm>
#include <charconv>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "tools/trace/error.hpp"

namespace ashlar::trace {
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
  std::string name_;
  std::string line_;
  std::string_view rest_;
  std::uint64_t offset_ = 0;
  std::uint64_t behind_ = 0;
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
