// Classes with operators new and delete of their own.

#include <tests/support/test_headers.hpp>
#include <tests/support/written_stats.hpp>

#include <ashlar/adapt/class_new.hpp>
#include <ashlar/adapt/process_source.hpp>
#include <ashlar/pool/pool_set.hpp>
#include <ashlar/pool/static_pool.hpp>

namespace {

using namespace ashlar;
using test::blocks_in_use;

struct point : heap_allocated<point> {
  double x = 1;
  double y = 2;
};
struct shape : heap_allocated<shape> {
  virtual ~shape() = default;
};
struct large_shape : shape {
  char more[500];
};
struct alignas(128) wide : heap_allocated<wide> {
  char bytes[128];
};
struct throwing : heap_allocated<throwing> {
  throwing() { throw std::runtime_error("constructor"); }
};
struct alignas(64) wide_throwing : throwing {};
struct holder : heap_allocated<holder> {
  point first;  // has such a base, too
};
static_assert(sizeof(point) == 16 && sizeof(holder) == sizeof(point), "the bases are empty");

TEST(HeapAllocated, EveryFormUsesTheProcessHeap) {
  const std::uint64_t before = blocks_in_use();
  std::vector<std::unique_ptr<point>> points;
  points.emplace_back(new point);
  points.emplace_back(new (std::nothrow) point);
  for (const auto& p : points) EXPECT_EQ(xusable_size(p.get()), 16u);
  const std::unique_ptr<point[]> array(new point[10]);
  EXPECT_GE(xusable_size(array.get()), 160u);
  const std::unique_ptr<point[]> nothrow_array(new (std::nothrow) point[10]);
  EXPECT_GE(xusable_size(nothrow_array.get()), 160u);
  const std::unique_ptr<shape> derived(new large_shape);
  EXPECT_GE(xusable_size(derived.get()), sizeof(large_shape));
  const std::unique_ptr<shape[]> shapes(new shape[3]);
  for (int i = 0; i < 3; ++i) {
    const std::unique_ptr<wide> w(i == 0 ? new wide : new (std::nothrow) wide);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(w.get()) % 128, 0u);
    const std::unique_ptr<wide[]> ws(i == 0 ? new wide[3] : new (std::nothrow) wide[3]);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(ws.get()) % 128, 0u);
    EXPECT_GE(blocks_in_use(), before + 8);
  }
  EXPECT_EQ(blocks_in_use(), before + 6);
}

TEST(HeapAllocated, PlacementIsNotHidden) {
  alignas(point) std::byte room[2 * sizeof(point)];
  point* const p = new (room) point;
  EXPECT_EQ(static_cast<void*>(p), room);
  p->~point();
  alignas(point) std::byte rooms[3 * sizeof(point)];
  point* const q = new (rooms) point[2];
  EXPECT_EQ(static_cast<void*>(q), rooms);
}

TEST(HeapAllocated, AConstructorThatThrowsGivesTheBlockBack) {
  const std::uint64_t before = blocks_in_use();
  EXPECT_THROW(new throwing, std::runtime_error);
  EXPECT_THROW(new throwing[3], std::runtime_error);
  EXPECT_THROW(new (std::nothrow) throwing, std::runtime_error);
  EXPECT_THROW(new (std::nothrow) throwing[3], std::runtime_error);
  EXPECT_THROW(new wide_throwing, std::runtime_error);
  EXPECT_THROW(new wide_throwing[3], std::runtime_error);
  EXPECT_THROW(new (std::nothrow) wide_throwing, std::runtime_error);
  EXPECT_THROW(new (std::nothrow) wide_throwing[3], std::runtime_error);
  EXPECT_EQ(blocks_in_use(), before);
}

// ---- pooled -------------------------------------------------------------------------------------

struct event;
extern constinit static_pool<event, 3> events;
struct event : pooled<event, events> {
  explicit event(bool fails = false) {
    if (fails) throw std::runtime_error("constructor");
  }
  virtual ~event() = default;
  long payload = 0;
};
constinit static_pool<event, 3> events;
struct same_size_event final : event {};
struct large_event final : event {
  char more[100];
};

template <class T>
concept has_arrays = requires { new T[2]; };
template <class T>
concept has_nothrow = requires { new (std::nothrow) T; };
static_assert(!has_arrays<event> && has_nothrow<event> && has_arrays<point>);
static_assert(sizeof(event) == 2 * sizeof(void*), "the base is empty");

