// The known faults of the classic ChunkSizedAllocator. Each test: a model of ours that has the fault,
// and a probe that is false on the model and true on ChunkSizedAllocator.h or the set under it.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <tests/support/sanitizers.hpp>
#include <tests/support/single_step.hpp>
#include <utility>

#include <gtest/gtest.h>

#include <ashlar/core/bits.hpp>
#include <ashlar/pool/blocks.hpp>
#include <ashlar/pool/pool_set.hpp>

#include "ChunkSizedAllocator.h"

namespace {

/// Two blocks of 64 bytes, handed out once; what does not fit comes from operator new.
struct chunk {
  static constexpr std::size_t size = 64;
  void* allocate(std::size_t n) {
    if (n < size && used < 2) return memory + size * used++;  // never the size itself
    return ::operator new(n);
  }
  void deallocate(void* p) {
    if (!owns(p)) ::operator delete(p);  // and nothing for its own
  }
  [[nodiscard]] bool owns(const void* p) const { return p >= memory && p < memory + sizeof memory; }
  alignas(16) std::byte memory[2 * size];
  std::size_t used = 0;
};
using ours = ChunkSizedAllocator<2, 64>;

template <class Chunks>
bool an_exact_fit_is_used() {
  Chunks chunks;
  void* const p = chunks.allocate(64);
  const bool used = chunks.owns(p);
  chunks.deallocate(p);
  return used;
}

TEST(ChunkFaults, an_exact_fit_is_never_used) {
  EXPECT_FALSE(an_exact_fit_is_used<chunk>());
  EXPECT_TRUE(an_exact_fit_is_used<ours>());
}

template <class Chunks>
bool memory_is_reused() {
  Chunks chunks;
  bool own = true;
  for (int i = 0; i < 3; ++i) {
    void* const p = chunks.allocate(20);
    own = own && chunks.owns(p);
    chunks.deallocate(p);
  }
  return own;
}

TEST(ChunkFaults, memory_is_never_reused) {
  EXPECT_FALSE(memory_is_reused<chunk>());
  EXPECT_TRUE(memory_is_reused<ours>());
}

// ---- alignment above the class's ----------------------------------------------------------------

struct alignas(128) wide {
  char bytes[128];
};

/// Blocks of a wide's size from where malloc may put them: a multiple of 16.
struct aligned_as_malloc {
  std::byte* at = memory + 16;
  alignas(128) std::byte memory[16 + 4 * sizeof(wide)];
};
void* make_wide(aligned_as_malloc& chunks) {
  chunks.at += sizeof(wide);
  return chunks.at - sizeof(wide);
}
template <int N, auto... Sz>
void* make_wide(ChunkSizedAllocator<N, Sz...>& chunks) {
  return new (chunks) wide;
}
void end_wide(aligned_as_malloc&, void*) {}
template <int N, auto... Sz>
void end_wide(ChunkSizedAllocator<N, Sz...>& chunks, void* p) {
  ::operator delete(p, std::align_val_t{alignof(wide)}, chunks);
}

template <class Chunks>
bool over_aligned_objects_are_aligned() {
  Chunks chunks;
  void* objects[4];
  bool aligned = true;
  for (void*& p : objects) {
    p = make_wide(chunks);
    aligned = aligned && reinterpret_cast<std::uintptr_t>(p) % alignof(wide) == 0;
  }
  for (void* p : objects) end_wide(chunks, p);
  return aligned;
}

TEST(ChunkFaults, an_alignment_above_the_class_size_is_wrong) {
  EXPECT_FALSE(over_aligned_objects_are_aligned<aligned_as_malloc>());
  EXPECT_TRUE((over_aligned_objects_are_aligned<ChunkSizedAllocator<4, 128>>()));
  EXPECT_TRUE((over_aligned_objects_are_aligned<ChunkSizedAllocator<4, 20, 200>>()));
}

// ---- where the memory comes from ----------------------------------------------------------------

/// Pieces that are counted; one of them, the `fails_at`th, is refused. From a static array, so that
/// what the model leaks is nobody's.
struct counted_pieces {
  alignas(64) static inline std::byte memory[8192];
  static inline std::size_t used = 0;
  static inline int asked = 0, fails_at = 0, held = 0;
  static void* allocate(std::size_t n, std::size_t alignment) noexcept {
    used = ashlar::align_up(used, alignment);
    if (++asked == fails_at || n > sizeof memory - used) return nullptr;
    ++held;
    used += n;
    return memory + used - n;
  }
  static void deallocate(void*, std::size_t, std::size_t) noexcept { --held; }
};

/// A piece for each size; the constructor throws when one is missing, so the destructor never runs.
struct piece_for_each_size {
  piece_for_each_size() {
    for (int i = 0; i < 3; ++i) {
      pieces[i] = counted_pieces::allocate(std::size_t{64} << i, 16);
      if (pieces[i] == nullptr) throw std::bad_alloc();
    }
  }
  ~piece_for_each_size() {
    for (int i = 0; i < 3; ++i) counted_pieces::deallocate(pieces[i], std::size_t{64} << i, 16);
  }
  void* pieces[3] = {};
};
/// Our set over the same source, with ChunkSizedAllocator's constructor's answer to a missing piece.
struct one_piece_for_all : ashlar::pool_set<ashlar::blocks<64, 1>, ashlar::blocks<128, 1>,
                                            ashlar::blocks<256, 1>, counted_pieces> {
  one_piece_for_all() {
    if (!has_memory()) throw std::bad_alloc();
  }
};

template <class Chunks>
bool a_failed_construction_leaks_nothing() {
  bool nothing = true;
  for (int n = 1; n <= 3; ++n) {
    counted_pieces::asked = counted_pieces::held = 0;
    counted_pieces::used = 0;
    counted_pieces::fails_at = n;
    try {
      Chunks chunks;
      nothing = nothing && counted_pieces::held > 0;
    } catch (const std::bad_alloc&) {
    }
    nothing = nothing && counted_pieces::held == 0;
  }
  return nothing;
}

TEST(ChunkFaults, if_one_allocation_fails_the_rest_leak) {
  EXPECT_FALSE(a_failed_construction_leaks_nothing<piece_for_each_size>());
  EXPECT_TRUE(a_failed_construction_leaks_nothing<one_piece_for_all>());
}

// ---- foreign pointers ---------------------------------------------------------------------------

/// A piece for each size, and nothing that orders them: whose an address is, is asked of each.
template <std::size_t Sizes>
struct asks_each {
  [[nodiscard]] bool owns(const void* p) const {
    const auto a = reinterpret_cast<std::uintptr_t>(p);
    for (const std::uintptr_t piece : pieces) {
      if (a - piece < 64) return true;
    }
    return false;
  }
  asks_each() {
    for (std::size_t i = 0; i < Sizes; ++i) pieces[i] = (i * 7919 % Sizes + 1) * 4096;
  }
  std::uintptr_t pieces[Sizes];
};

template <class Indices>
struct sizes_of;
template <std::size_t... I>
struct sizes_of<std::index_sequence<I...>> {
  using chunks = ChunkSizedAllocator<1, (I + 1) * 16 ...>;
};
template <std::size_t Sizes>
using our_sizes = typename sizes_of<std::make_index_sequence<Sizes>>::chunks;

#if ASHLAR_TEST_STEPS
/// Returns: instructions that `chunks` takes to say that an address is foreign.
template <class Chunks>
std::uint64_t of_a_foreign(const Chunks& chunks) {
  static int elsewhere;
  const void* volatile p = &elsewhere;
  volatile bool mine = true;
  const std::uint64_t took = ashlar::test::instructions_of([&] { mine = chunks.owns(p); });
  EXPECT_FALSE(mine);
  return took;
}

/// Whether 24 times the sizes take less than 3 times the instructions.
template <template <std::size_t> class Chunks>
bool a_foreign_pointer_is_no_search_of_all() {
  const Chunks<2> few;
  const Chunks<48> many;
  return of_a_foreign(many) < 3 * of_a_foreign(few);
}
#endif

TEST(ChunkFaults, foreign_pointers_are_found_by_linear_search) {
#if ASHLAR_TEST_STEPS
  if (support::sanitized) GTEST_SKIP() << "a sanitizer's checks are counted, not the search";
  ashlar::test::be_ready_to_step();
  EXPECT_FALSE(a_foreign_pointer_is_no_search_of_all<asks_each>());
  EXPECT_TRUE(a_foreign_pointer_is_no_search_of_all<our_sizes>());
#else
  GTEST_SKIP() << "instructions are counted on x86-64 Linux alone";
#endif
}

}  // namespace
