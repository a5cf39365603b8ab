// What C++ does with memory. Usage: outside_language NAME
#include <future>
#include <numeric>
#include <tests/support/container_programs.hpp>
#include <thread>

#include <tests/support/programs.h>

#include "outside.h"

// containers_of_every_kind: Every standard container and strings, each beside a model that does the same.
namespace containers_of_every_kind {
PROGRAM(containers_of_every_kind) {
  const int steps = getenv("OUTSIDE_SHARE") != nullptr ? 30 : 600;
  for (unsigned seed = 1; seed <= 3; ++seed)
    support::run_containers(std::allocator<int>(), seed, steps);
  puts("all as their models");
}
}  // namespace containers_of_every_kind

// deaths_are_the_programs_own: A program's way to die stays its own: each signal by its default action, abort, an uncaught exception, exit in a child.
namespace deaths_are_the_programs_own {
static volatile int* nowhere = nullptr;
static int recursion(volatile char* above) {
  volatile char room[10000];
  room[5] = above[0];
  return recursion(room) + room[5];
}

PROGRAM(deaths_are_the_programs_own) {
  const rlimit none = {0, 0};
  setrlimit(RLIMIT_CORE, &none);
  for (int i = 0; i < 10; ++i) {
    std::fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
      use_heap(static_cast<unsigned>(i), 200);
      std::fclose(stderr);
      close(2);
      volatile char first = 0;
      if (i == 0) *nowhere = 1;
      if (i == 1) std::abort();
      if (i == 2) __builtin_trap();
      if (i == 3) throw std::runtime_error("nobody catches this");
      if (i == 4) recursion(&first);
      if (i == 5) raise(SIGTERM);
      if (i == 6) std::thread([] { *nowhere = 1; }).join();
      if (i == 7) std::thread([] { std::exit(31); }).join();
      if (i == 8) std::quick_exit(32);
      *reinterpret_cast<volatile int*>(uintptr_t{0x7000'0000'0000'0000}) = 1;
    }
    printf("%d: %d\n", i, wait_for(child));
  }
}
}  // namespace deaths_are_the_programs_own

// operators_by_a_handle: A program opens the C++ library and takes operators new and delete by their names from there. What one makes the program's own delete, and the other way round.
namespace operators_by_a_handle {
PROGRAM(operators_by_a_handle) {
  void* const library = dlopen("libstdc++.so.6", RTLD_LAZY);
  const auto make = (void* (*)(size_t))dlsym(library, "_Znwm");
  const auto make_array = (void* (*)(size_t))dlsym(library, "_Znam");
  const auto take = (void (*)(void*))dlsym(library, "_ZdlPv");
  const auto take_array = (void (*)(void*))dlsym(library, "_ZdaPv");
  const auto make_aligned =
      (void* (*)(size_t, std::align_val_t))dlsym(library, "_ZnwmSt11align_val_t");
  CHECK(dlerror() == NULL);
  for (size_t size = 1; size < 1 << 20; size = size * 3 + 1) {
    ::operator delete(make(size));
    ::operator delete[](make_array(size));
    ::operator delete(make_aligned(size, std::align_val_t(64)), std::align_val_t(64));
    take(::operator new(size));
    take_array(::operator new[](size));
    take(make(size));
  }
  CHECK(dlsym(library, "_Znothing") == NULL && dlerror() != NULL);
  puts("all taken");
}
}  // namespace operators_by_a_handle

// futures_and_exceptions_between_threads: What std::async, promises and shared pointers make in one thread ends in another: tasks, states, exceptions.
namespace futures_and_exceptions_between_threads {
static std::string work(int i) {
  if (i % 3 == 0) throw std::runtime_error(std::string(200, 'e') + std::to_string(i));
  return std::string(static_cast<std::size_t>(i), 'w');
}

PROGRAM(futures_and_exceptions_between_threads) {
  long sum = 0;
  int caught = 0;
  for (int round = 0; round < 30; ++round) {
    std::vector<std::future<std::string>> results;
    std::promise<std::unique_ptr<int[]>> promise;
    auto promised = promise.get_future();
    for (int i = 0; i < 16; ++i)
      results.push_back(
          std::async(i % 4 == 0 ? std::launch::deferred : std::launch::async, work, i));
    std::packaged_task<std::shared_ptr<std::vector<int>>(int)> task([](int n) {
      auto shared = std::make_shared<std::vector<int>>(static_cast<std::size_t>(n));
      std::iota(shared->begin(), shared->end(), 0);
      return shared;
    });
    auto shared = task.get_future();
    std::thread runner([&] { task(1000), promise.set_value(std::make_unique<int[]>(500)); });
    std::weak_ptr<std::vector<int>> weak;
    for (auto& r : results) {
      try {
        sum += static_cast<long>(r.get().size());
      } catch (const std::runtime_error& e) {
        caught += std::string(e.what()).size() > 200;
      }
    }
    promised.get()[499] = 1;
    {
      auto kept = shared.get();
      weak = kept;
      sum += kept->back();
    }
    runner.join();
  }
  std::printf("%ld, %d\n", sum, caught);
}
}  // namespace futures_and_exceptions_between_threads

// stacks_that_come_and_go: Calls are made on stacks that the program switches to: mapped, and unmapped after use, right below each other; on the heap; of signals; of threads that are gone. Who looks at the calls that led to malloc reads nothing that is gone.
namespace stacks_that_come_and_go {
static constexpr size_t stack_bytes = 32 * 1024;
static ucontext_t home, other;
static unsigned calls;

static void use_heap(int depth) {
  volatile char frame[700];
  frame[0] = 1;
  if (depth != 0) return use_heap(depth - 1), void(frame[1] = frame[0]);
  void* p = malloc(100 + calls % 50);
  p = realloc(p, 3000);
  free(p);
  ++calls;
}
static void coroutine() {  // no deeper than what is looked at
  use_heap(1);
}

static char* map_stack(void* at) {
  void* const p = mmap(at, stack_bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | (at != nullptr ? MAP_FIXED : 0), -1, 0);
  return static_cast<char*>(p);
}
static void run_context_on(char* stack) {
  getcontext(&other);
  other.uc_stack.ss_sp = stack;
  other.uc_stack.ss_size = stack_bytes;
  other.uc_link = &home;
  makecontext(&other, coroutine, 0);
  swapcontext(&home, &other);
}

#if defined(__x86_64__)
// A stack that is switched to by hand. Nothing lies above its first frame, and the frame pointer is what `garbage` says.
static void run_by_hand_on(char* stack, size_t above, uintptr_t garbage) {
  char* const top = stack + stack_bytes - above;
  asm volatile(
      "movq %%rsp, %%rbx\n\t"
      "movq %%rbp, %%r12\n\t"
      "movq %[top], %%rsp\n\t"
      "movq %[garbage], %%rbp\n\t"
      "call *%[run]\n\t"
      "movq %%r12, %%rbp\n\t"
      "movq %%rbx, %%rsp\n\t"
      :
      : [top] "r"(top), [garbage] "r"(garbage), [run] "r"(&coroutine)
      : "rax", "rbx", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "memory", "cc");
}
#else
static void run_by_hand_on(char* stack, size_t, uintptr_t) { run_context_on(stack); }
#endif

static void all_ways(char* stack, char* gone) {
  run_context_on(stack);
  constexpr size_t above_all[] = {0, 16, 64, 4096};
  for (const size_t above : above_all) {
    run_by_hand_on(stack, above, 0);
    run_by_hand_on(stack, above, 1);
    run_by_hand_on(stack, above, reinterpret_cast<uintptr_t>(gone) + 64);
    run_by_hand_on(stack, above, ~uintptr_t{7});
    run_by_hand_on(stack, above, uintptr_t{1} << 60);
  }
}

// Two stacks, the lower one right below the upper one, which goes, comes back without access, and comes anew.
static void neighbours() {
  char* const both = static_cast<char*>(
      mmap(nullptr, 3 * stack_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  char* const lower = map_stack(both);
  char* const upper = both + stack_bytes;
  for (int round = 0; round < 3; ++round) {
    map_stack(upper);
    all_ways(upper, lower);
    all_ways(lower, upper);
    munmap(upper, stack_bytes);
    all_ways(lower, upper);
    mmap(upper, stack_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    all_ways(lower, upper);
  }
  munmap(both, 3 * stack_bytes);
}

static void on_heap_and_static() {
  for (int round = 0; round < 5; ++round) {
    char* const stack = static_cast<char*>(malloc(stack_bytes));
    run_context_on(stack);
    run_by_hand_on(stack, 64, 1);
    free(stack);
  }
  alignas(64) static char fixed[stack_bytes];
  run_context_on(fixed);
  run_by_hand_on(fixed, 64, 1);
}

static void handle(int) { use_heap(3); }
static void on_signal_stack() {
  for (int round = 0; round < 3; ++round) {
    char* const stack = map_stack(nullptr);
    stack_t own = {}, before;
    own.ss_sp = stack;
    own.ss_size = stack_bytes;
    sigaltstack(&own, &before);
    struct sigaction act = {};
    act.sa_handler = handle;
    act.sa_flags = SA_ONSTACK;
    sigaction(SIGUSR1, &act, nullptr);
    raise(SIGUSR1);
    sigaltstack(&before, nullptr);
    munmap(stack, stack_bytes);
  }
}

// Threads with stacks of the program's, which are unmapped after them; on these, too, other stacks are switched to.
static void* in_thread(void* stack) {
  use_heap(10);
  if (stack != nullptr) run_by_hand_on(static_cast<char*>(stack), 0, 1);
  return nullptr;
}
static void in_threads() {
  constexpr size_t bytes = 256 * 1024;
  for (int round = 0; round < 10; ++round) {
    char* const at = static_cast<char*>(mmap(nullptr, bytes + stack_bytes, PROT_READ | PROT_WRITE,
                                             MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    pthread_attr_setstack(&attr, at + stack_bytes, bytes);
    pthread_t thread;
    pthread_create(&thread, &attr, in_thread, at);
    pthread_join(thread, nullptr);
    munmap(at + stack_bytes, bytes);
    run_by_hand_on(at, 0, 1);  // what was above it is gone
    munmap(at, stack_bytes);
    pthread_create(&thread, nullptr, in_thread, nullptr);
    pthread_join(thread, nullptr);
  }
}

static void deep(int depth) {
  volatile char frame[4000];
  frame[0] = 1;
  if (depth == 0) return use_heap(0);
  deep(depth - 1);
  frame[1] = frame[0];
}

PROGRAM(stacks_that_come_and_go) {
  neighbours();
  on_heap_and_static();
  on_signal_stack();
  in_threads();
  deep(500);
  const pid_t child = fork();
  if (child == 0) {
    neighbours();
    in_threads();
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  printf("%u calls, and the child ended with %d\n", calls, status);
}
}  // namespace stacks_that_come_and_go
