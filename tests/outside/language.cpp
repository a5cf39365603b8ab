// What C++ does with memory. Usage: outside_language NAME
#include <algorithm>
#include <coroutine>
#include <exception>
#include <filesystem>
#include <functional>
#include <future>
#include <iomanip>
#include <map>
#include <memory>
#include <memory_resource>
#include <new>
#include <numeric>
#include <regex>
#include <sstream>
#include <stdexcept>
#include <string>
#include <tests/support/container_programs.hpp>
#include <thread>
#include <utility>
#include <vector>

#include "outside.h"

// containers_of_every_kind: Every standard container and strings, each beside a model that does the same.
namespace containers_of_every_kind {
static int run() {
  const int steps = getenv("OUTSIDE_SHARE") != nullptr ? 30 : 600;
  for (unsigned seed = 1; seed <= 3; ++seed)
    support::run_containers(std::allocator<int>(), seed, steps);
  puts("all as their models");
  return 0;
}
}  // namespace containers_of_every_kind

// coroutines_end_elsewhere: Frames of coroutines are allocated in one thread, resumed in a second one, and destroyed in a third one.
namespace coroutines_end_elsewhere {
struct task {
  struct promise_type {
    std::string value;
    task get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
    std::suspend_always initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    std::suspend_always yield_value(std::string text) {
      value = std::move(text);
      return {};
    }
    void return_void() {}
    void unhandled_exception() { std::terminate(); }
  };
  std::coroutine_handle<promise_type> handle;
};

static task count(int from, std::string prefix) {
  char room[600] = {};
  std::vector<std::string> kept;
  for (int i = from; i < from + 5; ++i) {
    kept.push_back(prefix + std::to_string(i));
    room[i % 600] = 1;
    co_yield kept.back() + room[0];
  }
}

static int run() {
  long length = 0;
  for (int round = 0; round < 4; ++round) {
    std::vector<task> tasks;
    std::thread([&] {
      for (int i = 0; i < 500; ++i) tasks.push_back(count(i, std::string(40, 'p')));
    }).join();
    std::thread([&] {
      for (int step = 0; step < 3; ++step)
        for (const task& t : tasks) t.handle.resume();
    }).join();
    std::thread([&] {
      for (const task& t : tasks)
        length += static_cast<long>(t.handle.promise().value.size()), t.handle.destroy();
    }).join();
  }
  std::printf("%ld\n", length);
  return 0;
}
}  // namespace coroutines_end_elsewhere

// deaths_are_the_programs_own: A program's way to die stays its own: each signal by its default action, abort, an uncaught exception, exit in a child.
namespace deaths_are_the_programs_own {
static volatile int* nowhere = nullptr;
static int recursion(volatile char* above) {
  volatile char room[10000];
  room[5] = above[0];
  return recursion(room) + room[5];
}

static int run() {
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
  return 0;
}
}  // namespace deaths_are_the_programs_own

// exceptions_when_memory_is_short: At a limit of addresses: bad_alloc, exceptions thrown without memory, null from nothrow, threads and files refused; then all is freed and everything works again. Three times. Full checks and samples keep the addresses of records, and the background thread has a stack: then a new thread's stack does not always fit.
// Editions: default hardened
namespace exceptions_when_memory_is_short {
static std::size_t fill(std::vector<void*>& blocks) {
  std::size_t sum = 0;
  for (std::size_t size = 8 << 20; size >= 16; size /= 2)
    while (blocks.size() < blocks.capacity()) {
      errno = 0;
      void* block = std::malloc(size);
      if (block == nullptr) {
        CHECK(errno == ENOMEM);
        break;
      }
      blocks.push_back(block);
      sum += size;
    }
  return sum;
}

static int run() {
  for (int round = 0; round < 3; ++round) {
    std::vector<void*> blocks;
    blocks.reserve(200000);
    for (int i = 0; i < 1000; ++i) blocks.push_back(std::malloc(1000));
    rlimit all{}, some{};
    getrlimit(RLIMIT_AS, &all);
    long pages = 0;
    FILE* statm = fopen("/proc/self/statm", "r");
    CHECK(fscanf(statm, "%ld", &pages) == 1);
    fclose(statm);
    some = {static_cast<rlim_t>(pages) * 4096 + (48 << 20), all.rlim_max};
    setrlimit(RLIMIT_AS, &some);
    CHECK(fill(blocks) > (16 << 20));
    int caught = 0;
    for (int i = 0; i < 50; ++i) {
      try {
        if (i % 2 == 0) throw std::runtime_error("a text that is too long to be stored in place");
        std::vector<char> more(20 << 20);
      } catch (const std::bad_alloc&) {
        ++caught;
      } catch (const std::exception&) {
        ++caught;
      }
    }
    CHECK(caught == 50);
    CHECK(new (std::nothrow) char[20 << 20] == nullptr);
    void* aligned = &caught;
    CHECK(posix_memalign(&aligned, 64, 20 << 20) == ENOMEM && aligned == &caught);
    pthread_t t;
    pthread_attr_t deep;
    pthread_attr_init(&deep);
    pthread_attr_setstacksize(&deep, 64 << 20);
    CHECK(pthread_create(&t, &deep, [](void* p) { return p; }, nullptr) == EAGAIN);
    for (void* block : blocks) std::free(block);
    blocks.clear();
    try {
      std::vector<std::string> works(500, std::string(1000, 'w'));
      CHECK(std::async(std::launch::async, [&] { return works.back().size(); }).get() == 1000);
    } catch (const std::exception&) {
      CHECK(!"memory came back");
    }
    setrlimit(RLIMIT_AS, &all);
    std::printf("round %d\n", round);
  }
  return 0;
}
}  // namespace exceptions_when_memory_is_short

