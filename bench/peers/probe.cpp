// bench/peers/probe.cpp: what check_peers.py runs under a preloaded allocator.
//   probe symbols     prints for each function of the malloc family and each operator: its name, a tab, and the
//                     file that it comes from; "-" when nobody has it
//   probe threads     threads that free what another one allocated, and end with live blocks
//   probe fork        children of a process with several threads allocate and free, also what the parent had
// Blocks are filled and compared, so that an allocator that gives one twice is found out. Exit status: 0, or 1
// with the reason on standard error.
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <latch>
#include <new>
#include <string_view>
#include <thread>
#include <vector>

#include <dlfcn.h>
#include <malloc.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

// Not reallocarray: the C library's calls realloc, whosever that is.
constexpr const char* malloc_family[] = {
    "malloc",        "free",           "calloc",   "realloc",
    "aligned_alloc", "posix_memalign", "memalign", "malloc_usable_size",
    "valloc",        "pvalloc",
};

// As <new> declares them, mangled for a 64-bit size_t.
constexpr const char* operators[] = {
    "_Znwm",
    "_Znam",
    "_ZnwmRKSt9nothrow_t",
    "_ZnamRKSt9nothrow_t",
    "_ZdlPv",
    "_ZdaPv",
    "_ZdlPvm",
    "_ZdaPvm",
    "_ZdlPvRKSt9nothrow_t",
    "_ZdaPvRKSt9nothrow_t",
    "_ZnwmSt11align_val_t",
    "_ZnamSt11align_val_t",
    "_ZnwmSt11align_val_tRKSt9nothrow_t",
    "_ZnamSt11align_val_tRKSt9nothrow_t",
    "_ZdlPvSt11align_val_t",
    "_ZdaPvSt11align_val_t",
    "_ZdlPvmSt11align_val_t",
    "_ZdaPvmSt11align_val_t",
};

[[noreturn]] void fail(const char* what) {
  std::fprintf(stderr, "%s\n", what);
  std::_Exit(1);
}

void print_origin(const char* symbol) {
  void* const address = dlsym(RTLD_DEFAULT, symbol);
  Dl_info info{};
  const bool known = address != nullptr && dladdr(address, &info) != 0;
  std::printf("%s\t%s\n", symbol, known ? info.dli_fname : "-");
}

/// A way to get a block and to give it back; what malloc_usable_size tells of it counts where free takes it.
struct way {
  std::size_t alignment;
  void* (*take)(std::size_t size);
  void (*give)(void* p, std::size_t size);
};
void give_to_free(void* p, std::size_t) {
  std::free(p);
}
void* by_posix_memalign(std::size_t size) {
  void* p = nullptr;
  return posix_memalign(&p, 4096, size) == 0 ? p : nullptr;
}
constexpr std::size_t zeroed = 1;  // the place of calloc
constexpr way ways[] = {
    {16, [](std::size_t n) { return std::malloc(n); }, give_to_free},
    {16, [](std::size_t n) { return std::calloc(1, n); }, give_to_free},
    {16, [](std::size_t n) { return std::realloc(std::malloc(n / 2 + 1), n); }, give_to_free},
    {64, [](std::size_t n) { return std::aligned_alloc(64, (n + 63) / 64 * 64); }, give_to_free},
    {4096, by_posix_memalign, give_to_free},
    {32, [](std::size_t n) { return memalign(32, n); }, give_to_free},
    {16, [](std::size_t n) { return ::operator new(n); },
     [](void* p, std::size_t n) { ::operator delete(p, n); }},
    {128, [](std::size_t n) { return ::operator new(n, std::align_val_t{128}); },
     [](void* p, std::size_t n) { ::operator delete(p, n, std::align_val_t{128}); }},
};

/// A block of some size, by one of the ways, filled with its own number.
struct block {
  const way* by;
  unsigned char* bytes;
  std::size_t size;
  unsigned char mark;

