// Every entry point that takes a size and an alignment, for each size from 1 to 4096 bytes and each power of
// two from 1 to 4096: the block is aligned, its first and last byte are the caller's, neighbours do not
// overlap, and it can be given back. Under UBSan, a misaligned object made in the block would be reported too.
#include <tests/support/test_headers.hpp>

#include <ashlar/ashlar.hpp>

namespace {

constexpr std::size_t size_max = 4096;
constexpr std::size_t alignment_max = 4096;
constexpr std::size_t held_at_once = 8;

/// Effects: holds `held_at_once` blocks at a time, so that neighbours exist, and reads back what it wrote to
/// their ends. `allocate(size, alignment)` and `deallocate(p, size, alignment)` are the entry point.
template <class Allocate, class Deallocate, class Afterwards = decltype([] {})>
void every_size_and_alignment(Allocate allocate, Deallocate deallocate,
                              Afterwards afterwards = {}) {
  for (std::size_t alignment = 1; alignment <= alignment_max; alignment *= 2) {
    for (std::size_t size = 1; size <= size_max; ++size) {
      unsigned char* held[held_at_once];
      for (std::size_t i = 0; i < held_at_once; ++i) {
        held[i] = static_cast<unsigned char*>(allocate(size, alignment));
        ASSERT_NE(held[i], nullptr) << size << " bytes at " << alignment;
        ASSERT_EQ(reinterpret_cast<std::uintptr_t>(held[i]) % alignment, 0u)
            << size << " bytes at " << alignment;
        held[i][0] = static_cast<unsigned char>(i);
        held[i][size - 1] = static_cast<unsigned char>(i + 100);
        if (size == 1) held[i][0] = static_cast<unsigned char>(i);
      }
      for (std::size_t i = held_at_once; i-- > 0;) {
        ASSERT_EQ(held[i][0], i) << size << " bytes at " << alignment;
        if (size > 1) {
          ASSERT_EQ(held[i][size - 1], i + 100) << size << " bytes at " << alignment;
        }
        deallocate(held[i], size, alignment);
      }
      afterwards();
    }
  }
}

/// The same for anything with the functions of a sized component.
template <class Component>
void every_size_and_alignment_of(Component& component) {
  every_size_and_alignment(
      [&](std::size_t n, std::size_t a) { return component.allocate(n, a); },
      [&](void* p, std::size_t n, std::size_t a) { component.deallocate(p, n, a); },
      [&] {
        if constexpr (requires { component.reset(); }) component.reset();  // an arena keeps padding
      });
}

TEST(Alignment, xaligned_alloc) {
  every_size_and_alignment([](std::size_t n, std::size_t a) { return xaligned_alloc(a, n); },
                           [](void* p, std::size_t, std::size_t) { xfree(p); });
}

// malloc's promise: any object of that size, so the largest power of two that fits, up to 16.
TEST(Alignment, xmalloc_xcalloc_xrealloc) {
  for (std::size_t size = 1; size <= size_max; ++size) {
    void* const made[] = {xmalloc(size), xcalloc(1, size), xrealloc(xmalloc(size / 2), size)};
    for (void* p : made) {
      ASSERT_EQ(reinterpret_cast<std::uintptr_t>(p) % alignof(std::max_align_t), 0u) << size;
      xfree(p);
    }
  }
}

TEST(Alignment, fixed_pool) {
  std::vector<std::byte> storage(4 * 1024 * 1024);
  for (std::size_t alignment = 1; alignment <= alignment_max; alignment *= 2) {
    for (std::size_t size = 1; size <= size_max; ++size) {
      const ashlar::block_layout block{.size_bytes = size, .alignment = alignment};
      // The storage starts at an odd address on purpose.
      ashlar::fixed_pool<> pool(
          block, std::span(storage).subspan(1, ashlar::fixed_pool<>::storage_bytes(block, 3)));
      ASSERT_GE(pool.capacity(), 3u) << size << " bytes at " << alignment;
      for (int i = 0; i < 3; ++i) {
        void* const p = pool.allocate();
        ASSERT_NE(p, nullptr);
        ASSERT_EQ(reinterpret_cast<std::uintptr_t>(p) % alignment, 0u)
            << size << " bytes at " << alignment;
        std::memset(p, i, size);
      }
    }
  }
}

TEST(Alignment, heap_instance) {
  ashlar::heap<> heap;
  every_size_and_alignment_of(heap);
}

TEST(Alignment, arena) {
  std::vector<std::byte> storage(16 * 2 * (size_max + alignment_max));
  ashlar::arena<> arena(std::span<std::byte>(storage).subspan(1));
  every_size_and_alignment_of(arena);
}

TEST(Alignment, static_arena) {
  static constinit ashlar::static_arena<16 * 2 * (size_max + alignment_max)> arena;
  every_size_and_alignment_of(arena);
}

TEST(Alignment, pool_set) {
  static constinit ashlar::static_pool_set<ashlar::blocks<16, 16>, ashlar::blocks<48, 16>,
                                           ashlar::blocks<396, 16>, ashlar::blocks<1024, 16, 1024>,
                                           ashlar::blocks<4096, 16, 4096>>
      set;
  every_size_and_alignment_of(set);
}

TEST(Alignment, refill_lists) {
  ashlar::refill_lists<ashlar::process_source, size_max, 8> lists;
  every_size_and_alignment_of(lists);
}

/// An object of 4096 / k bytes at each alignment: the typed entry points know both at compile time.
template <std::size_t Size, std::size_t Alignment>
struct alignas(Alignment) object {
  unsigned char bytes[Size < Alignment ? Alignment : Size];
  object() noexcept { bytes[0] = 1; }
};

template <std::size_t Size, std::size_t Alignment>
void typed_entry_points() {
  using type = object<Size, Alignment>;
  const auto aligned = [](const type* p) {
    return reinterpret_cast<std::uintptr_t>(p) % alignof(type) == 0;
  };
  ashlar::allocator<type> a;
  for (const std::size_t n : {1u, 2u, 3u, 7u}) {
    type* const p = a.allocate(n);
    EXPECT_TRUE(aligned(p)) << Size << " " << Alignment << " " << n;
    ::new (static_cast<void*>(p + n - 1)) type;
    a.deallocate(p, n);
  }
  static constinit ashlar::static_pool<type, 3> pool;
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(aligned(pool.create()));
}

template <std::size_t Alignment, std::size_t... Steps>
void typed_at(std::index_sequence<Steps...>) {
  constexpr std::size_t step = size_max / sizeof...(Steps);
  (typed_entry_points<Steps * step + 1, Alignment>(), ...);
}

TEST(Alignment, allocator_and_static_pool_of_types) {
  using steps = std::make_index_sequence<support::tests_all ? 42 : 6>;
  typed_at<1>(steps{});
  typed_at<8>(steps{});
  typed_at<16>(steps{});
  typed_at<64>(steps{});
  typed_at<512>(steps{});
  typed_at<4096>(steps{});
}

}  // namespace
