// A row for each allocator that was measured, for scripts and readers, and what it has to hold.
#pragma once

#include <cstddef>
#include <cstdint>

#include "board/semihosting.hpp"
#include "call_pattern.hpp"

namespace figures_report {

using call_pattern::extent;
using call_pattern::figures;

/// What the patterns ask for: always this size, or any up to 256 bytes.
struct block {
  std::uint32_t words[12];
};
inline constexpr auto one_size = [](call_pattern::random_numbers&) { return sizeof(block); };
inline constexpr auto mixed_sizes = [](call_pattern::random_numbers& random) {
  return std::size_t{random.below(256)} + 1;
};

/// The most that a call may take. They are promised of one processor and level, and looked at there.
struct bounds {
  std::uint32_t allocation, free;
};
inline constexpr bounds unbounded{UINT32_MAX, UINT32_MAX};
#if defined(CHECK_BOUNDS)
inline constexpr bool checks_bounds = true;
#else
inline constexpr bool checks_bounds = false;
#endif

inline bool all_good = true;

inline void expect(bool holds, const char* name, const char* what) noexcept {
  if (holds) return;
  board::write_all("FAILED: ", name, ": ", what, "\n");
  all_good = false;
}

inline void write(const extent& e) noexcept {
  board::write_all("|", e.calls == 0 ? 0 : e.least, "|", e.mean(), "|", e.most);
}

/// row|name|first use|allocation|refusal|free, each as least|mean|most.
inline void report(const char* name, const figures& f, bool constant, bounds most) noexcept {
  board::write_all("row|", name);
  write(f.first_use);
  write(f.allocation);
  write(f.refusal);
  write(f.free);
  board::write("\n");
  expect(f.is_right, name, "a block was refused, handed out twice, or changed");
  if (constant) {
    expect(f.allocation.is_constant(), name, "allocation is not constant-time");
    expect(f.free.is_constant(), name, "free is not constant-time");
    expect(f.refusal.is_constant(), name, "refusal is not constant-time");
  }
  if (checks_bounds) {
    expect(f.allocation.most <= most.allocation, name, "allocation takes more than its bound");
    expect(f.free.most <= most.free, name, "free takes more than its bound");
  }
}

/// Effects: starts the counter; ends the image where it cannot be believed.
inline void require_calibrated_counter() noexcept {
  instruction_counter::start();
  if (instruction_counter::is_calibrated()) return;
  board::write(
      "FAILED: the counter is off: qemu needs -icount shift=7, and this board another "
      "BOARD_CLOCK_HZ\n");
  board::exit(2);
}

}  // namespace figures_report
