// A server's life, for as long as its argument says: threads come and go, sizes shift in phases that repeat, blocks are
// freed by other threads than allocated them, some outlive many phases, big buffers come now and then. The number of
// live blocks is bounded, so that equal phases of any two cycles need the same memory. A line of CSV a cycle goes to
// standard output; soak.py judges it. Every block is checked as it is freed, and the heap audits itself at the end.
#define PROGRAMS_WITHOUT_MAIN
#include <array>
#include <bit>
#include <charconv>
#include <chrono>
#include <cmath>
#include <string_view>
#include <tests/lifetime/program.hpp>

namespace {

using seconds = std::chrono::duration<double>;
using steady = std::chrono::steady_clock;
constexpr std::size_t kibibyte = 1024;

struct settings {
  double seconds = 600;
  std::uint64_t cycles = UINT64_MAX;  // it ends after so many, if that is sooner
  std::size_t threads = 4;
  std::uint64_t seed = 1;
  std::size_t operations = 600'000;  // of a phase
  double quiet_seconds = 2.5;        // more than the delay after which free pages go back
  double leak = 0;                   // planted: bytes a second that nobody frees
  std::size_t pin = 0;  // planted: every pin-th small block that is displaced is never freed
};

struct phase {
  std::size_t smallest, largest;  // of the blocks, whose sizes are spread evenly over the doublings
  std::size_t slots;              // live blocks
};
// 17, 33 and 34 MiB live, then 2.
constexpr phase phases[] = {
    {16, 256, 200'000}, {64, 2'048, 57'000}, {2'048, 32'768, 3'000}, {16, 512, 12'000}};
constexpr std::size_t quiet_phase = std::size(phases) - 1;
constexpr std::size_t most_slots = 200'000;
constexpr std::size_t kept_slots = 20'000;  // blocks of each phase that outlive it by many cycles

/// What a block begins with. It ends with the low byte of `stamp`, if it is longer than this.
struct header {
  std::uint32_t size, stamp;
};

std::atomic<header*> live[most_slots];
std::atomic<header*> kept[kept_slots];
std::atomic<std::int64_t> live_bytes;
std::atomic<std::int64_t> operations_left;
std::atomic<std::uint64_t> sessions, displaced_small;
settings chosen;

std::uint32_t stamp_of(const header* block, std::size_t size) {
  const std::uint64_t address = reinterpret_cast<std::uintptr_t>(block);
  return static_cast<std::uint32_t>((address >> 4) * 0x9e3779b1u ^ size * 0x85ebca6bu);
}

char& last_byte(header* block) { return reinterpret_cast<char*>(block)[block->size - 1]; }

header* stamped(void* memory, std::size_t size) {
  REQUIRE(memory != nullptr);
  auto* const block = static_cast<header*>(memory);
  *block = {static_cast<std::uint32_t>(size), stamp_of(block, size)};
  if (size > sizeof(header)) last_byte(block) = static_cast<char>(block->stamp);
  return block;
}

void check(header* block) {
  REQUIRE(block->stamp == stamp_of(block, block->size));
  REQUIRE(block->size <= sizeof(header) || last_byte(block) == static_cast<char>(block->stamp));
}

/// One thread's life: it serves a while, on the tables that all threads share.
class session {
 public:
  session(const phase& p, std::uint64_t seed) : phase_(p), random_(seed) {}
  session(const session&) = delete;
  session& operator=(const session&) = delete;
  ~session() {
    face::release(buffer_);
    live_bytes += bytes_;
  }

  void serve(std::size_t operations) {
    for (std::size_t i = 0; i < operations; ++i) {
      const std::size_t kind = random_.below(1'000);
      if (kind < 900) {
        replace(live[random_.below(phase_.slots)], make(size()));
      } else if (kind < 950) {
        grow();
      } else if (kind < 990) {
        request();
      } else if (kind < 999) {
        replace(kept[random_.below(kept_slots)], make(std::min<std::size_t>(size(), 512)));
      } else if (random_.chance(20)) {
        take_buffer();
      }
    }
  }

  /// Frees a part of what the phase before had and this one has not.
  void drain(std::size_t part, std::size_t parts) {
    for (std::size_t i = phase_.slots + part; i < most_slots; i += parts) replace(live[i], nullptr);
  }
  void end_kept() {
    for (std::atomic<header*>& slot : kept) replace(slot, nullptr);
  }

 private:
  std::size_t size() {
    const auto doublings =
        static_cast<std::size_t>(std::bit_width(phase_.largest / phase_.smallest) - 1);
    const std::size_t low = phase_.smallest << random_.below(doublings);
    return low + random_.below(low);
  }

  header* make(std::size_t size) {
    bytes_ += static_cast<std::int64_t>(size);
    const std::size_t kind = random_.below(100);
    if (kind < 88) return stamped(face::allocate(size), size);
    if (kind < 97) {
      void* const memory = face::allocate_zeroed(1, size);
      REQUIRE(memory != nullptr && static_cast<char*>(memory)[size - 1] == 0);
      return stamped(memory, size);
    }
    const std::size_t alignment = std::size_t{16} << random_.below(5);
    void* const memory =
        face::allocate_aligned(alignment, (size + alignment - 1) / alignment * alignment);
    REQUIRE(reinterpret_cast<std::uintptr_t>(memory) % alignment == 0);
    return stamped(memory, size);
  }

  void replace(std::atomic<header*>& slot, header* block) {
    header* const old = slot.exchange(block);
    if (old == nullptr) return;
    check(old);
    bytes_ -= old->size;
    const bool forgotten =
        chosen.pin != 0 && old->size <= 256 && ++displaced_small % chosen.pin == 0;
    if (!forgotten) face::release(old);
  }

  void grow() {
    std::atomic<header*>& slot = live[random_.below(phase_.slots)];
    header* const old = slot.exchange(nullptr);
    if (old == nullptr) return;
    check(old);
    const header before = *old;
    const std::size_t new_size = size();
    void* const memory = face::reallocate(old, new_size);
    REQUIRE(memory != nullptr);
    auto* const moved = static_cast<header*>(memory);
    REQUIRE(moved->size == before.size && moved->stamp == before.stamp);
    REQUIRE(new_size < before.size || before.size <= sizeof(header) ||
            last_byte(moved) == static_cast<char>(before.stamp));
    bytes_ += static_cast<std::int64_t>(new_size) - before.size;
    replace(slot, stamped(memory, new_size));
  }

  /// A request's own blocks, which live as long as it does.
  void request() {
    std::array<header*, 32> blocks{};
    const std::size_t count = 1 + random_.below(blocks.size());
    for (std::size_t i = 0; i < count; ++i) blocks[i] = make(16 + random_.below(1'000));
    for (std::size_t i = count; i-- > 0;) {
      check(blocks[i]);
      bytes_ -= blocks[i]->size;
      face::release(blocks[i]);
    }
  }

  void take_buffer() {
    face::release(buffer_);
    const std::size_t size = 256 * kibibyte + random_.below(768 * kibibyte);
    buffer_ = face::allocate(size);
    REQUIRE(buffer_ != nullptr);
    std::memset(buffer_, 0x5a, size);
  }

  const phase& phase_;
  support::random_source random_;
  void* buffer_ = nullptr;
  std::int64_t bytes_ = 0;
};

/// How long sessions are, and the pause after each: the quiet phase is stretched by many short ones, because free pages
/// go back when they have been free for a while and somebody misses.
struct pace {
  std::size_t least_operations;
  std::chrono::duration<double> pause;
};

/// Starts one session after the other until the phase's operations are done.
void serve_phase(const phase& p, std::size_t part, std::uint64_t seed, pace sessions_of) {
  support::random_source random(seed);
  std::thread([&] { session(p, random.next()).drain(part, chosen.threads); }).join();
  for (;;) {
    const std::size_t operations =
        sessions_of.least_operations + random.below(8 * sessions_of.least_operations);
    if (operations_left.fetch_sub(static_cast<std::int64_t>(operations)) <= 0) return;
    std::thread([&] { session(p, random.next()).serve(operations); }).join();
    ++sessions;
    std::this_thread::sleep_for(sessions_of.pause);
  }
}

/// Resident bytes as the page tables have them; the counters of statm are off by some hundred KiB.
std::size_t resident_kib() {
  const std::size_t kib = support::figure_in("/proc/self/smaps_rollup", "\nRss:");
  REQUIRE(kib != 0);
  return kib;
}

struct heap_figures {
  std::size_t in_use, committed, threads;
};

heap_figures ask_heap() {
#ifdef ASHLAR_FACE_DROP_IN
  const struct mallinfo2 told = ::mallinfo2();
  return {told.uordblks + told.hblkhd, told.arena + told.hblkhd, 0};
#else
  static ashlar_stats stats;
  ashlar_stats_get(&stats);
  return {stats.total.bytes_in_use, stats.total.committed_bytes, stats.total.threads};
#endif
}

struct resident_sizes {
  std::size_t last = 0, most = 0;
  void look() {
    last = resident_kib();
    most = std::max(most, last);
  }
};

void run_phase(std::size_t index, std::uint64_t seed, resident_sizes& resident) {
  const bool quiet = index == quiet_phase;
  const std::size_t operations = quiet ? chosen.operations / 10 : chosen.operations;
  pace sessions_of = {4'000, {}};
  if (quiet) {
    const double sessions_each =
        static_cast<double>(operations) / (5 * 200) / static_cast<double>(chosen.threads);
    sessions_of = {200, std::chrono::duration<double>(chosen.quiet_seconds / sessions_each)};
  }
  operations_left = static_cast<std::int64_t>(operations);
  std::vector<std::thread> acceptors;
  for (std::size_t t = 0; t < chosen.threads; ++t) {
    acceptors.emplace_back(serve_phase, std::cref(phases[index]), t, seed * 64 + t, sessions_of);
  }
  // At equal points of the work, whatever time it takes.
  constexpr std::int64_t samples = 8;
  for (std::int64_t sample = samples - 1; sample >= 0; --sample) {
    const std::int64_t mark = static_cast<std::int64_t>(operations) * sample / samples;
    while (operations_left > mark) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    resident.look();
  }
  for (std::thread& acceptor : acceptors) acceptor.join();
  resident.look();
}

void leak_planted(double elapsed) {
  static double leaked = 0;
  for (; leaked + kibibyte <= chosen.leak * elapsed; leaked += kibibyte) {
    void* const lost = face::allocate(kibibyte);
    REQUIRE(lost != nullptr);
    std::memset(lost, 1, kibibyte);
  }
}

void give_everything_back() {
  static constexpr phase nothing = {16, 32, 0};
  session last(nothing, 0);
  last.drain(0, 1);
  last.end_kept();
}

void soak() {
  const auto start = steady::now();
  std::printf(
      "cycle,seconds,floor_kib,peak_kib,live_kib,in_use_kib,committed_kib,caches,sessions\n");
  double elapsed = 0;
  for (std::uint64_t cycle = 0; elapsed < chosen.seconds && cycle < chosen.cycles; ++cycle) {
    resident_sizes resident;
    for (std::size_t index = 0; index < std::size(phases); ++index) {
      run_phase(index, (chosen.seed << 32) + cycle * std::size(phases) + index, resident);
    }
    const heap_figures heap = ask_heap();
    elapsed = seconds(steady::now() - start).count();
    std::printf("%llu,%.1f,%zu,%zu,%lld,%zu,%zu,%zu,%llu\n", static_cast<unsigned long long>(cycle),
                elapsed, resident.last, resident.most, static_cast<long long>(live_bytes) / 1024,
                heap.in_use / 1024, heap.committed / 1024, heap.threads,
                static_cast<unsigned long long>(sessions));
    std::fflush(stdout);
    leak_planted(elapsed);
  }
  give_everything_back();
  REQUIRE(live_bytes == 0);
  face::audit();
  std::fprintf(stderr, "every block began and ended as it was left; the heap %s\n",
               face::drop_in ? "is trimmed" : "has audited itself");
}

/// Returns: whether `name` is the option's, whose value is read then.
template <class T>
bool is_read(std::string_view name, const char* option, const char* text, T& value) {
  if (name != option) return false;
  const std::string_view digits = text;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc{} || end != digits.data() + digits.size() || value < 0) {
    std::fprintf(stderr, "soak: %s: '%s' is no number\n", option, text);
    std::exit(2);
  }
  return true;
}

}  // namespace

int main(int argument_count, char** arguments) {
  for (int i = 1; i + 1 < argument_count; i += 2) {
    const std::string_view name = arguments[i];
    const char* const value = arguments[i + 1];
    if (!is_read(name, "--seconds", value, chosen.seconds) &&
        !is_read(name, "--cycles", value, chosen.cycles) &&
        !is_read(name, "--threads", value, chosen.threads) &&
        !is_read(name, "--seed", value, chosen.seed) &&
        !is_read(name, "--operations", value, chosen.operations) &&
        !is_read(name, "--quiet-seconds", value, chosen.quiet_seconds) &&
        !is_read(name, "--leak", value, chosen.leak) && !is_read(name, "--pin", value, chosen.pin))
      argument_count = 0;
  }
  if (argument_count % 2 == 0 || chosen.threads == 0 || chosen.operations < 100) {
    std::fprintf(
        stderr,
        "usage: %s [--seconds S] [--cycles N] [--threads N] [--seed N] [--operations N_PER_PHASE] "
        "[--quiet-seconds S]\n"
        "          [--leak BYTES_PER_SECOND] [--pin EVERY_NTH]   (the last two plant what "
        "soak.py must find)\n",
        arguments[0]);
    return 2;
  }
  soak();
  return 0;
}
