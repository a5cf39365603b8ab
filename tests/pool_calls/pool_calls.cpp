// golden/pool_calls.cpp: one function for each call of each pool, and of the process heap's allocator of one object,
// without checks and with cheap ones. pool_calls.py compiles it and counts what the processor runs of them when nothing
// is wrong and a free block is at hand. Not the lock-free ones: they have loops.

#include <ashlar/adapt/allocator.hpp>
#include <ashlar/freestanding.hpp>

using namespace ashlar;

/// A page source that is not seen through.
extern "C" void* far_allocate(std::size_t size, std::size_t alignment) noexcept;
extern "C" void far_deallocate(void* p, std::size_t size, std::size_t alignment) noexcept;
struct far_source {
  void* allocate(std::size_t size, std::size_t alignment) noexcept {
    return far_allocate(size, alignment);
  }
  void deallocate(void* p, std::size_t size, std::size_t alignment) noexcept {
    far_deallocate(p, size, alignment);
  }
};

struct of_48 {
  unsigned char bytes[48];
};
struct of_64 {
  unsigned char bytes[64];
};

#define CALLS(name, ...)                                                \
  extern "C" [[gnu::no_icf]] void* name##_allocate(__VA_ARGS__& pool) { \
    return pool.try_allocate();                                         \
  }                                                                     \
  extern "C" [[gnu::no_icf]] void name##_free(__VA_ARGS__& pool, void* p) { pool.deallocate(p); }
#define CALLS_BY_CHECK(name, pool, ...)                              \
  CALLS(name##_none, pool<__VA_ARGS__, check::none, counting::none>) \
  CALLS(name##_cheap, pool<__VA_ARGS__, check::cheap, counting::none>)

CALLS_BY_CHECK(static_48, static_pool, of_48, 100)
CALLS_BY_CHECK(static_64, static_pool, of_64, 1000)
CALLS_BY_CHECK(object_48, object_pool, of_48)
CALLS_BY_CHECK(growing_48, object_pool, of_48, far_source)
CALLS_BY_CHECK(fixed, fixed_pool, named<"any size">)

#define ALLOCATOR_CALLS(name, ...)                                                         \
  extern "C" [[gnu::no_icf]] void* name##_allocate() { return __VA_ARGS__().allocate(1); } \
  extern "C" [[gnu::no_icf]] void name##_free(of_48* p) { __VA_ARGS__().deallocate(p, 1); }
ALLOCATOR_CALLS(allocator_none, allocator<of_48, check::none>)
ALLOCATOR_CALLS(allocator_cheap, allocator<of_48, check::cheap>)
