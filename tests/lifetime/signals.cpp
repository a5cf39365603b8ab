// Signals that interrupt a program which uses the heap. What holds: a handler may use the heap, or be
// left by siglongjmp, as long as the thread that it interrupted was not inside one of the heap's calls. It may end a
// process of one thread by exit() wherever it comes.
#include <array>
#include <csetjmp>
#include <csignal>
#include <tests/lifetime/program.hpp>

#include <pthread.h>
#include <sys/time.h>

namespace {

constexpr long timer_us = 200;  // 5 kHz, or what the system makes of it

/// What a tick does, and whether another one follows it.
void (*on_tick)() = nullptr;
volatile std::sig_atomic_t ticking = 0;

/// Each tick asks for the next one when it has done its work. A timer that repeats by itself can stop the program for
/// ever: where a handler takes longer than the interval, the next signal is there before the program has made a step.
void ask_for_tick() {
  if (ticking == 0) return;
  const itimerval once = {{0, 0}, {0, timer_us}};
  REQUIRE(::setitimer(ITIMER_REAL, &once, nullptr) == 0);
}

void start_timer(void (*handler)()) {
  on_tick = handler;
  ticking = 1;
  struct sigaction action = {};
  action.sa_handler = [](int) {
    const int saved = errno;
    on_tick();
    ask_for_tick();
    errno = saved;
  };
  action.sa_flags = SA_RESTART;
  REQUIRE(::sigaction(SIGALRM, &action, nullptr) == 0);
  ask_for_tick();
}

void stop_timer() {
  ticking = 0;
  const itimerval never = {};
  REQUIRE(::setitimer(ITIMER_REAL, &never, nullptr) == 0);
}

std::atomic<std::uint64_t> signal_count = 0;

// A profiler's timer: it interrupts everything everywhere, and only counts.
PROGRAM(timer) {
  start_timer([] { signal_count.fetch_add(1, std::memory_order_relaxed); });
  {
    const busy::threads others(3);
    const double end = support::seconds_now() + 0.7;
    for (std::uint64_t i = 0; support::seconds_now() < end; ++i) {
      busy::use_every_path(i);
      std::thread([i] { busy::use_every_path(i, 100); }).join();
    }
  }
  stop_timer();
  std::printf("%llu signals\n", static_cast<unsigned long long>(signal_count.load()));
  REQUIRE(signal_count > 200);
  face::audit();
}

/// Whether this thread is inside a call of the heap; read by the handler that interrupted it.
thread_local volatile std::sig_atomic_t is_inside = 0;

class inside {
 public:
  inside() {
    is_inside = 1;
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }
  inside(const inside&) = delete;
  inside& operator=(const inside&) = delete;
  ~inside() {
    std::atomic_signal_fence(std::memory_order_seq_cst);
    is_inside = 0;
  }
};

/// Blocks that one context owns: a random step frees one and allocates another of the same place.
template <std::size_t Count>
class slots {
 public:
  explicit constexpr slots(std::uint64_t key) : key_(key) {}

  /// The heap's calls are inside, and so is what must not be torn from them: which slot has which block.
  void step(std::size_t at, std::size_t size) {
    const inside here;
    REQUIRE(support::find_damage(blocks_[at], key_ + at, sizes_[at]) == sizes_[at]);
    face::release(blocks_[at]);
    blocks_[at] = face::allocate(size);
    REQUIRE(blocks_[at] != nullptr);
    sizes_[at] = size;
    support::fill_pattern(blocks_[at], key_ + at, size);
  }
  void free_all() {
    for (std::size_t at = 0; at < Count; ++at) {
      REQUIRE(support::find_damage(blocks_[at], key_ + at, sizes_[at]) == sizes_[at]);
      face::release(blocks_[at]);
    }
  }

 private:
  std::uint64_t key_;
  void* blocks_[Count] = {};
  std::size_t sizes_[Count] = {};
};

constexpr std::size_t slot_count = 128;
slots<slot_count> of_program(1'000), of_handler(2'000);
std::uint64_t random_state = 1;

/// The program's own work, much of it not in the heap, whatever the compiler thinks of empty loops: else the handler has to
/// wait for the few signals that do not come inside. `random_state` survives a jump.
void work() {
  random_state = random_state * 6364136223846793005u + 1442695040888963407u;
  const std::uint64_t number = random_state >> 20;
  of_program.step(number % slot_count, number / slot_count % 2'000);
  for (volatile int i = 0; i < 1'000;) i = i + 1;
}

/// How often the handler found the thread outside of the heap, and inside.
volatile std::uint64_t outside_count = 0, inside_count = 0;

/// The work goes on until both have happened often; a test that hangs is ended from outside.
bool has_seen_enough() {
  return outside_count >= (support::sanitized ? 20 : 500) && inside_count >= 20;
}

// The handler allocates and frees, unless it interrupted the heap.
PROGRAM(allocate_outside) {
  start_timer([] {
    if (is_inside != 0) {
      inside_count = inside_count + 1;
    } else {
      outside_count = outside_count + 1;
      for (std::uint64_t i = 0; i < 50; ++i) {
        const std::uint64_t step = outside_count * 50 + i;
        of_handler.step(step * 7 % slot_count, step * 31 % 3'000);
      }
    }
  });
  while (!has_seen_enough()) work();
  stop_timer();
  std::printf("outside %llu times, inside %llu times\n",
              static_cast<unsigned long long>(outside_count),
              static_cast<unsigned long long>(inside_count));
  of_program.free_all();
  of_handler.free_all();
  face::audit();
}

sigjmp_buf start_again;
volatile std::sig_atomic_t may_jump = 0;

// The handler leaves the program's work by siglongjmp, unless it interrupted the heap.
PROGRAM(jump_out) {
  start_timer([] {
    if (is_inside != 0) {
      inside_count = inside_count + 1;
    } else if (may_jump != 0) {
      ask_for_tick();
      siglongjmp(start_again, 1);
    }
  });
  if (sigsetjmp(start_again, 1) != 0) outside_count = outside_count + 1;
  may_jump = 1;
  while (!has_seen_enough()) work();
  may_jump = 0;
  stop_timer();
  std::printf("outside %llu jumps, inside %llu times\n",
              static_cast<unsigned long long>(outside_count),
              static_cast<unsigned long long>(inside_count));
  of_program.free_all();
  face::audit();
}

// The handler ends the process, wherever it interrupted its only thread: what runs at the exit allocates and frees still.
PROGRAM(exit_inside) {
  for (unsigned i = 0; i < 300; ++i)
    support::fork_and_wait([i] {
      static support::kept_blocks<200> kept;
      static std::array<void*, 200> alike;  // more than a thread counts by itself
      kept.allocate(i);
      for (void*& block : alike) block = face::allocate(64);
      ::atexit([] {
        for (void* const block : alike) face::release(block);
        busy::use_every_path(1, 500);
        for (void* const block : kept.blocks) face::release(block);
      });
      ::signal(SIGVTALRM, [](int) { ::exit(42); });
      const itimerval once = {{0, 0}, {0, 500 + i % 50 * 37}};
      REQUIRE(::setitimer(ITIMER_VIRTUAL, &once, nullptr) == 0);
      // Every other child is in trim, which works without the thread's cache for a moment.
      for (;;) {
        if (i % 2 == 0) busy::use_every_path(i, 500);
        face::trim();
      }
    });
}

}  // namespace
