// tools/trace/memory_map.hpp: what /proc/PID/smaps says, in a table of fixed size. Layer: trace.
// Freestanding: the recorded process fills one at its end, and the recorder from outside.
//
//   7f01a0000000-7f01a0200000 rw-p 00000000 00:00 0    [anon:V8]     a head, and lines about it:
//   Rss:                 512 kB                                      these bytes are in memory
//
// Files and stacks are added up by name. Other mappings keep their addresses, as long as there is
// room: who reads a trace finds out which of them have blocks of malloc, and which lines mapped them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include <ashlar/core/trace_format.hpp>

namespace ashlar::trace {

// As substr(), which throws: no C++ library is linked to what is recorded.
constexpr std::string_view first_of(std::string_view text, std::size_t count) {
  text.remove_suffix(text.size() - std::min(count, text.size()));
  return text;
}
constexpr std::string_view behind(std::string_view text, std::size_t count) {
  text.remove_prefix(std::min(count, text.size()));
  return text;
}

/// Returns: the number behind spaces, or 0.
constexpr std::uint64_t number_at(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  std::uint64_t number = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') break;
    number = number * 10 + static_cast<std::uint64_t>(c - '0');
  }
  return number;
}
/// Returns: the number of the line of this name, as in /proc/PID/status, or 0.
constexpr std::uint64_t kib_behind(std::string_view text, std::string_view name) {
  const std::size_t at = text.find(name);
  return at == text.npos ? 0 : number_at(behind(text, at + name.size()));
}

struct map_entry {
  static constexpr std::size_t name_bytes = 48;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::uint64_t resident = 0;
  memory_kind kind{};
  std::uint8_t name_length = 0;
  char name[name_bytes - 2] = {};
  [[nodiscard]] std::string_view name_view() const { return {name, name_length}; }
};

/// Law: `resident` is the sum of all entries'.
class memory_map {
 public:
  static constexpr std::size_t entries_max = 1024;

