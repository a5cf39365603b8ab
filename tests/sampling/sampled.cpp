// A program whose call sites allocate what it says: their names and places first, the truth of each last.
// Run: sampled NAME [FILE]
#define PROGRAMS_WITHOUT_MAIN
#include <atomic>
#include <chrono>
#include <cmath>
#include <csignal>
#include <functional>
#include <thread>

#include <dlfcn.h>
#include <malloc.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ashlar/adapt/tags.h>

#include "tests/support/programs.h"
#include "tests/support/require.hpp"

#define SITE [[gnu::noinline]]

/// Not without a name: pprof leaves such names out.
namespace sampled {

const char* path;  ///< of the file that some write
/// One of so many bytes is sampled.
double every = 10'000;
void read_every() {
  const char* const set = std::getenv("ASHLAR_SAMPLE");
  if (set != nullptr) every = std::strtod(set, nullptr) * (std::strchr(set, 'K') ? 1024 : 1);
}

/// A sum over blocks, the variance of what samples say of it, and the most that one sample says.
struct sum {
  std::atomic<double> value{0}, variance{0}, largest{0};
  /// Effects: adds `times` times one block of `size` bytes, which counts for `value`.
  void add(double times, std::size_t size, double of_one) {
    const double p = -std::expm1(-(static_cast<double>(size) + 1) / every);
    value += times * of_one;
    variance += times * of_one * of_one * (1 - p) / p;
    if (largest < of_one / p) largest = of_one / p;
  }
};

/// What a call site has allocated, and what of it lives.
struct truth {
  const char* name;
  const void* at;
  sum blocks = {}, bytes = {}, live_blocks = {}, live_bytes = {};
  void made(std::size_t size) {
    blocks.add(1, size, 1);
    bytes.add(1, size, static_cast<double>(size));
    live_blocks.add(1, size, 1);
    live_bytes.add(1, size, static_cast<double>(size));
  }
  void freed(std::size_t size) {
    live_blocks.add(-1, size, 1);
    live_bytes.add(-1, size, static_cast<double>(size));
  }
  void forget_made() {
    for (sum* s : {&blocks, &bytes}) s->value = s->variance = 0;
  }
};

/// The result is used, so that no call becomes a jump.
void* used(void* block) {
  REQUIRE(block != nullptr);
  __asm__ volatile("" : : "r"(block) : "memory");
  return block;
}

#define FRESH(name, ...) \
  SITE void* name(std::size_t n) { return used(__VA_ARGS__); }
#define RESIZED(name, ...) \
  SITE void* name(void* old, std::size_t n) { return used(__VA_ARGS__); }
FRESH(by_malloc, std::malloc(n))
FRESH(by_other_malloc, std::malloc(n))
FRESH(by_thread, std::malloc(n))
FRESH(by_large, std::malloc(n))
SITE void* by_calloc(std::size_t n) {
  auto* const block = static_cast<unsigned char*>(used(std::calloc(1, n)));
  for (std::size_t i = 0; i < n; i += 97) REQUIRE(block[i] == 0);
  return block;
}
SITE void* by_memalign(std::size_t n) {
  void* block = nullptr;
  REQUIRE(::posix_memalign(&block, 256, n) == 0);
  REQUIRE(reinterpret_cast<std::uintptr_t>(block) % 256 == 0);
  return used(block);
}
FRESH(by_new, ::operator new(n))
FRESH(by_new_array, ::operator new[](n, std::nothrow))
FRESH(by_new_aligned, ::operator new(n, std::align_val_t{64}))
RESIZED(by_realloc, std::realloc(old, n))
FRESH(in_child, std::malloc(n))
FRESH(beside_forks, std::malloc(n))
FRESH(by_aligned_alloc, std::aligned_alloc(64, n))
FRESH(by_old_memalign, ::memalign(32, n))
FRESH(by_valloc, ::valloc(n))
RESIZED(in_steps, std::realloc(old, n))
RESIZED(in_other_steps, ::reallocarray(old, n / 4, 4))
RESIZED(to_same_size, std::realloc(old, n))
RESIZED(to_less, std::realloc(old, n))
RESIZED(medium, std::realloc(old, n))
RESIZED(large, std::realloc(old, n))
RESIZED(large_to_less, std::realloc(old, n))
RESIZED(from_aligned, std::realloc(old, n))
RESIZED(by_other_thread, std::realloc(old, n))

#define TRUTH(name) {#name, reinterpret_cast<const void*>(name)}
truth all[] = {TRUTH(by_malloc),        TRUTH(by_other_malloc), TRUTH(by_thread),
               TRUTH(by_large),         TRUTH(by_calloc),       TRUTH(by_memalign),
               TRUTH(by_new),           TRUTH(by_new_array),    TRUTH(by_new_aligned),
               TRUTH(by_realloc),       TRUTH(in_child),        TRUTH(beside_forks),
               TRUTH(by_aligned_alloc), TRUTH(by_old_memalign), TRUTH(by_valloc),
               TRUTH(in_steps),         TRUTH(in_other_steps),  TRUTH(to_same_size),
               TRUTH(to_less),          TRUTH(medium),          TRUTH(large),
               TRUTH(large_to_less),    TRUTH(from_aligned),    TRUTH(by_other_thread)};
truth& of(const void* site) {
  for (truth& t : all)
    if (t.at == site) return t;
  std::abort();
}
template <class Site>
truth& of(Site* site) {
  return of(reinterpret_cast<const void*>(site));
}

void print_places() {
  for (const truth& t : all) std::printf("site %s %p\n", t.name, t.at);
  std::fflush(stdout);
}
void print_truth() {
  for (const truth& t : all) {
    std::printf("truth %s", t.name);
    for (const sum* s : {&t.blocks, &t.bytes, &t.live_blocks, &t.live_bytes})
      std::printf(" %.0f %.17g %.17g", s->value.load(), std::fabs(s->variance.load()),
                  s->largest.load());
    std::printf("\n");
  }
  std::fflush(stdout);
}

/// Effects: makes `count` blocks at the site, of sizes size(i), and frees all but one of `keep_one_of`.
template <class Site, class Size, class Free>
void work(Site* site, std::size_t count, std::size_t keep_one_of, Size size, Free free_block) {
  truth& t = of(site);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t bytes = size(i);
    void* const block = site(bytes);
    if (bytes != 0) std::memset(block, 0x5a, bytes);
    t.made(bytes);
    if (keep_one_of != 0 && i % keep_one_of == 0) continue;
    free_block(block);
    t.freed(bytes);
  }
}

