// sweep/heap_check.cpp: part of each program that the sweep runs, and of its copy of the drop-in library: the process
// heap looks at itself when the process ends. Without failing_pages.c, which is preloaded, nothing of it is called.

#include <sys/mman.h>
#include <tests/sweep/failing_pages.h>
#include <unistd.h>

#include <ashlar/os/system_call.hpp>
#include <ashlar/runtime/process_heap.hpp>

#pragma weak sweep_at_end
#pragma weak sweep_lost_bytes

namespace {

using namespace ashlar;

[[noreturn]] void fail(const char* what, std::size_t bytes) {
  line_writer<160> line;
  line << "sweep: " << what << ": " << bytes << " bytes";
  line.end_line();
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, line.data(), line.size());
  ::_exit(99);
}

/// Returns: whether the system gives so much to anybody: a program may have a limit of its own.
bool system_has(std::size_t bytes) {
  void* const p =
      ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return p != MAP_FAILED && ::munmap(p, bytes) == 0;
}

void expect_served(std::size_t size) {
  auto* const block = static_cast<volatile unsigned char*>(runtime::allocate(size));
  if (block == nullptr) fail("refused although there is memory again", size);
  block[0] = 1;
  block[size - 1] = 1;
  runtime::deallocate(const_cast<unsigned char*>(block), "sweep");
}

/// What was refused before must not be refused for good, of any class.
void expect_serves() {
  constexpr std::size_t large = std::size_t{3} << 20;
  if (!system_has(8 * large)) return;
  for (std::size_t c = 1; c < class_count; ++c)
    expect_served(runtime::process_heap::classes::block_size(static_cast<class_index>(c)));
  expect_served(large);
}

/// After a trim, committed pages are those of slabs and large blocks; what is more was dropped by a path that failed.
/// Returns: bytes in use.
std::uint64_t expect_nothing_dropped() {
  runtime::trim();
  static ashlar_stats now;  // 8 KiB, which not every stack has left
  runtime::collect(now);
  std::uint64_t accounted = now.large.committed_bytes;
  for (std::uint32_t c = 0; c < now.class_count; ++c) accounted += now.classes[c].committed_bytes;
  // Pages whose fresh mapping was refused are given up, on purpose.
  const std::uint64_t given_up = sweep_lost_bytes();
  const std::uint64_t committed = now.total.committed_bytes;
  if (committed < accounted || committed - accounted > given_up)
    fail("committed pages that nobody has", committed - accounted);
  return now.total.bytes_in_use;
}

std::uint64_t check() {
  runtime::the_heap.seal(false);
  runtime::the_heap.audit();
  expect_serves();
  const std::uint64_t in_use = expect_nothing_dropped();
  runtime::the_heap.audit();
  return in_use;
}

[[gnu::constructor]] void register_check() {
  if (sweep_at_end != nullptr) sweep_at_end(check);
}

}  // namespace

#if ASHLAR_HAS_SYSTEM_CALL
// The drop-in library's calls go to failing_pages.c, which looks at its caller: so this is a jump.
__asm__(R"(
  .text
  .globl ashlar_system_call
  .hidden ashlar_system_call
  .type ashlar_system_call, @function
ashlar_system_call:
  jmp syscall@PLT
  .size ashlar_system_call, . - ashlar_system_call
)");
#endif
