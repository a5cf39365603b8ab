// Instructions of each call of every pool that promises O(1): the same, whatever the state and the order of calls.
// Prints a row for each and ends with 0 if all are constant and within their bounds.
#include <cstddef>
#include <cstdint>
#include <span>

#include <ashlar/freestanding.hpp>
#include <ashlar/pool/packed_pool.hpp>

#include "board/semihosting.hpp"
#include "call_pattern.hpp"
#include "figures_report.hpp"

namespace {

using namespace ashlar;
using figures_report::bounds;
using figures_report::mixed_sizes;
using figures_report::one_size;
using figures_report::report;

using figures_report::block;
inline constexpr std::size_t capacity = 32;

/// The M0 has no conditional instructions (the peak that an arena counts): so that one is constant from the M3 on.
#if defined(__ARM_FEATURE_IDIV)
inline constexpr bool is_m3 = true;
#else
inline constexpr bool is_m3 = false;
#endif

using unchecked = fixed_pool<check::none, counting::none>;
using checked = fixed_pool<check::cheap, counting::none>;
using with_defaults = fixed_pool<>;

alignas(8) std::byte storage[3][unchecked::storage_bytes({sizeof(block), 8}, capacity) + 512];

constinit static_pool<block, capacity, check::none, counting::none> static_unchecked;
constinit static_pool<block, capacity, counting::none> static_checked;
constinit static_pool<block, capacity> static_with_defaults;
constinit static_pool<block, call_pattern::most_blocks, check::none, counting::none> many_unchecked;
constinit static_pool<block, capacity, check::none, counting::none,
                      interrupt_mask<cortex_m_primask>>
    masked;
constinit static_pool<block, capacity, counting::none, interrupt_mask<cortex_m_primask>>
    masked_checked;
#if defined(__ARM_FEATURE_LDREX)
constinit static_pool<block, capacity, check::none, counting::none, lock_free<std::uint32_t>>
    exclusive;
constinit static_pool<block, capacity, counting::none, lock_free<std::uint32_t>> exclusive_checked;
#endif
template <class... Policies>
using set_of_eight =
    static_pool_set<blocks<16, capacity, 8>, blocks<24, capacity, 8>, blocks<32, capacity, 8>,
                    blocks<48, capacity, 8>, blocks<64, capacity, 8>, blocks<96, capacity, 8>,
                    blocks<128, capacity, 8>, blocks<256, capacity, 8>, spill::never,
                    counting::none, Policies...>;
template <class... Policies>
using set_of_four =
    static_pool_set<blocks<32, capacity, 8>, blocks<64, capacity, 8>, blocks<128, capacity, 8>,
                    blocks<256, capacity, 8>, spill::never, counting::none, Policies...>;
constinit set_of_four<check::none> four_unchecked;
constinit set_of_four<> four_checked;
constinit set_of_eight<check::none> eight_unchecked;
constinit set_of_eight<> eight_checked;

/// Pages of a static array, never given back.
struct static_pages {
  alignas(8) static inline std::byte bytes[6144];
  static inline std::size_t used = 0;
  void* allocate(std::size_t size, std::size_t alignment) noexcept {
    const std::size_t at = align_up(used, alignment);
    if (at > sizeof bytes || size > sizeof bytes - at) return nullptr;
    used = at + size;
    return bytes + at;
  }
  void deallocate(void*, std::size_t, std::size_t) noexcept {}
};
constinit static_arena<2048, at_death::ignore> frame;
constinit static_arena<2048, at_death::ignore, counting::none> uncounted_frame;

template <auto& Pool>
void* allocate_static(void*, void*, void*) {
  return Pool.allocate();
}
template <auto& Pool>
void deallocate_static(void*, void* p, void*) {
  Pool.deallocate(p);
}
template <class Pool>
void* allocate_from(void* pool, void*, void*) {
  return static_cast<Pool*>(pool)->allocate();
}
template <class Pool>
void deallocate_to(void* pool, void* p, void*) {
  static_cast<Pool*>(pool)->deallocate(p);
}
/// As a program that knows its sizes calls a set.
template <auto& Set>
void* allocate_one_size(void*, void*, void*) {
  return Set.allocate(sizeof(block), 8);
}
template <auto& Set>
void deallocate_one_size(void*, void* p, void*) {
  Set.deallocate(p, sizeof(block), 8);
}
template <auto& Arena>
void* allocate_above(void*, void* size, void*) {
  return Arena.allocate(reinterpret_cast<std::size_t>(size), 8);
}
template <auto& Arena>
void reset(void*, void*, void*) {
  Arena.reset();
}
template <class Set>
void* allocate_size(void* set, void* size, void*) {
  return static_cast<Set*>(set)->allocate(reinterpret_cast<std::size_t>(size), 8);
}
template <class Set>
void deallocate_size(void* set, void* p, void* size) {
  static_cast<Set*>(set)->deallocate(p, reinterpret_cast<std::size_t>(size), 8);
}

template <auto& Pool>
void measure_static(const char* name, bounds most = figures_report::unbounded) noexcept {
  report(name,
         call_pattern::run({allocate_static<Pool>, deallocate_static<Pool>, nullptr, true},
                           Pool.capacity(), one_size)
             .all(),
         true, most);
}
template <class Pool>
void measure(const char* name, Pool& pool, bounds most = figures_report::unbounded,
             bool constant = true) noexcept {
  report(name,
         call_pattern::run({allocate_from<Pool>, deallocate_to<Pool>, &pool, true}, pool.capacity(),
                           one_size)
             .all(),
         constant, most);
}
template <class Set>
void measure_set(const char* name, Set& set, bounds most) noexcept {
  void* all[Set::class_count]
           [capacity];  // each block is in use once, so that what is measured is the search
  for (std::size_t c = 0; c < Set::class_count; ++c) {
    for (void*& p : all[c]) p = set.allocate(Set::block_size(c), 8);
  }
  for (const auto& of_class : all) {
    for (void* p : of_class) set.deallocate(p);
  }
  report(name,
         call_pattern::run({allocate_size<Set>, deallocate_size<Set>, &set, false}, capacity,
                           mixed_sizes)
             .all(),
         false, most);
}
/// An arena gives nothing back one by one: what is measured as its free is reset(), whatever is in it.
template <auto& Arena>
void measure_arena(const char* name, bool constant) noexcept {
  call_pattern::figures f;
  call_pattern::random_numbers random;
  for (int call = 0; call < call_pattern::random_calls; ++call) {
    const std::size_t size = figures_report::mixed_sizes(random);
    const auto [p, instructions] = instruction_counter::count(
        allocate_above<Arena>, nullptr, reinterpret_cast<void*>(size), nullptr);
    (p != nullptr ? f.allocation : f.refusal).add(instructions);
    if (p == nullptr || random.below(20) == 0) {
      f.free.add(instruction_counter::count(reset<Arena>, nullptr, nullptr, nullptr).instructions);
    }
  }
  report(name, f, constant, figures_report::unbounded);
}

}  // namespace

