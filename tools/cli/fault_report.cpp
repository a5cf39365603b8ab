// tools/cli/fault_report.cpp. Layer: cli.
#include "tools/cli/fault_report.hpp"

#include <nlohmann/json.hpp>
#include <regex>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "tools/cli/text.hpp"
#include "tools/files/text.hpp"

namespace ashlar::cli {
namespace {

using fault_object = nlohmann::ordered_json;

std::uint64_t from_hexadecimal(std::string_view text) {
  return files::number_in(text.substr(text.starts_with("0x") ? 2 : 0), 16).value_or(0);
}

struct frame {
  std::string number, address;
  std::string file;  // empty: unknown
  std::string offset;
  std::string function;  // as the library found it
};

// The library escapes each byte that is no plain character as \u00XX.
std::string bytes_of(const std::string& utf8) {
  std::string bytes;
  for (std::size_t i = 0; i < utf8.size(); ++i) {
    const auto c = static_cast<unsigned char>(utf8[i]);
    if ((c == 0xc2 || c == 0xc3) && i + 1 < utf8.size())
      bytes += static_cast<char>(((c & 3u) << 6) | (static_cast<unsigned char>(utf8[++i]) & 0x3fu));
    else
      bytes += utf8[i];
  }
  return bytes;
}

class namer {
 public:
  namer(trace::source_lines& sources, std::FILE* to) : sources_(sources), to_(to) {}

  void add_line(const std::string& line) {
    static const std::regex of_frame(
        R"(ashlar:   #(\d+) (0x[0-9a-f]+)(?: (.+)\+(0x[0-9a-f]+)(?: \((.*)\))?)?)");
    static const std::regex of_fault(R"(ashlar: [^\n(]*\(0x[0-9a-f]+\): .*)");
    std::smatch found;
    if (std::regex_match(line, found, of_frame)) {
      add_frame({found[1], found[2], found[3], found[4], found[5]});
      return;
    }
    if (line.starts_with('{')) {
      fault_object object = fault_object::parse(line, nullptr, false);
      if (object.is_object() && object.contains("ashlar") && object.contains("kind"))
        return add_object(std::move(object));
    }
    if (std::regex_match(line, of_fault)) {
      ++all_.faults;
      last_fault_ = line;
      return tell_fault(line);
    }
    all_.text += line + "\n";
  }

  named_faults take() { return std::move(all_); }

 private:
  void tell_fault(const std::string& fault) { all_.text += in_red(fault, to_) + "\n"; }

  void add_frame(const frame& f) {
    std::string line = fmt::format("ashlar:   #{} {}", f.number, f.address);
    if (f.file.empty()) {
      all_.text += line + "\n";
      return;
    }
    const std::uint64_t offset = from_hexadecimal(f.offset);
    const auto places = sources_.of_call(f.file, offset);
    for (const trace::source_place& place : places) {
      const std::string& function = !place.function.empty() ? place.function : f.function;
      if (&place != &places.front()) line += "          inlined into";
      if (!function.empty()) line += " " + printable(function);
      if (place.line != 0) line += fmt::format(" at {}:{}", printable(place.file), place.line);
      line += &place == &places.front() ? fmt::format(" ({}+{})\n", printable(f.file), f.offset)
                                        : std::string("\n");
      if (place.line != 0) all_.has_lines = true;
    }
    all_.has_frames = true;
    all_.text += line;
  }

  // The same lines as the library's (fault/report.hpp).
  void add_object(fault_object object) {
    const auto text = [](const fault_object& of, const char* name) {
      return of.contains(name) && of[name].is_string() ? bytes_of(of[name].get<std::string>())
                                                       : std::string();
    };
    const auto number = [](const fault_object& of, const char* name) {
      return of.contains(name) && of[name].is_number_unsigned() ? of[name].get<std::uint64_t>() : 0;
    };
    std::string fault = fmt::format("ashlar: {}({}): {}", text(object, "call"),
                                    text(object, "address"), text(object, "message"));
    if (object.contains("pool")) fault += fmt::format(", pool '{}'", text(object, "pool"));
    for (const auto& [member, name] :
         {std::pair{"block_size", "block size"}, {"needed", "needed"}, {"blocks", "blocks"}})
      if (number(object, member) != 0)
        fault += fmt::format(", {} {}", name, number(object, member));
    const bool is_told = std::exchange(last_fault_, {}) == fault;
    if (!is_told) {
      ++all_.faults;
      tell_fault(fault);
      add_place(object, text(object, "address"), text(object, "block"), number(object, "size"));
    }
    for (const char* name : {"found", "allocated", "freed"}) {
      if (!object.contains(name) || !object[name].is_object()) continue;
      fault_object& deed = object[name];
      if (!is_told) {
        const std::string call = text(deed, "call");
        const bool has_frames = deed.contains("frames") && !deed["frames"].empty();
        all_.text +=
            fmt::format("ashlar: {}{} in thread {}{}\n", name, call.empty() ? "" : " by " + call,
                        number(deed, "thread"), has_frames ? ":" : "");
      }
      if (!deed.contains("frames") || !deed["frames"].is_array()) continue;
      for (fault_object& f : deed["frames"]) {
        if (!f.is_object()) continue;
        const frame read{std::to_string(number(f, "number")), text(f, "address"), text(f, "file"),
                         text(f, "offset"), text(f, "function")};
        if (!is_told) add_frame(read);
        add_names(f, read);
      }
    }
    all_.json += object.dump(-1, ' ', true, fault_object::error_handler_t::replace) + "\n";
  }

  void add_names(fault_object& f, const frame& read) {
    if (read.file.empty()) return;
    const trace::source_place place =
        sources_.of_call(read.file, from_hexadecimal(read.offset)).front();
    if (!place.function.empty()) f["function"] = place.function;
    if (place.line == 0) return;
    f["source"] = place.file;
    f["line"] = place.line;
  }

  void add_place(const fault_object& object, const std::string& address, const std::string& block,
                 std::uint64_t size) {
    if (!object.contains("block")) return;
    const std::uint64_t at = from_hexadecimal(address);
    const std::uint64_t begin = from_hexadecimal(block);
    std::string where = fmt::format("byte {} of", at - begin);
    const auto bytes = [](std::uint64_t n) {
      return fmt::format("{} byte{}", n, n == 1 ? "" : "s");
    };
    if (at < begin) where = bytes(begin - at) + " before";
    if (at >= begin && at - begin >= size)
      where = bytes(at - begin - size + 1) + " past the end of";
    all_.text +=
        fmt::format("ashlar: {} is {} the block of {} bytes at {}\n", address, where, size, block);
  }

  trace::source_lines& sources_;
  std::FILE* to_;
  std::string last_fault_;
  named_faults all_;
};

}  // namespace

named_faults name_frames(const std::string& log, trace::source_lines& sources, std::FILE* to) {
  namer names(sources, to);
  for (const std::string_view line : files::parts_of(log, '\n')) names.add_line(std::string(line));
  return names.take();
}

}  // namespace ashlar::cli
