// xallocator.h in its default mode: the six functions, and every form of new and delete that
// XALLOCATOR gives a class. The modes with the program's own pools are in tests/xallocator.
#include "xallocator.h"

#include <tests/support/test_headers.hpp>
#include <tests/support/written_stats.hpp>

namespace {

using ashlar::test::blocks_in_use;

std::uintptr_t address_of(const void* p) { return reinterpret_cast<std::uintptr_t>(p); }

// ---- names --------------------------------------------------------------------------------------

template <class T, std::size_t Bytes, bool IsSigned>
constexpr bool is_integer =
    std::is_integral_v<T> && sizeof(T) == Bytes && std::is_signed_v<T> == IsSigned;

TEST(Xallocator, HasTheNamesOfTheBuiltInTypes) {
  static_assert(is_integer<INT8, 1, true> && is_integer<UINT8, 1, false>);
  static_assert(is_integer<INT16, 2, true> && is_integer<UINT16, 2, false>);
  static_assert(is_integer<INT32, 4, true> && is_integer<UINT32, 4, false>);
  static_assert(is_integer<INT64, 8, true> && is_integer<UINT64, 8, false>);
  static_assert(is_integer<BYTE, 1, false> && is_integer<WORD, 2, false> &&
                is_integer<DWORD, 4, false>);
  static_assert(std::is_same_v<CHAR, char> && std::is_same_v<INT, int> &&
                std::is_same_v<UINT, unsigned> && std::is_same_v<BOOL, int>);
  static_assert(std::is_same_v<FLOAT, float> && std::is_same_v<DOUBLE, double>);
  const void* const nothing = NULL;
  EXPECT_EQ(nothing, nullptr);
  EXPECT_EQ(TRUE + FALSE, 1);
}

TEST(XallocatorDeathTest, FaultsNameTheCallOfTheUser) {
  struct with_macro {
    XALLOCATOR
    int value = 0;
  };
  int elsewhere = 0;
  void* volatile hidden = &elsewhere;  // from the compiler, which would see it, too
  void* const p = hidden;
  EXPECT_DEATH(xfree(p), "ashlar: xfree\\(0x.*not allocated here");
  EXPECT_DEATH(static_cast<void>(xrealloc(p, 10)), "ashlar: xrealloc\\(0x.*not allocated here");
  EXPECT_DEATH(static_cast<void>(xusable_size(p)), "ashlar: xusable_size\\(0x.*not allocated here");
  EXPECT_DEATH(delete static_cast<with_macro*>(p), "ashlar: delete\\(0x.*not allocated here");
  EXPECT_DEATH(delete[] static_cast<with_macro*>(p),
               "ashlar: delete\\[\\]\\(0x.*not allocated here");
}

// ---- XALLOCATOR ---------------------------------------------------------------------------------

class Shape {
  XALLOCATOR
 public:
  virtual ~Shape() = default;
  int n = 7;
  char text[40] = {};
};
class Polygon : public Shape {
 public:
  double corners[50] = {};
};
class alignas(64) Aligned : public Shape {
 public:
  char wide[64] = {};
};
struct alignas(256) Page {
  XALLOCATOR
  char bytes[256];
};

/// Every form that a delete-expression or a call by name may want, for the class T.
template <class T>
concept has_every_form = requires(std::size_t n, void* p, std::align_val_t a) {
  T::operator new(n);
  T::operator new(n, a);
  T::operator new(n, std::nothrow);
  T::operator new(n, a, std::nothrow);
  T::operator new(n, p);
  T::operator new[](n);
  T::operator new[](n, a);
  T::operator new[](n, std::nothrow);
  T::operator new[](n, a, std::nothrow);
  T::operator new[](n, p);
  T::operator delete(p);
  T::operator delete(p, n);
  T::operator delete(p, a);
  T::operator delete(p, n, a);
  T::operator delete(p, std::nothrow);
  T::operator delete(p, a, std::nothrow);
  T::operator delete(p, p);
  T::operator delete[](p);
  T::operator delete[](p, n);
  T::operator delete[](p, a);
  T::operator delete[](p, n, a);
  T::operator delete[](p, std::nothrow);
  T::operator delete[](p, a, std::nothrow);
  T::operator delete[](p, p);
};
static_assert(has_every_form<Shape> && has_every_form<Polygon> && has_every_form<Page>);
static_assert(!has_every_form<std::pair<int, int>>, "the test can fail");

TEST(XallocatorMacro, OverAlignedClassesAreAligned) {
  const std::uint64_t before = blocks_in_use();
  Aligned* objects[20];
  for (Aligned*& object : objects) {
    object = new Aligned;
    EXPECT_EQ(address_of(object) % 64, 0u);
  }
  for (Shape* object : objects) delete object;
  auto* pages = new Page[3];
  EXPECT_EQ(address_of(pages) % 256, 0u);
  delete[] pages;
  auto* page = new (std::nothrow) Page;
  EXPECT_EQ(address_of(page) % 256, 0u);
  delete page;
  pages = new (std::nothrow) Page[2];
  EXPECT_EQ(address_of(pages) % 256, 0u);
  delete[] pages;
  EXPECT_EQ(blocks_in_use(), before);
}

TEST(XallocatorMacro, ArraysComeFromXmalloc) {
  const std::uint64_t before = blocks_in_use();
  auto* shapes = new Shape[10];
  EXPECT_EQ(blocks_in_use(), before + 1);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(shapes[i].n, 7);
  delete[] shapes;
  shapes = new (std::nothrow) Shape[3];
  ASSERT_NE(shapes, nullptr);
  EXPECT_EQ(blocks_in_use(), before + 1);
  delete[] shapes;
  EXPECT_EQ(blocks_in_use(), before);
}

TEST(XallocatorMacro, PlacementStillWorksAndTakesNothing) {
  const std::uint64_t before = blocks_in_use();
  alignas(Shape) std::byte place[3 * sizeof(Shape) + 16];
  auto* shape = new (place) Shape;
  EXPECT_EQ(static_cast<void*>(shape), place);
  shape->~Shape();
  EXPECT_EQ(Shape::operator new[](8, place), place);
  EXPECT_EQ(blocks_in_use(), before);
}

struct Left {
  XALLOCATOR
  virtual ~Left() = default;
  char left[20] = {};
};
struct Right {
  XALLOCATOR
  virtual ~Right() = default;
  char right[20] = {};
};
struct Both : Left, Right {
  XALLOCATOR
};

TEST(XallocatorMacro, ASecondBaseIsFreedByItsWholeObjectsAddress) {
  const std::uint64_t before = blocks_in_use();
  Right* const object = new Both;
  EXPECT_EQ(blocks_in_use(), before + 1);
  delete object;
  EXPECT_EQ(blocks_in_use(), before);
}

// ---- failure ------------------------------------------------------------------------------------

volatile std::size_t too_much = SIZE_MAX / 2;

struct Huge {
  XALLOCATOR
  char byte;
};

int handler_calls = 0;

/// Installs `handler` for a scope.
class with_handler {
 public:
  explicit with_handler(std::new_handler handler) : before_(std::set_new_handler(handler)) {
    handler_calls = 0;
  }
  ~with_handler() { std::set_new_handler(before_); }

