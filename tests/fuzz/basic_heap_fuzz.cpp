// The heap's engine with several caches, on an address space that refuses when the input says so.
#include <array>
#include <cstring>
#include <mutex>
#include <optional>
#include <tests/fuzz/input.hpp>
#include <tests/fuzz/stop_at_failure.hpp>
#include <tests/support/live_blocks.hpp>
#include <tests/support/require.hpp>
#include <tests/support/test_space.hpp>

#include <ashlar/heap/basic_heap.hpp>

namespace {

using namespace ashlar;

struct config {
  using space = test::test_space;
  using mutex = std::mutex;
};
using heap = basic_heap<config>;
using cache = heap::cache;

constexpr std::size_t cache_count = 3;
constexpr std::size_t most_bytes = std::size_t{24} << 20;

class program {
 public:
  explicit program(fuzz::input in) : in_(in), exact_(in_.chance(20)) {}

  void run() {
    heap_.space().set_refused_moves_unmap(in_.chance(50));
    if (in_.chance(20)) heap_.space().set_reserve_max(in_.below(std::size_t{1} << 28));
    if (exact_) exact_ = heap_.count_exactly(nullptr);
    while (!in_.empty()) step();
    finish();
  }

 private:
  void step() {
    const std::size_t what = in_.below(32);
    if (what < 14) {
      if (shadow_.bytes() < most_bytes) allocate();
    } else if (what < 18) {
      if (!shadow_.empty()) reallocate();
    } else if (what < 26) {
      if (!shadow_.empty()) free(shadow_.take_any(in_));
    } else if (what == 26) {  // many at once: what a cache cannot hold goes on to the central
      for (std::size_t n = in_.below(256); n != 0 && !shadow_.empty(); --n)
        free(shadow_.take_last());
    } else if (what == 27) {  // many of one size
      const std::size_t size = in_.below(1025);
      for (std::size_t n = in_.below(256); n != 0; --n) allocate(size, 1);
    } else {
      rarely();
    }
  }

  /// Returns: the cache of an owner, or null when the space refuses one.
  cache* owner() {
    cache*& own = owners_[in_.below(cache_count)];
    if (own == nullptr) own = heap_.attach();
    return own;
  }

  void allocate() {
    const std::size_t size = fuzz::request_size(in_);
    allocate(size, in_.chance(80) ? 1 : fuzz::request_alignment(in_));
  }
  void allocate(std::size_t size, std::size_t alignment) {
    add(get(size, alignment), size, alignment);
  }

  /// As the runtime does it.
  void* get(std::size_t size, std::size_t alignment) {
    const class_index c = heap::classes::class_for(size, alignment);
    cache* const own = owner();
    if (c == 0) {
      bool zeroed = false;
      void* const p = heap_.allocate_large(size, alignment, zeroed, own);
      if (p != nullptr && zeroed) REQUIRE(support::find_nonzero(p, size) == size);
      return p;
    }
    if (own == nullptr) return heap_.allocate_uncached(c);
    if (exact_) return heap_.refill(*own, c);
    return heap_.allocate_class(*own, c);
  }
  void add(void* p, std::size_t size, std::size_t alignment) {
    if (p == nullptr) return;
    if (exact_) heap_.note_allocation(p, size);
    REQUIRE(heap_.owns(p));
    shadow_.add(p, size, heap_.usable_size(p, "usable_size"), std::max<std::size_t>(alignment, 16));
  }

  void give(void* p) {
    if (exact_) heap_.note_deallocation(p, "free");
    cache* const own = owner();
    if (own == nullptr) return heap_.deallocate_uncached(p, "free");
    if (exact_ || !heap::try_deallocate(own->tops, p)) heap_.deallocate_slow(*own, p, "free");
  }
  void free(const support::live_block& b) { give(b.address); }

