// A pool that an interrupt handler and thread mode share: the handler comes after every single instruction of a call, in
// turn, and uses the pool itself. Whatever it did, no block may have two holders and none may be lost.
//
//   arm(n), call, disarm: a one-shot timer fires after n instructions; n = 1, 2, ... until it is too late for the call
//
// The pool without a lock must fail this. What is masked shows in it, too: the handler comes at one place for as many n
// as there are instructions in the masked stretch, and one more.
#include <cstddef>
#include <cstdint>
#include <memory>

#include <ashlar/freestanding.hpp>

#include "board/semihosting.hpp"
#include "instruction_counter.hpp"

namespace {

using namespace ashlar;

struct block {
  std::uint32_t words[4];
};
inline constexpr std::size_t capacity = 6;

// ---- the one-shot timer ----

volatile bool fired = false;
volatile std::uint32_t fired_at = 0;  ///< the instruction that would have been next
void (*handler_program)() = nullptr;

inline constexpr std::uint32_t enable_with_interrupt = 0b111;

/// The handler comes after `instructions` more.
[[gnu::always_inline]] inline void arm(std::uint32_t instructions) noexcept {
  using namespace instruction_counter::detail;
  constexpr std::uint64_t ticks_per_million = clock_hz * picoseconds_per_instruction / 1'000'000;
  *reload = static_cast<std::uint32_t>((instructions * ticks_per_million + 500'000) / 1'000'000);
  *current = 0;
  asm volatile("" ::: "memory");  // the handler reads what was written until now
  *control = enable_with_interrupt;
}
[[gnu::always_inline]] inline void disarm() noexcept {
  asm volatile("" ::: "memory");
  *instruction_counter::detail::control = 0;
}

// ---- what may happen ----

struct holder {
  void* blocks[capacity] = {};
  std::size_t count = 0;

  void add(void* p) noexcept {
    if (p != nullptr && count < capacity) blocks[count++] = p;
  }
  void* take() noexcept { return count == 0 ? nullptr : blocks[--count]; }
};
constinit holder by_thread;
constinit holder by_handler;

/// The pool under test is made anew for each moment. Static, so that the handler knows where it is.
template <class Pool>
union fresh {
  constexpr fresh() noexcept : unused() {}
  char unused;
  Pool pool;
};
template <class Pool>
constinit fresh<Pool> under_test;
template <class Pool>
Pool& the() noexcept {
  return under_test<Pool>.pool;
}

template <class Pool>
[[gnu::noinline]] void* allocate() noexcept {
  return the<Pool>().allocate();
}
template <class Pool>
[[gnu::noinline]] void deallocate(void* p) noexcept {
  the<Pool>().deallocate(p);
}

/// What the handler does.
template <class Pool>
constexpr void (*handler_programs[])() = {
    [] { by_handler.add(allocate<Pool>()); },
    [] {
      if (void* const p = by_handler.take()) deallocate<Pool>(p);
    },
    [] { deallocate<Pool>(allocate<Pool>()); },
    // The same block on top, but another below it: what a compare-and-swap without a tag takes for no change.
    [] {
      void* const a = allocate<Pool>();
      by_handler.add(allocate<Pool>());
      deallocate<Pool>(a);
    },
};

/// How many blocks are free when the call begins, and whether they were in use before.
struct beginning {
  std::size_t free;
  bool first_use;
};
inline constexpr beginning beginnings[] = {
    {capacity - 2, true}, {capacity - 2, false}, {2, false}, {1, false}, {0, false}};

template <class Pool>
void begin(beginning at) noexcept {
  std::construct_at(&the<Pool>());
  by_thread = {};
  by_handler = {};
  if (!at.first_use) {
    void* all[capacity];
    for (void*& p : all) p = the<Pool>().allocate();
    for (void* p : all) the<Pool>().deallocate(p);
  }
  for (int i = 0; i < 2 && at.free + 2 <= capacity; ++i) {
    by_handler.add(the<Pool>().allocate());
  }
  while (by_thread.count + by_handler.count + at.free < capacity)
    by_thread.add(the<Pool>().allocate());
}

/// Returns: whether each block is held once or free once, and all are there.
template <class Pool>
bool is_sound() noexcept {
  if (!the<Pool>().audit()) return false;
  void* all[2 * capacity + 1];
  std::size_t count = 0;
  for (std::size_t i = 0; i < by_thread.count; ++i) all[count++] = by_thread.blocks[i];
  for (std::size_t i = 0; i < by_handler.count; ++i) all[count++] = by_handler.blocks[i];
  while (void* const p = the<Pool>().allocate()) {
    if (count > capacity) return false;
    all[count++] = p;
  }
  if (count != capacity) return false;
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t k = 0; k < i; ++k) {
      if (all[i] == all[k]) return false;
    }
  }
  return true;
}

struct outcome {
  std::uint32_t moments = 0;         ///< at which the handler came
  std::uint32_t losses = 0;          ///< after which the pool was not sound
  std::uint32_t longest_masked = 0;  ///< instructions that the handler had to wait for
};

/// One call, interrupted after each of its instructions.
template <class Pool, class Call>
void interrupt_everywhere(beginning at, void (*program)(), Call call, outcome& result) noexcept {
  handler_program = program;
  std::uint32_t last_place = 0;
  std::uint32_t at_one_place = 0;
  for (std::uint32_t n = 1;; ++n) {
    begin<Pool>(at);
    fired = false;
    arm(n);
    call();
    disarm();
    if (!fired) return;
    ++result.moments;
    at_one_place = fired_at == last_place ? at_one_place + 1 : 0;
    last_place = fired_at;
    if (at_one_place > result.longest_masked) result.longest_masked = at_one_place;
    if (!is_sound<Pool>()) ++result.losses;
  }
}

template <class Pool>
outcome interrupt_all() noexcept {
  outcome result;
  for (const beginning at : beginnings) {
    for (void (*const program)() : handler_programs<Pool>) {
      interrupt_everywhere<Pool>(at, program, [] { by_thread.add(allocate<Pool>()); }, result);
      interrupt_everywhere<Pool>(
          at, program,
          [] {
            if (void* const p = by_thread.take()) deallocate<Pool>(p);
          },
          result);
    }
  }
  return result;
}

bool all_good = true;

template <class Pool>
void test(const char* name, bool protects) noexcept {
  const outcome result = interrupt_all<Pool>();
  board::write_all("preempted|", name, "|", result.moments, "|", result.losses, "|",
                   result.longest_masked, "\n");
  if ((result.losses == 0) != protects || result.moments < 500) {
    board::write_all("FAILED: ", name,
                     protects ? ": blocks were lost or shared\n"
                              : ": nothing went wrong, so this proves nothing\n");
    all_good = false;
  }
}

std::uint32_t primask() noexcept {
  std::uint32_t state;
  asm volatile("mrs %0, primask" : "=r"(state));
  return state;
}

/// What was masked before a call is masked after it.
template <class Pool>
void test_nesting() noexcept {
  begin<Pool>({capacity - 2, false});
  const bool open = primask() == 0;
  asm volatile("cpsid i" ::: "memory");
  void* const p = allocate<Pool>();
  const bool masked = primask() == 1;
  deallocate<Pool>(p);
  const bool still_masked = primask() == 1;
  asm volatile("cpsie i" ::: "memory");
  deallocate<Pool>(allocate<Pool>());
  if (!open || !masked || !still_masked || primask() != 0) {
    board::write("FAILED: the interrupt mask is not what it was\n");
    all_good = false;
  }
}

using plain = static_pool<block, capacity, check::none>;
using masked =
    static_pool<block, capacity, check::none, counting::none, interrupt_mask<cortex_m_primask>>;
using masked_checked = static_pool<block, capacity, interrupt_mask<cortex_m_primask>>;

}  // namespace

extern "C" {

void sys_tick_body(const std::uint32_t* frame) noexcept {
  disarm();
  fired = true;
  fired_at = frame[6];
  handler_program();
}
[[gnu::naked]] void sys_tick_handler() noexcept {
  asm volatile(
      "mov r0, sp\n\tldr r1, =sys_tick_body\n\tbx r1\n\t.ltorg");  // with the stacked registers
}

void ashlar_fault(const fault& what) noexcept {
  board::write_all("fault: ", describe(what.kind), "\n");
  board::exit(100);
}
}

int main() {
  test<plain>("no lock", false);
  test<masked>("interrupts masked, no checks", true);
  test<masked_checked>("interrupts masked, cheap checks, counted", true);
  test_nesting<masked_checked>();
#if defined(__ARM_FEATURE_LDREX)
  test<static_pool<block, capacity, check::none, counting::none, lock_free<std::uint32_t>>>(
      "lock-free, no checks", true);
  test<static_pool<block, capacity, counting::none, lock_free<std::uint32_t>>>(
      "lock-free, cheap checks", true);
#endif
  return all_good ? 0 : 1;
}
