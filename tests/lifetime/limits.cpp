// Out of memory for real: the program limits its own address space (or data), starts itself again
// so that the heap begins its life inside the limit, and then asks for more than there is.
// The block lists live in the blocks themselves: a program that is out of memory has no other
// place.
#define PROGRAMS_WITHOUT_MAIN
#include <tests/lifetime/addresses.hpp>
#include <tests/lifetime/program.hpp>

namespace {

using addresses::hoard;
constexpr std::size_t limit = 300 * mebibyte;

// Memory that was small blocks can become large ones, and the other way round.
PROGRAM(exhaust) {
  for (const std::size_t size : {std::size_t{64}, std::size_t{1'000}, std::size_t{20'000},
                                 std::size_t{150'000}, 3 * mebibyte, std::size_t{32}}) {
    for (int round = 0; round < 2; ++round) {
      hoard all;
      const std::size_t reached = all.fill(size);
      std::printf("blocks of %zu bytes: %zu MiB until null\n", size, reached / mebibyte);
      REQUIRE(reached > 150 * mebibyte);
      // Again and again: a refusal must not break anything, nor make a smaller request impossible
      // once there is room.
      for (int i = 0; i < 100; ++i) REQUIRE(face::allocate(16 * mebibyte) == nullptr);
      REQUIRE(face::allocate_zeroed(10, 20 * mebibyte) == nullptr && errno == ENOMEM);
      REQUIRE(face::allocate_aligned(mebibyte, 100 * mebibyte) == nullptr && errno == ENOMEM);
      all.drop();
      hoard again;
      REQUIRE(again.fill(size, 100 * mebibyte) >= 100 * mebibyte);
      again.drop();
    }
  }
}

// 200 of 300 MiB, in small blocks of several sizes.
PROGRAM(use_most) {
  hoard all;
  const std::size_t sizes[] = {24, 64, 100, 256, 48, 512, 1'024, 32};
  std::size_t bytes = 0;
  for (std::size_t i = 0; bytes < 200 * mebibyte; ++i) {
    REQUIRE(all.grow(sizes[i % 8]));
    bytes += sizes[i % 8];
  }
  all.drop();
}

PROGRAM(failed_realloc) {
  void* block = face::allocate(50 * mebibyte);
  REQUIRE(block != nullptr);
  support::fill_pattern(block, 5, 50 * mebibyte);
  errno = 0;
  REQUIRE(face::reallocate(block, 400 * mebibyte) == nullptr);
  REQUIRE(errno == ENOMEM);
  REQUIRE(support::find_damage(block, 5, 50 * mebibyte) == 50 * mebibyte);
  face::release(block);

  void* small = face::allocate(1'000);
  REQUIRE(small != nullptr);
  support::fill_pattern(small, 6, 1'000);
  hoard all;
  all.fill(200'000);
  all.fill(2'000);
  REQUIRE(face::reallocate(small, 20 * mebibyte) == nullptr);
  REQUIRE(support::find_damage(small, 6, 1'000) == 1'000);
  all.drop();
  small = face::reallocate(small, 20 * mebibyte);
  REQUIRE(small != nullptr);
  REQUIRE(support::find_damage(small, 6, 1'000) == 1'000);
  face::release(small);
}

// Threads run dry together, free everything, and none is left behind.
PROGRAM(threads_exhaust) {
  constexpr int count = 4;
  for (int round = 0; round < 3; ++round) {
    std::thread threads[count];
    for (int k = 0; k < count; ++k) {
      threads[k] = std::thread([k] {
        support::random_source random(static_cast<std::uint64_t>(k));
        for (int i = 0; i < 3; ++i) {
          hoard all;
          while (all.grow(16 + random.below(random.chance(99) ? 3'000 : 400'000))) {
          }
          all.drop();
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    hoard all;
    // Everything is free again; a sixth must be within reach of any size, whatever threads left.
    const std::size_t reached = all.fill(700, 50 * mebibyte);
    std::printf("after round %d: %zu MiB\n", round, reached / mebibyte);
    std::fflush(stdout);
    REQUIRE(reached >= 50 * mebibyte);
    all.drop();
  }
}

}  // namespace

// limits MODE address_space|data
int main(int argument_count, char** arguments) {
  if (argument_count == 3) {
    const int resource = std::strcmp(arguments[2], "data") == 0 ? RLIMIT_DATA : RLIMIT_AS;
    const rlimit small = {limit, limit};
    REQUIRE(::setrlimit(static_cast<__rlimit_resource_t>(resource), &small) == 0);
    char* const again[] = {arguments[0], arguments[1], nullptr};
    REQUIRE(::execv("/proc/self/exe", again) == 0);  // comes back only when it has failed
  }
  return run_program(arguments[1]);
}
