// A program whose blocks in use are known: it writes each of them into a file, then ends by abort
// or waits.
//   planted TRUTH SCENARIO END
//     SCENARIO: alone, threads, fork, lost, freed, pages, pins, instances, parts
//     END: abort, wait
// It is run on the drop-in library. With LINKED it is linked with libashlar, and asks that for its
// blocks.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string_view>

#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef LINKED
#include <ashlar/adapt/xmalloc.h>
#include <ashlar/instance/heap.hpp>
#endif

// For a debugger, which finds no names of unnamed namespaces.
extern void* first_square;
void* first_square;

namespace {

#ifdef LINKED
void* take(std::size_t size, std::size_t alignment) {
  return alignment != 0 ? xaligned_alloc(alignment, size) : xmalloc(size);
}
void give(void* block) { xfree(block); }
void* resize(void* block, std::size_t size) { return xrealloc(block, size); }
#else
void* take(std::size_t size, std::size_t alignment) {
  return alignment != 0 ? std::aligned_alloc(alignment, (size + alignment - 1) & -alignment)
                        : std::malloc(size);
}
void give(void* block) { std::free(block); }
void* resize(void* block, std::size_t size) { return std::realloc(block, size); }
#endif

struct held {
  std::uintptr_t block;
  std::uint64_t size;
};

/// The blocks in use, in a file, so that the list itself is in no block.
struct truth {
  std::uint64_t count;
  held blocks[1 << 20];
};
truth* all;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void note(void* block, std::size_t size) {
  pthread_mutex_lock(&lock);
  all->blocks[all->count++] = {reinterpret_cast<std::uintptr_t>(block), size};
  pthread_mutex_unlock(&lock);
}
/// Returns: one of the blocks, which is no longer in the list.
held take_any(std::uint64_t random) {
  pthread_mutex_lock(&lock);
  held& place = all->blocks[random % all->count];
  const held taken = place;
  place = all->blocks[--all->count];
  pthread_mutex_unlock(&lock);
  return taken;
}

class numbers {
 public:
  explicit numbers(std::uint64_t seed) : state_(seed * 2 + 1) {}
  std::uint64_t next() {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return state_ >> 33;
  }