 private:
  std::new_handler before_;
};

void give_up_at_third_call() {
  if (++handler_calls == 3) std::set_new_handler(nullptr);
}
void throw_something() {
  ++handler_calls;
  throw std::bad_alloc();
}

TEST(XallocatorMacro, WithoutAHandlerThrowingFormsThrow) {
  const with_handler none(nullptr);
  EXPECT_THROW(static_cast<void>(Huge::operator new(too_much)), std::bad_alloc);
  EXPECT_THROW(static_cast<void>(Huge::operator new[](too_much)), std::bad_alloc);
  EXPECT_THROW(static_cast<void>(Huge::operator new(too_much, std::align_val_t{64})),
               std::bad_alloc);
  EXPECT_THROW(static_cast<void>(new Huge[too_much]), std::bad_alloc);
}

TEST(XallocatorMacro, TheHandlerIsCalledUntilThereIsNone) {
  const with_handler handler(give_up_at_third_call);
  EXPECT_THROW(static_cast<void>(Huge::operator new(too_much)), std::bad_alloc);
  EXPECT_EQ(handler_calls, 3);
}

TEST(XallocatorMacro, NothrowFormsReturnNullEvenWhenTheHandlerThrows) {
  {
    const with_handler none(nullptr);
    EXPECT_EQ(Huge::operator new(too_much, std::nothrow), nullptr);
    EXPECT_EQ(Huge::operator new[](too_much, std::nothrow), nullptr);
    EXPECT_EQ(Huge::operator new(too_much, std::align_val_t{64}, std::nothrow), nullptr);
    EXPECT_EQ(new (std::nothrow) Huge[too_much], nullptr);
  }
  const with_handler handler(throw_something);
  EXPECT_EQ(Huge::operator new(too_much, std::nothrow), nullptr);
  EXPECT_EQ(handler_calls, 1);
}

struct Thrower {
  XALLOCATOR
  explicit Thrower(int) { throw 42; }
  Thrower() {
    if (++made == 3) throw 42;
  }
  static inline int made = 0;
  char text[100];
};
struct alignas(128) AlignedThrower {
  XALLOCATOR
  AlignedThrower() { throw 42; }
  char text[100];
};

TEST(XallocatorMacro, AThrowingConstructorGivesTheBlockBack) {
  const std::uint64_t before = blocks_in_use();
  EXPECT_THROW(new Thrower(1), int);
  EXPECT_THROW(new (std::nothrow) Thrower(1), int);
  Thrower::made = 0;
  EXPECT_THROW(new Thrower[5], int);
  Thrower::made = 0;
  EXPECT_THROW(new (std::nothrow) Thrower[5], int);
  EXPECT_THROW(new AlignedThrower, int);
  EXPECT_THROW(new (std::nothrow) AlignedThrower, int);
  EXPECT_THROW(new AlignedThrower[2], int);
  EXPECT_THROW(new (std::nothrow) AlignedThrower[2], int);
  alignas(Thrower) std::byte place[sizeof(Thrower)];
  EXPECT_THROW(new (place) Thrower(1), int);
  EXPECT_EQ(blocks_in_use(), before);
}

// ---- automatic init and destroy -----------------------------------------------------------------

static_assert(sizeof(XallocInitDestroy) == 1, "a byte a translation unit");

}  // namespace
