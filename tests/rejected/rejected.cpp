// Programs that must not compile, one for each value of REJECTED; CMakeLists.txt has the sentences.
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

#if REJECTED == 0
static_pool_set<blocks<16, 1>, blocks<17, 1>> set;
#elif REJECTED == 1
static_pool_set<blocks<32, 1>, blocks<16, 1>> set;
#elif REJECTED == 2
static_pool_set<blocks<16, 1>, blocks<32, 1>, blocks<32, 1>> set;
#elif REJECTED == 3
static_pool_set<blocks<0, 1>> set;
#elif REJECTED == 4
static_pool_set<blocks<16, 0>> set;
#elif REJECTED == 5
static_pool_set<blocks<16, 1, 24>> set;
#elif REJECTED == 6
static_pool_set<check::none> set;
#elif REJECTED == 7
static_pool_set<blocks<16, 1>, source> set;
#elif REJECTED == 8
pool_set<blocks<16, 1>> set;
#elif REJECTED == 9
static_pool_set<blocks<16, 1>, spill::never, spill::take_larger> set;
#elif REJECTED == 10
static_pool_set<blocks<16, 1>, int> set;
#elif REJECTED == 11
fixed_pool<> large{block_layout{}, {}};
static_pool_set<blocks<16, 1>, lender> set{lender(large)};
#elif REJECTED == 12
static_pool_set<blocks<16, 1>, at_death::destroy> set;
#elif REJECTED == 13
fixed_pool<at_death::destroy> pool{block_layout{}, {}};
#elif REJECTED == 14
static_pool<std::string, 4, at_death::destroy, check::none> pool;
#elif REJECTED == 15
static_pool_set<blocks<16, 65'535>, lock_free<std::uint32_t>> set;
#endif
