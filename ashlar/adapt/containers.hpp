// adapt/containers.hpp: the standard containers on the process heap, by name.
// Layer: adapt.
//
//   ashlar::containers::map<int, ashlar::containers::string> names;
//   ashlar::pmr::list<int> numbers(ashlar::pmr::process_resource());
//
// containers:: has std's templates with ashlar::allocator in the allocator's place, all else as it
// is there; pmr:: has std::pmr's own, to be found beside the resources that they are given.
#pragma once

#include <deque>
#include <forward_list>
#include <functional>
#include <list>
#include <map>
#include <memory_resource>
#include <queue>
#include <set>
#include <sstream>
#include <stack>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include <ashlar/adapt/allocator.hpp>
#include <ashlar/adapt/pmr.hpp>

namespace ashlar {
namespace containers {

template <class T>
using vector = std::vector<T, allocator<T>>;
template <class T>
using deque = std::deque<T, allocator<T>>;
template <class T>
using list = std::list<T, allocator<T>>;
template <class T>
using forward_list = std::forward_list<T, allocator<T>>;

template <class Key, class Less = std::less<Key>>
using set = std::set<Key, Less, allocator<Key>>;
template <class Key, class Less = std::less<Key>>
using multiset = std::multiset<Key, Less, allocator<Key>>;
template <class Key, class T, class Less = std::less<Key>>
using map = std::map<Key, T, Less, allocator<std::pair<const Key, T>>>;
template <class Key, class T, class Less = std::less<Key>>
using multimap = std::multimap<Key, T, Less, allocator<std::pair<const Key, T>>>;

template <class Key, class Hash = std::hash<Key>, class Equal = std::equal_to<Key>>
using unordered_set = std::unordered_set<Key, Hash, Equal, allocator<Key>>;
template <class Key, class Hash = std::hash<Key>, class Equal = std::equal_to<Key>>
using unordered_multiset = std::unordered_multiset<Key, Hash, Equal, allocator<Key>>;
template <class Key, class T, class Hash = std::hash<Key>, class Equal = std::equal_to<Key>>
using unordered_map = std::unordered_map<Key, T, Hash, Equal, allocator<std::pair<const Key, T>>>;
template <class Key, class T, class Hash = std::hash<Key>, class Equal = std::equal_to<Key>>
using unordered_multimap =
    std::unordered_multimap<Key, T, Hash, Equal, allocator<std::pair<const Key, T>>>;

template <class T, class Container = deque<T>>
using queue = std::queue<T, Container>;
template <class T, class Container = deque<T>>
using stack = std::stack<T, Container>;
template <class T, class Container = vector<T>,
          class Less = std::less<typename Container::value_type>>
using priority_queue = std::priority_queue<T, Container, Less>;

template <class Char, class Traits = std::char_traits<Char>>
using basic_string = std::basic_string<Char, Traits, allocator<Char>>;
using string = basic_string<char>;
using wstring = basic_string<wchar_t>;
using u8string = basic_string<char8_t>;
using u16string = basic_string<char16_t>;
using u32string = basic_string<char32_t>;

template <class Char, class Traits = std::char_traits<Char>>
using basic_stringstream = std::basic_stringstream<Char, Traits, allocator<Char>>;
template <class Char, class Traits = std::char_traits<Char>>
using basic_ostringstream = std::basic_ostringstream<Char, Traits, allocator<Char>>;
template <class Char, class Traits = std::char_traits<Char>>
using basic_istringstream = std::basic_istringstream<Char, Traits, allocator<Char>>;
using stringstream = basic_stringstream<char>;
using ostringstream = basic_ostringstream<char>;
using istringstream = basic_istringstream<char>;

}  // namespace containers

namespace pmr {

using std::pmr::polymorphic_allocator;

using std::pmr::deque;
using std::pmr::forward_list;
using std::pmr::list;
using std::pmr::map;
using std::pmr::multimap;
using std::pmr::multiset;
using std::pmr::set;
using std::pmr::unordered_map;
using std::pmr::unordered_multimap;
using std::pmr::unordered_multiset;
using std::pmr::unordered_set;
using std::pmr::vector;

using std::pmr::basic_string;
using std::pmr::string;
using std::pmr::u16string;
using std::pmr::u32string;
using std::pmr::u8string;
using std::pmr::wstring;

}  // namespace pmr
}  // namespace ashlar
