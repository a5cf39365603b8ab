// A service that does what the lines on its standard input say, and answers each with a line.
//   service              reads lines
//   service quiet        allocates, and sleeps until it is killed
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ashlar/adapt/tags.h>
#ifdef LINKED
#include <ashlar/ashlar.h>
#include <ashlar/instance/heap.hpp>
#endif

namespace {

void* allocate(std::size_t size) {
#ifdef LINKED
  return ::xmalloc(size);
#else
  return std::malloc(size);
#endif
}
void release(void* block) {
#ifdef LINKED
  ::xfree(block);
#else
  std::free(block);
#endif
}

int control(const char* where) {
#ifdef LINKED
  return ::ashlar_control(where);
#else
  static auto* const call =
      reinterpret_cast<int (*)(const char*)>(::dlsym(RTLD_DEFAULT, "ashlar_control"));
  return call(where);
#endif
}

std::vector<void*> kept;
bool has_ended = false;
[[gnu::destructor]] void end() { has_ended = true; }

/// Effects: blocks of several sizes, which a cold cache misses, and one that no cache serves.
void allocate_some() {
  for (std::size_t size = 100; size < 20'000; size += 700) release(allocate(size));
  release(allocate(200'000));
}

/// Effects: blocks of a size of their own, which nothing leads to.
void lose(std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) std::memset(allocate(700), 0, 700);
}

void keep(std::size_t count, std::size_t size) {
  for (std::size_t i = 0; i < count; ++i) {
    kept.push_back(allocate(size));
    std::memset(kept.back(), 1, size);
  }
}

/// Effects: takes all that a limit leaves.
void fill() {
  for (std::size_t size = 1 << 20; size >= 16; size /= 2)
    while (allocate(size) != nullptr) {
    }
}

void die_with_parent() { ::prctl(PR_SET_PDEATHSIG, SIGKILL); }

void fork_child() {
  const pid_t child = ::fork();
  if (child == 0) {
    die_with_parent();
    allocate_some();
    for (;;) ::pause();
  }
  std::printf("%d\n", child);
}

/// Effects: forks and allocates in several threads at once. Each child allocates, too.
void be_busy(int rounds) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i)
    threads.emplace_back([rounds] {
      for (int round = 0; round < rounds; ++round) {
        allocate_some();
        if (round % 8 != 0) continue;
        const pid_t child = ::fork();
        if (child == 0) {
          allocate_some();
          std::_Exit(0);
        }
        int status = 0;
        if (::waitpid(child, &status, 0) != child || status != 0) std::abort();
      }
    });
  for (std::thread& each : threads) each.join();
  std::printf("done\n");
}

void do_line(const std::string& line) {
  const std::string_view word = std::string_view(line).substr(0, line.find(' '));
  const char* const rest = line.size() > word.size() ? line.c_str() + word.size() + 1 : "";
  if (word == "keep") {
    keep(std::strtoul(rest, nullptr, 10), 1000);
    std::printf("kept\n");
  } else if (word == "fill") {
    fill();
    std::printf("full\n");
  } else if (word == "keep_tagged") {
    const ashlar::tag_scope here("the \"cache\"");
    keep(std::strtoul(rest, nullptr, 10), 1000);
    std::printf("kept\n");
#ifdef LINKED
  } else if (word == "heap") {
    static ashlar::heap tenant({.budget_bytes = 8 << 20, .name = "tenant 7"});
    static_cast<void>(tenant.allocate(3 << 20));
    std::printf("made\n");
#endif
  } else if (word == "free") {
    for (void* const block : kept) release(block);
    kept.clear();
    std::printf("freed\n");
  } else if (word == "lose") {
    lose(std::strtoul(rest, nullptr, 10));
    std::printf("lost\n");
  } else if (word == "control") {
    errno = 0;
    const int result = control(rest);
    std::printf("%d\n", result == 0 ? 0 : errno);
  } else if (word == "fork") {
    fork_child();
  } else if (word == "busy") {
    be_busy(std::atoi(rest));
  } else if (word == "close") {
    for (int file = std::atoi(rest); file < 4096; ++file) ::close(file);
    std::printf("closed\n");
  } else if (word == "exec") {
    std::printf("executes\n");
    std::fflush(stdout);
    ::execlp("sleep", "sleep", "60", static_cast<char*>(nullptr));
  } else if (word == "end_main") {
    std::printf("ends\n");
    std::fflush(stdout);
    std::thread([] {
      ::usleep(200'000);
      allocate_some();
    }).detach();
    ::pthread_exit(nullptr);
  } else if (word == "exit") {
    std::printf("exits\n");
    std::exit(7);
  }
  std::fflush(stdout);
}

}  // namespace

/// As libfaketime's, which has ended before the library removes the socket's name.
extern "C" int lstat(const char* path, struct stat* found) noexcept {
  if (has_ended) std::abort();
  return ::fstatat(AT_FDCWD, path, found, AT_SYMLINK_NOFOLLOW);
}

int main(int argc, char**) {
  allocate_some();
  if (argc > 1) {
    die_with_parent();
    keep(1000, 100);
    for (;;) ::pause();
  }
  std::printf("%d\n", static_cast<int>(::getpid()));
  std::fflush(stdout);
  char line[5000];
  while (std::fgets(line, sizeof line, stdin) != nullptr) {
    line[std::strcspn(line, "\n")] = '\0';
    do_line(line);
  }
  return 0;
}
