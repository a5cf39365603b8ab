// Heap instances: a budget, a page source of the caller's or the system, an end with blocks in use.
#include <tests/fuzz/input.hpp>
#include <tests/support/live_blocks.hpp>
#include <tests/support/require.hpp>

#include <ashlar/arena/test_source.hpp>
#include <ashlar/instance/heap.hpp>

namespace {

using ashlar_test::test_source;
using ashlar_test::test_source_ref;

template <class Heap>
class program {
 public:
  program(Heap& heap, fuzz::input& in) : heap_(heap), in_(in) {}

  void run() {
    while (!in_.empty()) step();
    shadow_.verify_all();
    heap_.audit();
  }

 private:
  void step() {
    const std::size_t what = in_.below(32);
    if (what < 15) {
      const std::size_t size = fuzz::request_size(in_);
      const std::size_t alignment = in_.chance(80) ? 16 : fuzz::request_alignment(in_);
      add(heap_.try_allocate(size, alignment), size, alignment);
    } else if (what < 19) {
      if (!shadow_.empty()) reallocate();
    } else if (what < 28) {
      if (!shadow_.empty()) free(shadow_.take_any(in_));
    } else {
      rarely();
    }
  }

  void add(void* p, std::size_t size, std::size_t alignment) {
    if (p == nullptr) return;
    REQUIRE(heap_.owns(p));
    shadow_.add(p, size, heap_.usable_size(p), std::max<std::size_t>(alignment, 16));
  }
  void free(const support::live_block& b) {
    if (in_.chance(50)) return heap_.deallocate(b.address);
    heap_.deallocate(b.address, b.size, b.alignment);
  }
  void reallocate() {
    const support::live_block old = shadow_.take_any(in_);
    const std::size_t size = fuzz::request_size(in_);
    void* const p = heap_.try_reallocate(old.address, size);
    if (p == nullptr) {
      REQUIRE(size > old.usable / 2);  // shrinking cannot fail
      support::live_blocks<>::verify(old);
      return shadow_.insert(old);
    }
    support::live_blocks<>::verify(old, p, std::min(old.size, size));
    add(p, size, 16);
  }

  void rarely() {
    switch (in_.below(8)) {
      case 0:
      case 1:
        heap_.trim();
        return;
      case 2:
        static_cast<void>(heap_.prefault(in_.below(1 << 20), in_.below(3)));
        return;
      case 3:
        return heap_.seal();
      case 4:
        return heap_.unseal();
      case 5:
        return heap_.audit();
      case 6:
        REQUIRE(heap_.try_allocate(fuzz::absurd_size(in_)) == nullptr);
        return;
      default:
        shadow_.verify_all();
    }
  }

  Heap& heap_;
  fuzz::input& in_;
  support::live_blocks<> shadow_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::input in({data, size});
  const bool from_source = in.chance(50);
  const std::size_t budget = std::size_t{1} << (15 + in.below(11));
  if (!from_source) {
    ashlar::heap<> heap({.budget_bytes = budget, .name = "fuzzed"});
    program(heap, in).run();
    REQUIRE(heap.stats().total.peak_committed_bytes <= budget);
    return 0;
  }
  test_source source;
  if (in.chance(50)) source.bytes_allowed = in.below(budget);
  {
    ashlar::heap<test_source_ref> heap({.budget_bytes = budget, .name = "fuzzed"}, {&source});
    program(heap, in).run();
    REQUIRE(source.bytes <= budget);
  }
  REQUIRE(source.pieces.empty());
  REQUIRE(source.wrong == 0);
  return 0;
}
