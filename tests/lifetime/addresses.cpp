// Addresses are the process's, not the heap's: how many it takes, what happens where there are few of them,
// and where somebody else has the next ones.
#include <optional>
#include <tests/lifetime/addresses.hpp>
#include <tests/lifetime/program.hpp>

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#ifndef ASHLAR_FACE_DROP_IN
#include <ashlar/instance/heap.hpp>
#endif

namespace {

using addresses::hoard;

// ---- how many -----------------------------------------------------------------------------------

/// What a process's status file says, in bytes.
struct sizes {
  std::size_t now = 0, peak = 0;
};

/// Returns: the sizes of `cat /proc/self/status`, with these environment variables.
sizes sizes_of_cat(const char* preload) {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    ::dup2(ends[1], STDOUT_FILENO);
    ::close(ends[0]);
    preload != nullptr ? ::setenv("LD_PRELOAD", preload, 1) : ::unsetenv("LD_PRELOAD");
    ::execl("/bin/cat", "cat", "/proc/self/status", nullptr);
    ::_exit(127);
  }
  ::close(ends[1]);
  std::string text;
  char part[1024];
  for (ssize_t got; (got = ::read(ends[0], part, sizeof part)) > 0;)
    text.append(part, static_cast<std::size_t>(got));
  ::close(ends[0]);
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child && status == 0);
  const auto figure = [&text](const char* name) {
    const auto at = text.find(name);
    REQUIRE(at != std::string::npos);
    return std::strtoul(text.c_str() + at + std::strlen(name), nullptr, 10) * 1024;
  };
  return {figure("VmSize:"), figure("VmPeak:")};
}

// A MiB is the class table's, one the library's, and one is for the first blocks.
constexpr std::size_t most_at_start = 6 * mebibyte;

PROGRAM(at_start) {
  if constexpr (face::drop_in) {
    const sizes with = sizes_of_cat(std::getenv("LD_PRELOAD"));
    const sizes without = sizes_of_cat(nullptr);
    std::printf("cat: %zu KiB (peak %zu), without %zu KiB (peak %zu)\n", with.now / 1024,
                with.peak / 1024, without.now / 1024, without.peak / 1024);
    REQUIRE(with.now > without.now);  // it was there at all
    REQUIRE(with.now < without.now + most_at_start);
    REQUIRE(with.peak < without.peak + most_at_start);
  } else {
    face::release(face::allocate(1));
    std::printf("this program: %zu KiB\n", support::address_space_bytes() / 1024);
    REQUIRE(support::address_space_bytes() < most_at_start + 32 * mebibyte);
  }
}

/// A shell limits itself once it runs, and goes on.
PROGRAM(limit_of_a_shell) {
  if constexpr (!face::drop_in)
    support::skipped("it is about programs that know nothing of the heap");
  REQUIRE(std::system("ulimit -v 20000; x=0123456789; i=0;"
                      "while [ $i -lt 17 ]; do x=$x$x; i=$((i + 1)); done; ls / >/dev/null") == 0);
}

#ifndef ASHLAR_FACE_DROP_IN
/// Heap instances without a budget, each in a room of its own.
PROGRAM(instances) {
  constexpr std::size_t count = 20;
  const std::size_t before = support::address_space_bytes();
  std::optional<ashlar::heap<>> heaps[count];
  void* blocks[count];
  for (std::size_t i = 0; i < count; ++i) {
    blocks[i] = heaps[i].emplace().try_allocate(mebibyte);
    REQUIRE(blocks[i] != nullptr);
  }
  const std::size_t grown = support::address_space_bytes() - before;
  std::printf("%zu instances: %zu KiB of addresses each\n", count, grown / count / 1024);
  REQUIRE(grown < count * most_at_start);
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t k = 0; k < count; ++k) REQUIRE(heaps[i]->owns(blocks[k]) == (i == k));
  }
  for (auto& h : heaps) h.reset();
  REQUIRE(support::address_space_bytes() < before + mebibyte);
}
#endif

