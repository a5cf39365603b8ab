// The known faults of the classic SizeBasedArena. Each test: a model of ours that has the fault, and
// a probe that is false on the model and true on SizeBasedArena.h.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <tests/support/in_child.hpp>

#include <gtest/gtest.h>

#include "SizeBasedArena.h"

namespace {

struct orc {
  double strength, smell;
};

/// Room for four, and a cursor that nobody compares with the end (which here is still in the object,
/// so that the model itself is no overrun).
struct unbounded {
  static constexpr std::size_t bytes = 4 * sizeof(orc);
  void* object(std::size_t) { return take(1); }
  void* array(std::size_t size) { return take(size / sizeof(orc)); }
  [[nodiscard]] bool owns(const void* p) const { return p >= memory && p < memory + bytes; }
  void* take(std::size_t n) {
    std::byte* const p = cursor;
    cursor += n * sizeof(orc);
    return p;
  }
  alignas(16) std::byte memory[4 * bytes];
  std::byte* cursor = memory;
};
/// As its first version: arrays were not thought of.
struct no_arrays : unbounded {
  void* array(std::size_t) { std::abort(); }
};

/// SizeBasedArena.h as a class's operators use it. `Tag` makes another arena, since there is one for
/// each type.
template <int Tag, class... Options>
struct ours {
  struct tagged : orc {};
  using arena = SizeBasedArena<tagged, 4, Options...>;
  void* object(std::size_t size) { return arena::get().allocate_object(size); }
  void* array(std::size_t size) { return arena::get().allocate_array(size); }
  [[nodiscard]] bool owns(const void* p) const { return arena::get().owns(p); }
};
using ashlar::arena_option::reuse;

// ---- no bound check -----------------------------------------------------------------------------

template <class Arena>
bool hands_out_its_own_memory_only() {
  Arena arena;
  for (int i = 0; i < 8; ++i) {
    try {
      if (!arena.owns(arena.object(sizeof(orc)))) return false;
    } catch (const std::bad_alloc&) {
      return i == 4;
    }
  }
  return false;
}

TEST(ArenaFaults, nobody_compares_the_cursor_with_the_end) {
  EXPECT_FALSE(hands_out_its_own_memory_only<unbounded>());
  EXPECT_TRUE(hands_out_its_own_memory_only<ours<1>>());
  EXPECT_TRUE((hands_out_its_own_memory_only<ours<1, reuse>>()));
}

// ---- derived classes ----------------------------------------------------------------------------

struct mean_orc : orc {
  float bonus;
};

/// Whether two objects of a larger derived class share no byte, or are refused.
template <class Arena>
bool derived_objects_do_not_overlap() {
  return !support::holds_in_child([] {
    Arena arena;
    auto* const a = static_cast<std::byte*>(arena.object(sizeof(mean_orc)));
    auto* const b = static_cast<std::byte*>(arena.object(sizeof(mean_orc)));
    return std::max(a, b) - std::min(a, b) < static_cast<std::ptrdiff_t>(sizeof(mean_orc));
  });
}

TEST(ArenaFaults, a_derived_class_takes_too_small_a_block) {
  EXPECT_FALSE(derived_objects_do_not_overlap<unbounded>());
  EXPECT_TRUE(derived_objects_do_not_overlap<ours<2>>());
  EXPECT_TRUE((derived_objects_do_not_overlap<ours<2, reuse>>()));
}

// ---- arrays -------------------------------------------------------------------------------------

template <class Arena>
bool has_arrays() {
  return support::holds_in_child([] {
    Arena arena;
    return arena.array(2 * sizeof(orc)) != nullptr;
  });
}

TEST(ArenaFaults, operator_new_array_asserts) {
  EXPECT_FALSE(has_arrays<no_arrays>());
  EXPECT_TRUE(has_arrays<ours<3>>());
  EXPECT_TRUE((has_arrays<ours<3, reuse>>()));
}

/// Whether an array's last byte, the cookie in front counted, is before the next object.
template <class Arena>
bool arrays_have_room_for_their_cookie() {
  constexpr std::size_t bytes = sizeof(std::size_t) + 2 * sizeof(orc);
  Arena arena;
  auto* const array = static_cast<std::byte*>(arena.array(bytes));
  auto* const next = static_cast<std::byte*>(arena.object(sizeof(orc)));
  return array + bytes <= next;
}

TEST(ArenaFaults, the_bytes_of_an_arrays_cookie_are_rounded_away) {
  EXPECT_FALSE(arrays_have_room_for_their_cookie<unbounded>());
  EXPECT_TRUE(arrays_have_room_for_their_cookie<ours<4>>());
  EXPECT_TRUE((arrays_have_room_for_their_cookie<ours<4, reuse>>()));
}

}  // namespace
