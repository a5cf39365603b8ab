// A program that allocates where stacks are hard to follow.
//   hard_stacks all PLUGIN PLUGIN OTHER_PLUGIN   the first two have the same size
//   hard_stacks broken                           return addresses and frame pointers that lead nowhere
//   hard_stacks trampolines                      through code made at run time, named as for perf(1)
//   hard_stacks forks                            while another thread comes from a new place each time
//   hard_stacks loads PLUGIN [PROFILE]           forks while other threads have the loader's locks; a
//                                                child writes its sampling profile, if it can
#include <array>
#include <atomic>
#include <cinttypes>
#include <csetjmp>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#if defined(__x86_64__)
// Calls `call`, and what its tables say of the place to which that returns, but not of the call itself, is wrong.
extern "C" void with_other_row_behind(void (*call)());
__asm__(
    ".pushsection .text\n"
    ".type with_other_row_behind, @function\n"
    "with_other_row_behind:\n"
    ".cfi_startproc\n"
    "sub $8, %rsp\n"
    ".cfi_def_cfa_offset 16\n"
    "call *%rdi\n"
    ".cfi_def_cfa_offset 4096\n"
    "nop\n"
    ".cfi_def_cfa_offset 16\n"
    "add $8, %rsp\n"
    ".cfi_def_cfa_offset 8\n"
    "ret\n"
    ".cfi_endproc\n"
    ".size with_other_row_behind, . - with_other_row_behind\n"
    ".popsection\n");
// Each calls `call` with what its tables lead to overwritten.
extern "C" void with_frame_pointer(std::uintptr_t lost, void (*call)());
extern "C" void with_return_address(std::uintptr_t lost, void (*call)());
__asm__(
    ".pushsection .text\n"
    ".type with_frame_pointer, @function\n"
    "with_frame_pointer:\n"
    ".cfi_startproc\n"
    "push %rbp\n"
    ".cfi_def_cfa_offset 16\n"
    ".cfi_offset %rbp, -16\n"
    "mov %rdi, %rbp\n"
    ".cfi_def_cfa_register %rbp\n"
    "call *%rsi\n"
    "pop %rbp\n"
    ".cfi_def_cfa %rsp, 8\n"
    "ret\n"
    ".cfi_endproc\n"
    ".size with_frame_pointer, . - with_frame_pointer\n"
    ".type with_return_address, @function\n"
    "with_return_address:\n"
    ".cfi_startproc\n"
    "push %rbx\n"
    ".cfi_def_cfa_offset 16\n"
    ".cfi_offset %rbx, -16\n"
    "mov 8(%rsp), %rbx\n"
    "mov %rdi, 8(%rsp)\n"
    "call *%rsi\n"
    "mov %rbx, 8(%rsp)\n"
    "pop %rbx\n"
    ".cfi_def_cfa_offset 8\n"
    "ret\n"
    ".cfi_endproc\n"
    ".size with_return_address, . - with_return_address\n"
    ".popsection\n");
#else
static void with_other_row_behind(void (*call)()) { call(); }
#endif

