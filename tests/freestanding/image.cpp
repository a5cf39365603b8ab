// An image without a library. It uses every freestanding part of ashlar and tells by its exit status which step went
// wrong (0: none). platform.hpp is that of the machine (x86_64/, ../bare_metal/board/): how an image begins and ends
// there.
// Compiled with -ffreestanding -fno-exceptions -fno-rtti -fno-threadsafe-statics, linked with
// -nostdlib.
#include <cstddef>
#include <cstdint>
#include <new>
#include <span>

#include <ashlar/freestanding.hpp>

#include "platform.hpp"

namespace {

using namespace ashlar;

using platform::leave;

// 1 ... 99: a check below. 100 + kind: ashlar saw a fault nobody expected.
void check_that(bool holds, int step) noexcept {
  if (!holds) leave(step);
}

struct message {
  std::uint32_t id;
  std::uint8_t payload[60];
};
struct alignas(64) dma_buffer {
  std::uint8_t bytes[192];
};
struct needs_destruction {
  explicit needs_destruction(int* where) : counter(where) { ++*counter; }
  ~needs_destruction() { --*counter; }
  int* counter;
};

int leaks_reported = 0;

/// The fault that the last step causes: seen, it is the image's good end. (No fault is called this.)
fault_kind awaited{0xff};

struct fake_port {
  static inline unsigned primask = 0;
  static unsigned save_and_disable() noexcept {
    const unsigned was = primask;
    primask = 1;
    return was;
  }
  static void restore(unsigned state) noexcept { primask = state; }
};

/// lock_free where the processor changes a word in one step, which the smallest do with none, and 32-bit ones with 32 bits.
template <class Word>
using shared_by = std::conditional_t<std::atomic<Word>::is_always_lock_free, lock_free<Word>,
                                     interrupt_mask<fake_port>>;
using waiting = std::conditional_t<std::atomic<bool>::is_always_lock_free, spin_lock,
                                   interrupt_mask<fake_port>>;

/// Pages of a static array, never given back: what firmware has instead of an operating system.
struct static_pages {
  alignas(64) static inline std::byte bytes[32768];
  static inline std::size_t used = 0;
  void* allocate(std::size_t size, std::size_t alignment) noexcept {
    const std::size_t at = align_up(used, alignment);
    if (at > sizeof(bytes) || size > sizeof(bytes) - at) return nullptr;
    used = at + size;
    return bytes + at;
  }
  void deallocate(void*, std::size_t, std::size_t) noexcept {}
};

}  // namespace

// With external linkage, so that the test that reads symbols finds it in .bss: a static pool costs
// no byte of the image.
constinit static_pool<message, 64> ashlar_test_messages;