 private:
  std::uint64_t state_;
};

/// Small blocks of every class, large ones, aligned ones, some that grow, some that any thread
/// frees.
void churn(std::uint64_t seed, int steps) {
  numbers random(seed);
  for (int i = 0; i < steps; ++i) {
    const std::uint64_t choice = random.next() % 100;
    if (choice < 60) {
      const std::size_t size = choice == 0   ? 1 + random.next() % 600'000
                               : choice < 10 ? 1 + random.next() % 20'000
                                             : random.next() % 700;
      const std::size_t alignment =
          choice % 7 == 0 ? std::size_t{16} << random.next() % 10 : std::size_t{0};
      void* const block = take(size, alignment);
      if (size != 0) std::memset(block, static_cast<int>(size), size);
      note(block, size);
    } else if (all->count > 100) {
      const held old = take_any(random.next());
      if (choice < 95) {
        give(reinterpret_cast<void*>(old.block));
      } else {
        const std::size_t size = 1 + old.size * 2;
        note(resize(reinterpret_cast<void*>(old.block), size), size);
      }
    }
  }
}

pthread_barrier_t done;
void* churn_and_wait(void* seed) {
  churn(reinterpret_cast<std::uintptr_t>(seed), 6'000);
  pthread_barrier_wait(&done);
  pause();
  return nullptr;
}
void* churn_and_end(void* seed) {
  churn(reinterpret_cast<std::uintptr_t>(seed), 6'000);
  return nullptr;
}

void with_threads() {
  pthread_t ended;
  pthread_create(&ended, nullptr, churn_and_end, reinterpret_cast<void*>(7));
  pthread_join(ended, nullptr);
  constexpr unsigned threads = 3;
  pthread_barrier_init(&done, nullptr, threads + 1);
  for (std::uintptr_t i = 0; i < threads; ++i) {
    pthread_t thread;
    pthread_create(&thread, nullptr, churn_and_wait, reinterpret_cast<void*>(i));
  }
  churn(99, 6'000);
  pthread_barrier_wait(&done);
}

#ifndef LINKED
struct shape {
  virtual ~shape() = default;
  virtual double area() const { return side; }
  double side = 1;
};
struct lost_circle final : shape {
  double area() const override { return 3; }
  char padding[100] = {};
};
struct kept_square final : shape {
  double area() const override { return 1; }
  kept_square* next = nullptr;
};
namespace unseen {
struct lost_node {
  lost_node* other;
  std::uint64_t number;
};
}  // namespace unseen

kept_square* squares;    // a list that a global leads to
void* lost_text_hidden;  // in another form than an address

/// What is lost is made on a stack that is gone.
void* lose(void*) {
  for (int i = 0; i < 9; ++i) note(new lost_circle, sizeof(lost_circle));
  auto* const a = new unseen::lost_node{nullptr, 1};
  auto* const b = new unseen::lost_node{a, 2};
  a->other = b;  // a ring that nobody leads to
  note(a, sizeof *a);
  note(b, sizeof *b);
  auto* const text = static_cast<char*>(std::malloc(300));
  std::strcpy(text, "nobody reads this any more");
  note(text, 300);
  lost_text_hidden = reinterpret_cast<void*>(~reinterpret_cast<std::uintptr_t>(text));
  return nullptr;
}
/// The C library keeps the stack of a thread that has ended, with the pointers in it, for the next
/// one.
void* write_over_the_stack(void*) {
  volatile char place[32 * 1024];
  for (volatile char& each : place) each = 0;
  return nullptr;
}
void keep_and_lose() {
  for (int i = 0; i < 1000; ++i) {
    auto* const square = new kept_square;
    square->next = squares;
    squares = square;
    note(square, sizeof *square);
  }
  first_square = squares;
  pthread_t gone;
  for (void* (*const work)(void*) : {lose, write_over_the_stack}) {
    pthread_create(&gone, nullptr, work, nullptr);
    pthread_join(gone, nullptr);
  }
}

[[gnu::noinline]] void free_early(void* block) { std::free(block); }
constexpr std::size_t mib = std::size_t{1} << 20;
char* map(std::size_t bytes, int flags, int written) {
  void* const at =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED) _exit(1);
  if (written != 0) std::memset(at, written, bytes);
  return static_cast<char*>(at);
}
void* use_a_stack(void*) {
  volatile char place[mib];
  for (volatile char& each : place) each = 1;
  pthread_barrier_wait(&done);
  for (;;) pause();
}
/// Memory of each kind beside the heap.
void have_all_parts() {
  churn(1, 12'000);
  map(20 * mib, MAP_PRIVATE, 1);
  map(7 * mib, MAP_SHARED, 1);
  mprotect(map(2 * mib, MAP_PRIVATE, 1), 2 * mib, PROT_NONE);
  const volatile char* const read_only = map(6 * mib, MAP_PRIVATE, 0);
  for (std::size_t i = 0; i < 6 * mib; i += 4096) static_cast<void>(read_only[i]);
  pthread_barrier_init(&done, nullptr, 2);
  pthread_t thread;
  pthread_create(&thread, nullptr, use_a_stack, nullptr);
  pthread_barrier_wait(&done);
}
/// One block in fifty stays of many.
[[gnu::noinline]] void* take_what_stays() { return std::memset(std::malloc(200), 1, 200); }
void leave_pinned_pages() {
  static void* passing[100'000];
  std::size_t count = 0;
  for (void*& each : passing) {
    if (count++ % 50 == 0) note(take_what_stays(), 200);
    each = std::memset(std::malloc(200), 2, 200);
  }
  for (void* const each : passing) std::free(each);
}
/// Of each four pages of such blocks, one keeps all, one half, one a single block, and one nothing.
void leave_pages(std::size_t size) {
  constexpr std::size_t pages = 2048;
  constexpr std::size_t page = 4096;
  static void* blocks[pages * page / 256];
  const std::span all(blocks, pages * page / size);
  for (void*& each : all) each = std::memset(std::malloc(size), 1, size);
  for (void* const each : all) {
    const auto address = reinterpret_cast<std::uintptr_t>(each);
    const std::size_t number = address % page / size;
    const std::size_t kept[] = {1, number % 2 == 0, number == 0, 0};
    if (kept[address / page % 4] != 0)
      note(each, size);
    else
      std::free(each);
  }
}
void leave_pages_of_each_kind() {
  leave_pages(256);
  malloc_trim(0);
  leave_pages(512);
  const auto* const zeros = static_cast<const volatile char*>(std::calloc(4, mib));
  note(const_cast<char*>(zeros), 4 * mib);
  for (std::size_t i = 0; i < 2 * mib; i += 4096) static_cast<void>(zeros[i]);
}
/// A block that the program has freed, and still knows.
void keep_what_is_freed() {
  void* const block = std::malloc(100);
  note(block, 100);
  free_early(block);
}
#endif

}  // namespace

int main(int, char** words) {
  const int file = open(words[1], O_RDWR | O_CREAT | O_TRUNC, 0600);
  if (ftruncate(file, sizeof(truth)) != 0) return 1;
  void* const at = mmap(nullptr, sizeof(truth), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (at == MAP_FAILED) return 1;
  all = static_cast<truth*>(at);
  const std::string_view scenario = words[2];
  if (scenario == "alone") {
    churn(1, 12'000);
  } else if (scenario == "threads") {
    with_threads();
  } else if (scenario == "fork") {
    with_threads();
    if (const pid_t child = fork(); child != 0) {
      int status = 0;
      waitpid(child, &status, 0);
      _exit(0);
    }
    churn(5, 6'000);
#ifndef LINKED
  } else if (scenario == "lost") {
    keep_and_lose();
  } else if (scenario == "parts") {
    have_all_parts();
  } else if (scenario == "pins") {
    leave_pinned_pages();
  } else if (scenario == "pages") {
    leave_pages_of_each_kind();
  } else if (scenario == "freed") {
    keep_what_is_freed();
#else
  } else if (scenario == "instances") {
    static ashlar::heap<> tenant({.name = "tenant"});
    static ashlar::heap<> other({.name = "other"});
    for (int i = 0; i < 500; ++i) {
      note(tenant.try_allocate(100), 100);
      if (i % 5 == 0) note(other.try_allocate(40'000), 40'000);
    }
    for (int i = 0; i < 100; ++i) note(take(64, 0), 64);
#endif
  } else {
    return 1;
  }
  static const char ready[] = "ready\n";
  char text[64];
  const int length = std::snprintf(text, sizeof text, "%d %s", static_cast<int>(getpid()), ready);
  if (write(1, text, static_cast<std::size_t>(length)) < 0) return 1;
  if (std::string_view(words[3]) == "abort") abort();
  for (;;) pause();
}
