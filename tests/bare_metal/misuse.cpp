// What a device sees of a program's mistakes, and of a pool that has no more: the fault record has the pool's name and the
// address; counters and high-water marks are right; a source that is sealed gives nothing.
#include <cstddef>
#include <cstdint>
#include <span>

#include <ashlar/adapt/component.hpp>
#include <ashlar/freestanding.hpp>

#include "board/interrupts.hpp"
#include "board/semihosting.hpp"

namespace {

using namespace ashlar;

struct block {
  std::uint32_t words[12];
};

void* continue_at[5];
fault last{};

void check_that(bool holds, int step) noexcept {
  if (holds) return;
  board::write_all("FAILED at step ", static_cast<std::uint32_t>(step), "\n");
  board::exit(step);
}

bool same(const char* a, const char* b) noexcept {
  while (*a != 0 && *a == *b) ++a, ++b;
  return *a == *b;
}

/// Requires of misuse() that it ends in a fault of this kind that names pool and address.
template <class Misuse>
[[gnu::noinline]] void expect_fault(fault_kind kind, const void* address, int step,
                                    Misuse misuse) noexcept {
  last = {};
  if (__builtin_setjmp(continue_at) == 0) {
    misuse();
    check_that(false, step);
  }
  check_that(last.kind == kind && last.address == address && same(last.pool, "sensors"), step);
}

/// Double, foreign, inside a block, never handed out.
template <class Pool>
void free_wrongly(Pool& pool, int step) noexcept {
  auto* const p = static_cast<std::byte*>(pool.allocate());
  static block elsewhere;
  expect_fault(fault_kind::foreign_pointer, &elsewhere, step, [&] { pool.deallocate(&elsewhere); });
  expect_fault(fault_kind::interior_pointer, p + 4, step + 1, [&] { pool.deallocate(p + 4); });
  expect_fault(fault_kind::not_in_use, p + pool.stride(), step + 2,
               [&] { pool.deallocate(p + pool.stride()); });
  pool.deallocate(p);
  expect_fault(fault_kind::double_free, p, step + 3, [&] { pool.deallocate(p); });
}

constinit static_pool<block, 4, named<"sensors">> checked;
constinit static_pool<block, 4, named<"sensors">, interrupt_mask<board::interrupt_port>> masked;
constinit static_pool<block, 4, named<"sensors">, exhaustion::stop> stopping;
constinit static_pool<block, 4, exhaustion::counted<>> counted;
constinit static_pool_set<blocks<16, 2>, blocks<64, 2>, spill::never, named<"sensors">> set;
constinit static_arena<1024, at_death::ignore> memory;
// Larger blocks are not more aligned here, so that a request may skip a class for its alignment.
constinit static_pool_set<blocks<16, 2, 16>, blocks<32, 2, 8>, blocks<64, 2, 32>, blocks<96, 2, 8>,
                          blocks<128, 2, 16>, spill::never, named<"sensors">>
    askew_set;

/// A block goes back for each request that its class serves, and for no other.
void free_by_every_request() noexcept {
  using set_type = decltype(askew_set);
  for (std::size_t c = 0; c < set_type::class_count; ++c) {
    void* p = askew_set.allocate(set_type::block_size(c), set_type::block_alignment(c));
    check_that(askew_set.usable_size(p) == set_type::block_size(c), 70);
    for (std::size_t size = 1; size <= 130; ++size) {
      for (std::size_t alignment = 1; alignment <= 64; alignment *= 2) {
        if (set_type::class_of(size, alignment) == c) {
          askew_set.deallocate(p, size, alignment);
          check_that(askew_set.allocate(size, alignment) == p, 71);
        } else {
          expect_fault(fault_kind::wrong_size, p, 72,
                       [=] { askew_set.deallocate(p, size, alignment); });
        }
      }
    }
  }
}

void give_spare() noexcept;
int freed_by_handler = 0;
void* spare = nullptr;
using asks = exhaustion::handler_and_retry<exhaustion::null, exhaustion::own_handler>;
constinit static_pool<block, 1, asks> asking{asks{{[] {
                                                    ++freed_by_handler;
                                                    give_spare();
                                                  }},
                                                  {}}};

}  // namespace

extern "C" void ashlar_fault(const fault& what) noexcept {
  last = what;
  __builtin_longjmp(continue_at, 1);
}

namespace {
void give_spare() noexcept { asking.deallocate(spare); }
}  // namespace

int main() {
  board::unmask_interrupts();  // RISC-V begins without
  free_wrongly(checked, 10);
  free_wrongly(masked, 20);
  check_that(!board::interrupts_are_masked(), 24);  // a fault is reported with the mask as it was

  // Empty: null and counted, a handler that makes room, or the reset hook.
  for (int i = 0; i < 4; ++i) check_that(counted.allocate() != nullptr, 30);
  for (std::size_t i = 1; i <= 3; ++i) {
    check_that(
        counted.allocate() == nullptr && counted.exhaustion_policy_object().failure_count == i, 31);
  }
  check_that(counted.stats().peak_in_use == 4, 32);
  spare = asking.allocate();
  check_that(asking.allocate() == spare && freed_by_handler == 1, 33);
  for (int i = 0; i < 4; ++i) check_that(stopping.allocate() != nullptr, 34);
  expect_fault(fault_kind::exhausted, nullptr, 35, [] { static_cast<void>(stopping.allocate()); });

  // A set is told another size than the block has.
  void* const small = set.allocate(16, 4);
  expect_fault(fault_kind::wrong_size, small, 40, [&] { set.deallocate(small, 64, 4); });

  free_by_every_request();

  // Init, then sealed: what was got while starting is all there will be.
  sealable_source pages(source_ref<decltype(memory)>{memory});
  fixed_pool<source_ref<decltype(pages)>> growing({48, 8}, heap_blocks{.first_slab_blocks = 2},
                                                  pages);
  check_that(growing.allocate() != nullptr, 50);
  pages.seal();
  check_that(growing.allocate() != nullptr && growing.allocate() == nullptr && pages.refused() > 0,
             51);

  // Storage that is too small or not aligned, a size below a link's: an error value, or what fits, aligned.
  alignas(8) static std::byte storage[104];
  const fixed_pool<> too_small({48, 8}, std::span(storage).first(40));
  check_that(too_small.capacity() == 0, 60);
  fixed_pool<check::none> askew({48, 8}, std::span(storage).subspan(1));
  void* const first = askew.allocate();
  check_that(askew.capacity() == 2 && is_aligned(first, 8), 61);
  fixed_pool<check::none> tiny({1, 1}, std::span(storage));
  check_that(tiny.stride() == sizeof(void*) && is_aligned(tiny.allocate(), sizeof(void*)), 62);
  static_pool<block, 0> none;
  check_that(none.capacity() == 0 && none.allocate() == nullptr, 63);
  return 0;
}
