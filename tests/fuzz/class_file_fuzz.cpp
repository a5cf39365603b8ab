// The file of block sizes that ASHLAR_CONFIG names, by the call that loads it at a process's start: a second reading, written
// otherwise, says which sizes there are or where the text goes wrong. What can be used is the process's classes then;
// what cannot leaves them as they were, and one line on standard error names file, line and word.
#include <optional>
#include <string_view>
#include <tests/fuzz/input.hpp>
#include <tests/fuzz/standard_error.hpp>
#include <tests/support/require.hpp>

#include <sys/mman.h>

#include <ashlar/runtime/process_classes.hpp>

namespace {

using ashlar::class_index;
using ashlar::detail::class_table;
using ashlar::runtime::loaded_classes;

// docs/statistics.md, "Size classes of your own".
constexpr std::size_t most_bytes = 16 * 1024;
constexpr std::size_t most_sizes = 88;
constexpr std::uint32_t last_size = 131'072;

/// A file in memory.
class configuration {
 public:
  configuration()
      : file_(::memfd_create("classes", MFD_CLOEXEC)),
        path_("/proc/self/fd/" + std::to_string(file_)) {
    REQUIRE(file_ >= 0);
  }
  ~configuration() { ::close(file_); }
  configuration(const configuration&) = delete;
  configuration& operator=(const configuration&) = delete;

  void hold(const std::string& text) const {
    REQUIRE(::ftruncate(file_, 0) == 0);
    REQUIRE(::pwrite(file_, text.data(), text.size(), 0) == std::ssize(text));
  }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  int file_;
  std::string path_;
};

struct word {
  std::string_view text;  // empty: the end of the file
  std::size_t line;
};

std::vector<word> words_of(std::string_view text) {
  constexpr std::string_view between = " \t\r\n#";
  std::vector<word> words;
  std::size_t line = 1, at = 0;
  while (at < text.size()) {
    std::size_t end = at + 1;
    if (text[at] == '#') {
      end = text.find('\n', at);
    } else if (between.find(text[at]) == std::string_view::npos) {
      end = text.find_first_of(between, at);
      words.push_back({text.substr(at, end - at), line});
    } else if (text[at] == '\n') {
      ++line;
    }
    at = std::min(end, text.size());
  }
  words.push_back({{}, line});
  return words;
}

std::optional<std::uint32_t> number_in(std::string_view text) {
  std::uint64_t number = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    number = number * 10 + static_cast<std::uint64_t>(c - '0');
    if (number > UINT32_MAX) return std::nullopt;
  }
  if (text.empty()) return std::nullopt;
  return static_cast<std::uint32_t>(number);
}

struct reading {
  std::vector<std::uint32_t> sizes;
  std::optional<word> wrong;
};

reading read(std::string_view text) {
  const std::vector<word> words = words_of(text);
  reading made;
  std::size_t w = 0;
  const auto wrong = [&] {
    made.wrong = words[w];
    return made;
  };
  if (words[w].text != "ashlar-classes") return wrong();
  ++w;
  if (number_in(words[w].text) != 1u) return wrong();
  for (++w; !words[w].text.empty(); ++w) {
    const std::optional<std::uint32_t> size = number_in(words[w].text);
    if (!size || made.sizes.size() == most_sizes || *size > last_size) return wrong();
    if (*size % (*size > 32'768 ? 4096u : 16u) != 0) return wrong();
    if (*size <= (made.sizes.empty() ? 0u : made.sizes.back())) return wrong();
    made.sizes.push_back(*size);
  }
  if (made.sizes.empty() || made.sizes.back() != last_size) return wrong();
  return made;
}

/// A request of `size` bytes at `alignment` has the smallest block that holds it and is a multiple of the alignment.
void require_class(std::span<const std::uint32_t> sizes, std::uint32_t size,
                   std::uint32_t alignment) {
  const auto block = std::find_if(sizes.begin(), sizes.end(), [&](std::uint32_t of_block) {
    return of_block >= size && of_block % alignment == 0;
  });
  const std::size_t expected =
      block == sizes.end() ? 0 : static_cast<std::size_t>(block - sizes.begin()) + 1;
  REQUIRE(loaded_classes.of_aligned_size(size, alignment) == expected);
  if (alignment <= 16) REQUIRE(loaded_classes.of_size(size) == expected);
}

void require_classes(std::span<const std::uint32_t> sizes) {
  REQUIRE(loaded_classes.count == sizes.size() + 1);
  REQUIRE(loaded_classes.of_size(0) == 1);
  std::uint32_t above = 0;  // the block size before
  for (std::size_t c = 1; c <= sizes.size(); ++c) {
    const std::uint32_t size = sizes[c - 1];
    REQUIRE(loaded_classes.block_size(static_cast<class_index>(c)) == size);
    for (std::uint32_t alignment = 16; alignment <= 2 * last_size; alignment *= 2) {
      require_class(sizes, above + 1, alignment);
      require_class(sizes, size, alignment);
    }
    above = size;
  }
}

bool are_built_in(const class_table& classes) {
  const class_table& own = ashlar::runtime::built_in_classes;
  return classes.count == own.count && classes.by_granules == own.by_granules &&
         classes.bit_words_per_page == own.bit_words_per_page;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const configuration file;
  fuzz::input in({data, size});
  const std::size_t padded = in.chance(3) ? most_bytes - 1 + in.below(3) : 0;
  std::string text = in.text();
  if (text.size() < padded) text.resize(padded, ' ');
  file.hold(text);
  loaded_classes = ashlar::runtime::built_in_classes;

  std::string said;
  {
    fuzz::caught_standard_error caught;
    errno = 77;
    ashlar::runtime::loadable_process_classes::load_file(file.path().c_str());
    REQUIRE(errno == 77);
    said = caught.text();
  }

  const reading expected = read(text);
  if (text.size() <= most_bytes && !expected.wrong) {
    REQUIRE(said.empty());
    require_classes(expected.sizes);
    return 0;
  }
  REQUIRE(are_built_in(loaded_classes));
  std::string complaint = "ashlar: ASHLAR_CONFIG=" + file.path() + " is ignored: it is ";
  if (text.size() > most_bytes) {
    complaint += "too long\n";
  } else {
    complaint += "wrong in line " + std::to_string(expected.wrong->line) + ": ";
    complaint += expected.wrong->text.empty() ? "the end of the file"
                                              : "'" + std::string(expected.wrong->text) + "'";
  }
  // A complaint that is longer than its line is cut.
  constexpr std::size_t line_bytes = 512;
  REQUIRE(said.starts_with(complaint.substr(0, line_bytes - 1)));
  REQUIRE(said.size() <= line_bytes);
  REQUIRE(std::count(said.begin(), said.end(), '\n') == 1 && said.back() == '\n');
  return 0;
}
