// A process that locks its memory: what the heap only reserves must not become resident, and what it
// gives back must leave, although it was locked.
#include <tests/lifetime/program.hpp>

#include <sys/mman.h>

namespace {

constexpr std::size_t load = 16 * mebibyte;

/// What the system said to mlockall: 0, or errno.
int lock_everything(int what) { return ::mlockall(what) == 0 ? 0 : errno; }

void use_and_give_back() {
  const std::size_t before = support::resident_bytes();
  std::printf("locked: resident %zu KiB of %zu MiB of addresses\n", before / 1024,
              support::address_space_bytes() / mebibyte);
  REQUIRE(before < 64 * mebibyte);
  for (const std::size_t size : {std::size_t{200}, std::size_t{30'000}, 2 * mebibyte}) {
    void** const blocks = static_cast<void**>(face::allocate(load / size * sizeof(void*)));
    REQUIRE(blocks != nullptr);
    for (std::size_t i = 0; i < load / size; ++i) {
      blocks[i] = face::allocate(size);
      REQUIRE(blocks[i] != nullptr);
      std::memset(blocks[i], 0x11, size);
    }
    const std::size_t loaded = support::resident_bytes();
    for (std::size_t i = 0; i < load / size; ++i) face::release(blocks[i]);
    face::release(blocks);
    face::trim();
    const std::size_t after = support::resident_bytes();
    std::printf("blocks of %zu: loaded %zu KiB, given back %zu KiB\n", size, loaded / 1024,
                after / 1024);
    REQUIRE(loaded > before + load / 10 * 9);
    REQUIRE(loaded < before + load / 4 * 5 + 12 * mebibyte);
    REQUIRE(after < before + 12 * mebibyte);
  }
  busy::use_every_path(1);
  face::audit();
}

std::size_t locked_bytes() {
  return support::figure_in("/proc/self/smaps_rollup", "\nLocked:") * 1024;
}

/// Pages that were given back are not locked when they come again; pages that are kept stay locked.
PROGRAM(kept) {
  if (const int error = lock_everything(MCL_CURRENT | MCL_FUTURE); error != 0)
    support::skipped(std::strerror(error));
  constexpr std::size_t size = 60'000;
  static void* blocks[load / size];
  for (int round = 0; round < 2; ++round) {
    for (void*& block : blocks) {
      block = face::allocate(size);
      REQUIRE(block != nullptr);
      std::memset(block, 0x11, size);
    }
    std::printf("%zu of %zu KiB are locked\n", locked_bytes() / 1024,
                support::resident_bytes() / 1024);
    REQUIRE(locked_bytes() > load / 10 * 9);
    for (void* block : blocks) face::release(block);
  }
}

PROGRAM(after_start) {
  face::release(face::allocate(1));
  if (const int error = lock_everything(MCL_CURRENT | MCL_FUTURE); error != 0)
    support::skipped(std::strerror(error));
  use_and_give_back();
}

#ifndef ASHLAR_FACE_DROP_IN
/// Before any constructor, the heap's own included. (The drop-in library's comes before this, too.)
int early_error = -1;
void lock_early(int argument_count, char** arguments, char**) {
  if (argument_count > 1 && std::strcmp(arguments[1], "before_start") == 0)
    early_error = lock_everything(MCL_CURRENT | MCL_FUTURE);
}
[[gnu::section(".preinit_array"), gnu::used]] void (*const run_early)(int, char**,
                                                                      char**) = lock_early;

PROGRAM(before_start) {
  REQUIRE(early_error != -1);
  if (early_error != 0) support::skipped(std::strerror(early_error));
  use_and_give_back();
}
#endif

}  // namespace
