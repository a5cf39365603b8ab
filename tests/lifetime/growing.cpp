// Large buffers that grow by realloc in small steps, as those of servers and editors do. What they
// hold stays, and the process takes no more page faults than it writes pages: a buffer that grows
// is neither copied to fresh pages again and again, nor does its memory go back to the system with
// each of its places.
#include <array>
#include <tests/lifetime/program.hpp>

#include <sys/resource.h>

namespace {

constexpr std::size_t page = 4096;
constexpr std::size_t buffers = 40;

struct range {
  std::size_t low, high, step;
};
constexpr range short_ones = {512 << 10, 1 << 20, 10 << 10};
constexpr range middling = {2 << 20, 4 << 20, 20 << 10};
constexpr range long_ones = {4 << 20, 16 << 20, 100 << 10};

std::size_t faults() {
  rusage usage{};
  REQUIRE(::getrusage(RUSAGE_SELF, &usage) == 0);
  return static_cast<std::size_t>(usage.ru_minflt);
}

/// Buffers of one thread; each has a number in what it grew by.
class growing_set {
 public:
  growing_set(const range& sizes, std::size_t count, std::uint64_t seed)
      : sizes_(sizes), count_(count), random_(seed) {
    for (std::size_t i = 0; i < count_; ++i) begin(i);
  }
  ~growing_set() {
    for (std::size_t i = 0; i < count_; ++i) end(i);
  }
  growing_set(const growing_set&) = delete;
  growing_set& operator=(const growing_set&) = delete;

  /// Returns: the pages that were written, each as often as it was new to its buffer.
  std::size_t grow(std::size_t steps, bool shrinks) {
    std::size_t bytes = 0;
    for (std::size_t i = 0; i < steps; ++i) {
      const std::size_t which = random_.below(count_);
      buffer& b = all_[which];
      if (b.size + sizes_.step > sizes_.high) {
        if (!shrinks) {
          end(which);
          begin(which);
        } else {
          resize(which, sizes_.low);
        }
        continue;
      }
      const std::size_t before = b.size;
      resize(which, before + sizes_.step);
      std::memset(b.text + before, mark(which), sizes_.step);
      bytes += sizes_.step;
    }
    return bytes / page;
  }

 private:
  struct buffer {
    char* text;
    std::size_t size;
  };
  static char mark(std::size_t which) { return static_cast<char>('a' + which % 26); }
  void begin(std::size_t which) {
    all_[which] = {static_cast<char*>(face::allocate(sizes_.low)), sizes_.low};
    REQUIRE(all_[which].text != nullptr);
  }
  void resize(std::size_t which, std::size_t size) {
    buffer& b = all_[which];
    b.text = static_cast<char*>(face::reallocate(b.text, size));
    REQUIRE(b.text != nullptr);
    b.size = size;
  }
  void end(std::size_t which) {
    const buffer& b = all_[which];
    for (std::size_t at = sizes_.low; at < b.size; at += page) REQUIRE(b.text[at] == mark(which));
    face::release(b.text);
  }

  range sizes_;
  std::size_t count_;
  support::random_source random_;
  buffer all_[buffers];
};

/// Effects: `threads` threads grow buffers, which shrink or are freed when they are at their
/// longest.
template <std::size_t Threads>
void grow(const range& sizes, bool shrinks) {
  const std::size_t before = faults();
  std::atomic<std::size_t> written{0};
  const auto work = [&](std::size_t self) {
    growing_set set(sizes, buffers / Threads, self);
    written += set.grow(8'000 / Threads, shrinks);
  };
  {
    std::array<std::thread, Threads - 1> others;
    for (std::size_t i = 0; i < others.size(); ++i) others[i] = std::thread(work, i + 1);
    work(0);
    for (std::thread& t : others) t.join();
  }
  const std::size_t taken = faults() - before;
  std::printf("%zu KiB to %zu KiB: %zu pages written, %zu faults\n", sizes.low / 1024,
              sizes.high / 1024, written.load(), taken);
  std::fflush(stdout);
  REQUIRE(taken < written + written / 4);
}

PROGRAM(short_in_turn) { grow<1>(short_ones, false); }
PROGRAM(long_in_turn) { grow<1>(long_ones, false); }
PROGRAM(shrinking) { grow<1>(middling, true); }
PROGRAM(beside_threads) { grow<2>(middling, false); }

}  // namespace
