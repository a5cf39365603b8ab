// After prefault and seal: no system call, which the system itself enforces (its strict mode ends a
// thread at the first one), and no page fault, which it counts.
#include <tests/lifetime/program.hpp>

#include <link.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include <ashlar/adapt/c_api.h>
#include <ashlar/instance/heap.hpp>

namespace {

using namespace ashlar;

constexpr std::size_t prefaulted = 64 * mebibyte;

// Not from a heap, and in memory from the start.
struct block {
  unsigned char* begin = nullptr;
  std::size_t size = 0;
};
std::array<block, 4000> blocks;

std::size_t random_size(support::random_source& random) {
  const std::size_t kind = random.below(100);
  return 1 + random.below(kind < 90 ? 1000 : kind < 99 ? 40'000 : 400'000);
}

/// Replaces, resizes and drops blocks of all sizes, written whole, by the heap that `take`, `resize` and
/// `give` stand for. Returns how many requests were refused.
template <class Take, class Resize, class Give>
std::size_t churn(std::size_t steps, Take take, Resize resize, Give give) {
  support::random_source random(11);
  std::size_t refused = 0;
  for (std::size_t i = 0; i < steps; ++i) {
    block& b = blocks[random.below(blocks.size())];
    const std::size_t size = random_size(random);
    if (b.begin != nullptr && random.below(4) != 0) {
      REQUIRE(b.begin[b.size - 1] == static_cast<unsigned char>(b.size));
      give(b.begin);
      b = {};
    }
    void* const fresh = b.begin == nullptr ? take(size) : resize(b.begin, size);
    if (fresh == nullptr) {
      ++refused;
      continue;
    }
    b = {static_cast<unsigned char*>(fresh), size};
    std::memset(b.begin, static_cast<unsigned char>(size), size);
  }
  for (block& b : blocks) {
    give(b.begin);
    b = {};
  }
  return refused;
}

std::size_t churn_process_heap(std::size_t steps) {
  return churn(
      steps, [](std::size_t size) { return xmalloc(size); },
      [](void* p, std::size_t size) { return xrealloc(p, size); }, [](void* p) { xfree(p); });
}

/// Grows until null, in blocks that are linked to each other, and drops all. Returns the bytes.
std::size_t use_up(std::size_t size) {
  struct link {
    link* next;
  };
  link* first = nullptr;
  std::size_t bytes = 0;
  while (void* const p = xmalloc(size)) {
    std::memset(p, 1, size);
    first = new (p) link{first};
    bytes += size;
  }
  REQUIRE(errno == ENOMEM);
  while (first != nullptr) {
    link* const next = first->next;
    xfree(first);
    first = next;
  }
  return bytes;
}

/// Runs `body` in a child that ends at its first system call but the one that ends it well. Returns: its wait status.
template <class Body>
int status_without_calls(Body body) {
  return support::wait_status_of([&] {
    REQUIRE(::prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) == 0);
    body();
    return static_cast<int>(::syscall(SYS_exit, 0));
  });
}
template <class Body>
void require_no_system_call(Body body) {
  REQUIRE(status_without_calls(body) == 0);
}

PROGRAM(no_system_call) {
  // What the test itself rests on: that a call is noticed. What is not sealed has to ask.
  REQUIRE(WIFSIGNALED(status_without_calls([] { xfree(xmalloc(64 * mebibyte)); })));

  REQUIRE(ashlar_prefault(prefaulted, 0) == 0);
  ashlar_seal();
  require_no_system_call([] {
    REQUIRE(churn_process_heap(200'000) == 0);
    // All of it can be had, in blocks of any size, one size after the other; beyond it is null.
    for (const std::size_t size : {std::size_t{16}, std::size_t{100}, std::size_t{4096},
                                   std::size_t{50'000}, std::size_t{300'000}, mebibyte}) {
      const std::size_t bytes = use_up(size);
      REQUIRE(bytes >= prefaulted / 10 * 8 && bytes <= prefaulted / 10 * 11);
    }
    REQUIRE(xmalloc(2 * prefaulted) == nullptr);
    REQUIRE(ashlar_trim() == 0);
    REQUIRE(churn_process_heap(200'000) == 0);
  });
  REQUIRE(xmalloc(2 * prefaulted) == nullptr);
  ashlar_unseal();
  void* const large = xmalloc(2 * prefaulted);
  REQUIRE(large != nullptr);
  xfree(large);
}

/// Effects: the code of the program and its libraries, and the stack for any call, are in memory:
/// that is not the heap's to do.
[[gnu::noinline]] void touch_code_and_stack() {
  volatile char stack[64 * 1024];
  for (std::size_t i = 0; i < sizeof stack; i += 1024) stack[i] = 0;
  const auto read_code = [](dl_phdr_info* of, std::size_t, void*) {
    for (int i = 0; i != of->dlpi_phnum; ++i) {
      const auto& part = of->dlpi_phdr[i];
      const volatile char* const begin =
          reinterpret_cast<const char*>(of->dlpi_addr + part.p_vaddr);
      if (part.p_type == PT_LOAD && (part.p_flags & PF_X) != 0)
        for (std::size_t byte = 0; byte < part.p_memsz; byte += 1024)
          static_cast<void>(begin[byte]);
    }
    return 0;
  };
  ::dl_iterate_phdr(read_code, nullptr);
}

/// The page faults of 200,000 steps in a process that sealed its heap.
long faults_when_sealed() {
  touch_code_and_stack();
  REQUIRE(ashlar_prefault(prefaulted, 0) == 0);
  ashlar_seal();
  std::memset(static_cast<void*>(blocks.data()), 0, sizeof blocks);
  rusage usage{};
  const auto faults = [&] {
    REQUIRE(::getrusage(RUSAGE_SELF, &usage) == 0);
    return usage.ru_minflt + usage.ru_majflt;
  };
  static_cast<void>(churn_process_heap(100));  // the test's own data
  const auto before = faults();
  REQUIRE(churn_process_heap(200'000) == 0);
  return faults() - before;
}

PROGRAM(no_page_fault) {
  // A kernel that moves a page (compaction, huge pages) makes a fault that is nobody's. A page the
  // heap did not touch makes one in each fresh process, so one of three has to be without.
  for (int attempt = 0; attempt < 3; ++attempt) {
    const int status = support::exit_status_of([] {  // nothing has used the heap yet
      const long faults = faults_when_sealed();
      std::printf("%ld page faults in 200000 steps\n", faults);
      std::fflush(stdout);
      return faults == 0 ? 0 : 1;
    });
    REQUIRE(status != -1);
    if (status == 0) return;
  }
  std::exit(1);
}

PROGRAM(instance) {
  heap<> h({.budget_bytes = 2 * prefaulted});
  REQUIRE(!h.prefault(3 * prefaulted));  // more than the budget
  REQUIRE(h.prefault(prefaulted));
  h.seal();
  require_no_system_call([&] {
    const auto take = [&](std::size_t size) { return h.try_allocate(size); };
    REQUIRE(churn(
                200'000, take,
                [&](void* p, std::size_t size) {
                  h.deallocate(p);
                  return take(size);
                },
                [&](void* p) { h.deallocate(p); }) == 0);
    REQUIRE(h.try_allocate(prefaulted + prefaulted / 2) == nullptr);
  });
  h.unseal();
  void* const more = h.try_allocate(prefaulted + prefaulted / 4);
  REQUIRE(more != nullptr);
  h.deallocate(more);
}

}  // namespace
