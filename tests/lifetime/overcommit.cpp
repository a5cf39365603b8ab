// A system that counts what it promises (vm.overcommit_memory = 2): reserved addresses must not be
// charged. What would be charged can be read off the mappings in every mode.
#include <tests/lifetime/program.hpp>

namespace {

/// Returns: the bytes of mappings that the system charges to this process ("ac" among its flags).
std::size_t charged_bytes() {
  std::FILE* const file = std::fopen("/proc/self/smaps", "re");
  if (file == nullptr) return 0;
  char line[512];
  std::size_t size = 0, sum = 0;
  while (std::fgets(line, sizeof line, file) != nullptr) {
    if (std::strncmp(line, "Size:", 5) == 0) size = std::strtoul(line + 5, nullptr, 10) * 1024;
    if (std::strncmp(line, "VmFlags:", 8) == 0 && std::strstr(line, " ac") != nullptr) sum += size;
  }
  std::fclose(file);
  return sum;
}

PROGRAM(charged) {
  busy::use_every_path(1);
  const std::size_t at_start = charged_bytes();
  if (at_start == 0) support::skipped("/proc/self/smaps does not tell what is charged");
  std::printf("charged: %zu KiB of %zu MiB of addresses\n", at_start / 1024,
              support::address_space_bytes() / mebibyte);
  REQUIRE(at_start < 64 * mebibyte && at_start < support::address_space_bytes());
  // Growth is charged, and little beyond it.
  constexpr std::size_t load = 100 * mebibyte, size = 5'000;
  static void* blocks[load / size];
  for (void*& block : blocks) {
    block = face::allocate(size);
    REQUIRE(block != nullptr);
  }
  const std::size_t grown = charged_bytes() - at_start;
  std::printf("charged for %zu MiB: %zu MiB\n", load / mebibyte, grown / mebibyte);
  REQUIRE(grown > load / 10 * 7 && grown < load / 10 * 13);  // some of it was free before
  for (void* block : blocks) face::release(block);
}

PROGRAM(strict) {
  if (support::figure_in("/proc/sys/vm/overcommit_memory", "") != 2)
    support::skipped("vm.overcommit_memory is not 2 (and stays as it is)");
  const std::size_t limit = support::figure_in("/proc/meminfo", "CommitLimit:") * 1024;
  REQUIRE(limit != 0);
  for (int i = 0; i < 100; ++i) {
    errno = 0;
    REQUIRE(face::allocate(limit + mebibyte) == nullptr);
    REQUIRE(errno == ENOMEM);
  }
  busy::use_every_path(1);
}

}  // namespace
