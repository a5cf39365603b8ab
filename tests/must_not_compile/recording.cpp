// What cannot be recorded, and what no recorder is. See check_cases.py.
#include <ashlar/freestanding.hpp>

using namespace ashlar;

struct thing {
  int value = 0;
};
struct source {
  void* allocate(std::size_t, std::size_t) noexcept { return nullptr; }
  void deallocate(void*, std::size_t, std::size_t) noexcept {}
};
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

#if MISUSE == 1  // says: constraint
static_pool<thing, 4, recording::to<nobody>> pool;
#elif MISUSE == 2  // says: two policies of one kind
static_pool<thing, 4, recording::to<recorder>, recording::none> pool;
#elif MISUSE == 3  // says: an arena takes no policy of this kind
static_arena<64, recording::to<recorder>> memory;
#elif MISUSE == 4  // says: no policy of this kind is taken
refill_lists<source, 128, 8, recording::to<recorder>> lists;
#elif MISUSE == 5  // says: a recorder needs a lock
trace_recorder<port, lock_free<>> shared;
#elif MISUSE == 6  // says: needs a port that numbers them
trace_recorder<port, no_lock, trace_limits{.threads = 2}> threads;
#elif MISUSE == 7  // says: a frame has 256 bytes to 256 KiB
trace_recorder<port, no_lock, trace_limits{.frame_bytes = 100}> small;
#elif MISUSE == 8  // says: constraint
trace_recorder<port_without_clock> timeless;
#endif
