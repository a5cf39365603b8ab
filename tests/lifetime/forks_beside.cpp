// fork beside what makes a fork wait: locks of the C library's streams, whose holders need the heap; threads that
// end, exit and take signals; and fork in a signal handler that interrupted the heap. Nobody hangs, and every child
// has a heap that works. The argument is the seconds that a mode takes; a process that makes no progress is ended by
// alarm.
#define PROGRAMS_WITHOUT_MAIN
#include <csignal>
#include <tests/lifetime/program.hpp>

#include <pthread.h>
#include <sys/time.h>

namespace {

constexpr unsigned stuck_seconds = 60;
double run_seconds = 1;
unsigned thread_count = 2;

/// A file with a line that is longer than the heap's largest class, so that each reader's buffer grows.
class long_line {
 public:
  long_line() {
    const int file = ::mkstemp(name_);
    REQUIRE(file >= 0);
    const std::vector<char> line(200'000, 'x');
    REQUIRE(::write(file, line.data(), line.size()) == static_cast<ssize_t>(line.size()));
    REQUIRE(::write(file, "\n", 1) == 1);
    ::close(file);
  }
  ~long_line() { ::unlink(name_); }
  long_line(const long_line&) = delete;
  long_line& operator=(const long_line&) = delete;
  [[nodiscard]] const char* name() const { return name_; }

 private:
  char name_[32] = "/tmp/ashlar-forks-XXXXXX";
};

/// Effects: reads the line, which allocates while the stream is locked, with the library's malloc and with the face.
void read_line(std::FILE* file) {
  ::flockfile(file);
  char* line = nullptr;
  std::size_t capacity = 0;
  // A child that exits moves the offset, which it shares: then the line is read again.
  do {
    std::rewind(file);
  } while (::getline(&line, &capacity, file) != 200'001);
  std::free(line);
  void* blocks[300];
  for (void*& block : blocks) block = face::allocate(700);
  void* const large = face::reallocate(face::allocate(150'000), 400'000);
  REQUIRE(large != nullptr);
  for (void* block : blocks) face::release(block);
  face::release(large);
  ::funlockfile(file);
}

// The program that hung: threads that read with the stream's lock, one that flushes all streams, some that fork.
PROGRAM(streams) {
  const long_line text;
  std::atomic<bool> stop{false};
  std::atomic<unsigned> forks{0}, flushes{0}, reads{0};
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < 2 * thread_count; ++i) {
    threads.emplace_back([&] {
      std::FILE* const file = std::fopen(text.name(), "re");
      REQUIRE(file != nullptr);
      for (; !stop; ++reads) {
        read_line(file);
        ::usleep(100);  // else a flush hardly gets the stream, on any allocator
      }
      std::fclose(file);
    });
  }
  threads.emplace_back([&] {
    for (; !stop; ++flushes) std::fflush(nullptr);
  });
  for (unsigned i = 0; i < thread_count; ++i) {
    threads.emplace_back([&] {
      for (; !stop; ++forks) {
        support::fork_and_wait([] { busy::use_every_path(1, 100); });
      }
    });
  }
  const double end = support::seconds_now() + run_seconds;
  while (support::seconds_now() < end || forks < 5 || flushes < 5 || reads < 50) ::usleep(10'000);
  stop = true;
  for (std::thread& thread : threads) thread.join();
  std::printf("%u forks, %u flushes, %u reads\n", forks.load(), flushes.load(), reads.load());
}

std::atomic<unsigned> handled{0};

support::kept_blocks<100> inherited;

/// Every second child uses the heap, as a crash reporter's does. A hardened process takes what a call has half done for a
/// write after free.
void fork_in_handler(int) {
  const int saved = errno;
  const int status = support::wait_status_of(
      [] {
        if (handled % 2 != 0 && std::getenv("ASHLAR_HARDEN") == nullptr)
          busy::use_every_path(handled, 50);
        return 0;
      },
      stuck_seconds);
  REQUIRE(status == 0 || status == -1);  // there may be no process to be had
  ++handled;
  errno = saved;
}

/// Effects: allocates and frees while a timer interrupts it. The timer runs again when a call has ended since: else a
/// slow handler would be followed by the next one for ever.
void churn_under_timer(unsigned times) {
  struct sigaction action = {};
  action.sa_handler = fork_in_handler;
  action.sa_flags = SA_RESTART;
  REQUIRE(::sigaction(SIGVTALRM, &action, nullptr) == 0);
  const itimerval soon = {{0, 0}, {0, 2'000}};
  unsigned seen = ~0U;
  support::random_source random(3);
  std::vector<void*> blocks(3'000);
  const double end = support::seconds_now() + run_seconds;
  while (handled < times || support::seconds_now() < end) {
    if (seen != handled) {
      seen = handled;
      REQUIRE(::setitimer(ITIMER_VIRTUAL, &soon, nullptr) == 0);
    }
    // Most calls hit: the handler interrupts these as well.
    void*& block = blocks[random.below(blocks.size())];
    face::release(block);
    block = face::allocate(random.below(random.chance(95) ? 500 : 200'000));
    REQUIRE(block != nullptr);
  }
  const itimerval never = {};
  REQUIRE(::setitimer(ITIMER_VIRTUAL, &never, nullptr) == 0);
  for (void* block : blocks) face::release(block);
  std::printf("%u forks\n", handled.load());
}

// One thread forks in a handler that interrupted whatever it did. The children can use the heap at once.
PROGRAM(handler) {
  churn_under_timer(100);
  face::audit();
}

// The same beside other threads, which may wait for a lock that the interrupted call has: each such fork ends, too.
PROGRAM(handler_beside_threads) {
  sigset_t signals;
  ::sigemptyset(&signals);
  ::sigaddset(&signals, SIGVTALRM);
  REQUIRE(::pthread_sigmask(SIG_BLOCK, &signals, nullptr) == 0);
  {
    const busy::threads others(thread_count);
    REQUIRE(::pthread_sigmask(SIG_UNBLOCK, &signals, nullptr) == 0);
    churn_under_timer(5);
  }
  face::audit();  // the others have ended: the audit needs a heap that nobody uses
}

/// What every child does: whatever its parent has, it can be used, and a child of its own can be made.
[[noreturn]] void live_as_child(std::uint64_t seed, unsigned depth) {
  support::random_source random(seed);
  for (std::size_t i = 0; i < std::size(inherited.blocks); ++i) {
    void*& block = inherited.blocks[i];
    REQUIRE(face::usable_size(block) >= inherited.size_of(i));
    if (random.chance(50)) block = face::reallocate(block, inherited.size_of(i) + 5'000);
    REQUIRE(block != nullptr);
  }
  inherited.check_and_free(1);
  inherited.allocate(1);
  busy::use_every_path(seed, 200);
  if (random.chance(30)) std::thread(busy::use_every_path, seed, 50).join();
  if (depth != 0) support::fork_and_wait([=] { live_as_child(seed + 1, depth - 1); });
  inherited.check_and_free(1);
  face::audit();
  if (random.chance(50)) std::exit(42);  // with all that is left to do then
  ::_exit(42);
}

// Threads that do at random what a server does, all at once.
PROGRAM(anything) {
  const long_line text;
  inherited.allocate(1);
  struct sigaction action = {};
  action.sa_handler = [](int) { ++handled; };
  action.sa_flags = SA_RESTART;
  REQUIRE(::sigaction(SIGUSR1, &action, nullptr) == 0);
  std::atomic<unsigned> forks{0}, steps{0};
  const double end = support::seconds_now() + run_seconds;
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < thread_count + 1; ++t) {
    threads.emplace_back([&, t] {
      support::random_source random(t);
      std::vector<void*> blocks(200);
      std::FILE* file = nullptr;
      while (support::seconds_now() < end || forks < 3) {
        ++steps;
        const std::size_t what = random.below(100);
        if (what < 70) {
          for (int i = 0; i < 300; ++i) {
            void*& block = blocks[random.below(blocks.size())];
            const std::size_t size = random.below(random.chance(95) ? 4'000 : 300'000);
            if (random.chance(20)) {
              block = face::reallocate(block, size + 1);
            } else {
              face::release(block);
              block = face::allocate(size);
            }
            REQUIRE(block != nullptr);
          }
        } else if (what < 78) {
          if (file == nullptr) file = std::fopen(text.name(), "re");
          REQUIRE(file != nullptr);
          read_line(file);
          if (random.chance(30)) std::fclose(std::exchange(file, nullptr));
        } else if (what < 82) {
          std::fflush(nullptr);
        } else if (what < 86) {
          std::thread(busy::use_every_path, what, 50).join();
        } else if (what < 90) {
          ::kill(::getpid(), SIGUSR1);
        } else if (what < 93) {
          face::trim();
        } else {
          support::fork_and_wait(
              [&] { live_as_child(random.next(), static_cast<unsigned>(random.below(3))); });
          ++forks;
        }
      }
      if (file != nullptr) std::fclose(file);
      for (void* block : blocks) face::release(block);
    });
  }
  for (std::thread& thread : threads) thread.join();
  inherited.check_and_free(1);
  face::audit();
  std::printf("%u forks, %u steps, %u signals\n", forks.load(), steps.load(), handled.load());
}

// A thread that reported a misuse, and whose handler of the abort does not return, stays inside the heap. A fork does not
// wait for it for ever, and the child has a heap.
PROGRAM(stuck_thread) {
  inherited.allocate(1);
  REQUIRE(std::signal(SIGABRT, [](int) {
            ++handled;
            for (;;) ::pause();
          }) != SIG_ERR);
  std::thread([] {
    int local = 0;
    face::release(&local);
  }).detach();
  while (handled == 0) ::usleep(1'000);
  REQUIRE(std::signal(SIGABRT, SIG_DFL) != SIG_ERR);
  support::fork_and_wait([] { live_as_child(1, 2); });
  busy::use_every_path(1, 1'000);  // the parent has lost nothing
  ::_exit(0);
}

}  // namespace

int main(int argument_count, char** arguments) {
  if (argument_count > 2) run_seconds = std::strtod(arguments[2], nullptr);
  if (argument_count > 3)
    thread_count = static_cast<unsigned>(std::strtoul(arguments[3], nullptr, 10));
  ::alarm(static_cast<unsigned>(run_seconds) + 2 * stuck_seconds);
  return run_program(arguments[1]);
}