  /// Effects: takes the next bytes of the file, wherever they end.
  void add(const char* bytes, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      if (bytes[i] == '\n') {
        add_line({line_, length_});
        length_ = 0;
      } else if (length_ < sizeof line_) {
        line_[length_++] = bytes[i];
      }
    }
  }
  void clear() {
    count_ = 0;
    resident_ = 0;
    length_ = 0;
    now_ = {};
    before_ = {};
    now_entry_ = nullptr;
    has_spool_ = false;
  }
  [[nodiscard]] const map_entry* begin() const { return entries_; }
  [[nodiscard]] const map_entry* end() const { return entries_ + count_; }
  [[nodiscard]] std::size_t size() const { return count_; }
  [[nodiscard]] std::uint64_t resident() const { return resident_; }
  /// Whether the recorder's memory is mapped: without it this is a process that is not recorded.
  [[nodiscard]] bool has_spool() const { return has_spool_; }

  static constexpr std::string_view spool_name = "memfd:ashlar-record";

 private:
  struct mapping {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    memory_kind kind{};
    bool is_writable = false;
    bool is_closed = false;  // no access
    std::uint8_t length = 0;
    char name[map_entry::name_bytes - 2] = {};
  };

  static bool hexadecimal(std::string_view& from, std::uint64_t& number) {
    number = 0;
    std::size_t digits = 0;
    for (; digits < from.size() && digits < 16; ++digits) {
      const char c = from[digits];
      const int value = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
      if (value < 0) break;
      number = number << 4 | static_cast<std::uint64_t>(value);
    }
    from.remove_prefix(digits);
    return digits != 0;
  }
  static bool skip(std::string_view& from, char c) {
    if (from.empty() || from.front() != c) return false;
    from.remove_prefix(1);
    return true;
  }
  static std::string_view word(std::string_view& from) {
    const std::size_t end = std::min(from.find(' '), from.size());
    const std::string_view found = first_of(from, end);
    from.remove_prefix(end);
    while (skip(from, ' ')) {
    }
    return found;
  }

  void add_line(std::string_view line) {
    constexpr std::string_view rss = "Rss:";
    if (first_of(line, rss.size()) == rss) return add_resident(behind(line, rss.size()));
    mapping found;
    if (!hexadecimal(line, found.begin) || !skip(line, '-') || !hexadecimal(line, found.end) ||
        !skip(line, ' '))
      return;
    const std::string_view rights = word(line);
    if (rights.size() != 4) return;
    word(line);  // the place in the file, its device, its number
    word(line);
    word(line);
    found.is_writable = rights[1] == 'w';
    found.is_closed = rights[0] == '-' && rights[1] == '-' && rights[2] == '-';
    if (found.begin < now_.end && now_.begin < found.end) take_back();
    before_ = now_;
    name(found, line, rights[3] == 's');
    now_ = found;
    now_entry_ = nullptr;
  }

  // The file is read in parts. A mapping that grew meanwhile, as a thread's arena does, is told again.
  void take_back() {
    if (now_entry_ != nullptr) {
      resident_ -= now_resident_;
      now_entry_->resident -= now_resident_;
      if (now_entry_->resident == 0) {
        --count_;
      } else if (now_entry_->end == now_.end) {
        now_entry_->end = now_.begin;
      }
    }
    now_ = before_;
  }

  void name(mapping& of, std::string_view name, bool is_shared) {
    constexpr std::string_view anonymous = "[anon";  // [anon:NAME], [anon_shmem:NAME]
    const auto starts = [&](std::string_view text) { return first_of(name, text.size()) == text; };
    const auto found = [&](memory_kind kind, std::string_view text) {
      of.kind = kind;
      text = behind(text, text.find_first_not_of('/'));
      of.length = static_cast<std::uint8_t>(std::min(text.size(), sizeof of.name));
      std::copy_n(text.begin(), of.length, of.name);
    };
    const std::string_view file = behind(name, name.rfind('/') + 1);
    if (starts("[heap]")) return found(memory_kind::heap, {});
    if (starts("[stack]")) return found(memory_kind::stack, "the main thread");
    if (starts("[stack") || starts("[anon:stack")) return found(memory_kind::stack, {});
    if (starts(anonymous)) {
      const std::string_view rest = behind(name, std::min(name.find(':'), name.size() - 1) + 1);
      return found(is_shared ? memory_kind::shared : memory_kind::anonymous,
                   first_of(rest, rest.rfind(']')));
    }
    if (name.empty()) return name_of_none(of);
    if (first_of(file, spool_name.size()) == spool_name) {
      has_spool_ = true;
      return found(memory_kind::recorder, {});
    }
    if (file == "libashlar-record.so") return found(memory_kind::recorder, {});
    found(is_shared        ? memory_kind::shared
          : of.is_writable ? memory_kind::data
                           : memory_kind::file,
          file);
  }

  // A file's data that is zero at first lies behind its data, and has no name. A thread's stack
  // lies behind a few pages without access; so may an allocator's, which has blocks.
  void name_of_none(mapping& of) {
    constexpr std::uint64_t guard_bytes = 64u << 10;
    const bool follows = now_.end == of.begin && !of.is_closed;
    of.kind = memory_kind::anonymous;
    if (follows && now_.is_writable &&
        (now_.kind == memory_kind::data || now_.kind == memory_kind::recorder)) {
      of.kind = now_.kind;
      of.length = now_.length;
      std::copy_n(now_.name, now_.length, of.name);
    } else if (follows && now_.is_closed && now_.kind == memory_kind::anonymous &&
               now_.end - now_.begin <= guard_bytes) {
      of.kind = memory_kind::stack;
    }
  }

  void add_resident(std::string_view text) {
    const std::uint64_t kib = number_at(text);
    if (kib == 0) return;
    now_entry_ = &entry_for(now_);
    now_resident_ = kib << 10;
    now_entry_->resident += now_resident_;
    resident_ += now_resident_;
  }

  map_entry& entry_for(const mapping& of) {
    const std::string_view name(of.name, of.length);
    const bool keeps_place = of.kind == memory_kind::anonymous || of.kind == memory_kind::heap ||
                             of.kind == memory_kind::shared || of.kind == memory_kind::stack;
    const auto is_same = [&](const map_entry& e) {
      return e.kind == of.kind && e.name_view() == name;
    };
    if (keeps_place && count_ != 0) {
      map_entry& last = entries_[count_ - 1];
      if (is_same(last) && last.end == of.begin && last.end != 0) {
        last.end = of.end;
        return last;
      }
    }
    if (!keeps_place)
      for (std::size_t i = 0; i < count_; ++i)
        if (is_same(entries_[i])) return entries_[i];
    constexpr std::size_t kinds = 8;  // the last places are for the rest of each kind
    if (count_ < entries_max - kinds) {
      map_entry& added = entries_[count_++];
      added = {};
      added.kind = of.kind;
      if (keeps_place) {
        added.begin = of.begin;
        added.end = of.end;
      }
      added.name_length = of.length;
      std::copy_n(of.name, of.length, added.name);
      return added;
    }
    for (std::size_t i = entries_max - kinds; i < count_; ++i)
      if (entries_[i].kind == of.kind) return entries_[i];
    map_entry& rest = entries_[count_++];
    rest = {};
    rest.kind = of.kind;
    return rest;
  }

  map_entry entries_[entries_max];
  std::size_t count_ = 0;
  std::uint64_t resident_ = 0;
  mapping before_;
  mapping now_;
  map_entry* now_entry_ = nullptr;  // to which it was added; null: to none so far
  std::uint64_t now_resident_ = 0;
  char line_[512] = {};
  std::size_t length_ = 0;
  bool has_spool_ = false;
};

}  // namespace ashlar::trace