extern "C" void ashlar_fault(const ashlar::fault& what) noexcept {
  board::write_all("fault: ", describe(what.kind), "\n");
  board::exit(100);
}

int main() {
  figures_report::require_calibrated_counter();
  measure_static<static_unchecked>("static_pool, no checks", {8, 7});
  measure_static<many_unchecked>("static_pool of 256, no checks", {8, 7});
  measure_static<static_checked>("static_pool, cheap checks", {24, 24});
  measure_static<static_with_defaults>("static_pool, cheap checks, counted");
  unchecked a({sizeof(block), 8},
              std::span(storage[0]).first(unchecked::storage_bytes({sizeof(block), 8}, capacity)));
  measure("fixed_pool, no checks", a, {8, 7});
  checked b({sizeof(block), 8},
            std::span(storage[1]).first(checked::storage_bytes({sizeof(block), 8}, capacity)));
  measure("fixed_pool, cheap checks", b, {24, 24});
  with_defaults c(
      {sizeof(block), 8},
      std::span(storage[2]).first(with_defaults::storage_bytes({sizeof(block), 8}, capacity)));
  measure("fixed_pool, cheap checks, counted", c);
  fixed_pool<static_pages, counting::none> in_one_piece({sizeof(block), 8}, heap_pool{capacity});
  measure("fixed_pool on a page source, cheap checks", in_one_piece);
  object_pool<block, static_pages, counting::none> objects(heap_pool{capacity});
  measure("object_pool on a page source, cheap checks", objects);
  packed_pool<> packed({sizeof(block), 8}, std::span(storage[0]).first(capacity * sizeof(block)));
  measure("packed_pool", packed);
  measure_static<masked>("static_pool, no checks, interrupts masked");
  measure_static<masked_checked>("static_pool, cheap checks, interrupts masked");
#if defined(__ARM_FEATURE_LDREX)
  measure_static<exclusive>("static_pool, no checks, lock-free");
  measure_static<exclusive_checked>("static_pool, cheap checks, lock-free");
#endif
  report("static_pool_set of 8 sizes, no checks, size known",
         call_pattern::run({allocate_one_size<eight_unchecked>,
                            deallocate_one_size<eight_unchecked>, nullptr, true},
                           capacity, one_size)
             .all(),
         true, {10, 9});
  report("static_pool_set of 8 sizes, cheap checks, size known",
         call_pattern::run(
             {allocate_one_size<eight_checked>, deallocate_one_size<eight_checked>, nullptr, true},
             capacity, one_size)
             .all(),
         true, {26, 30});
  measure_set("static_pool_set of 4 sizes, no checks", four_unchecked, {17, 17});
  measure_set("static_pool_set of 4 sizes, cheap checks", four_checked, {23, 30});
  measure_set("static_pool_set of 8 sizes, no checks", eight_unchecked, {20, 19});
  measure_set("static_pool_set of 8 sizes, cheap checks", eight_checked, {26, 32});
  measure_arena<frame>("static_arena, counted; free: reset", is_m3);
  measure_arena<uncounted_frame>("static_arena, not counted; free: reset", true);
  return figures_report::all_good ? 0 : 1;
}
