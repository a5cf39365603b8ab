// Objects in pools: constructors that throw, destructors that are owed, walks while objects come and go.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <tests/fuzz/input.hpp>
#include <tests/support/require.hpp>
#include <vector>

#include <ashlar/arena/test_source.hpp>
#include <ashlar/core/check_policy.hpp>
#include <ashlar/pool/object_pool.hpp>
#include <ashlar/pool/static_pool.hpp>

namespace {

using namespace ashlar;
using ashlar_test::test_source;
using ashlar_test::test_source_ref;

std::size_t living = 0;

/// Knows its own place and number, so that no object is taken for another, and counts itself.
struct alignas(32) citizen {
  explicit citizen(std::uint64_t n, bool refuses = false) : self(this), number(n) {
    if (refuses) throw std::runtime_error("refused");
    ++living;
  }
  citizen(const citizen&) = delete;
  citizen& operator=(const citizen&) = delete;
  ~citizen() {
    REQUIRE(self == this);
    self = nullptr;
    --living;
  }
  const citizen* self;
  std::uint64_t number;
};

template <class Pool>
class program {
 public:
  program(Pool& pool, fuzz::input& in) : pool_(pool), in_(in) {}

  void run() {
    while (!in_.empty()) step();
    check();
  }
  void destroy_all() {
    for (citizen* c : held_) pool_.destroy(c);
    held_.clear();
    check();
  }
  /// Effects: the pool's end is left to destroy them.
  void forget_all() { held_.clear(); }

 private:
  void step() {
    const std::size_t what = in_.below(16);
    if (what < 7) {
      citizen* const c = in_.chance(50) ? pool_.try_create(++last_) : pool_.create(++last_);
      if (c == nullptr) return;
      REQUIRE(c->number == last_ && pool_.owns(c));
      held_.push_back(c);
    } else if (what == 7) {
      refuse();
    } else if (what < 13) {
      if (!held_.empty()) pool_.destroy(take(in_.below(held_.size())));
    } else if (what == 13) {
      const auto handle = pool_.make(++last_);  // gone at once
    } else if (what == 14) {
      destroy_while_walking();
    } else {
      check();
    }
  }

  void refuse() {
    try {
      REQUIRE(pool_.try_create(++last_, true) == nullptr);  // empty: no constructor ran
    } catch (const std::runtime_error&) {
    }
  }

  citizen* take(std::size_t i) {
    std::swap(held_[i], held_.back());
    citizen* const c = held_.back();
    held_.pop_back();
    return c;
  }

  void destroy_while_walking() {
    if constexpr (Pool::tracks_state) {
      const std::uint64_t modulus = 1 + in_.below(5);
      pool_.for_each([&](citizen& c) {
        if (c.number % modulus != 0) return;
        const auto found = std::find(held_.begin(), held_.end(), &c);
        REQUIRE(found != held_.end());
        pool_.destroy(take(static_cast<std::size_t>(found - held_.begin())));
      });
    }
  }

  void check() {
    REQUIRE(pool_.audit());
    REQUIRE(pool_.stats().blocks_in_use == held_.size());
    REQUIRE(living == held_.size());
    for (const citizen* c : held_) REQUIRE(c->self == c);
    if constexpr (Pool::tracks_state) {
      std::vector<const citizen*> walked;
      for (const citizen& c : pool_.objects()) walked.push_back(&c);
      REQUIRE(walked.size() == held_.size());
      REQUIRE(std::is_permutation(walked.begin(), walked.end(), held_.begin()));
    }
  }

  Pool& pool_;
  fuzz::input& in_;
  std::vector<citizen*> held_;
  std::uint64_t last_ = 0;
};

template <class Pool>
void drive(Pool& pool, fuzz::input& in) {
  program p(pool, in);
  p.run();
  if (Pool::death_type::destroys) {
    p.forget_all();
  } else {
    p.destroy_all();
  }
}

template <class... Policies>
void on_storage(fuzz::input& in) {
  std::vector<std::byte> storage(in.below(4096));
  object_pool<citizen, Policies...> pool{std::span(storage)};
  drive(pool, in);
}

template <class... Policies>
void on_source(fuzz::input& in) {
  test_source source;
  if (in.chance(50)) source.bytes_allowed = in.below(1 << 14);
  {
    object_pool<citizen, test_source_ref, Policies...> pool(heap_blocks{1 + in.below(8)},
                                                            test_source_ref{&source});
    drive(pool, in);
  }
  REQUIRE(source.pieces.empty());
  REQUIRE(source.wrong == 0);
}

template <class... Policies>
void inside(fuzz::input& in) {
  const auto pool = std::make_unique<static_pool<citizen, 17, Policies...>>();
  drive(*pool, in);
}

constexpr void (*kinds[])(fuzz::input&) = {
    on_storage<>,
    on_storage<at_death::destroy>,
    on_storage<check::none>,
    on_storage<check::full<3>, at_death::destroy>,
    on_storage<lock_free<>, at_death::destroy>,
    on_source<>,
    on_source<at_death::destroy>,
    on_source<check::full<2>, spin_lock>,
    inside<>,
    inside<at_death::destroy>,
    inside<lock_free<std::uint32_t>>,
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::input in({data, size});
  kinds[in.below(std::size(kinds))](in);
  REQUIRE(living == 0);  // a destructor for each constructor
  return 0;
}
