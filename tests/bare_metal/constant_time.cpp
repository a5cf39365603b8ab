// Instructions of each call of every pool that promises O(1): the same, whatever the state and the order of calls.
// Prints a row for each and ends with 0 if all are constant and within their bounds.
#include <cstddef>
#include <cstdint>
#include <span>

#include <ashlar/freestanding.hpp>

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
template <class Set>
void* allocate_size(void* set, void* size, void*) {
  return static_cast<Set*>(set)->allocate(reinterpret_cast<std::size_t>(size), 8);
}
template <class Set>
void deallocate_by_address(void* set, void* p, void*) {
  static_cast<Set*>(set)->deallocate(p);
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
void measure(const char* name, Pool& pool, bounds most = figures_report::unbounded) noexcept {
  report(name,
         call_pattern::run({allocate_from<Pool>, deallocate_to<Pool>, &pool, true}, pool.capacity(),
                           one_size)
             .all(),
         true, most);
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
  measure_static<masked>("static_pool, no checks, interrupts masked");
  measure_static<masked_checked>("static_pool, cheap checks, interrupts masked");
#if defined(__ARM_FEATURE_LDREX)
  measure_static<exclusive>("static_pool, no checks, lock-free");
  measure_static<exclusive_checked>("static_pool, cheap checks, lock-free");
#endif
  measure_set("static_pool_set of 4 sizes, no checks", four_unchecked, {17, 17});
  measure_set("static_pool_set of 4 sizes, cheap checks", four_checked, {23, 30});
  measure_set("static_pool_set of 8 sizes, no checks", eight_unchecked, {20, 19});
  measure_set("static_pool_set of 8 sizes, cheap checks", eight_checked, {26, 32});
  return figures_report::all_good ? 0 : 1;
}
