// A pool that an interrupt handler and thread mode share: the handler comes after every single instruction of a call, in
// turn, and uses the pool itself. Whatever it did, no block may have two holders and none may be lost.
//
//   start(n), call, stop: a one-shot timer fires after n instructions; n = 1, 2, ... until it is too late for the call
//
// The pool without a lock must fail this. What is masked shows in it, too: the handler comes at one place for as many n
// as there are instructions in the masked stretch, and one more.
#include <cstddef>
#include <cstdint>
#include <memory>

#include <ashlar/freestanding.hpp>

#include "board/interrupts.hpp"
#include "board/semihosting.hpp"
#include "one_shot_timer.hpp"

namespace {

using namespace ashlar;

struct block {
  std::uint32_t words[4];
};
inline constexpr std::size_t capacity = 6;

// ---- the one-shot timer ----

volatile bool fired = false;
volatile std::uintptr_t fired_at = 0;  ///< the instruction that would have been next
void (*handler_program)() = nullptr;

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
  std::uintptr_t last_place = 0;
  std::uint32_t at_one_place = 0;
  for (std::uint32_t n = 1;; ++n) {
    begin<Pool>(at);
    fired = false;
    one_shot_timer::start(n);
    call();
    one_shot_timer::stop();
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

/// What was masked before a call is masked after it.
template <class Pool>
void test_nesting() noexcept {
  begin<Pool>({capacity - 2, false});
  const bool open = !board::interrupts_are_masked();
  board::mask_interrupts();
  void* const p = allocate<Pool>();
  const bool masked = board::interrupts_are_masked();
  deallocate<Pool>(p);
  const bool still_masked = board::interrupts_are_masked();
  board::unmask_interrupts();
  deallocate<Pool>(allocate<Pool>());
  if (!open || !masked || !still_masked || board::interrupts_are_masked()) {
    board::write("FAILED: the interrupt mask is not what it was\n");
    all_good = false;
  }
}

using plain = static_pool<block, capacity, check::none>;
using masked = static_pool<block, capacity, check::none, counting::none,
                           interrupt_mask<board::interrupt_port>>;
using masked_checked = static_pool<block, capacity, interrupt_mask<board::interrupt_port>>;

}  // namespace

void timer_fired(std::uintptr_t next) noexcept {
  fired = true;
  fired_at = next;
  handler_program();
}

extern "C" void ashlar_fault(const fault& what) noexcept {
  board::write_all("fault: ", describe(what.kind), "\n");
  board::exit(100);
}

int main() {
  one_shot_timer::prepare();
  test<plain>("no lock", false);
  test<masked>("interrupts masked, no checks", true);
  test<masked_checked>("interrupts masked, cheap checks, counted", true);
  test_nesting<masked_checked>();
#if defined(__ARM_FEATURE_LDREX) || defined(__riscv_atomic)
  test<static_pool<block, capacity, check::none, counting::none, lock_free<std::uint32_t>>>(
      "lock-free, no checks", true);
  test<static_pool<block, capacity, counting::none, lock_free<std::uint32_t>>>(
      "lock-free, cheap checks", true);
#endif
  return all_good ? 0 : 1;
}
