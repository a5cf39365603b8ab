// Random programs on several heap instances and threads against a shadow model: blocks change threads,
// threads end and are replaced, heaps end with blocks in use and are replaced. Every block carries a
// pattern that names it, budgets are small enough to be met, and every heap is audited when it ends.
#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <tests/model/model.hpp>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/instance/heap.hpp>

namespace {

constexpr std::size_t heap_count = 6;
constexpr std::size_t thread_count = 4;

/// Pieces of the first heap of the world, which lives as long as it.
struct ground {
  ashlar::heap<>* below;
  void* allocate(std::size_t bytes, std::size_t alignment) noexcept {
    return below->try_allocate(bytes, alignment);
  }
  void deallocate(void* p, std::size_t bytes, std::size_t alignment) noexcept {
    below->deallocate(p, bytes, alignment);
  }
};

/// One heap of either source and the model's blocks of it.
struct tenant {
  std::shared_mutex life;  ///< shared: the heap is used; alone: it ends and another begins
  std::unique_ptr<ashlar::heap<>> of_system;
  std::unique_ptr<ashlar::heap<ground>> of_ground;
  std::size_t budget = 0;
  std::mutex list;
  model::live_blocks held;

  template <class Use>
  auto with(Use use) {
    return of_system != nullptr ? use(*of_system) : use(*of_ground);
  }
};

struct world {
  ashlar::heap<> below;
  std::array<tenant, heap_count> tenants;
  std::mutex mutex;
  std::string what_broke;
};

void begin(world& w, tenant& t, support::random_source& random) {
  t.budget = (std::size_t{1} << random.below(6)) * 512 * 1024;
  const ashlar::heap_options options{.budget_bytes = t.budget, .name = "tenant"};
  if (random.chance(50))
    t.of_system = std::make_unique<ashlar::heap<>>(options);
  else
    t.of_ground = std::make_unique<ashlar::heap<ground>>(options, ground{&w.below});
}

/// Requires that a heap's every block is as its owner left it, and what its statistics must say; `alone`
/// is when every thread that used it has ended: then they are exact. Requires: nobody else uses it.
void audit(tenant& t, bool alone) {
  t.held.verify_all();
  t.with([&](auto& h) {
    h.audit();
    const ashlar_stats s = h.stats();
    model::audit_class(s.large);
    for (std::uint32_t c = 0; c < s.class_count; ++c) model::audit_class(s.classes[c]);
    model::require(s.total.committed_bytes <= t.budget, "the budget is exceeded");
    model::require(s.total.peak_committed_bytes <= t.budget, "the budget was exceeded");
    model::require(!alone || s.total.bytes_in_use == t.held.bytes(),
                   std::to_string(s.total.bytes_in_use) + " bytes in use, but the model has " +
                       std::to_string(t.held.bytes()));
  });
}

/// Ends a heap with all its blocks.
void end(tenant& t) {
  audit(t, false);
  t.held.clear();
  t.of_system.reset();
  t.of_ground.reset();
}

void allocate(tenant& t, support::random_source& random, std::uint64_t key) {
  model::block b;
  b.size = model::random_size(random) / 4;
  const std::size_t alignment = random.chance(80) ? 16 : std::size_t{1} << random.below(14);
  b.alignment = std::max<std::size_t>(alignment, 16);
  b.origin = alignment;  // a sized free is told what was asked for
  b.key = key;
  t.with([&](auto& h) {
    b.address = h.try_allocate(b.size, alignment);
    if (b.address == nullptr) return;
    b.usable = h.usable_size(b.address);
    model::require(b.usable != 0 && h.owns(b.address), "not its own: " + model::describe(b));
  });
  if (b.address == nullptr) return;
  model::live_blocks::look(b);
  model::live_blocks::fill(b);
  const std::lock_guard guard(t.list);
  t.held.insert(b);
}

/// Takes any block out of the model, whoever made it.
bool take(tenant& t, support::random_source& random, model::block& out) {
  const std::lock_guard guard(t.list);
  if (t.held.empty()) return false;
  out = t.held.remove(random.below(t.held.size()));
  return true;
}

void reallocate(tenant& t, support::random_source& random) {
  model::block b;
  if (!take(t, random, b)) return;
  const std::size_t size = model::random_size(random) / 2;
  t.with([&](auto& h) {
    void* const moved = h.try_reallocate(b.address, size);
    if (moved == nullptr) return;
    model::live_blocks::verify(b, moved, size);
    b.address = moved;
    b.size = size;
    b.usable = h.usable_size(moved);
    model::live_blocks::fill(b);
  });
  const std::lock_guard guard(t.list);
  t.held.insert(b);
}

void run(world& w, std::uint64_t seed, std::uint64_t operations) try {
  support::random_source random(seed);
  for (std::uint64_t i = 0; i < operations; ++i) {
    tenant& t = w.tenants[random.below(heap_count)];
    const std::size_t dice = random.below(10'000);
    if (dice < 5) {
      const std::unique_lock alone(t.life);
      end(t);
      begin(w, t, random);
      continue;
    }
    const std::shared_lock used(t.life);
    if (dice < 20) {
      t.with([](auto& h) { h.trim(); });
    } else if (dice < 5'200) {
      allocate(t, random, (seed << 32) + i);
    } else if (dice < 6'000) {
      reallocate(t, random);
    } else if (model::block b; take(t, random, b)) {
      model::live_blocks::verify(b);
      t.with([&](auto& h) { h.deallocate(b.address, b.size, b.origin); });
    }
  }
} catch (const model::broken& fault) {
  const std::lock_guard lock(w.mutex);
  if (w.what_broke.empty()) w.what_broke = fault.what();
}

TEST(ModelHeaps, ThreadsAndHeapsComeAndGo) {
  world w;
  support::random_source random(model::seed());
  for (tenant& t : w.tenants) begin(w, t, random);
  const std::uint64_t operations = model::operations(600'000);
  constexpr std::uint64_t generations = 5;
  for (std::uint64_t generation = 0; generation < generations; ++generation) {
    std::vector<std::thread> threads;
    for (std::uint64_t t = 0; t < thread_count; ++t)
      threads.emplace_back(run, std::ref(w), model::seed() + generation * thread_count + t + 1,
                           operations / generations / thread_count);
    for (std::thread& t : threads) t.join();
    // A thread that stops leaves a block out of the model, so its fault is told before an audit's.
    ASSERT_EQ(w.what_broke, "") << "seed " << model::seed();
    for (tenant& t : w.tenants) ASSERT_NO_THROW(audit(t, true));
  }
  for (tenant& t : w.tenants) ASSERT_NO_THROW(end(t));
  w.below.audit();
  EXPECT_EQ(w.below.stats().total.bytes_in_use, 0u) << "pieces were not given back";
}

}  // namespace