namespace {

constinit static_pool<dma_buffer, 4, interrupt_mask<fake_port>> buffers;
constinit static_pool<message, 8, shared_by<std::uint64_t>> shared_messages;
constinit static_pool<message, 8, shared_by<std::uint32_t>, check::none, counting::none> small_word;
constinit static_pool<message, 8, check::full<2>, waiting> guarded;
constinit static_pool<needs_destruction, 1,
                      exhaustion::handler_and_retry<exhaustion::null, exhaustion::own_handler>>
    unhandled;
constinit static_pool<
    message, 2, exhaustion::next_larger<static_pool<dma_buffer, 4, interrupt_mask<fake_port>>>>
    borrowing{exhaustion::next_larger(buffers)};

constinit static_pool_set<blocks<8, 10, 8>, blocks<32, 8>, blocks<396, 3>,
                          interrupt_mask<fake_port>>
    sizes;
constinit static_pool_set<blocks<32, 4>, blocks<64, 4>, shared_by<std::uint32_t>, check::none,
                          counting::none, spill::never>
    shared_sizes;
constinit static_pool<needs_destruction, 3> numbered;
constinit static_arena<2000, at_death::ignore> frame;
constinit static_arena<2000, at_death::ignore, interrupt_mask<fake_port>, counting::none>
    shared_frame;
constinit refill_lists<static_pages, 128, 8, waiting, at_death::abandon> lists;
constinit static_run_pool<message, 70> runs;

/// A trace that nobody keeps.
struct counting_port {
  static constexpr std::uint32_t ticks_per_second = 1000;
  static inline std::size_t bytes = 0;
  static inline std::size_t largest = 0;
  static std::uint16_t now() noexcept { return static_cast<std::uint16_t>(bytes * 100); }
  static bool write(const std::byte*, std::size_t count) noexcept {
    bytes += count;
    largest = max_of(largest, count);
    return true;
  }
};
constinit trace_recorder<counting_port, interrupt_mask<fake_port>, trace_limits{.frame_bytes = 256}>
    recorder;
constinit static_pool<message, 8, recording::to<recorder>> recorded;

template <class Pool>
void fill_and_empty(Pool& pool, int step) noexcept {
  void* blocks[300];
  for (int round = 0; round < 3; ++round) {
    std::size_t n = 0;
    while (void* p = pool.try_allocate()) {
      check_that(n < 300 && is_aligned(p, pool.alignment()) && pool.owns(p), step);
      auto* const bytes = static_cast<volatile unsigned char*>(p);
      for (std::size_t i = 0; i < pool.block_size(); ++i) bytes[i] = static_cast<unsigned char>(n);
      blocks[n++] = p;
    }
    check_that(n == pool.capacity() && n != 0, step);
    check_that(pool.stats().blocks_in_use == n && pool.stats().peak_in_use == n, step);
    for (std::size_t k = 0; k < n; ++k) {
      const auto* const bytes = static_cast<const volatile unsigned char*>(blocks[k]);
      for (std::size_t i = 0; i < pool.block_size(); ++i) {
        check_that(bytes[i] == static_cast<unsigned char>(k), step);
      }
      pool.deallocate(blocks[k]);
    }
    check_that(pool.audit() && pool.stats().blocks_in_use == 0, step);
  }
}

/// Sets of sizes, walks over objects, at_death. Steps 31 ... 44.
void run_sets_and_walks() noexcept {
  void* held[24];
  std::size_t n = 0;
  while (void* p = sizes.try_allocate(8, 8)) {
    check_that(n < 24 && sizes.owns(p) && is_aligned(p, 8), 31);
    held[n++] = p;
  }
  check_that(n == 21 && sizes.stats().blocks_in_use() == 21, 32);
  for (std::size_t k = 0; k < n; ++k) {
    if (k % 2 == 0) {
      sizes.deallocate(held[k], 8, 8);
    } else {
      sizes.deallocate(held[k]);
    }
  }
  check_that(sizes.audit() && sizes.stats().blocks_in_use() == 0 && fake_port::primask == 0, 33);
  void* const odd = sizes.allocate(396);
  check_that(is_aligned(odd, alignof(std::max_align_t)) && sizes.usable_size(odd) == 396, 34);
  sizes.deallocate(odd, 396);
  check_that(sizes.allocate(397) == nullptr, 35);
  void* const small = shared_sizes.allocate(32);
  check_that(shared_sizes.usable_size(small) == 32, 36);
  shared_sizes.deallocate(small, 32);

  pool_set<blocks<16, 10>, blocks<100, 5>, static_pages> from_pages;
  check_that(from_pages.has_memory(), 37);
  void* const p = from_pages.allocate(17);
  check_that(from_pages.usable_size(p) == 100, 38);
  from_pages.deallocate(p, 17);
  auto moved = static_cast<decltype(from_pages)&&>(from_pages);
  check_that(moved.audit() && from_pages.allocate(1) == nullptr, 39);

  int alive = 0;
  {
    static_pool_ptr<numbered> a = make_static<numbered>(&alive);
    auto b = make_static<numbered>(&alive);
    int seen = 0;
    for (const needs_destruction& object : numbered.objects()) seen += *object.counter;
    numbered.for_each([&seen](needs_destruction& object) { seen += *object.counter; });
    check_that(seen == 8, 40);
  }
  check_that(alive == 0, 41);
  {
    static_pool<needs_destruction, 3, at_death::destroy> ending;
    check_that(ending.create(&alive) != nullptr && ending.create(&alive) != nullptr, 42);
  }
  check_that(alive == 0, 43);
  {
    static_pool<int, 3, at_death::report> reporting;
    check_that(reporting.create(1) != nullptr, 44);
  }
  check_that(leaks_reported == 1, 44);
}

/// Blocks of growing size and alignment until there is no room, three times over.
template <class Arena>
void fill_and_reset(Arena& memory, int step) noexcept {
  for (int round = 0; round < 3; ++round) {
    std::size_t n = 0;
    void* highest = nullptr;
    while (auto* p = static_cast<volatile unsigned char*>(
               memory.try_allocate(1 + n % 50, std::size_t{1} << n % 7))) {
      check_that(is_aligned(const_cast<unsigned char*>(p), std::size_t{1} << n % 7), step);
      for (std::size_t i = 0; i < 1 + n % 50; ++i) p[i] = static_cast<unsigned char>(n);
      highest = const_cast<unsigned char*>(p);
      ++n;
    }
    check_that(n > 10 && memory.owns(highest), step);
    check_that(memory.used_bytes() <= memory.capacity_bytes(), step);
    memory.reset();
    check_that(memory.used_bytes() == 0, step);
  }
}

int run() noexcept {
  fill_and_empty(ashlar_test_messages, 1);
  fill_and_empty(buffers, 2);
  check_that(fake_port::primask == 0, 3);
  fill_and_empty(shared_messages, 4);
  fill_and_empty(small_word, 5);
  fill_and_empty(guarded, 6);

  static std::byte storage[4096];
  fixed_pool by_caller(block_layout{48, 16}, std::span(storage).subspan(3));
  fill_and_empty(by_caller, 7);
  fixed_pool<check::none, counting::none> unchecked({48, 16}, storage);
  fill_and_empty(unchecked, 8);
  fixed_pool<static_pages> one_piece({40, 8}, heap_pool{50});
  fill_and_empty(one_piece, 9);
  fixed_pool<static_pages, check::full<>> slabs(
      {40, 8}, heap_blocks{.first_slab_blocks = 4, .max_blocks = 60});
  fill_and_empty(slabs, 10);

  // Objects, and what an empty pool does.
  int alive = 0;
  static_pool<needs_destruction, 2> objects;
  {
    auto a = objects.make(&alive);
    needs_destruction* const b = objects.create(&alive);
    check_that(a != nullptr && b != nullptr && alive == 2, 11);
    check_that(objects.create(&alive) == nullptr && alive == 2, 12);
    objects.destroy(b);
    needs_destruction* const c = new (objects) needs_destruction(&alive);
    check_that(c == b, 13);
    destroy_in(objects, c);
  }
  check_that(alive == 0, 14);

  message* lent[6];
  for (auto& m : lent) m = borrowing.create();
  for (auto* m : lent) check_that(m != nullptr, 15);
  check_that(borrowing.create() == nullptr && buffers.stats().blocks_in_use == 4, 16);
  for (auto* m : lent) borrowing.destroy(m);
  check_that(buffers.stats().blocks_in_use == 0, 17);

  using own = exhaustion::handler_and_retry<exhaustion::null, exhaustion::own_handler>;
  static int handler_calls = 0;
  static static_pool<message, 1, own>* handled = nullptr;
  static message* spare = nullptr;
  static_pool<message, 1, own> with_handler(own{{[] {
                                                  ++handler_calls;
                                                  handled->destroy(spare);
                                                }},
                                                {}});
  handled = &with_handler;
  spare = with_handler.create();
  check_that(with_handler.create() == spare && handler_calls == 1, 18);

  // Instantiated, so that their symbols are looked at; not called.
  static_pool<message, 1, exhaustion::throw_bad_alloc> throwing;
  static_pool<message, 1, exhaustion::stop> stopping;
  check_that(throwing.allocate() != nullptr && stopping.allocate() != nullptr, 19);

  run_sets_and_walks();

  line_writer<32> line;
  line << "in use " << ashlar_test_messages.stats().peak_in_use;
  check_that(line.size() == 9 && line.data()[7] == '6', 20);

  // Arenas: bounded, inside, and on pages that are never given back.
  fill_and_reset(frame, 21);
  fill_and_reset(shared_frame, 22);
  check_that(fake_port::primask == 0, 23);
  arena by_caller_too(std::span<std::byte>(storage).subspan(3));
  fill_and_reset(by_caller_too, 24);
  {
    const std::size_t before = align_up(static_pages::used, alignof(std::max_align_t));
    arena<static_pages> growing({.first_chunk_bytes = 512, .max_bytes = 8192});
    fill_and_reset(growing, 45);
    check_that(growing.stats().chunks > 2 && static_pages::used - before == 8192, 46);
    const arena_scope outer(growing);
    check_that(growing.create<needs_destruction>(&alive) != nullptr && alive == 1, 47);
    {
      const arena_scope inner(growing);
      check_that(growing.create<needs_destruction>(&alive) != nullptr && alive == 2, 48);
      const int* const zeros = growing.create_array<int>(100);
      for (int i = 0; i < 100; ++i) check_that(zeros[i] == 0, 49);
      check_that(growing.create_array<int>(SIZE_MAX / 2) == nullptr, 50);
    }
    check_that(alive == 1, 51);
  }
  check_that(alive == 0, 52);
  static_arena<64, exhaustion::throw_bad_alloc> throwing_arena;
  static_arena<64, exhaustion::stop, at_death::stop> stopping_arena;
  check_that(throwing_arena.allocate(64) != nullptr, 53);
  void* const only = stopping_arena.allocate(64);
  check_that(only != nullptr && stopping_arena.try_extend(only, 64, 10), 54);
  stopping_arena.deallocate(only, 10);

  check_that(recorder.begin("image"), 55);
  fill_and_empty(recorded, 56);
  check_that(recorder.end() && recorder.lost() == 0 && fake_port::primask == 0, 57);
  check_that(counting_port::bytes > 400 && counting_port::largest <= 256, 58);

  // Last: it takes what is left of the pages.
  void* of_list[8];
  std::size_t taken = 0;
  while (void* p = lists.try_allocate(40, 8)) of_list[taken++ % 8] = p;
  check_that(taken > 8 && lists.try_allocate(128) == nullptr && lists.audit(), 80);
  for (void* p : of_list) lists.deallocate(p, 40, 8);
  check_that(lists.try_allocate(24, 8) != nullptr && lists.audit(), 81);

  void* const first = runs.try_allocate(69);
  void* const second = runs.try_allocate();
  check_that(first != nullptr && second != nullptr && runs.try_allocate() == nullptr, 82);
  runs.deallocate(first);
  check_that(runs.try_allocate(69) == first && runs.in_use() == 70, 83);

  // Very last: there is no object for an empty pool, and no exception to say so.
  check_that(new (unhandled) needs_destruction(&alive) != nullptr, 84);
  awaited = fault_kind::exhausted;
  static_cast<void>(new (unhandled) needs_destruction(&alive));
  return 85;
}

}  // namespace

extern "C" {

void ashlar_fault(const ashlar::fault& what) noexcept {
  leave(what.kind == awaited ? 0 : 100 + static_cast<int>(what.kind));
}

void ashlar_report(const ashlar::fault& what) noexcept {
  if (what.kind == fault_kind::leak) ++leaks_reported;
}

int image_main() { return run(); }
}
