// Tests of SizeBasedArena.h, among them programs in the style of its document.
#include <tests/support/shared_blocks.hpp>
#include <tests/support/test_headers.hpp>

#include "SizeBasedArena.h"

namespace {

namespace arena_option = ashlar::arena_option;

// ---- a class in the style of the document: it knows its bound and hands its operators on ----

class Orc {
 public:
  static constexpr int most = 1'000'000;
  static void* operator new(std::size_t n);
  static void* operator new[](std::size_t n);
  static void operator delete(void* p) noexcept;
  static void operator delete[](void* p) noexcept;

  char name[4] = {'U', 'R', 'G', '\0'};
  int strength = 100;
  double smell = 1000.0;
};
using Tribe = SizeBasedArena<Orc, Orc::most>;
void* Orc::operator new(std::size_t n) { return Tribe::get().allocate_object(n); }
void* Orc::operator new[](std::size_t n) { return Tribe::get().allocate_array(n); }
void Orc::operator delete(void* p) noexcept { Tribe::get().deallocate_one(p); }
void Orc::operator delete[](void* p) noexcept { Tribe::get().deallocate_n(p); }
class MeanOrc : public Orc {
 public:
  float bonus = 1.5F;
};

static_assert(std::is_trivially_destructible_v<Tribe> || ashlar::address_sanitizer);
static_assert(!std::is_copy_constructible_v<Tribe> && !std::is_default_constructible_v<Tribe>);
static_assert(sizeof(Tribe) <= Orc::most * sizeof(Orc) + 64, "the objects, and a few words");

TEST(SizeBasedArena, a_million_orcs_side_by_side_and_not_one_more) {
  std::vector<Orc*> orcs;
  orcs.reserve(Orc::most);
  for (int i = 0; i < Orc::most; ++i) orcs.push_back(new Orc);
  for (std::size_t i = 1; i < orcs.size(); ++i) ASSERT_EQ(orcs[i], orcs[i - 1] + 1);
  EXPECT_EQ(orcs.front()->strength, 100);
  EXPECT_EQ(Tribe::get().in_use(), static_cast<std::size_t>(Orc::most));
  EXPECT_THROW((void)new Orc, std::bad_alloc);
  EXPECT_THROW((void)new Orc[2], std::bad_alloc);
  for (Orc* orc : orcs) delete orc;
  EXPECT_THROW((void)new Orc, std::bad_alloc) << "without reuse, what is dead stays dead";
}

TEST(SizeBasedArenaDeathTest, a_larger_derived_class_is_refused) {
  EXPECT_DEATH((void)new MeanOrc, "size or alignment.*block size 16, needed 24");
}

// The document's own operators, which drop the size that they are told.
class PlainOrc {
 public:
  static void* operator new(std::size_t);
  static void* operator new[](std::size_t n);
  static void operator delete(void* p) noexcept;
  static void operator delete[](void* p) noexcept;