namespace {

void* volatile shared;
volatile int sink;

[[gnu::noinline]] void allocate() {
  void* const block = std::malloc(24);
  shared = block;
  std::free(block);
}

void require(bool fact, const char* what) {
  if (fact) return;
  std::fprintf(stderr, "hard_stacks: %s\n", what);
  std::abort();
}

// ---- frames of all kinds ------------------------------------------------------------------------

template <std::size_t Bytes, std::size_t Next>
[[gnu::noinline]] void frame_of(int depth) {
  volatile char room[Bytes];
  room[0] = 1;
  allocate();
  if (depth > 0) frame_of<Next, Bytes>(depth - 1);
  sink = room[0];
}

// So much lives over the call that it needs every register, the frame pointer's too.
[[gnu::noinline]] long busy(long a, long b, long c, long d, long e, long f, int depth) {
  const long g = a * b;
  const long h = c * d;
  const long i = e * f;
  allocate();
  const long below = depth > 0 ? busy(b, c, d, e, f, a, depth - 1) : 0;
  return below + (a ^ b) + (c ^ d) + (e ^ f) + g * h - i;
}

[[gnu::noinline]] void variable(std::size_t bytes) {
  auto* const room = static_cast<char*>(__builtin_alloca(bytes));
  std::memset(room, 1, bytes);
  shared = room;
  allocate();
  if (bytes > 8) variable(bytes / 2);
  sink = room[0];
}

[[gnu::noinline]] void aligned(int depth, int a, int b, int c, int d, int e, int f) {
  alignas(256) volatile char room[256];
  room[0] = static_cast<char>(a + b + c + d + e + f);
  allocate();
  if (depth > 0) aligned(depth - 1, b, c, d, e, f, a);
  sink = room[0];
}

[[gnu::noinline]] void deep(int depth) {
  if (depth % 500 == 0) allocate();
  if (depth > 0) deep(depth - 1);
  sink = depth;
}

void frames() {
  with_other_row_behind(&allocate);
  frame_of<8, 130>(20);
  frame_of<1000, 9000>(20);
  busy(1, 2, 3, 4, 5, 6, 10);
  variable(20'000);
  aligned(5, 1, 2, 3, 4, 5, 6);
  deep(20'000);
  std::array<int, 20> numbers{};
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<int>(i * 7 % 20);
  std::qsort(numbers.data(), numbers.size(), sizeof(int), [](const void* a, const void* b) {
    allocate();
    return *static_cast<const int*>(a) - *static_cast<const int*>(b);
  });
}

// ---- ways out of a call that are no return --------------------------------------------------------

struct allocates_at_end {
  ~allocates_at_end() { allocate(); }
};

[[gnu::noinline]] void throws_from(int depth) {
  const allocates_at_end last;
  if (depth == 0) throw std::runtime_error("from the depth");
  throws_from(depth - 1);
}

void exceptions() {
  for (int i = 0; i < 5; ++i) {
    try {
      throws_from(i);
    } catch (const std::runtime_error&) {
      allocate();
    }
  }
}

std::jmp_buf back;
[[noreturn, gnu::noinline]] void never_returns() {
  allocate();
  std::longjmp(back, 1);
}
// Its call is its last instruction: what it returns to is another function.
[[noreturn, gnu::noinline]] void calls_what_never_returns() {
  allocate();
  never_returns();
}
void jumps() {
  if (setjmp(back) == 0) calls_what_never_returns();
  allocate();
}

void handler(int) { busy(1, 2, 3, 4, 5, 6, 2); }
void signals() {
  static std::array<char, 1 << 16> stack;
  stack_t other{};
  other.ss_sp = stack.data();
  other.ss_size = stack.size();
  require(::sigaltstack(&other, nullptr) == 0, "sigaltstack");
  for (const int flags : {0, SA_ONSTACK}) {
    struct sigaction action{};
    action.sa_handler = &handler;
    action.sa_flags = flags;
    require(::sigaction(SIGUSR1, &action, nullptr) == 0, "sigaction");
    ::raise(SIGUSR1);
  }
}

ucontext_t outside;
ucontext_t inside;
void coroutine() {
  busy(1, 2, 3, 4, 5, 6, 3);
  ::swapcontext(&inside, &outside);
  variable(100);
}
void coroutines() {
  static std::array<char, 1 << 16> stack;
  ::getcontext(&inside);
  inside.uc_stack.ss_sp = stack.data();
  inside.uc_stack.ss_size = stack.size();
  inside.uc_link = &outside;
  ::makecontext(&inside, &coroutine, 0);
  ::swapcontext(&outside, &inside);
  allocate();
  ::swapcontext(&outside, &inside);
}

// ---- threads, children, libraries that come and go -----------------------------------------------------

void* thread(void*) {
  for (int i = 0; i < 10; ++i) frames();
  return nullptr;
}
void threads() {
  std::array<pthread_t, 4> ids{};
  for (pthread_t& id : ids)
    require(::pthread_create(&id, nullptr, &thread, nullptr) == 0, "no thread");
  exceptions();
  for (const pthread_t id : ids) ::pthread_join(id, nullptr);
}

void child() {
  const pid_t pid = ::fork();
  if (pid == 0) {
    frames();
    std::exit(0);
  }
  int status = 1;
  ::waitpid(pid, &status, 0);
  require(status == 0, "the child failed");
}

void* came_from;
void* call_back() {
  came_from = __builtin_return_address(0);
  allocate();
  return came_from;
}
// Returns: where the library's call returns to.
void* visit(const char* path) {
  void* const library = ::dlopen(path, RTLD_NOW);
  require(library != nullptr, path);
  const auto call = reinterpret_cast<void* (*)(void* (*)())>(::dlsym(library, "plugin_call"));
  require(call != nullptr, "plugin_call is not there");
  call(&call_back);
  call(&call_back);
  ::dlclose(library);
  require(::dlopen(path, RTLD_NOW | RTLD_NOLOAD) == nullptr, "the library stays loaded");
  return came_from;
}
void plugins(char** paths) {
  int same = 0;
  for (int i = 0; i < 10; ++i) {
    same += visit(paths[0]) == visit(paths[1]);
    visit(paths[2]);
  }
  std::printf("same place: %d\n", same);
}

// ---- broken stacks ----------------------------------------------------------------------------------------

#if defined(__x86_64__)
void broken() {
  const std::uintptr_t here =
      reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)) / 16 * 16;
  constexpr std::uintptr_t far = std::uintptr_t{1} << 30;
  void* const closed = ::mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  require(closed != MAP_FAILED, "mmap");
  const auto page = reinterpret_cast<std::uintptr_t>(closed);
  for (const std::uintptr_t lost :
       {std::uintptr_t{0}, std::uintptr_t{8}, here + far, here + 3, here - far, page,
        ~std::uintptr_t{0} - 7, std::uintptr_t{0x4141'4141'4141'4141}}) {
    with_frame_pointer(lost, &allocate);
    with_return_address(lost, &allocate);
  }
}
#else
void broken() {}
#endif

// ---- code made at run time ---------------------------------------------------------------------------------

#if defined(__x86_64__)
using caller = void (*)(void (*call)());
caller made_with_pop;
caller made_otherwise;
[[gnu::noinline]] void allocate_through_pop() {
  made_with_pop(&allocate);
  sink = 1;
}
[[gnu::noinline]] void allocate_otherwise() {
  made_otherwise(&allocate);
  sink = 1;
}

// Each function calls what it gets. The first two are as Python's, and nobody leaves the third but itself.
[[gnu::noinline]] void trampolines() {
  constexpr std::array<std::array<unsigned char, 16>, 3> codes{{
      {0x48, 0x83, 0xec, 8, 0xff, 0xd7, 0x48, 0x83, 0xc4, 8, 0xc3},  // sub, call, add, ret
      {0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3},              // push, mov, call, pop, ret
      {0x53, 0xff, 0xd7, 0x5b, 0xc3},                                // %rbx instead of %rbp
  }};
  auto* const page = static_cast<unsigned char*>(
      ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  require(page != MAP_FAILED, "mmap");
  std::array<caller, 3> callers{};
  for (std::size_t i = 0; i < codes.size(); ++i) {
    std::memcpy(page + i * sizeof codes[i], codes[i].data(), sizeof codes[i]);
    callers[i] = reinterpret_cast<caller>(page + i * sizeof codes[i]);
  }
  require(::mprotect(page, 4096, PROT_READ | PROT_EXEC) == 0, "mprotect");
  made_with_pop = callers[1];
  made_otherwise = callers[2];
  callers[0](&allocate_through_pop);
  callers[0](&allocate_otherwise);
  std::array<char, 64> path{};
  std::snprintf(path.data(), path.size(), "/tmp/perf-%d.map", static_cast<int>(::getpid()));
  std::FILE* const map = std::fopen(path.data(), "we");
  require(map != nullptr, path.data());
  const auto begin = reinterpret_cast<std::uintptr_t>(page);
  std::fprintf(map, "%" PRIxPTR " 10 py::keep_all:/home/you/rows.py\n", begin);
  std::fprintf(map, "%" PRIxPTR " 10 py::Rows.make:/home/you/rows.py\n", begin + 16);
  std::fclose(map);
}
#else
void trampolines() {}
#endif

// ---- new stacks while a process forks --------------------------------------------------------------------

void left(unsigned way, int depth);
[[gnu::noinline]] void right(unsigned way, int depth) {
  if (depth == 0) return allocate();
  if ((way & 1u) != 0)
    left(way >> 1, depth - 1);
  else
    right(way >> 1, depth - 1);
  sink = depth;
}
[[gnu::noinline]] void left(unsigned way, int depth) {
  if (depth == 0) return allocate();
  if ((way & 1u) != 0)
    left(way >> 1, depth - 1);
  else
    right(way >> 1, depth - 1);
  sink = depth;
}

constexpr int way_depth = 20;
void* wander(void*) {
  for (unsigned i = 0;; ++i) left(i * 0x9e37'79b1u >> 12, way_depth);
}
void forks() {
  std::array<pthread_t, 3> ids{};
  for (pthread_t& id : ids)
    require(::pthread_create(&id, nullptr, &wander, nullptr) == 0, "no thread");
  for (unsigned i = 0; i < 150; ++i) {
    const pid_t pid = ::fork();
    if (pid == 0) {
      ::alarm(5);
      right(i, way_depth);
      ::_exit(0);
    }
    int status = 1;
    ::waitpid(pid, &status, 0);
    require(status == 0, "a child hung, or failed");
  }
}

// ---- forks while the loader's locks are taken -----------------------------------------------------

using write_profile = int (*)(const char*);

void fork_one(unsigned way, write_profile write, const char* profile) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::alarm(10);
    for (unsigned i = 0; i < 40; ++i) right(way * 40 + i, way_depth);
    if (write != nullptr) write(profile);
    ::_exit(0);
  }
  int status = 1;
  ::waitpid(pid, &status, 0);
  require(status == 0, "a child hung, or failed");
}

std::atomic<bool> stops{false};
void* load_again_and_again(void* path) {
  while (!stops.load()) {
    void* const library = ::dlopen(static_cast<const char*>(path), RTLD_NOW);
    require(library != nullptr, "the plugin cannot be loaded");
    ::dlclose(library);
  }
  return nullptr;
}

std::atomic<bool> has_lock{false};
// The loader has the lock of its list while it calls this.
void* have_lock(void*) {
  ::dl_iterate_phdr(
      [](dl_phdr_info*, std::size_t, void*) {
        has_lock = true;
        while (!stops.load()) ::usleep(1000);
        return 1;
      },
      nullptr);
  return nullptr;
}

void loads(char* plugin, const char* profile) {
  write_profile write = nullptr;
  if (profile != nullptr)
    write = reinterpret_cast<write_profile>(::dlsym(RTLD_DEFAULT, "ashlar_sample_write"));
  pthread_t other{};
  require(::pthread_create(&other, nullptr, &load_again_and_again, plugin) == 0, "no thread");
  for (unsigned i = 0; i < 100; ++i) fork_one(i, write, profile);
  stops = true;
  ::pthread_join(other, nullptr);
  stops = false;
  require(::pthread_create(&other, nullptr, &have_lock, nullptr) == 0, "no thread");
  while (!has_lock.load()) ::usleep(1000);
  fork_one(1000, write, profile);
  stops = true;
  ::pthread_join(other, nullptr);
}

}  // namespace

int main(int argc, char** argv) {
  const char* const what = argc > 1 ? argv[1] : "";
  if (std::strcmp(what, "all") == 0 && argc == 5) {
    frames();
    exceptions();
    jumps();
    signals();
    coroutines();
    threads();
    child();
    plugins(argv + 2);
    return 0;
  }
  if (std::strcmp(what, "broken") == 0) return broken(), 0;
  if (std::strcmp(what, "trampolines") == 0) return trampolines(), 0;
  if (std::strcmp(what, "forks") == 0) return forks(), 0;
  if (std::strcmp(what, "loads") == 0 && argc >= 3)
    return loads(argv[2], argc > 3 ? argv[3] : nullptr), 0;
  std::fputs(
      "hard_stacks: 'all' with three libraries, 'broken', 'trampolines', 'forks', or 'loads' with "
      "one\n",
      stderr);
  return 2;
}
