// heap/class_file.cpp: reading block sizes from text.
// Layer: heap.
#include <algorithm>
#include <charconv>
#include <span>

#include <ashlar/heap/class_file.hpp>
#include <ashlar/heap/class_table.hpp>

namespace ashlar::detail {
namespace {

constexpr std::string_view blanks = " \t\r";

/// The words of a text, one by one, with their lines.
class words {
 public:
  explicit words(std::string_view text) noexcept : rest_(text) {}

  /// Returns: the next word, empty at the end.
  [[nodiscard]] std::string_view next() noexcept {
    for (; !rest_.empty(); rest_.remove_prefix(1)) {
      if (rest_.front() == '#') rest_.remove_prefix(std::min(rest_.find('\n'), rest_.size()));
      if (rest_.empty()) break;
      if (rest_.front() == '\n')
        ++line_;
      else if (blanks.find(rest_.front()) == std::string_view::npos)
        break;
    }
    // Not substr: clang keeps its check, and with it a name of the C++ library.
    std::string_view word = rest_;
    word.remove_suffix(rest_.size() - std::min(rest_.find_first_of(" \t\r\n#"), rest_.size()));
    rest_.remove_prefix(word.size());
    return word;
  }
  [[nodiscard]] std::size_t line() const noexcept { return line_; }

 private:
  std::string_view rest_;
  std::size_t line_ = 1;
};

bool read_number(std::string_view word, std::uint32_t& number) noexcept {
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  return error == std::errc{} && end == word.data() + word.size();
}

}  // namespace

class_file parse_class_file(std::string_view text) noexcept {
  class_file file;
  words in(text);
  const auto wrong = [&](std::string_view word, const char* why) {
    file.word = word;
    file.line = in.line();
    file.wrong = why;
    return file;
  };
  if (const auto mark = in.next(); mark != class_file_mark)
    return wrong(mark, "is not 'ashlar-classes', with which such a file begins");
  std::uint32_t version = 0;
  if (const auto word = in.next(); !read_number(word, version) || version != class_file_version)
    return wrong(word, "is no version of this format that this library knows (1)");
  for (auto word = in.next(); !word.empty(); word = in.next()) {
    if (!read_number(word, file.sizes[file.count])) return wrong(word, "is no block size");
    ++file.count;
    std::size_t at = 0;
    const std::span<const std::uint32_t> sizes(file.sizes.data(), file.count);
    if (const char* why = what_is_wrong_with(sizes, at); why != nullptr && at < file.count)
      return wrong(word, why);
  }
  std::size_t at = 0;
  return wrong({}, what_is_wrong_with({file.sizes.data(), file.count}, at));
}

}  // namespace ashlar::detail
