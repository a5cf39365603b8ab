// What pool sets and at_death refuse. See check_cases.py.
#include <cstddef>
#include <cstdint>
#include <string>

#include <ashlar/freestanding.hpp>

using namespace ashlar;

struct source {
  void* allocate(std::size_t, std::size_t) noexcept { return nullptr; }
  void deallocate(void*, std::size_t, std::size_t) noexcept {}
};
using lender = exhaustion::next_larger<fixed_pool<>>;

static_pool_set<blocks<16, 1>, blocks<17, 1>> right;

#if MISUSE == 1  // says: go from small to large
static_pool_set<blocks<32, 1>, blocks<16, 1>> set;
#elif MISUSE == 2   // says: go from small to large
static_pool_set<blocks<16, 1>, blocks<32, 1>, blocks<32, 1>> set;
#elif MISUSE == 3   // says: a block has at least one byte
static_pool_set<blocks<0, 1>> set;
#elif MISUSE == 4   // says: a class without blocks
static_pool_set<blocks<16, 0>> set;
#elif MISUSE == 5   // says: an alignment is a power of two
static_pool_set<blocks<16, 1, 24>> set;
#elif MISUSE == 6   // says: a pool set has at least one class
static_pool_set<check::none> set;
#elif MISUSE == 7   // says: it takes no page source
static_pool_set<blocks<16, 1>, source> set;
#elif MISUSE == 8   // says: takes a page source among its arguments
pool_set<blocks<16, 1>> set;
#elif MISUSE == 9   // says: two policies of one kind
static_pool_set<blocks<16, 1>, spill::never, spill::take_larger> set;
#elif MISUSE == 10  // says: is not a policy
static_pool_set<blocks<16, 1>, int> set;
#elif MISUSE == 11  // says: is for pools of one size
fixed_pool<> large{block_layout{}, {}};
static_pool_set<blocks<16, 1>, lender> set{lender(large)};
#elif MISUSE == 12  // says: is for pools of objects
static_pool_set<blocks<16, 1>, at_death::destroy> set;
#elif MISUSE == 13  // says: is for pools of objects
fixed_pool<at_death::destroy> pool{block_layout{}, {}};
#elif MISUSE == 14  // says: must know which blocks are in use
static_pool<std::string, 4, at_death::destroy, check::none> pool;
#elif MISUSE == 15  // says: more blocks than the lock-free word can number
static_pool_set<blocks<16, 65'535>, lock_free<std::uint32_t>> set;
#elif MISUSE == 16  // says: a pool takes no policy of this kind
fixed_pool<spill::never> pool{block_layout{}, {}};
#elif MISUSE == 17  // says: a pool takes no policy of this kind
static_pool<int, 4, blocks<16, 1>> pool;
#elif MISUSE == 18  // says: an arena takes no policy of this kind
static_arena<64, spill::never> memory;
#elif MISUSE == 19  // says: takes an exhaustion policy, a lock, a name and a recording policy
static_run_pool<int, 8, at_death::report> pool;
#elif MISUSE == 20  // says: a page source is the first argument
refill_lists<source, 128, 8, source> lists;
#endif