// expressions_and_streams: Deep recursion with a block at each level, long strings, string streams, file system walks, in four threads.
namespace expressions_and_streams {
static std::size_t work(unsigned seed) {
  std::size_t sum = 0;
  const std::regex expression("(a|b)*c([0-9]{2,4})(?:x|y)+");
  std::string text;
  for (unsigned i = 0; i < 200; ++i)
    text += "abab" + std::string(i % 5, 'a') + "c" + std::to_string(seed % 900 + 100) + "xy ";
  for (std::sregex_iterator it(text.begin(), text.end(), expression), end; it != end; ++it)
    sum += (*it)[0].length();
  sum += std::regex_replace(text, expression, "<$2>").size();
  std::ostringstream out;
  for (unsigned i = 0; i < 3000; ++i) out << std::setw(static_cast<int>(i % 20)) << i * 1.5 << '\n';
  std::istringstream in(out.str());
  for (std::string line; std::getline(in, line);) sum += line.size();
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/ns"))
    sum += entry.path().string().size();
  std::function<std::size_t(int)> deeper = [&](int n) -> std::size_t {
    const std::vector<std::string> held(3, std::string(static_cast<std::size_t>(n), 'd'));
    return n == 0 ? 0 : deeper(n - 1) + held.back().size();
  };
  return sum + deeper(400);
}

static int run() {
  std::vector<std::future<std::size_t>> results;
  for (unsigned i = 0; i < 4; ++i) results.push_back(std::async(std::launch::async, work, 7 * i));
  bool same = true;
  const std::size_t first = results[0].get();
  for (unsigned i = 1; i < 4; ++i) same = results[i].get() == first && same;
  std::printf("same: %d\n", same);
  return 0;
}
}  // namespace expressions_and_streams

// futures_and_exceptions_between_threads: What std::async, promises and shared pointers make in one thread ends in another: tasks, states, exceptions.
namespace futures_and_exceptions_between_threads {
static std::string work(int i) {
  if (i % 3 == 0) throw std::runtime_error(std::string(200, 'e') + std::to_string(i));
  return std::string(static_cast<std::size_t>(i), 'w');
}

static int run() {
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
  return 0;
}
}  // namespace futures_and_exceptions_between_threads

// memory_resources_and_aligned_new: std::pmr pools shared by threads, over-aligned and sized forms of new and delete up to a mebibyte, nothrow.
namespace memory_resources_and_aligned_new {
struct alignas(256) wide {
  char bytes[1000];
  virtual ~wide() = default;
};
struct wider : wide {
  std::string text = std::string(100, 'w');
};

static int run() {
  std::pmr::synchronized_pool_resource pool;
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < 4; ++i)
    threads.emplace_back([&pool, i] {
      std::pmr::map<unsigned, std::pmr::string> words(&pool);
      for (unsigned k = 0; k < 3000; ++k)
        words[k * 7919 % 1000] = std::pmr::string(k % 200 + i, 'p', &pool);
      std::pmr::monotonic_buffer_resource arena(64, &pool);
      std::pmr::vector<std::pmr::string> many(&arena);
      for (int k = 0; k < 500; ++k) many.emplace_back(100, 'm');
    });
  for (std::thread& t : threads) t.join();
  for (std::size_t alignment = 1; alignment <= (1 << 20); alignment *= 2)
    for (std::size_t size : {std::size_t{0}, std::size_t{1}, alignment - 1, alignment,
                             3 * alignment + 5, std::size_t{70000}}) {
      const auto a = static_cast<std::align_val_t>(alignment);
      char* p = static_cast<char*>(::operator new(size, a));
      char* q = static_cast<char*>(::operator new[](size, a, std::nothrow));
      CHECK(reinterpret_cast<std::uintptr_t>(p) % alignment == 0 &&
            reinterpret_cast<std::uintptr_t>(q) % alignment == 0);
      memset(p, 1, size);
      memset(q, 2, size);
      CHECK(size == 0 || (p[size - 1] == 1 && q[size - 1] == 2));
      ::operator delete(p, size, a);
      ::operator delete[](q, a);
    }
  std::vector<std::unique_ptr<wide>> objects;
  for (int i = 0; i < 500; ++i) objects.emplace_back(i % 2 ? new wider : new wide);
  auto* array = new wider[7];
  delete[] array;
  CHECK(::operator new(~std::size_t{0} / 2, std::nothrow) == nullptr);
  CHECK(::operator new(~std::size_t{0} / 2, std::align_val_t{4096}, std::nothrow) == nullptr);
  int refused = 0;
  for (volatile std::size_t size = ~std::size_t{0} / 2; size > ~std::size_t{0} / 64;
       size = size / 2)
    try {
      ::operator delete(::operator new(size));
    } catch (const std::bad_alloc&) {
      ++refused;
    }
  std::printf("refused: %d\n", refused);
  return 0;
}
}  // namespace memory_resources_and_aligned_new