void grow_by_realloc() {
  truth& t = of(by_realloc);
  for (int round = 0; round < 20; ++round) {
    char* block = nullptr;
    std::size_t before = 0;
    for (std::size_t n = 24; n < 3'000'000; n = n * 5 / 2) {
      block = static_cast<char*>(by_realloc(block, n));
      for (std::size_t i = 0; i < before; i += 61) REQUIRE(block[i] == static_cast<char>(i % 127));
      for (std::size_t i = 0; i < n; ++i) block[i] = static_cast<char>(i % 127);
      if (before != 0) t.freed(before);
      t.made(n);
      before = n;
    }
    if (round % 2 == 0) continue;
    std::free(block);
    t.freed(before);
  }
}

/// A block that grows and shrinks at call sites, each of which has allocated it anew.
class resized_block {
 public:
  template <class Site>
  void make(Site* site, std::size_t n) {
    block_ = static_cast<char*>(site(n));
    note(of(site), n);
  }
  template <class Site>
  void resize(Site* site, std::size_t n) {
    for (std::size_t i = 0; i < std::min(n, size_); i += 997)
      REQUIRE(block_[i] == static_cast<char>(i));
    site_->freed(size_);
    block_ = static_cast<char*>(site(block_, n));
    note(of(site), n);
  }
  void free() {
    std::free(block_);
    site_->freed(size_);
  }

 private:
  void note(truth& site, std::size_t n) {
    for (std::size_t i = 0; i < n; i += 997) block_[i] = static_cast<char>(i);
    site_ = &site;
    size_ = n;
    site.made(n);
  }
  truth* site_ = nullptr;
  char* block_ = nullptr;
  std::size_t size_ = 0;
};

