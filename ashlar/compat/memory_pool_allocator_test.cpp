// Tests of memory_pool_allocator.h, among them the uses that its document tried.
#include "memory_pool_allocator.h"

#include <tests/support/allocator_conformance.hpp>
#include <tests/support/container_programs.hpp>
#include <tests/support/shared_blocks.hpp>
#include <tests/support/test_headers.hpp>

// As the document's tests do.
template <class T>
using MyAllocator = Allocator<T>;

namespace {

// ---- the type ----

using ints = Allocator<int>;
using ints_traits = std::allocator_traits<ints>;
static_assert(std::is_same_v<ints::value_type, int> && std::is_same_v<ints::pointer, int*>);
static_assert(std::is_same_v<ints::const_pointer, const int*>);
static_assert(std::is_same_v<ints::reference, int&>);
static_assert(std::is_same_v<ints::const_reference, const int&>);
static_assert(std::is_same_v<ints::size_type, std::size_t>);
static_assert(std::is_same_v<ints::difference_type, std::ptrdiff_t>);
static_assert(std::is_void_v<ints::_Not_user_specialized>);
static_assert(ints::propagate_on_container_move_assignment::value && ints::is_always_equal::value);
static_assert(std::is_same_v<ints::rebind<long>::other, Allocator<long>>);
static_assert(std::is_same_v<ints_traits::rebind_alloc<char>, Allocator<char>>);
static_assert(std::is_same_v<std::allocator_traits<Allocator1024<int>>::rebind_alloc<char>,
                             Allocator1024<char>>,
              "rebinding keeps the bounds");
static_assert(std::is_empty_v<ints> && std::is_nothrow_copy_constructible_v<ints>);
static_assert(std::is_nothrow_constructible_v<ints, Allocator<long>>);
static_assert(!std::is_constructible_v<ints, Allocator1024<int>>, "not the same lists");
template <class T>
using as_the_classic =
    Allocator<T, 128, 8, ashlar::no_lock, ashlar::check::none, ashlar::counting::none>;
static_assert(std::is_same_v<std::allocator_traits<as_the_classic<int>>::rebind_alloc<long>,
                             as_the_classic<long>>,
              "rebinding keeps the policies");
static_assert(!std::is_constructible_v<ints, as_the_classic<int>>, "not the same lists");
static_assert(sizeof(std::set<int, std::less<>, ints>) == sizeof(std::set<int, std::less<>>));

std::size_t bytes_in_use() { return ashlar::compat::the_refill_lists<128, 8>.stats().bytes_in_use; }

TEST(MemoryPoolAllocator, its_own_functions) {
  Allocator<std::string> a;
  std::string* const p = a.allocate(3, nullptr);
  a.construct(p, "one");
  a.construct(p + 1, std::string(100, 'x'));
  a.construct(p + 2);
  EXPECT_EQ(a.address(*p), p);
  const std::string& constant = p[1];
  EXPECT_EQ(a.address(constant), p + 1);
  EXPECT_EQ(p[1].size(), 100u);
  for (int i = 0; i < 3; ++i) a.destroy(p + i);
  a.deallocate(p, 3);
  a.deallocate(nullptr, 3);
  EXPECT_EQ(a.allocate(3), p) << "freed last, used first";
  a.deallocate(p, 3);
  EXPECT_TRUE(a == Allocator<int>());
  EXPECT_FALSE(a != a);
}

TEST(MemoryPoolAllocator, serves_blocks_and_every_container) {
  support::check_blocks(Allocator<int>());
  support::check_blocks(Allocator<support::odd_triple>());
  support::check_blocks(Allocator<support::cache_line>());
  support::check_blocks(Allocator4096<support::cache_line>());
  const std::size_t before = bytes_in_use();
  support::run_containers<support::extent::brief>(Allocator<int>(), 1);
  EXPECT_EQ(bytes_in_use(), before) << "containers give everything back";
}

TEST(MemoryPoolAllocator, reallocate_keeps_what_can_be_copied) {
  Allocator<int> a;
  int* p = a.reallocate(nullptr, 0, 4);
  std::iota(p, p + 4, 1);
  for (const std::size_t n : {8u, 100u, 10'000u, 6u}) {  // lists, then the heap, then back
    const std::size_t before = n == 8 ? 4 : n == 100 ? 8 : n == 10'000 ? 100 : 10'000;
    p = a.reallocate(p, before, n);
    for (int i = 0; i < 4; ++i) EXPECT_EQ(p[i], i + 1) << n;
  }
  EXPECT_THROW(p = a.reallocate(p, 6, SIZE_MAX), std::bad_array_new_length);
  EXPECT_EQ(p[3], 4) << "as it was";
  a.deallocate(p, 6);
}

TEST(MemoryPoolAllocator, sizes_that_no_memory_holds_throw_and_do_not_wrap) {
  Allocator<std::uint64_t> a;
  EXPECT_THROW((void)a.allocate(SIZE_MAX / 8 + 2), std::bad_array_new_length) << "wraps to 8 bytes";
  EXPECT_THROW((void)a.allocate(a.max_size() + 1), std::bad_array_new_length);
  EXPECT_THROW((void)a.allocate(a.max_size()), std::bad_alloc);
  std::uint64_t* const none = a.allocate(0);
  EXPECT_NE(none, nullptr);
  a.deallocate(none, 0);
}

TEST(MemoryPoolAllocator, allocators_of_one_bound_share_their_blocks_and_others_do_not) {
  Allocator<int> small;
  Allocator<double> also_small;
  Allocator1024<double> larger;
  int* const p = small.allocate(2);
  small.deallocate(p, 2);
  double* const other = larger.allocate(1);
  EXPECT_NE(static_cast<void*>(other), static_cast<void*>(p));
  double* const same = also_small.allocate(1);
  EXPECT_EQ(static_cast<void*>(same), static_cast<void*>(p));
  also_small.deallocate(same, 1);
  larger.deallocate(other, 1);
}

TEST(MemoryPoolAllocator, a_program_may_define_the_name_of_the_documents_tests) {
  std::list<int, MyAllocator<int>> list = {2, 1};
  list.sort();
  EXPECT_EQ(list.front(), 1);
  std::set<int, std::less<int>, MyAllocator<int>> set = {1, 2, 2};
  EXPECT_EQ(set.size(), 2u);
}

TEST(MemoryPoolAllocator, a_handler_that_only_logs_is_called_once) {
  static int calls = 0;
  calls = 0;
  const std::new_handler before = std::set_new_handler([] { ++calls; });
  Allocator<char> a;
  EXPECT_THROW(a.allocate(a.max_size()), std::bad_alloc);
  std::set_new_handler(before);
  EXPECT_EQ(calls, 1);
}

// ---- policies, threads, and the ends of the process ----

TEST(MemoryPoolAllocator, policies_have_lists_of_their_own) {
  const std::size_t before = bytes_in_use();
  std::list<int, as_the_classic<int>> list;
  for (int i = 0; i < 1000; ++i) list.push_back(i);
  EXPECT_EQ(std::accumulate(list.begin(), list.end(), 0), 499'500);
  EXPECT_EQ(bytes_in_use(), before) << "the lists with the default policies serve others";
  auto& lists = ashlar::compat::the_refill_lists<128, 8, ashlar::no_lock, ashlar::check::none,
                                                 ashlar::counting::none>;
  EXPECT_TRUE(lists.owns(&list.front()) && lists.audit());
  list.clear();
}

TEST(MemoryPoolAllocator, threads_share_it) {
  support::share_blocks(
      {.threads = 4, .size_most = 128},
      [](std::size_t size) { return Allocator<char>().allocate(size); },
      [](void* p, std::size_t size) { Allocator<char>().deallocate(static_cast<char*>(p), size); });
  EXPECT_TRUE((ashlar::compat::the_refill_lists<128, 8>.audit()));
}

// Usable before main and after it: the lists are constant-initialised and never destroyed.
static_assert(std::is_trivially_destructible_v<ashlar::compat::shared_refill_lists<128, 8>>);
static_assert(
    std::is_same_v<ashlar::compat::shared_refill_lists<128, 8>::lock_type, ashlar::os::mutex>,
    "any number of threads share it");

TEST(MemoryPoolAllocatorDeathTest, misuse_is_reported) {
  Allocator<int> a;
  int elsewhere[40] = {};
  EXPECT_DEATH(a.deallocate(elsewhere, 4), "ashlar: deallocate\\(0x.*not allocated here");
  int* const p = a.allocate(4);
  EXPECT_DEATH(a.deallocate(p + 1, 4), "inside a block");
  a.deallocate(p, 4);
  EXPECT_DEATH(a.deallocate(p, 4), "ashlar: deallocate\\(0x.*double free");
  EXPECT_DEATH(a.deallocate(elsewhere, 1000), "ashlar: deallocate\\(0x.*not allocated here")
      << "the process heap's";
  EXPECT_DEATH((void)a.reallocate(elsewhere, 4, 8), "ashlar: reallocate\\(0x.*not allocated here");
  EXPECT_DEATH((void)a.reallocate(elsewhere, 40, 8), "ashlar: reallocate\\(0x.*not allocated here")
      << "the process heap's";
}

}  // namespace
