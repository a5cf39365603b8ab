// Tests of MemManager.h, among them a program in the style of the classic's own.
#include <tests/support/shared_blocks.hpp>
#include <tests/support/test_headers.hpp>

#include "MemManager.h"

namespace {

/// A class with operators of its own, as the classic's users wrote them: they must be the ones
/// used.
class Dummy {
 public:
  explicit Dummy(int v) : value(v) { log += "ctor" + std::to_string(v) + " "; }
  ~Dummy() { log += "dtor" + std::to_string(value) + " "; }

  static void* operator new(std::size_t, MemManager<Dummy>& pool) {
    log += "new ";
    return pool.Allocate();
  }
  static void operator delete(void* p, MemManager<Dummy>& pool) {
    log += "delete ";
    pool.Deallocate(p);
  }
  static inline std::string log;
  int value;
};

static_assert(sizeof(MemManager<int, 1'000'000>) == sizeof(MemManager<int, 10>));
static_assert(sizeof(MemManager<int>) <= 24 * sizeof(void*), "not a stack of 1000 pointers");
static_assert(!std::is_copy_constructible_v<MemManager<int>>);
static_assert(!std::is_move_constructible_v<MemManager<int>>);

TEST(MemManager, the_documents_program_reuses_in_the_documents_order) {
  Dummy::log.clear();
  MemManager<Dummy> pool;
  std::vector<Dummy*> allocated;
  for (int i = 0; i < 4; ++i) allocated.push_back(new (pool) Dummy(i));
  const std::vector<Dummy*> first = allocated;
  const auto address = [&](std::size_t i) { return reinterpret_cast<std::uintptr_t>(first[i]); };
  const std::uintptr_t slot = address(1) - address(0);
  EXPECT_EQ(slot, ashlar::detail::tools_present ? sizeof(void*) : sizeof(Dummy));
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(address(i), address(0) + i * slot);

  const auto end = [&](std::size_t i) {
    allocated[i]->~Dummy();
    Dummy::operator delete(allocated[i], pool);
  };
  end(0);
  end(1);
  for (std::size_t i = 0; i < 2; ++i) allocated[i] = new (pool) Dummy(static_cast<int>(i));
  EXPECT_EQ(allocated[0], first[1]) << "freed last, used first";
  EXPECT_EQ(allocated[1], first[0]);
  for (std::size_t i = 0; i < 4; ++i) end(i);
  EXPECT_EQ(Dummy::log,
            "new ctor0 new ctor1 new ctor2 new ctor3 dtor0 delete dtor1 delete "
            "new ctor0 new ctor1 dtor0 delete dtor1 delete dtor2 delete dtor3 delete ");
  EXPECT_EQ(pool.stats().blocks_in_use, 0u);
}

struct plain {
  explicit plain(int v) : value(v) {
    if (v < 0) throw std::invalid_argument("negative");
  }
  std::int64_t value;
};

TEST(MemManager, new_works_for_a_type_without_operators) {
  MemManager<plain, 2> pool;
  plain* const a = new (pool) plain(1);
  EXPECT_THROW(new (pool) plain(-1), std::invalid_argument);
  EXPECT_EQ(pool.stats().blocks_in_use, 1u) << "the constructor threw: the slot is back";
  plain* const b = new (pool) plain(2);
  EXPECT_THROW((void)new (pool) plain(3), std::bad_alloc);
  EXPECT_EQ(a->value, 1);
  EXPECT_EQ(b->value, 2);
  pool.destroy(a);
  b->~plain();
  ::operator delete(b, pool);
}

TEST(MemManager, the_exhaustion_policy_is_a_parameter) {
  MemManager<int, 1, ashlar::exhaustion::null> pool;
  static_assert(noexcept(pool.Allocate()));
  void* const p = pool.Allocate();
  EXPECT_EQ(pool.Allocate(), nullptr);
  EXPECT_EQ(new (pool) int(3), nullptr);
  pool.Deallocate(p);
}

TEST(MemManager, over_aligned_types_are_aligned) {
  struct alignas(128) wide {
    char bytes[130];
  };
  MemManager<wide, 5> pool;
  wide* objects[5];
  for (wide*& w : objects) {
    w = new (pool) wide;
    EXPECT_TRUE(ashlar::is_aligned(w, 128));
  }
  for (wide* w : objects) pool.destroy(w);
}

TEST(MemManager, a_lock_makes_it_thread_safe) {
  MemManager<std::uint64_t, 16, std::mutex, ashlar::exhaustion::null> pool;
  const std::size_t got = support::share_blocks(
      {.size_most = sizeof(std::uint64_t)}, [&](std::size_t) { return pool.Allocate(); },
      [&](void* p, std::size_t) { pool.Deallocate(p); });
  EXPECT_EQ(pool.stats().allocations, got);
  EXPECT_TRUE(pool.audit());
}

/// A page source that has nothing.
struct no_memory {
  static void* allocate(std::size_t, std::size_t) noexcept { return nullptr; }
  static void deallocate(void*, std::size_t, std::size_t) noexcept {}
};

TEST(MemManager, memory_that_cannot_be_had_is_bad_alloc_at_once) {
  using pool = MemManager<int, 10, no_memory>;
  EXPECT_THROW(pool{}, std::bad_alloc);
  using huge = MemManager<char, SIZE_MAX / 2>;
  EXPECT_THROW(huge{}, std::bad_alloc);
}

TEST(MemManagerDeathTest, misuse_is_reported) {
  int elsewhere = 0;
  MemManager<std::int64_t, 10> pool;
  auto* const p = static_cast<int*>(pool.Allocate());
  EXPECT_DEATH(pool.Deallocate(&elsewhere), "ashlar: Deallocate\\(0x.*not allocated here");
  EXPECT_DEATH(pool.Deallocate(p + 1), "ashlar: Deallocate\\(0x.*inside a block");
  EXPECT_DEATH(pool.deallocate(p + 1), "ashlar: deallocate\\(0x.*inside a block");
  EXPECT_DEATH(pool.destroy(reinterpret_cast<std::int64_t*>(p + 1)),
               "ashlar: destroy\\(0x.*inside a block");
  EXPECT_DEATH(pool.Deallocate(p + 2), "ashlar: Deallocate\\(0x.*no block is in use");
  pool.Deallocate(p);
  EXPECT_DEATH(pool.Deallocate(p), "ashlar: Deallocate\\(0x.*double free");
  EXPECT_DEATH(
      {
        MemManager<int> leaking;
        (void)leaking.Allocate();
      },
      "ended with blocks in use");
  {
    MemManager<int, 10, ashlar::at_death::ignore> quiet;
    (void)quiet.Allocate();
  }
}

}  // namespace
