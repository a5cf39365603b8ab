// A harness without a fuzzer: its corpus, then generated inputs from a fixed seed. For every compiler.
// Usage: NAME_replay CORPUS_DIRECTORY [COUNT]. The input that runs is kept in NAME_replay.input in the working
// directory, so that whatever ends the process leaves it behind; it goes away at the end.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <tests/support/random.hpp>
#include <tests/support/require.hpp>

#include <fcntl.h>
#include <unistd.h>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

using bytes = std::vector<std::uint8_t>;

/// Longer programs find more, each; shorter ones are more.
constexpr std::size_t longest_fresh = 128;

std::vector<bytes> read_corpus(const std::filesystem::path& directory) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(directory))
    files.push_back(entry.path());
  std::sort(files.begin(), files.end());  // the same order everywhere
  std::vector<bytes> corpus;
  for (const auto& file : files) {
    std::ifstream in(file, std::ios::binary);
    corpus.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
  }
  return corpus;
}

bytes fresh(support::random_source& random) {
  bytes made(1 + random.below(longest_fresh));
  for (std::uint8_t& b : made) b = static_cast<std::uint8_t>(random.next());
  return made;
}

std::ptrdiff_t place_in(const bytes& b, support::random_source& random) {
  return static_cast<std::ptrdiff_t>(random.below(b.size() + 1));
}

/// One of the corpus with some bytes changed, removed, repeated, or followed by the end of another.
bytes mutated(const std::vector<bytes>& corpus, support::random_source& random) {
  bytes made = corpus[random.below(corpus.size())];
  for (std::size_t changes = 1 + random.below(4); changes != 0; --changes) {
    const std::ptrdiff_t at = place_in(made, random);
    const std::ptrdiff_t end =
        std::min(at + static_cast<std::ptrdiff_t>(1 + random.below(8)), std::ssize(made));
    switch (random.below(4)) {
      case 0:
        if (at < end) made[static_cast<std::size_t>(at)] = static_cast<std::uint8_t>(random.next());
        break;
      case 1:
        made.erase(made.begin() + at, made.begin() + end);
        break;
      case 2: {
        const bytes piece(made.begin() + at, made.begin() + end);
        made.insert(made.begin() + at, piece.begin(), piece.end());
        break;
      }
      default: {
        const bytes& other = corpus[random.below(corpus.size())];
        made.resize(static_cast<std::size_t>(at));
        made.insert(made.end(), other.begin() + place_in(other, random), other.end());
      }
    }
  }
  return made;
}

class running_input {
 public:
  explicit running_input(std::string path)
      : path_(std::move(path)), file_(::open(path_.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0644)) {
    REQUIRE(file_ >= 0);
  }
  ~running_input() {
    ::close(file_);
    ::unlink(path_.c_str());
  }
  running_input(const running_input&) = delete;
  running_input& operator=(const running_input&) = delete;

  void run(const bytes& b) const {
    REQUIRE(::ftruncate(file_, 0) == 0);
    REQUIRE(::pwrite(file_, b.data(), b.size(), 0) == std::ssize(b));
    LLVMFuzzerTestOneInput(b.data(), b.size());
  }

 private:
  std::string path_;
  int file_;
};

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv, argv + argc);
  if (words.size() < 2) {
    std::fputs("usage: NAME_replay CORPUS_DIRECTORY [COUNT]\n", stderr);
    return 2;
  }
  const std::vector<bytes> corpus = read_corpus(words[1]);
  REQUIRE(!corpus.empty());  // a wrong directory would be a test that tests little
  const unsigned long count = words.size() > 2 ? std::stoul(words[2]) : 10'000;
  const std::string name = std::filesystem::path(words[0]).filename().string();
  const running_input input(name + ".input");
  for (const bytes& b : corpus) input.run(b);
  support::random_source random(20'261'121);
  for (unsigned long i = 0; i < count; ++i)
    input.run(random.chance(50) ? fresh(random) : mutated(corpus, random));
  std::printf("%zu inputs of the corpus and %lu generated ones passed\n", corpus.size(), count);
}