TEST(Pooled, ObjectsAreInThePool) {
  {
    const std::unique_ptr<event> a(new event);
    const std::unique_ptr<event> b(new same_size_event);
    const std::unique_ptr<event> c(new (std::nothrow) event);
    EXPECT_TRUE(events.owns(a.get()) && events.owns(b.get()) && events.owns(c.get()));
    EXPECT_THROW(new event, std::bad_alloc);
    EXPECT_EQ(new (std::nothrow) event, nullptr);
  }
  EXPECT_EQ(events.stats().blocks_in_use, 0u);
  EXPECT_THROW(new event(true), std::runtime_error);
  EXPECT_THROW(new (std::nothrow) event(true), std::runtime_error);
  EXPECT_EQ(events.stats().blocks_in_use, 0u);
  alignas(event) std::byte room[sizeof(event)];
  event* const placed = new (room) event;
  EXPECT_EQ(static_cast<void*>(placed), room);
  placed->~event();
}

TEST(PooledDeathTest, ALargerDerivedClassIsAFault) {
  GTEST_FLAG_SET(death_test_style, "fast");
  EXPECT_DEATH(static_cast<void>(new large_event), "operator new.*size or alignment");
}

struct command;
extern constinit static_pool<command, 2> commands;
struct command : pooled<command, commands, process_source> {
  virtual ~command() = default;
};
constinit static_pool<command, 2> commands;
struct large_command final : command {
  char more[100];
};
struct alignas(64) wide_command final : command {
  explicit wide_command(bool fails = false) {
    if (fails) throw std::runtime_error("constructor");
  }
};
static_assert(has_nothrow<command>, "the process heap takes blocks by their address");

TEST(Pooled, AnUpstreamServesLargerDerivedClasses) {
  const std::uint64_t before = blocks_in_use();
  {
    const std::unique_ptr<command> a(new command);
    const std::unique_ptr<command> b(new large_command);
    const std::unique_ptr<command> c(new wide_command);
    EXPECT_TRUE(commands.owns(a.get()));
    EXPECT_FALSE(commands.owns(b.get()));
    EXPECT_GE(xusable_size(b.get()), sizeof(large_command));
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(c.get()) % 64, 0u);
    EXPECT_EQ(blocks_in_use(), before + 2);
    EXPECT_THROW(new wide_command(true), std::runtime_error);
    EXPECT_THROW(new (std::nothrow) wide_command(true), std::runtime_error);
    EXPECT_EQ(blocks_in_use(), before + 2);
  }
  EXPECT_EQ(blocks_in_use(), before);
  EXPECT_EQ(commands.stats().blocks_in_use, 0u);
}

constinit static_pool_set<blocks<32, 4>, blocks<256, 4>> sizes;
struct message : pooled<message, sizes> {
  virtual ~message() = default;
};
struct long_message final : message {
  char text[200];
};
// An upstream that must be told sizes: the forms that could not tell it do not exist.
struct sized_only {
  static void* allocate(std::size_t n, std::size_t a) noexcept {
    return process_source::allocate(n, a);
  }
  static void deallocate(void* p, std::size_t n, std::size_t a) noexcept {
    process_source::deallocate(p, n, a);
  }
};
struct order;
extern constinit static_pool<order, 2> orders;
struct order : pooled<order, orders, sized_only> {
  virtual ~order() = default;
};
constinit static_pool<order, 2> orders;
struct large_order final : order {
  char more[100];
};
TEST(Pooled, AnUpstreamThatNeedsSizesGetsThem) {
  static_assert(!has_nothrow<order>);
  const std::uint64_t before = blocks_in_use();
  const std::unique_ptr<order> a(new order);
  std::unique_ptr<order>(new large_order).reset();
  EXPECT_EQ(blocks_in_use(), before);
}

TEST(Pooled, ASetServesAFamilyOfClasses) {
  {
    const std::unique_ptr<message> a(new message);
    const std::unique_ptr<message> b(new long_message);
    const std::unique_ptr<message> c(new (std::nothrow) long_message);
    EXPECT_EQ(sizes.usable_size(a.get()), 32u);
    EXPECT_EQ(sizes.usable_size(b.get()), 256u);
  }
  EXPECT_EQ(sizes.stats().blocks_in_use(), 0u);
}

}  // namespace
