// The known faults of the classic MemManager. Each test: a model of ours that has the fault, and a
// probe that is false on the model and true on MemManager.h.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <tests/support/in_child.hpp>

#include <gtest/gtest.h>

#include "MemManager.h"

namespace {

// ---- malloc's alignment only --------------------------------------------------------------------

struct alignas(256) wide {
  char bytes[256];
};

/// Slots from where an allocator may put them that was told a size and no alignment: a multiple of 16.
struct sized_for_t {
  void* Allocate() { return memory + 16 + sizeof(wide) * used++; }
  void Deallocate(void*) { --used; }
  alignas(256) std::byte memory[16 + 4 * sizeof(wide)];
  std::size_t used = 0;
};

template <class Manager>
bool over_aligned_slots_are_aligned() {
  Manager manager;
  void* slots[4];
  bool aligned = true;
  for (void*& p : slots) {
    p = manager.Allocate();
    aligned = aligned && reinterpret_cast<std::uintptr_t>(p) % alignof(wide) == 0;
  }
  for (void* p : slots) manager.Deallocate(p);
  return aligned;
}

TEST(MemManagerFaults, over_aligned_type_gets_a_misaligned_block) {
  EXPECT_FALSE(over_aligned_slots_are_aligned<sized_for_t>());
  EXPECT_TRUE((over_aligned_slots_are_aligned<MemManager<wide, 4>>()));
}

// ---- assert as the only check -------------------------------------------------------------------

/// Two slots of a larger array, and a stack of what was freed; no check, as in a release build.
struct unchecked {
  void* Allocate() { return freed_count > 0 ? freed[--freed_count] : memory + made++; }
  void Deallocate(void* p) { freed[freed_count++] = static_cast<long*>(p); }
  ~unchecked() {}  // no leak is noticed either
  long memory[8] = {};
  std::size_t made = 0;
  long* freed[8] = {};
  std::size_t freed_count = 0;
};

template <class Manager>
bool is_never_more_than_full() {
  Manager manager;
  void* const a = manager.Allocate();
  void* const b = manager.Allocate();
  bool refused = false;
  try {
    refused = manager.Allocate() == nullptr;
  } catch (const std::bad_alloc&) {
    refused = true;
  }
  manager.Deallocate(b);
  manager.Deallocate(a);
  return refused;
}

TEST(MemManagerFaults, one_more_than_fits_is_checked_by_assert_only) {
  EXPECT_FALSE(is_never_more_than_full<unchecked>());
  EXPECT_TRUE((is_never_more_than_full<MemManager<long, 2>>()));
}

template <class Manager>
bool never_hands_out_what_is_not_its_own() {
  return !support::holds_in_child([] {
    static long elsewhere[2];
    Manager manager;
    manager.Deallocate(elsewhere);
    return manager.Allocate() == elsewhere;
  });
}

TEST(MemManagerFaults, a_foreign_pointer_is_checked_by_assert_only) {
  EXPECT_FALSE(never_hands_out_what_is_not_its_own<unchecked>());
  EXPECT_TRUE((never_hands_out_what_is_not_its_own<MemManager<long, 2>>()));
}

template <class Manager>
bool never_gives_one_slot_to_two() {
  return !support::holds_in_child([] {
    Manager manager;
    void* const p = manager.Allocate();
    manager.Deallocate(p);
    manager.Deallocate(p);
    return manager.Allocate() == manager.Allocate();
  });
}

TEST(MemManagerFaults, a_double_free_is_not_checked_at_all) {
  EXPECT_FALSE(never_gives_one_slot_to_two<unchecked>());
  EXPECT_TRUE((never_gives_one_slot_to_two<MemManager<long, 2>>()));
}

template <class Manager>
bool notices_what_was_not_given_back() {
  return !support::holds_in_child([] {
    Manager manager;
    return manager.Allocate() != nullptr;
  });
}

TEST(MemManagerFaults, a_leak_is_checked_by_assert_only) {
  EXPECT_FALSE(notices_what_was_not_given_back<unchecked>());
  EXPECT_TRUE((notices_what_was_not_given_back<MemManager<long, 2>>()));
}

// ---- a stack of MaxSize pointers inside ---------------------------------------------------------

template <class T, std::size_t MaxSize>
struct stack_inside {
  T* data;
  T* freed[MaxSize];
  std::size_t available, made;
};

template <class Manager>
constexpr bool is_small_whatever_its_capacity() {
  return sizeof(Manager) <= 32 * sizeof(void*);
}

TEST(MemManagerFaults, the_object_holds_as_many_pointers_as_it_has_slots) {
  EXPECT_FALSE((is_small_whatever_its_capacity<stack_inside<int, 1000>>()));
  EXPECT_TRUE((is_small_whatever_its_capacity<MemManager<int, 1000>>()));
  EXPECT_TRUE((is_small_whatever_its_capacity<MemManager<int, 10'000'000>>()));
}

}  // namespace