// sorting_with_a_buffer: qsort takes its buffer from malloc, stable_sort from operator new, and both work on less; comparisons allocate, throw and jump out.
namespace sorting_with_a_buffer {
static jmp_buf back;
static int comparisons;
extern "C" int by_text(const void* a, const void* b) {
  char* text[2];
  CHECK(asprintf(&text[0], "%010u", *static_cast<const unsigned*>(a)) == 10);
  CHECK(asprintf(&text[1], "%010u", *static_cast<const unsigned*>(b)) == 10);
  const int order = strcmp(text[0], text[1]);
  std::free(text[0]);
  std::free(text[1]);
  if (++comparisons == 6000) longjmp(back, 1);
  return order;
}
extern "C" int by_number(const void* a, const void* b) {
  const unsigned x = *static_cast<const unsigned*>(a), y = *static_cast<const unsigned*>(b);
  return x < y ? -1 : x > y;
}

static int run() {
  std::vector<unsigned> numbers(200000);
  unsigned seed = 1;
  const auto shuffle = [&] {
    for (unsigned& n : numbers) n = seed = seed * 1664525 + 1013904223;
  };
  shuffle();
  std::qsort(numbers.data(), numbers.size(), sizeof(unsigned), by_number);
  CHECK(std::is_sorted(numbers.begin(), numbers.end()));
  shuffle();
  if (setjmp(back) == 0) std::qsort(numbers.data(), 2000, sizeof(unsigned), by_text);
  shuffle();
  std::stable_sort(numbers.begin(), numbers.end());
  std::inplace_merge(numbers.begin(), numbers.begin() + 90000, numbers.end());
  std::vector<std::string> words;
  for (int i = 0; i < 5000; ++i)
    words.push_back(std::to_string(i * 7919 % 5000) + std::string(20, 'w'));
  int count = 0;
  try {
    std::stable_sort(words.begin(), words.end(), [&](const std::string& a, const std::string& b) {
      if (++count == 20000) throw std::runtime_error("enough");
      return a < b;
    });
  } catch (const std::runtime_error& e) {
    std::puts(e.what());
  }
  std::stable_sort(words.begin(), words.end());
  printf("%u %s %d\n", numbers[1000], words[500].c_str(), comparisons);
  return 0;
}
}  // namespace sorting_with_a_buffer

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
static void run_by_hand_on(char* stack, size_t, uintptr_t) {
  run_context_on(stack);
}
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

static void handle(int) {
  use_heap(3);
}
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

static int run() {
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
  return 0;
}
}  // namespace stacks_that_come_and_go

static const struct program programs[] = {
    {"containers_of_every_kind", containers_of_every_kind::run},
    {"coroutines_end_elsewhere", coroutines_end_elsewhere::run},
    {"deaths_are_the_programs_own", deaths_are_the_programs_own::run},
    {"exceptions_when_memory_is_short", exceptions_when_memory_is_short::run},
    {"expressions_and_streams", expressions_and_streams::run},
    {"futures_and_exceptions_between_threads", futures_and_exceptions_between_threads::run},
    {"memory_resources_and_aligned_new", memory_resources_and_aligned_new::run},
    {"sorting_with_a_buffer", sorting_with_a_buffer::run},
    {"stacks_that_come_and_go", stacks_that_come_and_go::run},
};
int main(int count, char** arguments) {
  return run_program(count, arguments, programs, sizeof programs / sizeof *programs);
}
