// The classic stl_allocator and its containers, as code written for them uses them.
#include <tests/support/allocator_conformance.hpp>
#include <tests/support/container_programs.hpp>
#include <tests/support/test_headers.hpp>
#include <tests/support/written_stats.hpp>

#include "xdeque.h"
#include "xforward_list.h"
#include "xlist.h"
#include "xmap.h"
#include "xqueue.h"
#include "xset.h"
#include "xsstream.h"
#include "xstring.h"
#include "xunordered_map.h"
#include "xunordered_set.h"
#include "xvector.h"

namespace {

TEST(StlAllocator, MeetsTheRequirements) {
  support::check_allocator(stl_allocator<int>());
  support::check_allocator(stl_allocator<support::cache_line>());
  support::check_incomplete_type(stl_allocator<int>());
  support::run_containers<support::extent::brief>(stl_allocator<int>(), 1);
}

TEST(StlAllocator, HasTheClassicMembers) {
  using A = stl_allocator<int>;
  static_assert(!std::is_base_of_v<std::allocator<int>, A>,
                "whose allocate_at_least would be found");
  static_assert(std::is_same_v<A::value_type, int> && std::is_same_v<A::pointer, int*>);
  static_assert(std::is_same_v<A::const_pointer, const int*>);
  static_assert(std::is_same_v<A::reference, int&> &&
                std::is_same_v<A::const_reference, const int&>);
  static_assert(std::is_same_v<A::size_type, std::size_t>);
  static_assert(std::is_same_v<A::difference_type, std::ptrdiff_t>);
  static_assert(std::is_same_v<A::rebind<char>::other, stl_allocator<char>>);
  static_assert(std::is_same_v<stl_allocator<void>::rebind<int>::other, A>);
  static_assert(std::is_same_v<stl_allocator<void>::value_type, void>);
  A a;
  const A from_void{stl_allocator<void>()};
  EXPECT_TRUE(a == from_void);
  EXPECT_TRUE(a == stl_allocator<char>() && !(a != stl_allocator<char>()));
  int* const p = a.allocate(3, nullptr);
  a.construct(p, 4);
  EXPECT_EQ(a.address(*p), p);
  a.destroy(p);
  xfree(p);
  EXPECT_GE(a.max_size(), SIZE_MAX / 8);
}

template <class Key, class T>
std::size_t size_of(const xmap<Key, T>& map) {
  return map.size();
}
template <class T>
std::size_t size_of(const xqueue<T>& queue) {
  return queue.size();
}

TEST(XContainers, AnAllocatorMayStandWhereTheOriginalHasIt) {
  using other = std::allocator<char>;  // of another type: it is rebound
  using greater = std::greater<int>;
  using pair = std::pair<const int, char>;
  static_assert(std::is_same_v<xmap<int, char, other>, std::map<int, char>>);
  static_assert(std::is_same_v<xmap<int, char, stl_allocator<pair>>, xmap<int, char>>);
  static_assert(
      std::is_same_v<xmap<int, char, greater>, std::map<int, char, greater, stl_allocator<pair>>>);
  static_assert(
      std::is_same_v<xmap<int, char, greater, std::allocator<pair>>, std::map<int, char, greater>>);
  static_assert(std::is_same_v<xmultimap<int, char, other>, std::multimap<int, char>>);
  static_assert(std::is_same_v<xset<int, other>, std::set<int>>);
  static_assert(std::is_same_v<xset<int, greater>, std::set<int, greater, stl_allocator<int>>>);
  static_assert(std::is_same_v<xmultiset<int, other>, std::multiset<int>>);
  static_assert(std::is_same_v<xunordered_map<int, char, other>, std::unordered_map<int, char>>);
  static_assert(
      std::is_same_v<xunordered_multimap<int, char, other>, std::unordered_multimap<int, char>>);
  static_assert(std::is_same_v<xunordered_set<int, other>, std::unordered_set<int>>);
  static_assert(std::is_same_v<xunordered_multiset<int, std::hash<int>, other>,
                               std::unordered_multiset<int>>);
  static_assert(std::is_same_v<xqueue<int, other>, std::queue<int>>);
  static_assert(std::is_same_v<xqueue<int, xlist<int>>::container_type, xlist<int>>);
  xmap<int, char, stl_allocator<pair>> map;
  map[1] = 'a';
  xqueue<int> queue;
  queue.push(1);
  EXPECT_EQ(size_of(map), 1u) << "the alias is deduced";
  EXPECT_EQ(size_of(queue), 1u);
}

template <class... Containers>
constexpr bool all_use_xmalloc = (std::is_same_v<typename Containers::allocator_type,
                                                 stl_allocator<typename Containers::value_type>> &&
                                  ...);

TEST(XContainers, AreTheStandardOnesOnXmallocsBlocks) {
  static_assert(all_use_xmalloc<xlist<int>, xforward_list<int>, xvector<int>, xdeque<int>,
                                xmap<int, int>, xmultimap<int, int>, xset<int>, xmultiset<int>,
                                xunordered_map<int, int>, xunordered_multimap<int, int>,
                                xunordered_set<int>, xunordered_multiset<int>, xstring, xwstring>);
  static_assert(std::is_same_v<xlist<int>, std::list<int, stl_allocator<int>>>);
  static_assert(std::is_same_v<xlist<int, std::allocator<int>>, std::list<int>>);
  static_assert(std::is_same_v<xqueue<int>::container_type, xdeque<int>>);
  const std::uint64_t before = ashlar::test::blocks_in_use();
  {
    xlist<xstring> list;
    list.push_back("hello world, which is longer than a string holds itself");
    EXPECT_EQ(ashlar::test::blocks_in_use(), before + 2);
  }
  EXPECT_EQ(ashlar::test::blocks_in_use(), before);
}

TEST(XContainers, StringsAreKeysOfHashedContainers) {
  xunordered_map<xstring, int> words = {{"one", 1}, {"two", 2}};
  EXPECT_EQ(words["two"], 2);
  EXPECT_EQ(std::hash<xstring>{}("one"), std::hash<std::string>{}("one"));
  EXPECT_EQ(std::hash<xwstring>{}(L"one"), std::hash<std::wstring>{}(L"one"));
}

TEST(XStreams, Write) {
  xstringstream stream;
  stream << "hello world " << 2016 << std::ends;
  EXPECT_EQ(stream.str(), xstring("hello world 2016\0", 17));
  xostringstream out;
  out << 1.5;
  EXPECT_EQ(out.str(), "1.5");
  xwstringstream wide;
  wide << L"wide " << 7;
  EXPECT_EQ(wide.str(), L"wide 7");
  xwostringstream wide_out;
  wide_out << 7;
  EXPECT_EQ(wide_out.str(), L"7");
}

}  // namespace
