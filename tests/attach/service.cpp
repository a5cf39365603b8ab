// tests/attach/service.cpp: a service that does the same work in each round, and says whether the
// results ever differed. Its threads allocate, load and unload a library, fork, and take signals.
//
//   service PLUGIN [MIB]: runs until its standard input ends; it holds so much besides.
#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include <dlfcn.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

namespace {

std::atomic<bool> stopping{false};
std::atomic<unsigned long> rounds{0};
std::atomic<unsigned long> wrong{0};
std::atomic<unsigned long> interrupted{0};
std::atomic<unsigned long> signals_sent{0};
std::atomic<unsigned long> signals_taken{0};

// Floating registers are part of what an attach has to put back.
std::uint64_t allocate(std::uint64_t seed) {
  std::uint64_t sum = 0;
  double part = 1.0;
  std::vector<std::string> texts;
  std::map<std::uint64_t, std::vector<unsigned char>> blocks;
  for (int i = 0; i < 2000; ++i) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    texts.emplace_back(seed >> 58, static_cast<char>('a' + (seed >> 40) % 26));
    blocks[seed >> 56].assign((seed >> 44) % 700 + 1, static_cast<unsigned char>(seed >> 32));
    void* grown = std::malloc(1 + (seed >> 50));
    std::memset(grown, 7, 1 + (seed >> 50));
    grown = std::realloc(grown, 20000);
    sum = sum * 31 + static_cast<unsigned char*>(grown)[0] + texts.back().size();
    std::free(grown);
    part = part * 1.0000001 + static_cast<double>(seed >> 60);
    if (texts.size() > 100) texts.clear();
  }
  for (const auto& [key, bytes] : blocks) sum = sum * 31 + key + bytes.size() + bytes.back();
  std::uint64_t bits = 0;
  std::memcpy(&bits, &part, sizeof bits);
  return sum ^ bits;
}

using work = std::uint64_t (*)(const char* plugin);

std::uint64_t load(const char* plugin) {
  void* const library = ::dlopen(plugin, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return 1;
  auto* const function =
      reinterpret_cast<unsigned long (*)(unsigned long)>(::dlsym(library, "plugin_work"));
  const std::uint64_t result = function(5);
  ::dlclose(library);
  return result;
}

std::uint64_t fork_child(const char*) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(static_cast<int>(allocate(9) & 0x7f));
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  ::usleep(20000);
  return static_cast<std::uint64_t>(status);
}

std::uint64_t compute(const char*) { return allocate(3); }

void repeat(work each, const char* plugin, std::uint64_t expected) {
  while (!stopping) {
    if (each(plugin) != expected) ++wrong;
    ++rounds;
    ::usleep(2000);
  }
}

// A call of the system that fails where a signal or a debugger stops it.
void wait_for_events(int events) {
  sigset_t all;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_BLOCK, &all, nullptr);
  const int poller = ::epoll_create1(0);
  epoll_event what{};
  what.events = EPOLLIN;
  ::epoll_ctl(poller, EPOLL_CTL_ADD, events, &what);
  while (!stopping) {
    epoll_event got{};
    if (::epoll_wait(poller, &got, 1, -1) < 0) ++interrupted;
    std::uint64_t value = 0;
    if (got.events != 0 && ::read(events, &value, sizeof value) < 0) ++wrong;
  }
}

void send_signals(pthread_t to) {
  while (!stopping) {
    if (::pthread_kill(to, SIGRTMIN) == 0) ++signals_sent;
    ::usleep(1000);
  }
}

}  // namespace

int main(int count, char** words) {
  if (count < 2) return 2;
  const char* const plugin = words[1];
  struct sigaction taken{};
  taken.sa_handler = [](int) { ++signals_taken; };
  taken.sa_flags = SA_RESTART;
  ::sigaction(SIGRTMIN, &taken, nullptr);
  const std::array<work, 3> works{&compute, &load, &fork_child};
  std::array<std::uint64_t, 3> expected{};
  std::transform(works.begin(), works.end(), expected.begin(),
                 [&](work each) { return each(plugin); });
  std::vector<std::vector<unsigned char>> held;
  for (long kib = count > 2 ? std::atol(words[2]) << 10 : 0; kib > 0; --kib)
    held.emplace_back(1024, static_cast<unsigned char>(kib));
  const int events = ::eventfd(0, 0);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < 8; ++i) {
    const std::size_t kind = i < 6 ? 0 : i - 5;
    threads.emplace_back([=] { repeat(works[kind], plugin, expected[kind]); });
  }
  threads.emplace_back(&wait_for_events, events);
  threads.emplace_back(&send_signals, threads[0].native_handle());
  std::printf("ready\n");
  std::fflush(stdout);
  char byte = 0;
  while (::read(0, &byte, 1) > 0) {
  }
  stopping = true;
  threads.back().join();
  threads.pop_back();
  const std::uint64_t one = 1;
  if (::write(events, &one, sizeof one) < 0) return 1;
  for (int i = 0; i < 2000 && signals_taken != signals_sent; ++i) ::usleep(1000);
  for (std::thread& each : threads) each.join();
  std::printf("checksum %lx-%lx-%lx rounds %s wrong %lu interrupted %lu signals %s\n",
              static_cast<unsigned long>(expected[0]), static_cast<unsigned long>(expected[1]),
              static_cast<unsigned long>(expected[2]), rounds > 10 ? "many" : "few", wrong.load(),
              interrupted.load(), signals_taken == signals_sent ? "all" : "lost");
  return 0;
}