/// What the heap takes follows what it holds, up and down.
PROGRAM(follows_use) {
  static char buffer[256];
  std::setvbuf(stdout, buffer, _IOLBF, sizeof buffer);  // or its buffer would be at the heap's top
  const std::size_t before = support::address_space_bytes();
  for (int round = 0; round < 3; ++round) {
    hoard all;
    REQUIRE(all.fill(30'000, 200 * mebibyte) >= 200 * mebibyte);
    const std::size_t full = support::address_space_bytes() - before;
    REQUIRE(full >= 190 * mebibyte);  // or it would have been reserved before
    std::printf("200 MiB take %zu MiB of addresses\n", full / mebibyte);
    REQUIRE(full < 260 * mebibyte);
    all.drop();
    face::trim();
    const std::size_t then = support::address_space_bytes();
    const std::size_t empty = then > before ? then - before : 0;
    std::printf("and %zu MiB when they are freed\n", empty / mebibyte);
    REQUIRE(empty < 40 * mebibyte);
  }
}

/// Blocks that nobody writes to cost addresses alone: more of them than there is memory.
PROGRAM(beyond_memory) {
  std::FILE* const file = std::fopen("/proc/sys/vm/overcommit_memory", "re");
  const int mode = file == nullptr ? '?' : std::fgetc(file);
  if (file != nullptr) std::fclose(file);
  if (mode != '0' && mode != '1') support::skipped("the system counts what it promises");
  constexpr std::size_t gibibyte = 1024 * mebibyte;
  static char* blocks[96];
  for (char*& block : blocks) {
    block = static_cast<char*>(face::allocate(gibibyte));
    REQUIRE(block != nullptr);
    block[0] = block[gibibyte - 1] = 'x';
  }
  busy::use_every_path(1);
  for (char* block : blocks) {
    REQUIRE(block[0] == 'x' && block[gibibyte - 1] == 'x');
    face::release(block);
  }
  face::audit();
}

// ---- limits -------------------------------------------------------------------------------------

PROGRAM(limit_inside) {
  addresses::live_under_limit();
  face::audit();
}

/// Under checks: what is known of each block, and slots of guarded ones, are addresses, too.
PROGRAM(limit_checked) {
  addresses::limit_to(addresses::limit);
  addresses::use_the_system();
  hoard all;
  const std::size_t reached = all.fill(10'000);
  std::printf("%zu MiB until null\n", reached / mebibyte);
  REQUIRE(reached > addresses::limit / 5 * 2 && reached < addresses::limit);
  all.drop();
  REQUIRE(all.fill(10'000, reached / 2) >= reached / 2);
  all.drop();
}

/// The limit falls below what the heap has already.
PROGRAM(limit_below) {
  hoard all;
  REQUIRE(all.fill(5'000, 200 * mebibyte) >= 200 * mebibyte);
  addresses::limit_to(160 * mebibyte);
  errno = 0;
  REQUIRE(face::allocate(50 * mebibyte) == nullptr && errno == ENOMEM);
  all.drop();
  face::trim();
  hoard again;
  REQUIRE(again.fill(5'000, 50 * mebibyte) >= 50 * mebibyte);
  again.drop();
  face::trim();
  addresses::use_the_system();
}

std::size_t locked_bytes() { return support::figure_in("/proc/self/status", "VmLck:") * 1024; }

/// Effects: this process, without the right to more, may lock `bytes`. Returns: null, or why not.
const char* lock_no_more_than(std::size_t bytes) {
  rlimit limit{};
  REQUIRE(::getrlimit(RLIMIT_MEMLOCK, &limit) == 0);
  limit.rlim_cur = bytes;
  limit.rlim_max = std::max(limit.rlim_max, static_cast<rlim_t>(bytes));
  if (::prlimit(0, RLIMIT_MEMLOCK, &limit, nullptr) != 0) return "so much may not be locked here";
  return ::geteuid() == 0 && ::setuid(65'534) != 0 ? "cannot give up root" : nullptr;
}

PROGRAM(memlock_256) {
  const char* const reason = lock_no_more_than(256 * mebibyte);
  face::release(face::allocate(1));
  if (reason != nullptr) {
    // Then the right to lock all, and what would have counted.
    if (::mlockall(MCL_CURRENT | MCL_FUTURE) != 0) support::skipped(reason);
    std::printf("%zu KiB count as locked\n", locked_bytes() / 1024);
    REQUIRE(locked_bytes() != 0 && locked_bytes() < 120 * mebibyte);
    return;
  }
  REQUIRE(::mlockall(MCL_CURRENT | MCL_FUTURE) == 0);
  hoard all;
  const std::size_t reached = all.fill(10'000, 1'000 * mebibyte);
  std::printf("%zu MiB until null\n", reached / mebibyte);
  REQUIRE(reached > 120 * mebibyte && reached < 256 * mebibyte);
  all.drop();
  face::trim();
  busy::use_every_path(1);
  face::audit();
}

/// Everything that is mapped from now on would have to be locked, and nothing may be.
PROGRAM(memlock_0) {
  if (const char* const reason = lock_no_more_than(4 * mebibyte); reason != nullptr)
    support::skipped(reason);
  if (::mlockall(MCL_FUTURE) != 0) support::skipped(std::strerror(errno));
  const rlimit none = {0, 0};
  REQUIRE(::setrlimit(RLIMIT_MEMLOCK, &none) == 0);
  hoard all;
  all.fill(1'000, 64 * mebibyte);
  for (const std::size_t size : {std::size_t{20}, std::size_t{5'000}, 3 * mebibyte}) {
    errno = 0;
    void* const block = face::allocate(size);
    REQUIRE(block != nullptr || errno == ENOMEM);
    face::release(block);
  }
  all.drop();
}

// ---- a start with little ------------------------------------------------------------------------

/// What a small start does: takes what there is, of several sizes, and gives it back.
PROGRAM(take_what_there_is) {
  for (const std::size_t size : {std::size_t{40}, std::size_t{3'000}, mebibyte}) {
    hoard all;
    all.fill(size, 64 * mebibyte);
    all.drop();
  }
}

/// Returns: the wait status of this program in `mode` with `bytes` of addresses, or of data; killed when it hangs.
int run_with(std::size_t bytes, char* mode, bool with_heap,
             __rlimit_resource resource = RLIMIT_AS) {
  const auto again = [&] {
    if (!with_heap) ::unsetenv("LD_PRELOAD");
    char program[] = "/proc/self/exe";
    char* const words[] = {program, mode, nullptr};
    const rlimit limit = {bytes, bytes};
    ::setrlimit(resource, &limit);
    ::execv(program, words);
    return 127;
  };
  return support::wait_status_of(again, 20);
}

// The loader itself needs some megabytes and ends with a signal or a line of its own where it has less. With
// what it needs, and no more, the heap starts or refuses.
PROGRAM(small_starts) {
  char mode[] = "take_what_there_is";
  int done = 0;
  for (const std::size_t kibibytes :
       {3'000u, 4'000u, 5'000u, 6'000u, 7'000u, 8'000u, 9'000u, 10'000u, 12'000u, 14'000u, 16'000u,
        20'000u, 24'000u, 32'000u, 50'000u, 100'000u}) {
    const int status = run_with(kibibytes * 1024, mode, true);
    std::printf("%6zu KiB: %s %d\n", kibibytes, WIFEXITED(status) ? "status" : "signal",
                WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
    const bool ran = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    done += ran ? 1 : 0;
    if (WIFSIGNALED(status)) {
      REQUIRE(WTERMSIG(status) != SIGALRM && WTERMSIG(status) != SIGABRT);
      // Nobody runs here: the kernel ends what it cannot load, the loader what it cannot relocate.
      REQUIRE(kibibytes < 8'000);
    } else {
      REQUIRE(ran || WEXITSTATUS(status) == 127);
    }
    REQUIRE(ran || kibibytes < 32'000);
  }
  REQUIRE(done > 0);
}

// What no block needs yet is no data: not the stashes, which could take 11 MiB.
PROGRAM(use_a_little) {
  hoard all;
  REQUIRE(all.fill(100, 3 * mebibyte) >= 3 * mebibyte);
  all.drop();
}
PROGRAM(small_data_starts) {
  char mode[] = "use_a_little";
  const int status = run_with(10 * mebibyte, mode, true, RLIMIT_DATA);
  REQUIRE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/// Neither /proc nor /sys.
PROGRAM(no_proc) {
  if (::unshare(CLONE_NEWNS | (::geteuid() == 0 ? 0 : CLONE_NEWUSER)) != 0)
    support::skipped("no mount namespace can be had here");
  char self[4096] = {};
  REQUIRE(::readlink("/proc/self/exe", self, sizeof self - 1) > 0);
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
      ::mount("none", "/sys", "tmpfs", 0, nullptr) != 0 ||
      ::mount("none", "/proc", "tmpfs", 0, nullptr) != 0)
    support::skipped("/proc cannot be hidden here");
  char mode[] = "no_proc_inside";
  char* const again[] = {self, mode, nullptr};
  ::execv(self, again);
  std::exit(1);
}
PROGRAM(no_proc_inside) {
  REQUIRE(::access("/proc/self", F_OK) != 0);
  busy::use_every_path(1);
  {
    busy::threads some(2);
    ::usleep(20'000);
  }
  face::trim();
  face::audit();
}

// ---- neighbours ---------------------------------------------------------------------------------

/// Returns: the end of the mapping that holds `p`.
char* mapping_end(const void* p) {
  std::FILE* const file = std::fopen("/proc/self/maps", "re");
  REQUIRE(file != nullptr);
  char line[512];
  char* found = nullptr;
  while (found == nullptr && std::fgets(line, sizeof line, file) != nullptr) {
    char* at = line;
    const std::uintptr_t begin = std::strtoull(at, &at, 16);
    const std::uintptr_t end = std::strtoull(at + 1, &at, 16);
    const auto a = reinterpret_cast<std::uintptr_t>(p);
    if (begin <= a && a < end) found = reinterpret_cast<char*>(end);
  }
  std::fclose(file);
  REQUIRE(found != nullptr);
  return found;
}

/// Somebody maps right where the heap would go on, again and again: both have what is theirs.
PROGRAM(neighbours) {
  constexpr std::size_t page = 4096;
  char* pages[8];
  hoard all;
  for (std::size_t i = 0; i < 8; ++i) {
    void* const block = face::allocate(2 * mebibyte);
    REQUIRE(block != nullptr);
    pages[i] = static_cast<char*>(::mmap(mapping_end(block), page, PROT_READ | PROT_WRITE,
                                         MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    REQUIRE(pages[i] != MAP_FAILED);
    std::memset(pages[i], 0x33, page);
    REQUIRE(all.fill(i % 2 == 0 ? 3'000 : 700'000, (i + 1) * 60 * mebibyte) >=
            (i + 1) * 60 * mebibyte);
    face::release(block);
  }
  for (char* p : pages) REQUIRE(std::all_of(p, p + page, [](char c) { return c == 0x33; }));
  face::audit();
  all.drop();
  face::trim();
  for (char* p : pages) REQUIRE(std::all_of(p, p + page, [](char c) { return c == 0x33; }));
  face::audit();
  // And an address of theirs is not the heap's.
}

// ---- a sandbox ----------------------------------------------------------------------------------

/// Effects: from now on mprotect fails with `error`. Returns: false where there are no filters.
bool deny_mprotect(int error) {
  sock_filter program[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_mprotect, 0, 1),
      BPF_STMT(BPF_RET | BPF_K,
               SECCOMP_RET_ERRNO | (static_cast<unsigned>(error) & SECCOMP_RET_DATA)),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog filter = {sizeof program / sizeof program[0], program};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

void use_without_mprotect() {
  errno = 0;
  void* const page = ::mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(page != MAP_FAILED && ::mprotect(page, 4096, PROT_READ | PROT_WRITE) != 0);
  for (const std::size_t size : {std::size_t{24}, std::size_t{700}, std::size_t{9'000},
                                 std::size_t{100'000}, 3 * mebibyte}) {
    hoard all;
    REQUIRE(all.fill(size, 60 * mebibyte) >= 60 * mebibyte);
    all.drop();
    face::trim();
  }
  void* block = face::allocate(mebibyte);
  REQUIRE(block != nullptr);
  support::fill_pattern(block, 5, mebibyte);
  block = face::reallocate(block, 40 * mebibyte);
  REQUIRE(block != nullptr && support::find_damage(block, 5, mebibyte) == mebibyte);
  face::release(block);
  face::audit();
}

#ifndef ASHLAR_FACE_DROP_IN
/// The filter is there before the heap starts. (The drop-in library's heap starts before anything of the program.)
int filter_error = 0;
void filter_early(int argument_count, char** arguments, char**) {
  if (argument_count < 3 || std::strcmp(arguments[2], "early") != 0) return;
  filter_error = std::strcmp(arguments[1], "mprotect_eperm") == 0 ? EPERM : ENOSYS;
  if (!deny_mprotect(filter_error)) filter_error = -1;
}
[[gnu::section(".preinit_array"), gnu::used]] void (*const run_early)(int, char**,
                                                                      char**) = filter_early;
#else
constexpr int filter_error = 0;
#endif

void without_mprotect(int error) {
  if (filter_error == -1 || (filter_error == 0 && !deny_mprotect(error)))
    support::skipped("no system call filter can be set here");
  use_without_mprotect();
}
PROGRAM(mprotect_eperm) { without_mprotect(EPERM); }
PROGRAM(mprotect_enosys) { without_mprotect(ENOSYS); }

}  // namespace
