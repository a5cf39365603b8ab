// Mistakes that a process goes on from, and a look at the heap after them. One program a mistake;
// fault_response.py says what each has to print and how it has to end.
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <string>
#include <tests/support/face.hpp>
#include <thread>
#include <vector>

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <tests/support/programs.h>
#include <unistd.h>

#include <ashlar/adapt/c_api.h>

namespace {

void* hidden(void* p) {
  void* volatile unknown = p;
  return unknown;
}
char* beyond(void* p, std::size_t bytes) { return static_cast<char*>(p) + bytes; }

/// The drop-in library is not linked: its function is looked up.
int on_fault(int action, ashlar_fault_callback callback) {
  using function = int (*)(int, ashlar_fault_callback);
  const auto set = reinterpret_cast<function>(::dlsym(RTLD_DEFAULT, "ashlar_on_fault"));
  if (set != nullptr) return set(action, callback);
#ifndef ASHLAR_FACE_DROP_IN
  return ashlar_on_fault(action, callback);
#else
  std::puts("WRONG: no ashlar_on_fault");
  return -2;
#endif
}

/// Returns: whether blocks of many sizes are handed out once each, and keep what is written to them.
bool heap_is_whole() {
  std::vector<unsigned char*> blocks;
  std::vector<std::size_t> sizes;
  for (std::size_t i = 0; i < 40'000; ++i) {
    const std::size_t size = i % 500 == 0 ? 200'000 : 16 + i % 7 * 100;
    auto* const block = static_cast<unsigned char*>(face::allocate(size));
    if (block == nullptr) return false;
    std::memset(block, static_cast<int>(i % 251), size);
    blocks.push_back(block);
    sizes.push_back(size);
  }
  for (std::size_t i = 0; i < blocks.size(); ++i)
    if (blocks[i][0] != i % 251 || blocks[i][sizes[i] - 1] != i % 251) return false;
  std::vector<unsigned char*> sorted = blocks;
  std::sort(sorted.begin(), sorted.end());
  const bool unique = std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end();
  for (unsigned char* block : blocks) face::release(block);
  face::trim();
  return unique;
}
void whole() { std::puts(heap_is_whole() ? "the heap is whole" : "WRONG: the heap is NOT whole"); }

/// A second free at once, of a block in its slab, a large one; interior and foreign addresses; each
/// of realloc and usable_size. The owner of a block inside which was freed keeps it.
void make_all_mistakes() {
  int local = 0;
  void* const small = hidden(face::allocate(64));
  face::release(small);
  face::release(small);
  void* const keeps_slab = face::allocate(300);
  void* const settled = hidden(face::allocate(300));
  face::release(settled);
  face::trim();
  face::release(settled);
  void* const large = hidden(face::allocate(1 << 20));
  face::release(large);
  face::release(large);
  auto* const owned = static_cast<char*>(face::allocate(4096));
  std::memset(owned, 'a', 4096);
  face::release(hidden(beyond(owned, 16)));
  face::release(hidden(&local));
  errno = 0;
  if (face::reallocate(hidden(&local), 100) != nullptr || errno != EINVAL)
    std::puts("WRONG: realloc of a foreign address: not null and EINVAL");
  errno = 0;
  if (face::reallocate(hidden(settled), 5000) != nullptr || errno != EINVAL)
    std::puts("WRONG: realloc of a free block: not null and EINVAL");
  if (face::usable_size(hidden(&local)) != 0)
    std::puts("WRONG: usable_size of a foreign address: not 0");
  face::trim();
  if (std::count(owned, owned + 4096, 'a') != 4096)
    std::puts("WRONG: the owner's block was changed");
  face::release(owned);
  face::release(keeps_slab);
}
PROGRAM(all) {
  make_all_mistakes();
  whole();
}

/// Blocks that are free already come back in the middle of long runs of neighbours, upwards and
/// downwards, between blocks that are not: only they are dropped.
PROGRAM(batches) {
  for (const bool upwards : {true, false}) {
    std::vector<void*> blocks(3000);
    for (void*& block : blocks) block = face::allocate(112);
    std::sort(blocks.begin(), blocks.end());
    if (!upwards) std::reverse(blocks.begin(), blocks.end());
    for (const std::size_t i : {7u, 700u, 701u, 1500u, 2999u}) face::release(blocks[i]);
    face::trim();  // these are in their slabs now
    for (void* block : blocks) face::release(hidden(block));
    face::trim();
  }
  whole();
}

std::atomic<int> called{0};
std::vector<void*>* of_program = nullptr;

/// Allocates, frees what it allocated, and frees blocks of the program's: of all sizes, so that
/// caches are emptied and filled.
void note(const ashlar_fault_info* what) {
  ++called;
  std::string text = std::string(what->kind) + " by " + what->call;
  std::vector<void*> own(300);
  for (std::size_t i = 0; i < own.size(); ++i) own[i] = face::allocate(16 + i * 40);
  for (void* block : own) face::release(block);
  if (of_program != nullptr)
    for (void*& block : *of_program) {
      face::release(block);
      block = face::allocate(112);
    }
  std::printf("%s, goes on: %d, %s\n", text.c_str(), what->goes_on, what->message);
  std::fflush(stdout);
}
PROGRAM(callback) {
  if (on_fault(ASHLAR_FAULT_CALLBACK, note) != 0) std::exit(3);
  make_all_mistakes();
  std::printf("called %d times\n", called.load());
  whole();
}
PROGRAM(inside_a_block) {
  if (on_fault(ASHLAR_FAULT_CALLBACK, note) != 0) std::exit(3);
  face::release(hidden(beyond(face::allocate(100), 16)));
  std::puts("went on");
}
/// The function runs in the middle of a batch that goes back.
PROGRAM(callback_in_batch) {
  if (on_fault(ASHLAR_FAULT_CALLBACK, note) != 0) std::exit(3);
  std::vector<void*> more(500);
  for (void*& block : more) block = face::allocate(112);
  of_program = &more;
  batches();
  of_program = nullptr;
  std::printf("called: %s\n", called.load() != 0 ? "yes" : "no");
  for (void* block : more) face::release(block);
  whole();
}
PROGRAM(nested) {
  const auto again = [](const ashlar_fault_info*) {
    std::puts("called");
    std::fflush(stdout);
    int local = 0;
    if (face::usable_size(hidden(&local)) != 0) std::puts("WRONG: not 0");
  };
  if (on_fault(ASHLAR_FAULT_CALLBACK, again) != 0) std::exit(3);
  int local = 0;
  face::release(hidden(&local));
  std::puts("went on");
}
PROGRAM(arguments) {
  const bool right = on_fault(ASHLAR_FAULT_CALLBACK, nullptr) == -1 && errno == EINVAL &&
                     on_fault(4, note) == -1 && errno == EINVAL &&
                     on_fault(ASHLAR_FAULT_CONTINUE, nullptr) == 0;
  std::puts(right ? "as documented" : "WRONG: not as documented");
  all();
}

PROGRAM(forked) {
  int local = 0;
  const pid_t child = ::fork();
  face::release(hidden(&local));
  if (child == 0) ::_exit(0);
  int status = 0;
  ::waitpid(child, &status, 0);
  std::printf("%d and %d, child ended with %d\n", static_cast<int>(::getpid()),
              static_cast<int>(child), status);
}

PROGRAM(threads) {
  std::vector<std::thread> all_of_them;
  for (int t = 0; t < 4; ++t)
    all_of_them.emplace_back([] {
      int local = 0;
      for (int i = 0; i < 50; ++i) face::release(hidden(&local));
    });
  for (std::thread& t : all_of_them) t.join();
  whole();
}

/// Standard error is a pipe that is full and that nobody reads.
PROGRAM(full_pipe) {
  int ends[2];
  if (::pipe(ends) != 0) std::exit(3);
  ::dup2(ends[1], STDERR_FILENO);
  ::fcntl(STDERR_FILENO, F_SETFL, O_NONBLOCK);
  const std::string some(1000, 'x');
  while (::write(STDERR_FILENO, some.data(), some.size()) > 0) {
  }
  ::fcntl(STDERR_FILENO, F_SETFL, 0);
  int local = 0;
  face::release(hidden(&local));
  std::puts("went on");
}
PROGRAM(broken_pipe) {
  int ends[2];
  if (::pipe(ends) != 0) std::exit(3);
  ::dup2(ends[1], STDERR_FILENO);
  ::close(ends[0]);
  int local = 0;
  face::release(hidden(&local));
  std::puts("went on");
}
PROGRAM(closed) {
  ::close(STDERR_FILENO);
  int local = 0;
  face::release(hidden(&local));
  std::puts("went on");
}

/// What full checks alone see.
PROGRAM(full) {
  auto* const spoilt = static_cast<char*>(face::allocate(100));
  char* volatile behind = spoilt + 100;
  *behind = 1;
  face::release(hidden(spoilt));
  face::release(hidden(spoilt));
  auto* const late = static_cast<char*>(face::allocate(200));
  face::release(hidden(late));
  char* volatile freed = late + 5;
  *freed = 1;
  auto* const kept = static_cast<char*>(face::allocate(300));
  char* volatile before = kept - 1;
  *before = 1;
  whole();
}

PROGRAM(none) { whole(); }

}  // namespace
