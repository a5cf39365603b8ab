// bounds/worst_calls.cpp: programs that make one call of malloc or free as long as they can, and the
// instructions of their longest call, counted one by one.
//
//   worst_calls usual|low               each kept program; fails where a call exceeds the bound
//   worst_calls usual|low search N      N changes of kept and random programs; prints what is longer
//
// A program is steps, each a letter and two numbers:
//   a SIZE COUNT      allocates      f ORDER PERCENT   frees; order 0: oldest first, 1: newest, 2: any
//   A SIZE COUNT      the same, and  F ORDER COUNT     each call is counted
//   w MS 0            waits: so the next misses look (the purge delay is short)
//
// The heap is what LD_PRELOAD says. Each program runs in a child of its own. x86-64 Linux: the
// processor's trap flag is on during a counted call, so each instruction ends in a SIGTRAP, and what
// the kernel does is not counted.
#include <algorithm>
#include <array>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ashlar/heap/heap_bounds.hpp>

namespace {

// ---- counting ----------------------------------------------------------------------------------

volatile std::uint64_t instructions = 0;

void on_step(int) {
  instructions = instructions + 1;
}

void start_counting() {
  asm volatile("pushfq; orq $0x100, (%%rsp); popfq" ::: "memory", "cc");
}
void stop_counting() {
  asm volatile("pushfq; andq $~0x100, (%%rsp); popfq" ::: "memory", "cc");
}

void prepare_counting() {
  struct sigaction action{};
  action.sa_handler = on_step;
  ::sigaction(SIGTRAP, &action, nullptr);
}

/// Returns: the instructions of `call`, and a few of the counting itself.
template <class Call>
std::uint64_t count(Call call) {
  instructions = 0;
  start_counting();
  call();
  stop_counting();
  return instructions;
}

// ---- programs ----------------------------------------------------------------------------------

struct step {
  char what;
  unsigned a, b;
};
using program = std::vector<step>;

program parse(std::string_view text) {
  program all;
  const std::string copy(text);
  const char* at = copy.c_str();
  step s{};
  for (int length = 0; std::sscanf(at, " %c %u %u%n", &s.what, &s.a, &s.b, &length) == 3;
       at += length)
    all.push_back(s);
  return all;
}
std::string text_of(const program& all) {
  std::string text;
  for (const step& s : all) {
    if (!text.empty()) text += ' ';
    text += std::string(1, s.what) + ' ' + std::to_string(s.a) + ' ' + std::to_string(s.b);
  }
  return text;
}

struct longest {
  std::uint64_t allocation = 0, release = 0;
  [[nodiscard]] std::uint64_t of_both() const { return std::max(allocation, release); }
};

constexpr std::size_t most_blocks = 600'000, most_bytes = std::size_t{256} << 20;

class run_of {
 public:
  longest run(const program& all) {
    // The heap is large enough for the background thread now: a miss starts it, and must not be
    // counted, or the new thread would inherit the flag.
    std::free(std::malloc(200'000));
    for (const step& s : all) {
      if (s.what == 'w') ::usleep(s.a * 1000);
      if (s.what == 'a' || s.what == 'A') allocate(s.a, s.b, s.what == 'A');
      if (s.what == 'f') release(s.a, blocks_.size() * s.b / 100, false);
      if (s.what == 'F') release(s.a, s.b, true);
    }
    return worst_;
  }

 private:
  void allocate(std::size_t size, std::size_t times, bool counted) {
    for (; times != 0 && blocks_.size() < most_blocks && bytes_ < most_bytes; --times) {
      void* block = nullptr;
      if (counted)
        worst_.allocation = std::max(worst_.allocation, count([&] { block = std::malloc(size); }));
      else
        block = std::malloc(size);
      bytes_ += size;
      blocks_.push_back(block);
    }
  }
  void release(unsigned order, std::size_t times, bool counted) {
    for (times = std::min(times, blocks_.size() - freed_); times != 0; --times) {
      void* block = nullptr;
      if (order == 0) {
        block = blocks_[freed_++];
      } else {
        if (order == 2)
          std::swap(blocks_[freed_ + random_() % (blocks_.size() - freed_)], blocks_.back());
        block = blocks_.back();
        blocks_.pop_back();
      }
      if (counted)
        worst_.release = std::max(worst_.release, count([&] { std::free(block); }));
      else
        std::free(block);
    }
  }

  std::vector<void*> blocks_ = [] {
    std::vector<void*> all;
    all.reserve(most_blocks);
    return all;
  }();
  std::size_t freed_ = 0, bytes_ = 0;
  std::mt19937 random_{1};
  longest worst_;
};

/// Returns: what a child that runs the program found; nothing if it died.
longest measure(const program& all) {
  static auto* const shared = static_cast<longest*>(
      ::mmap(nullptr, sizeof(longest), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  *shared = {};
  std::fflush(stdout);
  const pid_t child = ::fork();
  if (child == 0) {
    prepare_counting();
    *shared = run_of{}.run(all);
    std::_Exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  if (status != 0) {
    std::printf("the program died: %s\n", text_of(all).c_str());
    std::exit(1);
  }
  return *shared;
}

// ---- search ------------------------------------------------------------------------------------

step random_step(std::mt19937& random) {
  static constexpr std::array<unsigned, 16> sizes{
      16, 32, 48, 64, 112, 256, 512, 1024, 2048, 4096, 10000, 20000, 32768, 70000, 131072, 600000};
  const unsigned size = sizes[random() % sizes.size()];
  switch (random() % 8) {
    case 0:
    case 1:
    case 2:
      return {'a', size,
              1 + static_cast<unsigned>(random() % (std::min(40'000'000u / size, 100'000u)))};
    case 3:
      return {'A', size, 1 + static_cast<unsigned>(random() % 300)};
    case 4:
    case 5:
      return {'f', static_cast<unsigned>(random() % 3), static_cast<unsigned>(random() % 101)};
    case 6:
      return {'F', static_cast<unsigned>(random() % 3), 1 + static_cast<unsigned>(random() % 300)};
    default:
      return {'w', 1 + static_cast<unsigned>(random() % 5), 0};
  }
}

program changed(program all, std::mt19937& random) {
  for (unsigned changes = 1 + random() % 2; changes != 0; --changes) {
    const std::size_t at = random() % (all.size() + 1);
    if (at < all.size() && random() % 3 == 0)
      all.erase(all.begin() + static_cast<std::ptrdiff_t>(at));
    else if (at < all.size() && random() % 2 == 0)
      all[at] = random_step(random);
    else if (all.size() < 24)
      all.insert(all.begin() + static_cast<std::ptrdiff_t>(at), random_step(random));
  }
  return all;
}

// What the author and `search` found.
constexpr std::array kept{
    // Blocks of many sizes rest, then a large block makes the heap grow.
    "a 64 60000 f 2 95 a 256 20000 f 2 95 a 1024 8000 f 2 95 a 4096 2000 f 2 95 A 600000 20",
    // One free block in each of many slabs.
    "a 16 500000 f 2 2 w 3 0 A 16 1200 F 2 600",
    // A look finds many hollow slabs.
    "a 512 40000 a 64 100000 f 2 90 w 3 0 A 1024 200 w 3 0 F 2 300",
    // Frees beyond what a stash holds.
    "a 32768 600 F 2 300 A 32768 60 a 16 100000 f 0 60 F 0 700",
    // The same after a stash of large blocks has filled, and a look while blocks are sorted back.
    "A 16 162 a 32768 600 F 2 300 a 1024 25924 f 0 60 F 0 700",
    // A first slab of a class, with small batches.
    "a 64 60000 f 2 95 a 256 20000 A 512 41 a 1024 8000 f 2 95 a 4096 2000 f 2 95 A 600000 20",
};

void search(unsigned rounds, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<std::pair<std::uint64_t, program>> best;
  for (const char* text : kept) best.emplace_back(measure(parse(text)).of_both(), parse(text));
  for (unsigned round = 0; round < rounds; ++round) {
    const program next = changed(best[random() % best.size()].second, random);
    const longest found = measure(next);
    auto& worst = *std::min_element(best.begin(), best.end(),
                                    [](const auto& a, const auto& b) { return a.first < b.first; });
    if (found.of_both() <= worst.first) continue;
    worst = {found.of_both(), next};
    std::printf("%6llu malloc %6llu free: %s\n", static_cast<unsigned long long>(found.allocation),
                static_cast<unsigned long long>(found.release), text_of(next).c_str());
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view latency = argc > 1 ? argv[1] : "";
  if ((latency != "usual" && latency != "low") || argc == 3 || argc > 5) {
    std::fprintf(stderr, "usage: worst_calls usual|low [search N [SEED]]\n");
    return 2;
  }
  ashlar::heap_bounds bounds;
  if (latency == "low") bounds.keep_calls_short();
  if (argc > 3) {
    search(static_cast<unsigned>(std::atoi(argv[3])),
           argc > 4 ? static_cast<unsigned>(std::atoi(argv[4])) : 1);
    return 0;
  }
  const std::uint64_t bound = bounds.call_instructions_max();
  bool holds = true;
  std::uint64_t most = 0;
  for (const char* text : kept) {
    const longest found = measure(parse(text));
    std::printf("%6llu malloc %6llu free: %s\n", static_cast<unsigned long long>(found.allocation),
                static_cast<unsigned long long>(found.release), text);
    holds = holds && found.of_both() <= bound;
    most = std::max(most, found.of_both());
  }
  std::printf("longest call %llu, bound %llu instructions\n", static_cast<unsigned long long>(most),
              static_cast<unsigned long long>(bound));
  // A program whose calls all hit would prove nothing.
  return holds && most > bound / 20 ? 0 : 1;
}