  char name[4] = {'U', 'R', 'G', '\0'};
  int strength = 100;
  double smell = 1000.0;
};
namespace document {
using Tribe = SizeBasedArena<PlainOrc, 1'000>;
}
// That they are told of by the compiler, tests/must_not_compile/sentences.txt proves.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
void* PlainOrc::operator new(std::size_t) { return document::Tribe::get().allocate(); }
void* PlainOrc::operator new[](std::size_t n) {
  return document::Tribe::get().allocate_n(n / sizeof(PlainOrc));
}
#pragma GCC diagnostic pop
void PlainOrc::operator delete(void* p) noexcept { document::Tribe::get().deallocate(p); }
void PlainOrc::operator delete[](void* p) noexcept { document::Tribe::get().deallocate_n(p); }
class MeanPlainOrc : public PlainOrc {
 public:
  float attackBonus = 1.5F;
};

TEST(SizeBasedArena, the_documents_own_operators_serve) {
  std::vector<PlainOrc*> orcs;
  for (int i = 0; i < 800; ++i) orcs.push_back(new PlainOrc);
  PlainOrc* const three = new PlainOrc[3];
  EXPECT_EQ(three[2].strength, 100);
  for (const PlainOrc* orc : orcs) EXPECT_EQ(orc->smell, 1000.0);
  delete[] three;
  for (PlainOrc* orc : orcs) delete orc;
}

TEST(SizeBasedArenaDeathTest, a_larger_object_is_found_by_what_it_wrote) {
  if (ashlar::detail::tools_present) GTEST_SKIP() << "the tool itself sees the write";
  // 24 bytes in a slot of 16, of which the 4 of the bonus are behind the slot. Twice: the linker
  // may put the next slot at the begin of a page, where nobody looks.
  EXPECT_DEATH(
      for (int i = 0; i < 2; ++i) {
        const auto* const mean = new MeanPlainOrc;
        EXPECT_EQ(mean->attackBonus, 1.5F);
        (void)new PlainOrc;
      },
      "ashlar: allocate\\(0x.*size or alignment.*block size 16, needed 20");
  EXPECT_DEATH(
      for (int i = 0; i < 2; ++i) {
        (void)new MeanPlainOrc[3];
        (void)new PlainOrc[2];
      },
      "ashlar: allocate_n\\(0x.*size or alignment.*block size 16, needed");
}

TEST(SizeBasedArena, two_types_of_one_size_have_two_arenas) {
  struct elf final {
    double grace;
  };
  struct dwarf final {
    double thirst;
  };
  void* const a = SizeBasedArena<elf, 4>::get().allocate_one();
  EXPECT_FALSE((SizeBasedArena<dwarf, 4>::get().owns(a)));
  EXPECT_TRUE((SizeBasedArena<elf, 4>::get().owns(a)));
  EXPECT_EQ((SizeBasedArena<dwarf, 4>::get().in_use()), 0u);
}

// ---- arrays ----

/// Has a destructor, so that its arrays have a cookie.
template <class... Options>
struct noisy final {
  using arena = SizeBasedArena<noisy, 10, Options...>;
  static void* operator new(std::size_t n) { return arena::get().allocate_object(n); }
  static void* operator new[](std::size_t n) { return arena::get().allocate_array(n); }
  static void operator delete(void* p) noexcept { arena::get().deallocate_one(p); }
  static void operator delete[](void* p) noexcept { arena::get().deallocate_n(p); }
  ~noisy() { ++destroyed; }
  double value = 1.0;
  double other = 2.0;
  static inline int destroyed = 0;
};

TEST(SizeBasedArena, arrays_have_room_for_their_cookie) {
  using one = noisy<>;
  one* const array = new one[3];
  EXPECT_EQ(one::arena::get().in_use(), 4u) << "3 and the cookie";
  one* const next = new one;
  EXPECT_GE(next, array + 3);
  delete[] array;
  EXPECT_EQ(one::destroyed, 3);
  EXPECT_EQ(one::arena::get().in_use(), 5u);
  EXPECT_NE(one::arena::get().allocate_n(0), one::arena::get().allocate_n(0));
  EXPECT_THROW((void)one::arena::get().allocate_n(SIZE_MAX), std::bad_alloc);
  EXPECT_THROW((void)one::arena::get().allocate_n(SIZE_MAX / 16 + 2), std::bad_alloc) << "no wrap";
}

TEST(SizeBasedArena, with_reuse_what_is_freed_serves_again) {
  using one = noisy<arena_option::reuse>;
  for (int round = 0; round < 100; ++round) {
    one* const array = new one[3];
    one* const single = new one;
    one* const second = new one[2];
    delete[] array;
    one* const again = new one[3];
    EXPECT_EQ(again, array);
    EXPECT_TRUE(single >= array + 3 && second > single) << "an array has room for its cookie";
    delete[] second;
    delete single;
    delete[] again;
  }
  EXPECT_EQ(one::arena::get().in_use(), 0u);
  void* const all = one::arena::get().allocate_n(10);
  EXPECT_THROW((void)new one, std::bad_alloc);
  one::arena::get().deallocate_n(all);
  one::arena::get().deallocate_n(nullptr);
}

TEST(SizeBasedArenaDeathTest, with_reuse_misuse_is_reported) {
  auto& arena = SizeBasedArena<long, 5, arena_option::reuse, ashlar::named<"longs">>::get();
  long elsewhere = 0;
  auto* const p = static_cast<long*>(arena.allocate_n(2));
  EXPECT_DEATH((void)arena.allocate_object(2 * sizeof(long)), "size or alignment.*needed 16");
  EXPECT_DEATH(arena.deallocate_one(&elsewhere),
               "ashlar: deallocate_one\\(0x.*not allocated here.*longs");
  EXPECT_DEATH(arena.deallocate_one(p + 1), "ashlar: deallocate_one\\(0x.*inside a block");
  EXPECT_DEATH(arena.deallocate(p + 1), "ashlar: deallocate\\(0x.*inside a block");
  arena.deallocate_n(p);
  EXPECT_DEATH(arena.deallocate_n(p), "ashlar: deallocate_n\\(0x.*double free");
}

// ---- options ----

TEST(SizeBasedArena, options_in_any_order) {
  struct last final {
    alignas(64) char bytes[64];
  };
  using bounded = SizeBasedArena<last, 3, ashlar::exhaustion::null, arena_option::final_type,
                                 ashlar::no_lock, arena_option::reuse>;
  using plain = SizeBasedArena<last, 3, ashlar::no_lock, ashlar::exhaustion::null>;
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(ashlar::is_aligned(bounded::get().allocate_one(), 64));
    void* const p = plain::get().allocate_one();
    EXPECT_NE(p, nullptr) << "over-aligned, and all three fit";
    EXPECT_TRUE(ashlar::is_aligned(p, 64));
  }
  EXPECT_EQ(bounded::get().allocate_one(), nullptr);
  EXPECT_EQ(plain::get().allocate_one(), nullptr);
  EXPECT_EQ(bounded::capacity(), 3u);
}

// ---- threads, and before main ----

TEST(SizeBasedArena, threads_get_different_objects) {
  using arena = SizeBasedArena<int, 6'000, ashlar::exhaustion::null>;
  const std::size_t got = support::share_blocks(
      {.size_most = sizeof(int)}, [](std::size_t) { return arena::get().allocate_one(); },
      [](void*, std::size_t) {});
  EXPECT_EQ(arena::get().in_use(), got);
}

using early_arena = SizeBasedArena<short, 8>;
void* const early = early_arena::get().allocate_one();

TEST(SizeBasedArena, serves_static_constructors) {
  EXPECT_TRUE(early_arena::get().owns(early));
  EXPECT_GE(early_arena::get().in_use(), 1u);
}

}  // namespace
