// What pools refuse to be. See check_cases.py.
#include <ashlar/pool/object_pool.hpp>
#include <ashlar/pool/placement_new.hpp>
#include <ashlar/pool/static_pool.hpp>

using namespace ashlar;

struct thing {
  int value = 0;
};
struct not_a_policy {};
struct source {
  void* allocate(std::size_t, std::size_t) noexcept { return nullptr; }
  void deallocate(void*, std::size_t, std::size_t) noexcept {}
};

static_pool<thing, 4> things;

#if MISUSE == 1  // says: two policies of one kind
static_pool<thing, 4, check::none, check::cheap> pool;
#elif MISUSE == 2  // says: is not a policy
static_pool<thing, 4, not_a_policy> pool;
#elif MISUSE == 3  // says: takes no page source
static_pool<thing, 4, source> pool;
#elif MISUSE == 4  // says: deleted
void* array = new (things) thing[3];
#elif MISUSE == 5  // says: deleted
static_pool<thing, 4> copy = things;
#elif MISUSE == 6  // says: more blocks than the lock-free word can number
static_pool<thing, 70'000, lock_free<std::uint32_t>> pool;
#elif MISUSE == 7  // says: check::full keeps a quarantine
static_pool<thing, 4, lock_free<>, check::full<>> pool;
#elif MISUSE == 8  // says: no matching (function|constructor)
fixed_pool<> pool(block_layout{}, heap_pool{4});
#elif MISUSE == 9  // says: cannot convert|no viable conversion|cannot initialize
void f() {
  things.destroy(static_cast<long*>(nullptr));
}
#endif
