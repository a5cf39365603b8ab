// allocate_unique and allocate_shared over allocators and components.
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <tests/support/model_heap.hpp>
#include <tests/support/recording_allocator.hpp>

#include <gtest/gtest.h>

#include <ashlar/adapt/allocator.hpp>
#include <ashlar/adapt/smart_pointers.hpp>
#include <ashlar/pool/static_pool.hpp>

namespace {

using namespace ashlar;

struct counted {
  static inline int alive = 0;
  explicit counted(int v, bool fails = false) : value(v) {
    if (fails) throw std::runtime_error("constructor");
    ++alive;
  }
  counted(const counted&) = delete;
  counted& operator=(const counted&) = delete;
  ~counted() { --alive; }
  int value;
};

TEST(AllocateUnique, OverAnAllocatorIsOnePointer) {
  auto p = allocate_unique<counted>(allocator<int>(), 7);
  static_assert(sizeof(p) == sizeof(void*));
  EXPECT_EQ(p->value, 7);
  EXPECT_EQ(counted::alive, 1);
  decltype(p) empty;
  EXPECT_EQ(empty, nullptr);
  empty = std::move(p);
  EXPECT_EQ(p, nullptr);
  empty.reset();
  EXPECT_EQ(counted::alive, 0);
}

TEST(AllocateUnique, OverAPoolGivesTheBlockBack) {
  static_pool<counted, 2> pool;
  {
    auto a = allocate_unique<counted>(pool, 1);
    auto b = allocate_unique<counted>(pool, 2);
    EXPECT_TRUE(pool.owns(a.get()));
    EXPECT_THROW(static_cast<void>(allocate_unique<counted>(pool, 3)), std::bad_alloc);
    EXPECT_EQ(counted::alive, 2);
  }
  EXPECT_EQ(counted::alive, 0);
  EXPECT_EQ(pool.stats().blocks_in_use, 0u);
}

TEST(AllocateUnique, AConstructorThatThrowsHoldsNothing) {
  static_pool<counted, 1> pool;
  support::model_heap heap;
  EXPECT_THROW(static_cast<void>(allocate_unique<counted>(pool, 1, true)), std::runtime_error);
  EXPECT_THROW(static_cast<void>(allocate_unique<counted>(heap, 1, true)), std::runtime_error);
  EXPECT_EQ(pool.stats().blocks_in_use, 0u);
  EXPECT_EQ(heap.live_blocks(), 0u);
  EXPECT_EQ(counted::alive, 0);
}

TEST(AllocateUnique, OverAlignedObjects) {
  struct alignas(256) wide {
    int value = 3;
  };
  auto p = allocate_unique<wide>(allocator<int>());
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(p.get()) % 256, 0u);
}

TEST(AllocateShared, IsOneBlockOfAPoolThatIsDeclaredForIt) {
  static constinit static_pool<shared_block<counted>, 2> pool;
  std::weak_ptr<counted> weak;
  {
    std::shared_ptr<counted> p = allocate_shared<counted>(pool, 5);
    std::shared_ptr<counted> q = p;
    weak = p;
    EXPECT_EQ(p->value, 5);
    EXPECT_EQ(p.use_count(), 2);
    EXPECT_EQ(pool.stats().blocks_in_use, 1u);
    std::shared_ptr<counted> other = allocate_shared<counted>(pool, 6);
    EXPECT_THROW(static_cast<void>(allocate_shared<counted>(pool, 7)), std::bad_alloc);
  }
  EXPECT_EQ(counted::alive, 0);
  EXPECT_TRUE(weak.expired());
  EXPECT_EQ(pool.stats().blocks_in_use, 1u) << "the counts stay while somebody looks at them";
  weak.reset();
  EXPECT_EQ(pool.stats().blocks_in_use, 0u);
}

TEST(AllocateShared, OverAStatelessAllocator) {
  static_assert(sizeof(shared_block<counted, allocator<counted>>) <= sizeof(shared_block<counted>));
  const auto p = allocate_shared<counted>(allocator<int>(), 9);
  EXPECT_EQ(p->value, 9);
}

TEST(AllocateShared, AConstructorThatThrowsHoldsNothing) {
  static constinit static_pool<shared_block<counted>, 1> pool;
  EXPECT_THROW(static_cast<void>(allocate_shared<counted>(pool, 1, true)), std::runtime_error);
  EXPECT_EQ(pool.stats().blocks_in_use, 0u);
}

}  // namespace