  explicit block(unsigned number)
      : by(&ways[number % std::size(ways)]),
        size(1 + number * 37 % 5000),
        mark(static_cast<unsigned char>(number)) {
    void* const p = by->take(size);
    if (p == nullptr) fail("an allocation failed");
    if (by->give == give_to_free && malloc_usable_size(p) < size)
      fail("malloc_usable_size is less than was asked for");
    // No more is promised than the size has: a block of 8 bytes need not be aligned to 16.
    if (size >= 16 && reinterpret_cast<std::uintptr_t>(p) % by->alignment != 0)
      fail("a block is not aligned");
    if (by == &ways[zeroed] &&
        std::string_view(static_cast<char*>(p), size).find_first_not_of('\0') !=
            std::string_view::npos)
      fail("calloc gave bytes that are not zero");
    bytes = static_cast<unsigned char*>(p);
    std::memset(bytes, mark, size);
  }
  void give_back() const {
    for (std::size_t i = 0; i < size; ++i) {
      if (bytes[i] != mark) fail("a block's bytes have changed: it was given twice");
    }
    by->give(bytes, size);
  }
};

std::vector<block> some_blocks(unsigned first, unsigned count) {
  std::vector<block> blocks;
  for (unsigned i = 0; i < count; ++i) blocks.emplace_back(first + i);
  return blocks;
}
void give_back(std::vector<block>& blocks) {
  for (const block& b : blocks) b.give_back();
  blocks.clear();
}

/// What the C library allocates by itself, the program frees.
void use_the_c_library() {
  char* const copy = strdup("a string that the C library allocates");
  if (copy == nullptr) fail("strdup failed");
  std::free(copy);
}

void threads() {
  constexpr unsigned count = 4;
  constexpr unsigned rounds = 20;
  std::array<std::vector<block>, count> boxes;
  for (unsigned round = 0; round < rounds; ++round) {
    std::latch filled(count);
    std::vector<std::thread> running;
    for (unsigned t = 0; t < count; ++t) {
      running.emplace_back([&, t] {
        auto mine = some_blocks(t * 100 + round, 1000);
        boxes[t].insert(boxes[t].end(), mine.begin(), mine.end());
        filled.arrive_and_wait();
        // The neighbour's blocks, half of them; the rest outlives its thread, and the next round's frees it.
        auto& theirs = boxes[(t + 1) % count];
        const auto middle = theirs.begin() + static_cast<std::ptrdiff_t>(theirs.size() / 2);
        std::vector<block> taken(middle, theirs.end());
        theirs.erase(middle, theirs.end());
        give_back(taken);
      });
    }
    for (std::thread& each : running) each.join();
  }
  for (auto& box : boxes) give_back(box);
}

void fork_children() {
  // A second thread is there and has blocks of its own, but is inside no call of the allocator when the
  // process forks, and the children start no threads: more than that not every peer can do.
  std::latch ready(1);
  std::latch done(1);
  std::thread waiting([&] {
    auto mine = some_blocks(7, 500);
    ready.count_down();
    done.wait();
    give_back(mine);
  });
  ready.wait();
  auto before = some_blocks(3, 1000);
  for (unsigned i = 0; i < 5; ++i) {
    const pid_t child = fork();
    if (child < 0) fail("fork failed");
    if (child == 0) {
      auto own = some_blocks(i, 1000);
      give_back(before);
      give_back(own);
      use_the_c_library();
      std::_Exit(0);
    }
    auto meanwhile = some_blocks(i, 1000);
    int status = 0;
    if (waitpid(child, &status, 0) != child || status != 0) fail("a forked child did not end well");
    give_back(meanwhile);
  }
  done.count_down();
  waiting.join();
  give_back(before);
}

}  // namespace

int main(int count, char** arguments) {
  const std::string_view what = count == 2 ? arguments[1] : "";
  if (what == "symbols") {
    for (const char* each : malloc_family) print_origin(each);
    for (const char* each : operators) print_origin(each);
  } else if (what == "threads") {
    use_the_c_library();
    threads();
  } else if (what == "fork") {
    fork_children();
  } else {
    std::fprintf(stderr, "usage: probe symbols|threads|fork\n");
    return 2;
  }
}
