// tools/trace/rust_names.cpp. Layer: trace.
#include "tools/trace/rust_names.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstdint>
#include <system_error>
#include <utility>

namespace ashlar::trace {
namespace {

constexpr std::size_t name_letters_max = 10'000;
constexpr unsigned levels_max = 100;

/// What stands for a lower-case letter; empty: nothing.
std::string_view basic_type(char letter) {
  static constexpr std::array<std::string_view, 26> types{
      "i8",    "bool", "char", "f64", "str",  "f32",  "",    "u8", "isize",
      "usize", "",     "i32",  "u32", "i128", "u128", "_",   "",   "",
      "i16",   "u16",  "()",   "...", "",     "i64",  "u64", "!"};
  return letter >= 'a' && letter <= 'z' ? types[static_cast<std::size_t>(letter - 'a')]
                                        : std::string_view();
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Reads a symbol from its first letter on, and writes the name. What is wrong is found once: then
/// nothing more is read.
class parser {
 public:
  /// Requires: `symbol` begins behind "_R".
  explicit parser(std::string_view symbol) : symbol_(symbol) {}

  std::string name() {
    path();
    // The crate that needed the function may follow, and what a tool has added.
    const auto at_end = [&] {
      return is_wrong_ || at_ == symbol_.size() || symbol_[at_] == '.' || symbol_[at_] == '$';
    };
    if (!at_end()) quietly([&] { path(); });
    return is_wrong_ || !at_end() ? std::string() : std::move(out_);
  }

 private:
  char next() {
    is_wrong_ = is_wrong_ || at_ == symbol_.size();
    return is_wrong_ ? '\0' : symbol_[at_++];
  }
  bool take(char c) {
    if (is_wrong_ || at_ == symbol_.size() || symbol_[at_] != c) return false;
    ++at_;
    return true;
  }
  void write(std::string_view text) {
    if (is_quiet_) return;
    out_ += text;
    is_wrong_ = is_wrong_ || out_.size() > name_letters_max;
  }
  template <class Read>
  void quietly(Read read) {
    const bool before = std::exchange(is_quiet_, true);
    read();
    is_quiet_ = before;
  }
  /// Effects: reads what is inside of something else.
  template <class Read>
  void deeper(Read read) {
    if (++depth_ > levels_max) is_wrong_ = true;
    if (!is_wrong_) read();
    --depth_;
  }
  /// Effects: reads what `read` reads, from where the symbol had the same before. Each that is read is
  /// written, so that the letters limit the work.
  template <class Read>
  void again(Read read) {
    const std::size_t from = base_62();
    is_wrong_ = is_wrong_ || from >= at_;
    if (is_quiet_) return;
    const std::size_t behind = std::exchange(at_, from);
    deeper(read);
    at_ = behind;
  }
  /// Effects: reads items up to the letter E. Returns: how many.
  template <class Read>
  std::size_t list(std::string_view between, Read read) {
    std::size_t count = 0;
    for (; !is_wrong_ && !take('E'); ++count) {
      if (count != 0) write(between);
      read();
    }
    return count;
  }

  std::size_t decimal() {
    std::size_t number = 0;
    if (take('0')) return 0;
    if (at_ == symbol_.size() || !is_digit(symbol_[at_])) is_wrong_ = true;
    while (!is_wrong_ && at_ < symbol_.size() && is_digit(symbol_[at_])) {
      number = number * 10 + static_cast<std::size_t>(symbol_[at_++] - '0');
      is_wrong_ = number > symbol_.size();
    }
    return number;
  }
  /// "_" is 0, and "0_" is 1.
  std::size_t base_62() {
    constexpr std::size_t base = 62;
    constexpr std::size_t number_max = SIZE_MAX / base - base;
    if (take('_')) return 0;
    std::size_t number = 0;
    while (!is_wrong_ && !take('_')) {
      const char c = next();
      const int digit = is_digit(c)            ? c - '0'
                        : c >= 'a' && c <= 'z' ? c - 'a' + 10
                        : c >= 'A' && c <= 'Z' ? c - 'A' + 36
                                               : -1;
      is_wrong_ = digit < 0 || number > number_max;
      number = number * base + static_cast<std::size_t>(digit);
    }
    return number + 1;
  }
  /// What is behind `mark`; 0: it is not there.
  std::size_t optional_number(char mark) { return take(mark) ? base_62() + 1 : 0; }

  /// Names in other letters than ASCII's stay as they are written in the symbol.
  std::string_view plain_identifier() {
    take('u');
    const std::size_t bytes = decimal();
    take('_');
    is_wrong_ = is_wrong_ || symbol_.size() - at_ < bytes;
    if (is_wrong_) return {};
    at_ += bytes;
    return symbol_.substr(at_ - bytes, bytes);
  }

  void path() {
    deeper([&] { read_path(); });
  }
  void read_path() {
    switch (next()) {
      case 'C':  // a crate
        optional_number('s');
        return write(plain_identifier());
      case 'M':  // <type>
        quietly([&] { implementation(); });
        write("<");
        type();
        return write(">");
      case 'X':  // <type as trait>, whose place comes first
        quietly([&] { implementation(); });
        return type_as_trait();
      case 'Y':
        return type_as_trait();
      case 'N':
        return nested();
      case 'I':
        path();
        write("<");
        list(", ", [&] { generic_argument(); });
        return write(">");
      case 'B':
        return again([&] { path(); });
      default:
        is_wrong_ = true;
    }
  }
  void implementation() {
    optional_number('s');
    path();
  }
  void type_as_trait() {
    write("<");
    type();
    write(" as ");
    path();
    write(">");
  }
  void nested() {
    const char space = next();
    path();
    const std::size_t number = optional_number('s');
    const std::string_view name = plain_identifier();
    if (space >= 'a' && space <= 'z') {
      if (name.empty()) return;
      write("::");
      return write(name);
    }
    write("::{");
    write(space == 'C' ? "closure" : space == 'S' ? "shim" : std::string_view(&space, 1));
    if (!name.empty()) write(":");
    write(name);
    write("#");
    write(std::to_string(number));
    write("}");
  }
  void generic_argument() {
    if (take('L')) {
      base_62();
      return write("'_");
    }
    if (take('K')) return constant();
    type();
  }

  void type() {
    deeper([&] { read_type(); });
  }
  void read_type() {
    const char c = next();
    if (const std::string_view basic = basic_type(c); !basic.empty()) return write(basic);
    switch (c) {
      case 'A':
        write("[");
        type();
        write("; ");
        constant();
        return write("]");
      case 'S':
        write("[");
        type();
        return write("]");
      case 'T': {
        write("(");
        const std::size_t count = list(", ", [&] { type(); });
        return write(count == 1 ? ",)" : ")");
      }
      case 'R':
      case 'Q':
        optional_number('L');
        write(c == 'R' ? "&" : "&mut ");
        return type();
      case 'P':
        write("*const ");
        return type();
      case 'O':
        write("*mut ");
        return type();
      case 'F':
        return function();
      case 'D':
        return object();
      case 'B':
        return again([&] { type(); });
      default:
        if (!is_wrong_) --at_;
        path();
    }
  }
  void function() {
    optional_number('G');
    if (take('U')) write("unsafe ");
    if (take('K')) {
      std::string abi(take('C') ? "C" : plain_identifier());
      std::ranges::replace(abi, '_', '-');
      write("extern \"");
      write(abi);
      write("\" ");
    }
    write("fn(");
    list(", ", [&] { type(); });
    write(")");
    if (take('u')) return;
    write(" -> ");
    type();
  }
  void object() {
    write("dyn ");
    optional_number('G');
    list(" + ", [&] { bound(); });
    if (take('L'))
      base_62();
    else
      is_wrong_ = true;
  }
  /// A trait, and what its associated types are.
  void bound() {
    path();
    // Its own arguments and these are in one list.
    const bool has_arguments = !out_.empty() && out_.back() == '>' && !is_quiet_;
    bool is_open = false;
    while (take('p')) {
      if (!is_open && has_arguments) out_.pop_back();
      write(is_open || has_arguments ? ", " : "<");
      is_open = true;
      write(plain_identifier());
      write(" = ");
      type();
    }
    if (is_open) write(">");
  }

  void constant() {
    deeper([&] { read_constant(); });
  }
  void read_constant() {
    if (take('p')) return write("_");
    if (take('B')) return again([&] { constant(); });
    const char kind = next();
    // Stable Rust has no constants of other types.
    if (std::string_view("abchijlmnostxy").find(kind) == std::string_view::npos) is_wrong_ = true;
    const bool is_negative = take('n');
    const std::size_t begin = at_;
    while (!is_wrong_ && !take('_'))
      is_wrong_ = std::isxdigit(static_cast<unsigned char>(next())) == 0;
    if (is_wrong_) return;
    const std::string_view digits = symbol_.substr(begin, at_ - 1 - begin);
    std::uint64_t number = 0;
    const bool is_wide =
        std::from_chars(digits.data(), digits.data() + digits.size(), number, 16).ec !=
            std::errc() &&
        !digits.empty();
    if (kind == 'b') return write(number == 0 ? "false" : "true");
    if (is_negative) write("-");
    if (kind == 'c' && number >= ' ' && number <= '~')
      return write(std::string{'\'', static_cast<char>(number), '\''});
    write(is_wide ? "0x" + std::string(digits) : std::to_string(number));
  }

  std::string_view symbol_;
  std::size_t at_ = 0;
  std::string out_;
  unsigned depth_ = 0;
  bool is_quiet_ = false, is_wrong_ = false;
};

}  // namespace

std::string rust_name(std::string_view symbol) {
  constexpr std::string_view begin = "_R";
  // A digit is the version of a newer way to write names.
  if (!symbol.starts_with(begin) || symbol.size() == begin.size() || is_digit(symbol[begin.size()]))
    return {};
  symbol.remove_prefix(begin.size());
  return parser(symbol).name();
}

}  // namespace ashlar::trace
