// Pools of several sizes: pool_set, static_pool_set and the set that grows.
#include <memory>
#include <tests/fuzz/input.hpp>
#include <tests/support/live_blocks.hpp>
#include <tests/support/require.hpp>

#include <ashlar/arena/test_source.hpp>
#include <ashlar/compat/growing_pool_set.hpp>
#include <ashlar/pool/pool_set.hpp>

namespace {

using namespace ashlar;
using ashlar_test::test_source;
using ashlar_test::test_source_ref;

template <class Set>
class program {
 public:
  program(Set& set, fuzz::input& in) : set_(set), in_(in) {}

  void run() {
    while (!in_.empty()) step();
    check();
    while (!shadow_.empty()) free(shadow_.take_last());
    check();
  }

 private:
  static constexpr bool borrows = Set::exhaustion_type::borrows;

  void step() {
    const std::size_t what = in_.below(16);
    if (what < 9) {
      allocate();
    } else if (what < 14) {
      if (!shadow_.empty()) free(shadow_.take_any(in_));
    } else if (what == 14) {
      check();
    } else {
      REQUIRE(set_.try_allocate(fuzz::absurd_size(in_)) == nullptr);
    }
  }

  void allocate() {
    const std::size_t size = in_.below(600);
    const std::size_t alignment = std::size_t{1} << (in_.chance(70) ? in_.below(5) : in_.below(12));
    void* const p = set_.allocate(size, alignment);
    if (p == nullptr) return;
    const bool own = set_.owns(p);
    REQUIRE(own || borrows);
    const std::size_t usable = own ? set_.usable_size(p) : std::max<std::size_t>(size, 1);
    shadow_.add(p, size, usable, alignment);
  }
  /// A source of pieces must be told the size, so a set that borrows is always told.
  void free(const support::live_block& b) {
    if constexpr (!borrows) {
      if (in_.chance(50)) return set_.deallocate(b.address);
    }
    set_.deallocate(b.address, b.size, b.alignment);
  }

  void check() {
    REQUIRE(set_.audit());
    std::size_t in_use = 0;
    for (const pool_stats& s : set_.stats().classes) {
      REQUIRE(s.blocks_in_use <= s.blocks_made);
      REQUIRE(s.blocks_made <= s.capacity);
      in_use += s.blocks_in_use;
    }
    REQUIRE(borrows ? in_use <= shadow_.size() : in_use == shadow_.size());
    shadow_.verify_all();
  }

  Set& set_;
  fuzz::input& in_;
  support::live_blocks<> shadow_;
};

/// Sizes that are no multiple of any alignment, one class that is aligned for more, one without blocks.
template <template <class...> class Set, class... Policies>
using three_classes = Set<blocks<13, 20>, blocks<64, 9, 64>, blocks<396, 6>, Policies...>;

template <class... Policies>
void inside(fuzz::input& in) {
  const auto set = std::make_unique<three_classes<static_pool_set, Policies...>>();
  program(*set, in).run();
}

void borrowing(fuzz::input& in) {
  test_source source;
  {
    using lender = exhaustion::upstream<test_source>;
    three_classes<static_pool_set, lender> set{lender(source)};
    program(set, in).run();
  }
  REQUIRE(source.pieces.empty());
  REQUIRE(source.wrong == 0);
}

template <template <class...> class Set, class... Policies>
void on_source(fuzz::input& in) {
  test_source source;
  if (in.chance(50)) source.bytes_allowed = in.below(1 << 15);
  {
    three_classes<Set, test_source_ref, Policies...> set(test_source_ref{&source});
    program(set, in).run();
  }
  REQUIRE(source.pieces.empty());
  REQUIRE(source.wrong == 0);
}

constexpr void (*kinds[])(fuzz::input&) = {
    inside<>,
    inside<spill::never>,
    inside<check::full<4>>,
    inside<check::none, counting::none, spill::never>,
    inside<lock_free<std::uint32_t>>,
    borrowing,
    on_source<pool_set>,
    on_source<pool_set, spin_lock, check::full<2>>,
    on_source<growing_pool_set>,
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::input in({data, size});
  kinds[in.below(std::size(kinds))](in);
  return 0;
}
