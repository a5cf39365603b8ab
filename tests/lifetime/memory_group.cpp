// A control group that limits memory: the heap is not told, so what matters is that it makes use of what it has. Only the
// background thread looks at the group, and gives back early. The program starts itself again in such a group.
#include <csignal>
#include <tests/lifetime/program.hpp>
#include <tests/support/limited_group.hpp>

#include <sys/mman.h>

namespace {

constexpr std::size_t limit = 96 * mebibyte;

/// Effects: runs `mode` of this program inside a limited group. Returns: its wait status, or -1.
int run_limited(char* mode) {
  const support::limited_group group(limit);
  if (!group.exists()) return -1;
  return support::wait_status_of([&] {
    REQUIRE(group.enter());
    char program[] = "/proc/self/exe";
    char* const again[] = {program, mode, nullptr};
    ::execv(program, again);
    return 1;
  });
}

constexpr const char* no_group =
    "no group that limits memory can be made here (it needs root, and "
    "/sys/fs/cgroup with the memory controller)";

/// Two thirds of the limit in blocks of each size in turn, with other sizes' free pages around.
PROGRAM(reshape_inside) {
  constexpr std::size_t load = limit / 3 * 2;
  static void* blocks[load / 64];
  for (const std::size_t size : {std::size_t{64}, std::size_t{3'000}, std::size_t{1'500'000},
                                 std::size_t{128}, std::size_t{100'000}, std::size_t{500}}) {
    for (std::size_t i = 0; i < load / size; ++i) {
      blocks[i] = face::allocate(size);
      REQUIRE(blocks[i] != nullptr);
      std::memset(blocks[i], 0x11, size);
    }
    for (std::size_t i = 0; i < load / size; ++i) face::release(blocks[i]);
  }
}

/// Effects: runs `mode`, which has to end well.
void ends_well_in_group(char* mode) {
  const int status = run_limited(mode);
  if (status == -1) support::skipped(no_group);
  if (WIFSIGNALED(status)) std::fprintf(stderr, "signal %d\n", WTERMSIG(status));
  REQUIRE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

PROGRAM(reshape) {
  char mode[] = "reshape_inside";
  ends_well_in_group(mode);
}

PROGRAM(exceed_inside) {
  for (;;) {
    void* const block = face::allocate(10'000);
    if (block == nullptr) std::exit(errno == ENOMEM ? 0 : 1);
    std::memset(block, 0x11, 10'000);
  }
}

// Beyond the limit the system ends the process, or refuses: there is no third way, such as looping.
PROGRAM(exceed) {
  char mode[] = "exceed_inside";
  const int status = run_limited(mode);
  if (status == -1) support::skipped(no_group);
  const bool refused = WIFEXITED(status) && WEXITSTATUS(status) == 0;
  const bool ended = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
  std::printf("%s\n", refused ? "refused" : ended ? "ended by the system" : "neither");
  REQUIRE(refused || ended);
}

/// Returns: what the group of this process uses, version 1 or 2.
std::size_t group_usage() {
  for (const std::string& path :
       {"/sys/fs/cgroup/memory" + support::own_group("memory") + "/memory.usage_in_bytes",
        "/sys/fs/cgroup" + support::own_group("") + "/memory.current"}) {
    char text[64] = {};
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) continue;
    const auto got = ::read(file, text, sizeof text - 1);
    ::close(file);
    if (got > 0) return std::strtoull(text, nullptr, 10);
  }
  return 0;
}

/// What is free would stay for ten minutes, if the group had not become short of memory by other means.
PROGRAM(pressure_inside) {
  constexpr std::size_t load = limit / 2, size = 1'000;
  static void* blocks[load / size];
  for (void*& block : blocks) {
    block = face::allocate(size);
    REQUIRE(block != nullptr);
    std::memset(block, 0x11, size);
  }
  for (void* const block : blocks) face::release(block);
  const std::size_t full = support::resident_bytes();
  ::usleep(
      1'500'000);  // the thread has looked at the group by now; if not, the test only says less
  REQUIRE(support::resident_bytes() + mebibyte > full);
  auto* const others = static_cast<unsigned char*>(
      ::mmap(nullptr, limit, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  REQUIRE(others != MAP_FAILED);
  std::size_t used = 0;
  for (; group_usage() < limit / 64 * 61; used += mebibyte) {
    REQUIRE(used < limit);
    std::memset(others + used, 0x22, mebibyte);
  }
  while (support::resident_bytes() > full + used - load / 2) ::usleep(10'000);
}

PROGRAM(pressure) {
  REQUIRE(::setenv("ASHLAR_BACKGROUND", "1", 1) == 0);
  REQUIRE(::setenv("ASHLAR_PURGE_DELAY_MS", "600000", 1) == 0);
  char mode[] = "pressure_inside";
  ends_well_in_group(mode);
}

}  // namespace