/// Blocks of each kind that realloc makes longer and shorter, where they are and elsewhere. Of each kind
/// some live.
PROGRAM(resized) {
  std::vector<resized_block> kept;
  auto end = [&kept, count = 0](resized_block b) mutable {
    if (++count % 3 == 0)
      b.free();
    else
      kept.push_back(b);
  };
  for (int i = 0; i < 1000; ++i) {
    resized_block b;
    b.make(by_malloc, 100);
    for (std::size_t n = 200; n <= 4000; n += 100) b.resize(in_steps, n);
    end(b);
    b.make(by_calloc, 8);
    for (std::size_t n = 12; n <= 300; n += 12) b.resize(in_other_steps, n);
    end(b);
    b.make(by_malloc, 300);
    for (int again = 0; again < 10; ++again) b.resize(to_same_size, 300);
    end(b);
    b.make(by_malloc, 4000);
    for (std::size_t n = 3900; n >= 400; n -= 100) b.resize(to_less, n);
    end(b);
    b.make(i % 2 != 0 ? by_aligned_alloc : by_old_memalign, 1024);
    for (std::size_t n = 1100; n <= 1300; n += 10) b.resize(from_aligned, n);
    end(b);
    b.make(by_valloc, 500);
    end(b);
  }
  for (int i = 0; i < 100; ++i) {
    resized_block b;
    b.make(by_malloc, 5'000);
    for (std::size_t n = 6'000; n <= 130'000; n += 1'000) b.resize(medium, n);
    for (std::size_t n = 130'000; n <= 1'000'000; n += 30'000) b.resize(large, n);
    for (std::size_t n = 1'000'000; n >= 5'000; n = n * 9 / 10) b.resize(large_to_less, n);
    end(b);
    b.make(by_malloc, 100);
    b.resize(large, 200'000 + 1'000 * static_cast<std::size_t>(i));
    end(b);
    b.make(by_malloc, 60'000);
    b.resize(medium, 70'000);
    end(b);
  }
  // Another thread resizes and frees.
  std::vector<resized_block> handed(3000);
  for (resized_block& b : handed) b.make(by_malloc, 900);
  std::thread([&] {
    for (resized_block& b : handed) {
      for (std::size_t n = 910; n <= 1'000; n += 30) b.resize(by_other_thread, n);
      end(b);
    }
  }).join();
}

/// A thread that allocates and frees while another one forks all the time.
PROGRAM(forks) {
  std::atomic<bool> done{false};
  std::thread other([&] {
    std::vector<void*> held(1000);
    truth& t = of(beside_forks);
    for (std::size_t i = 0; !done; ++i) {
      void*& place = held[i * 7919 % held.size()];
      if (place != nullptr) {
        std::free(place);
        t.freed(500);
      }
      place = beside_forks(500);
      t.made(500);
    }
  });
  for (int i = 0; i < 300; ++i) {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(0);
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child && status == 0);
  }
  done = true;
  other.join();
}

PROGRAM(mixed) {
  const auto fixed = [](std::size_t n) { return [n](std::size_t) { return n; }; };
  // A pair of malloc and free never misses by itself.
  work(by_malloc, 300'000, 0, fixed(64), std::free);
  // No size is far below its site's mean: one sample of it would stand for more than the bound.
  work(by_other_malloc, 60'000, 3, [](std::size_t i) { return 24 + i * 37 % 700; }, std::free);
  work(by_large, 300, 4, [](std::size_t i) { return 140'000 + i * 997; }, std::free);
  work(
      by_calloc, 20'000, 5, [](std::size_t i) { return i % 100 == 0 ? 50'000 : 40 + i % 400; },
      std::free);
  work(by_memalign, 20'000, 7, [](std::size_t i) { return 200 + i % 900; }, std::free);
  work(by_new, 50'000, 0, fixed(48), [](void* p) { ::operator delete(p); });
  work(by_new_array, 50'000, 9, fixed(160), [](void* p) { ::operator delete[](p); });
  work(by_new_aligned, 30'000, 0, fixed(320),
       [](void* p) { ::operator delete(p, std::align_val_t{64}); });
  grow_by_realloc();
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back(
        [] { work(by_thread, 30'000, 6, [](std::size_t n) { return 8 + n % 3000; }, std::free); });
  for (std::thread& t : threads) t.join();
  // Blocks of one thread that another frees.
  std::vector<void*> handed;
  for (int i = 0; i < 5'000; ++i) {
    handed.push_back(by_malloc(512));
    of(by_malloc).made(512);
  }
  std::thread([&] {
    for (void* const block : handed) {
      std::free(block);
      of(by_malloc).freed(512);
    }
  }).join();
}

PROGRAM(fork) {
  work(by_malloc, 40'000, 2, [](std::size_t) { return std::size_t{100}; }, std::free);
  const pid_t child = ::fork();
  if (child == 0) {
    work(in_child, 40'000, 4, [](std::size_t) { return std::size_t{100}; }, std::free);
    for (truth& t : all)
      if (t.at != of(in_child).at) t.forget_made();  // it has allocated nothing there
    std::printf("child %d\n", static_cast<int>(::getpid()));
    print_truth();
    std::exit(0);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child && status == 0);
}

/// Effects: allocates until the file is there, or for ten seconds. Returns: whether it is.
bool allocate_until_written() {
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (::access(path, R_OK) != 0) {
    if (std::chrono::steady_clock::now() > until) return false;
    work(by_malloc, 1'000, 0, [](std::size_t) { return std::size_t{1000}; }, std::free);
  }
  return true;
}

template <class Function>
Function* find(const char* name) {
  auto* const found = reinterpret_cast<Function*>(::dlsym(RTLD_DEFAULT, name));
  REQUIRE(found != nullptr);
  return found;
}

/// Sampling begins and ends while threads allocate.
PROGRAM(calls) {
  auto* const sample = find<int(std::size_t)>("ashlar_sample");
  auto* const write = find<int(const char*)>("ashlar_sample_write");
  errno = 0;
  REQUIRE(write(path) == -1 && errno == EINVAL);  // nothing was ever sampled
  std::atomic<bool> done{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i)
    threads.emplace_back([&] {
      while (!done) std::free(by_thread(100));
    });
  for (int i = 0; i < 50; ++i) {
    REQUIRE(sample(1 + 1000 * static_cast<std::size_t>(i % 3)) == 0);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    REQUIRE(sample(0) == 0);
  }
  done = true;
  for (std::thread& t : threads) t.join();
  REQUIRE(sample(10'000) == 0);
  work(by_malloc, 40'000, 2, [](std::size_t) { return std::size_t{100}; }, std::free);
  REQUIRE(sample(0) == 0);
  std::vector<void*> unseen;
  for (int i = 0; i < 100'000; ++i) unseen.push_back(by_other_malloc(100));
  REQUIRE(write(path) == 0);
  errno = 0;
  REQUIRE(write("/nowhere/at/all") == -1 && errno == ENOENT);
}

/// Each site in one tag, or in none. The child that is forked in a scope goes on in it.
PROGRAM(tags) {
  const auto bytes = [](std::size_t i) { return 40 + i % 2000; };
  work(by_other_malloc, 20'000, 3, bytes, std::free);
  {
    const ashlar::tag_scope first("first");
    work(by_malloc, 20'000, 3, bytes, std::free);
    std::thread([tag = ashlar::tag_handover(), bytes] {
      const ashlar::tag_scope here(tag);
      work(by_thread, 20'000, 3, bytes, std::free);
    }).join();
    std::thread([bytes] { work(by_new, 20'000, 3, bytes, std::free); }).join();
    const ashlar::tag_scope second("second");
    work(by_calloc, 20'000, 3, bytes, std::free);
    const pid_t child = ::fork();
    if (child == 0) {
      work(in_child, 20'000, 3, bytes, std::free);
      std::printf("child %d\n", static_cast<int>(::getpid()));
      std::exit(0);
    }
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child && status == 0);
  }
  work(by_large, 300, 4, [](std::size_t i) { return 140'000 + i * 997; }, std::free);
}

PROGRAM(signal) {
  REQUIRE(::access(path, R_OK) != 0);
  ::raise(SIGUSR2);
  REQUIRE(allocate_until_written());
}

PROGRAM(interval) { REQUIRE(allocate_until_written()); }

PROGRAM(misuse) {
  for (int i = 0; i < 100'000; ++i) {
    auto* const block = static_cast<volatile char*>(by_malloc(100));
    std::free(const_cast<char*>(block));
    block[50] = 1;
  }
}

}  // namespace sampled

int main(int argc, char** argv) {
  if (argc == 3) sampled::path = argv[2];
  sampled::read_every();
  sampled::print_places();
  const int status = run_program(argc > 1 ? argv[1] : nullptr);
  if (status == 0) sampled::print_truth();
  return status;
}
