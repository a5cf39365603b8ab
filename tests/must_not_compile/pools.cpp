// What pools and pool sets refuse to be, and what cannot be recorded. See check_cases.py.
#include <cstddef>
#include <cstdint>
#include <string>

#include <ashlar/freestanding.hpp>

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
using lender = exhaustion::next_larger<fixed_pool<>>;
static_pool_set<blocks<16, 1>, blocks<17, 1>> right;
struct port {
  static constexpr std::uint32_t ticks_per_second = 1000;
  static std::uint32_t now() noexcept { return 0; }
  static bool write(const std::byte*, std::size_t) noexcept { return true; }
};
struct port_without_clock {
  static constexpr std::uint32_t ticks_per_second = 1000;
  static bool write(const std::byte*, std::size_t) noexcept { return true; }
};

thing nobody;
trace_recorder<port> recorder;

#if MISUSE == 1  // says: two policies of one kind
static_pool<thing, 4, check::none, check::cheap> pool;
#elif MISUSE == 2   // says: is not a policy
static_pool<thing, 4, not_a_policy> pool;
#elif MISUSE == 3   // says: takes no page source
static_pool<thing, 4, source> pool;
#elif MISUSE == 4   // says: deleted
void* array = new (things) thing[3];
#elif MISUSE == 5   // says: deleted
static_pool<thing, 4> copy = things;
#elif MISUSE == 6   // says: more blocks than the lock-free word can number
static_pool<thing, 70'000, lock_free<std::uint32_t>> pool;
#elif MISUSE == 7   // says: check::full keeps a quarantine
static_pool<thing, 4, lock_free<>, check::full<>> pool;
#elif MISUSE == 8   // says: no matching (function|constructor)
fixed_pool<> pool(block_layout{}, heap_pool{4});
#elif MISUSE == 9   // says: cannot convert|no viable conversion|cannot initialize
void f() { things.destroy(static_cast<long*>(nullptr)); }
#elif MISUSE == 10  // says: go from small to large
static_pool_set<blocks<32, 1>, blocks<16, 1>> set;
#elif MISUSE == 11  // says: go from small to large
static_pool_set<blocks<16, 1>, blocks<32, 1>, blocks<32, 1>> set;
#elif MISUSE == 12  // says: a block has at least one byte
static_pool_set<blocks<0, 1>> set;
#elif MISUSE == 13  // says: a class without blocks
static_pool_set<blocks<16, 0>> set;
#elif MISUSE == 14  // says: an alignment is a power of two
static_pool_set<blocks<16, 1, 24>> set;
#elif MISUSE == 15  // says: a pool set has at least one class
static_pool_set<check::none> set;
#elif MISUSE == 16  // says: it takes no page source
static_pool_set<blocks<16, 1>, source> set;
#elif MISUSE == 17  // says: takes a page source among its arguments
pool_set<blocks<16, 1>> set;
#elif MISUSE == 18  // says: two policies of one kind
static_pool_set<blocks<16, 1>, spill::never, spill::take_larger> set;
#elif MISUSE == 19  // says: is not a policy
static_pool_set<blocks<16, 1>, int> set;
#elif MISUSE == 20  // says: is for pools of one size
fixed_pool<> large{block_layout{}, {}};
static_pool_set<blocks<16, 1>, lender> set{lender(large)};
#elif MISUSE == 21  // says: is for pools of objects
static_pool_set<blocks<16, 1>, at_death::destroy> set;
#elif MISUSE == 22  // says: is for pools of objects
fixed_pool<at_death::destroy> pool{block_layout{}, {}};
#elif MISUSE == 23  // says: must know which blocks are in use
static_pool<std::string, 4, at_death::destroy, check::none> pool;
#elif MISUSE == 24  // says: more blocks than the lock-free word can number
static_pool_set<blocks<16, 65'535>, lock_free<std::uint32_t>> set;
#elif MISUSE == 25  // says: a pool takes no policy of this kind
fixed_pool<spill::never> pool{block_layout{}, {}};
#elif MISUSE == 26  // says: a pool takes no policy of this kind
static_pool<int, 4, blocks<16, 1>> pool;
#elif MISUSE == 27  // says: an arena takes no policy of this kind
static_arena<64, spill::never> memory;
#elif MISUSE == 28  // says: takes an exhaustion policy, a lock, a name and a recording policy
static_run_pool<int, 8, at_death::report> pool;
#elif MISUSE == 29  // says: a page source is the first argument
refill_lists<source, 128, 8, source> lists;
#elif MISUSE == 30  // says: constraint
static_pool<thing, 4, recording::to<nobody>> pool;
#elif MISUSE == 31  // says: two policies of one kind
static_pool<thing, 4, recording::to<recorder>, recording::none> pool;
#elif MISUSE == 32  // says: an arena takes no policy of this kind
static_arena<64, recording::to<recorder>> memory;
#elif MISUSE == 33  // says: no policy of this kind is taken
refill_lists<source, 128, 8, recording::to<recorder>> lists;
#elif MISUSE == 34  // says: a recorder needs a lock
trace_recorder<port, lock_free<>> shared;
#elif MISUSE == 35  // says: needs a port that numbers them
trace_recorder<port, no_lock, trace_limits{.threads = 2}> threads;
#elif MISUSE == 36  // says: a frame has 256 bytes to 256 KiB
trace_recorder<port, no_lock, trace_limits{.frame_bytes = 100}> small;
#elif MISUSE == 37  // says: constraint
trace_recorder<port_without_clock> timeless;
#endif