  void reallocate() {
    const support::live_block old = shadow_.take_any(in_);
    const std::size_t size = in_.chance(70) ? fuzz::request_size(in_) : old.size + in_.below(4096);
    if (const std::size_t usable = heap_.resize_in_place(old.address, size, "realloc")) {
      REQUIRE(usable >= size);
      support::live_blocks<>::verify(old, old.address, std::min(old.size, size));
      if (exact_) heap_.note_resize(old.address, size);
      shadow_.add(old.address, size, usable, 16);
      return;
    }
    if (size > old.usable && !exact_) {
      if (void* const moved = heap_.move_large(old.address, size)) {
        support::live_blocks<>::verify(old, moved, old.size);
        shadow_.add(moved, size, heap_.usable_size(moved, "usable_size"), 16);
        return;
      }
    }
    // Looked at only now: a move that was refused must not have changed it.
    support::live_blocks<>::verify(old);
    void* const p = get(size, 1);
    if (p == nullptr) return shadow_.insert(old);
    add(p, size, 1);
    give(old.address);
  }

  void rarely() {
    test::test_space& space = heap_.space();
    switch (in_.below(16)) {
      case 0:
      case 1:
        return space.fail_nth(in_.below(12));
      case 2:
        return space.fail_from(1 + in_.below(12));
      case 3:
        return space.fail_nth(0);
      case 4: {
        const auto kind = static_cast<test::space_call>(in_.below(test::space_call_count));
        return space.fail_always(kind, in_.chance(50));
      }
      case 5:
        return space.set_clock(clock_ += in_.below(4000));
      case 6:
        heap_.trim();
        return;
      case 7: {
        cache*& own = owners_[in_.below(cache_count)];
        if (own != nullptr) heap_.detach(own);
        own = nullptr;
        return;
      }
      case 8: {
        const std::size_t owners = in_.below(3);
        static_cast<void>(heap_.prefault(in_.below(1 << 20), owners, owner()));
        return;
      }
      case 9:
        return heap_.seal(true);
      case 10:
        return heap_.seal(false);
      case 11:
        return heap_.set_purge_policy({.delay_ms = static_cast<std::int64_t>(in_.below(2000)) - 1,
                                       .keep_bytes = in_.below(1 << 22)});
      case 12:
        REQUIRE(get(fuzz::absurd_size(in_), 1) == nullptr);
        return;
      case 13:
        heap_.lock_all();
        return heap_.unlock_all();
      case 14:
        heap_.audit();
        return check_figures();
      default:
        shadow_.verify_all();
    }
  }

  void finish() {
    heap_.space().fail_nth(0);
    heap_.seal(false);
    shadow_.verify_all();
    const bool leave = in_.chance(50);  // an end frees what is in use
    while (!leave && !shadow_.empty()) free(shadow_.take_last());
    for (cache*& own : owners_) {
      if (own != nullptr) heap_.detach(own);
      own = nullptr;
    }
    heap_.audit();
    check_figures();
    heap_.release_all();
    REQUIRE(heap_.space().live_reservations() == 0);
  }

  /// Once every cache has published what it holds, the figures are those of the shadow, exactly.
  void check_figures() {
    static ashlar_stats s;
    for (cache* own : owners_) {
      if (own != nullptr) heap_.collect(s, own);
    }
    heap_.collect(s, nullptr);
    std::uint64_t blocks = s.large.blocks_in_use;
    for (std::uint32_t c = 0; c < s.class_count; ++c) blocks += s.classes[c].blocks_in_use;
    REQUIRE(blocks == shadow_.size());
    REQUIRE(s.total.bytes_in_use == shadow_.bytes());
    REQUIRE(s.total.committed_bytes >= s.total.bytes_in_use);
    REQUIRE(s.total.reserved_bytes >= s.total.committed_bytes);
  }

  fuzz::input in_;
  heap heap_;
  std::array<cache*, cache_count> owners_{};
  support::live_blocks<> shadow_;
  bool exact_;
  std::uint64_t clock_ = 0;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::stop_at_failure::begin();
  program(fuzz::input({data, size})).run();
  return 0;
}
